"""Class names <-> ids. The decoder's SOS and EOS tokens live here and nowhere else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError, LabelError, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


BACKGROUND = "background"
"""The class that Edit and F1 leave out unless others are named."""
UNLABELLED_WORD = "unlabelled"
"""Stands in label files for frames that nobody looked at; it is not a class."""
ABOUT_UNLABELLED = "say in labelled.json which frames are labelled (docs/data.md)"


@dataclass(frozen=True)
class Vocabulary:
    """The classes of a dataset, in the order of their ids.

    Args:
        names: class names; a class's id is its place in this tuple.
        background: names of the classes that Edit and F1 leave out.
    """

    names: tuple[str, ...]
    background: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            raise InputError("a vocabulary needs at least one class")
        repeated = sorted(name for name, count in Counter(self.names).items() if count > 1)
        if repeated:
            raise InputError(f"class names occur more than once: {', '.join(repeated)}")
        unknown = sorted(set(self.background) - set(self.names))
        if unknown:
            raise InputError(
                f"background names classes that do not exist: {', '.join(unknown)}",
                remedy=f"choose from {', '.join(self.names)}",
            )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    @property
    def sos(self) -> int:
        """The decoder's first input token: ids C and C + 1 are EOS and SOS."""
        return len(self.names) + 1

    @property
    def eos(self) -> int:
        """The token that ends a transcript; the decoder's outputs are C classes and EOS."""
        return len(self.names)

    @cached_property
    def background_ids(self) -> tuple[int, ...]:
        """Ids of the background classes."""
        return tuple(self._ids[name] for name in self.background)

    def id_of(self, name: str, *, where: str | None = None) -> int:
        """The id of one class."""
        try:
            return self._ids[name]
        except KeyError:
            raise self._unknown(name, where) from None

    def encode(self, names: Sequence[str], *, where: str | None = None) -> NDArray[np.int64]:
        """Class names to ids `(len(names),)`; `where` names the file in the error."""
        ids = self._ids
        try:
            return np.fromiter((ids[name] for name in names), dtype=np.int64, count=len(names))
        except KeyError as error:
            name = error.args[0]
            line = names.index(name) + 1
            place = None if where is None else f"{where}, line {line}"
            raise self._unknown(name, place) from None

    def decode(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Ids to class names."""
        ids = [int(index) for index in ids]
        outside = [index for index in ids if not 0 <= index < len(self.names)]
        if outside:
            raise InputError(f"class id {outside[0]} is not in 0 to {len(self.names) - 1}")
        return tuple(self.names[index] for index in ids)

    def _unknown(self, name: str, where: str | None) -> LabelError:
        known = ", ".join(self.names[:12]) + (", …" if len(self.names) > 12 else "")
        remedy = f"correct it or add it to a mapping.txt of all classes (known: {known})"
        if name == UNLABELLED_WORD:
            remedy = ABOUT_UNLABELLED
        return LabelError(f"unknown label '{printable(name, 60)}'", where=where, remedy=remedy)
