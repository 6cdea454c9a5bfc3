"""What happens to a fault in a file: a reader stops at the first one, `check_dataset` reads on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from uvast.errors import UvastError, printable

OnFault = Callable[[UvastError], None]

_FEW = 3
_OWN = re.compile(
    r"""(?<!\S)(video\ \S+ | [^\sA-Za-z]*\d[^\sA-Za-z]*(?!\S) | (?!['"])\S*[/\\]\S*)""", re.X
)
"""The parts in which faults of the same cause differ: a video, numbers, a file."""


def raise_fault(fault: UvastError) -> None:
    """The default of every reader: it stops at the first fault."""
    raise fault


class FaultList:
    """Faults found so far, by sentence; used as a reader's `on_fault` or as a context manager.

    In a `with` block an error becomes a fault and ends the block, not the program. The same
    sentence is listed once.
    """

    def __init__(self) -> None:
        self.sentences: dict[str, UvastError] = {}

    def __call__(self, fault: UvastError) -> None:
        """Adds a fault."""
        self.sentences[str(fault)] = fault

    def causes(self) -> tuple[str, ...]:
        """One sentence per fault; of more than three alike, the first and how many more."""
        alike: dict[object, list[str]] = defaultdict(list)
        for sentence, fault in self.sentences.items():
            alike[_OWN.sub("", fault.what), fault.remedy].append(sentence)
        causes: list[str] = []
        for first, *more in alike.values():
            is_few = len(more) < _FEW
            causes += [first, *more] if is_few else [f"{first} (and {len(more)} more like it)"]
        return tuple(causes)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        if not isinstance(error, UvastError):
            return False
        self(error)
        return True


def some(names: Sequence[str], most: int = 5) -> str:
    """The first names of many, and how many more there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(printable, names[:most])) + rest
