"""What has to hold, whatever the file: one sentence, no traceback, nothing touched."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from .sandbox import Outcome
from .targets import Target

LONGEST = 1_000
"""Characters of a sentence, the path included."""

BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FRAME = re.compile(r'File "[^"]*/uvast/([^"]+)", line (\d+)')


@dataclass(frozen=True)
class Fault:
    """What a case did that no case may do.

    Args:
        what: in short; equal faults have equal words.
        place: the innermost line of uvast, if one is known.
        detail: the traceback or the text.
    """

    what: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.what} at {self.place}" if self.place else self.what


def faults(outcome: Outcome, target: Target) -> tuple[Fault, ...]:
    """All that is wrong with the outcome of a target whose file is broken."""
    if outcome.killed is not None:
        return (Fault(outcome.killed, _place(outcome.stack), outcome.stack),)
    if outcome.crash is not None:
        kind = outcome.crash.partition("\n")[0]
        return (Fault(kind, _place(outcome.crash), outcome.crash),)
    if outcome.code is None:
        return (Fault("died by a signal", _place(outcome.stack), outcome.stack),)
    return (*_of_sentences(outcome, target), *_of_files(outcome, target))


def _of_sentences(outcome: Outcome, target: Target) -> list[Fault]:
    found = []
    if outcome.code not in target.codes:
        found.append(Fault(f"exit code {outcome.code}", "", outcome.stderr))
    if "Traceback" in outcome.stderr + outcome.stdout:
        found.append(Fault("prints a traceback", "", outcome.stderr + outcome.stdout))
    told = outcome.stderr.split("\n")
    problems = [line for line in outcome.stdout.split("\n") if line.startswith("problem: ")]
    if outcome.error is not None:
        told.append(outcome.error)
    elif outcome.code == 2 and not target.words.startswith("data check"):
        errors = [line for line in told if line.startswith("error: ")]
        if len(errors) != 1 or told[-2:] != [errors[0], ""]:
            found.append(Fault("exit code 2 without one last sentence", "", outcome.stderr))
    long = next((line for line in (*told, *problems) if len(line) > LONGEST), None)
    if long is not None:
        found.append(Fault(f"a sentence longer than {LONGEST}", "", long[: 2 * LONGEST]))
    for name, lines in (("a sentence", told), ("stdout", outcome.stdout.split("\n"))):
        odd = [line for line in lines if any(map(_is_control, line))]
        if odd:
            found.append(Fault(f"control characters in {name}", "", f"{odd[0]!r:.2000}"))
    return found


def _of_files(outcome: Outcome, target: Target) -> list[Fault]:
    allowed = ("out", *target.writes)
    wrong = [
        path
        for path in outcome.changed
        if not any(path == one or path.startswith(f"{one}/") for one in allowed)
    ]
    found = [Fault("changes its input", "", ", ".join(wrong))] if wrong else []
    if outcome.outside:
        found.append(Fault("reaches outside", "", "\n".join(outcome.outside)))
    return found


def _is_control(sign: str) -> bool:
    return sign in BIDI or unicodedata.category(sign) in ("Cc", "Cs")


def _place(text: str) -> str:
    """The innermost line of uvast; a traceback has it last, a stack first."""
    frames = _FRAME.findall(text)
    if not frames:
        return ""
    file, line = frames[-1] if "Traceback" in text else frames[0]
    return f"{file}:{line}"
