"""Sentences of the commands in the words of the page, which has fields instead of options."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from uvast.errors import UvastError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELDS = (
    (r"pass --fps, such as --fps 25", "fill in 'Frames per second', such as 25"),
    (r"pass it with --fps", "say it under 'Frames per second'"),
    (r"choose a --tier, or pass --overlaps .*", "or choose one under 'Overlapping labels'"),
    (
        r"(say which in|(rename it, (leave it out .*, )?or )?give) a table with --names(, .*)?",
        "choose it under 'Video'",
    ),
    (r"(say which (format )?it is: --from|pass --from|leave --from) .*", "choose another 'Format'"),
    (r"keep both with --add, .* --replace", "keep both or replace them, under 'Existing labels'"),
)


def page_words(sentence: str) -> str:
    """A sentence of `uvast import` as the page says it."""
    for option, words in _FIELDS:
        sentence = re.sub(option, words, sentence)
    return sentence


@contextmanager
def in_page_words() -> Iterator[None]:
    """Makes errors in this block name fields of the page."""
    try:
        yield
    except UvastError as error:
        if error.remedy is None:
            raise
        remedy = page_words(error.remedy)
        told = type(error)(error.what, where=error.where, remedy=remedy)
        raise told from error.__cause__
