"""The sentences of `uvast train --plan` for people who know their videos, not the networks.

The log of the training keeps the command's own words, and the options that change things.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_OPTION = re.compile(r"; --[^;]+$| \(--[^)]+\)$|, or raise --[a-z-]+$")
"""The option that would change it, at the end of a sentence: the page has its own."""

_OF_ONE_PART = ("no alignment decoder",)
"""How sentences begin that tell of a part which this training neither has nor needs."""

_SECONDS = (
    r"your videos have (\S+) features a second and actions of about (\S+) s, short ones of "
    r"(\S+) s: the model sees "
)
_WORDS = (
    (
        _SECONDS + "every frame",
        r"your actions take about \2 s, short ones \3 s: the model sees all \1 frames a second",
    ),
    (
        _SECONDS + r"every (\w+) frame",
        r"your actions take about \2 s, short ones \3 s: the model sees every \4 of \1 frames a "
        r"second",
    ),
    (
        r"^([\d,]+) epochs( in batches of \d+ videos)?, ",
        r"\1 rounds through all videos (epochs)\2, ",
    ),
    (
        r"(\d+) inner runs choose how to decode, each without some of the videos: this takes "
        r"(\S+) times as long as one run",
        r"trains \1 more models, each without some of the videos, to find out what to expect of "
        r"segments: this takes \2 times as long",
    ),
    (
        r"no dark spans: they would hide several of these short actions at once",
        "hides no parts of the videos while it learns, as your actions are short",
    ),
)


_PARTS = re.compile(r"^([\d,]+) videos with labels")


def plan_sentence(line: str, names: Collection[str] = ()) -> str | None:
    """A line of the plan as the page says it; None if it would mean nothing there.

    Args:
        line: of the command.
        names: of the project's videos; a sentence may begin with one, and stays as it is.
    """
    if line.startswith(_OF_ONE_PART):
        return None
    text = _OPTION.sub("", line)
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    parts = _PARTS.match(text)
    if names and parts and int(parts[1].replace(",", "")) > len(names):
        # a training takes each labelled part of a video for a video of its own
        text = _PARTS.sub(r"\1 labelled parts of videos", text)
    if text.partition(" ")[0].rstrip(":") not in names:
        text = f"{text[:1].upper()}{text[1:]}"
    return text + ("" if text.endswith(".") else ".")
