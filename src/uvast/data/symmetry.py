"""A symmetry of the features that the user declares in `dataset.toml`, such as left and right.

    [symmetry]
    columns = [2, 3, 0, 1]        column i of the mirrored features is column columns[i],
    signs = [-1, 1, -1, 1]        times signs[i] (left out: 1),
    offsets = [640, 0, 640, 0]    plus offsets[i] (left out: 0)
    classes = {left = "right", right = "left"}    what the actions become (left out: themselves)

It applies to the features as they are in the files, before any scaling, and need not be its own
inverse.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field

from uvast.data.faults import some
from uvast.errors import ConfigError
from uvast.segments import UNLABELLED, Segmentation

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from uvast.data.video import Video
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary

_MOST = 2**20
_Column = Annotated[int, Field(ge=0, lt=_MOST)]
_Offset = Annotated[float, Field(ge=-1e9, le=1e9)]
_Name = Annotated[str, Field(max_length=1000)]


@dataclass(frozen=True)
class SymmetrySpec:
    """What `dataset.toml` says, not yet checked against the data; see the module."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    columns: Annotated[tuple[_Column, ...], Field(max_length=_MOST)]
    signs: Annotated[tuple[Literal[-1, 1], ...], Field(max_length=_MOST)] = ()
    offsets: Annotated[tuple[_Offset, ...], Field(max_length=_MOST)] = ()
    classes: Annotated[dict[_Name, _Name], Field(max_length=_MOST)] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A symmetry that fits its dataset.

    Args:
        columns: the column that each column of the mirrored features comes from `(F,)`.
        signs: what it is multiplied by `(F,)`.
        offsets: what is then added `(F,)`.
        classes: what each class becomes `(C,)`.
    """

    columns: IntArray
    signs: NDArray[np.float32]
    offsets: NDArray[np.float32]
    classes: IntArray

    @property
    def of_levelled(self) -> Symmetry:
        """The same for levelled features: mirrored first and levelled then, no offset is left."""
        return replace(self, offsets=np.zeros_like(self.offsets))

    def mirrored(self, video: Video, segmentation: Segmentation) -> tuple[Video, Segmentation]:
        """A video without labels, and its segmentation, both mirrored."""
        features = video.features[:, self.columns]
        features *= self.signs
        features += self.offsets
        actions = segmentation.transcript
        actions = np.where(actions == UNLABELLED, UNLABELLED, self.classes[actions])
        return replace(video, features=features), Segmentation(actions, segmentation.durations)

    def summary(self, vocabulary: Vocabulary) -> str:
        """One line about what it does."""
        n_moved = int((self.columns != np.arange(len(self.columns))).sum())
        n_negated = int((self.signs < 0).sum())
        said = f"{n_moved} of {len(self.columns)} columns move and {n_negated} change their sign"
        names = vocabulary.names
        moved = [
            f"{names[old]} becomes {names[new]}"
            for old, new in enumerate(self.classes.tolist())
            if old != new
        ]
        return f"a symmetry is declared: {said}{''.join(f', {one}' for one in moved)}"


def resolved_symmetry(
    spec: SymmetrySpec, n_features: int, vocabulary: Vocabulary, where: Path
) -> Symmetry:
    """The declared symmetry, checked against the dataset; errors name the file `where`."""
    for name in ("columns", "signs", "offsets"):
        n_given = len(getattr(spec, name))
        if n_given != n_features and (n_given or name == "columns"):
            raise ConfigError(
                f"symmetry.{name} is for features of {n_given} columns, but these have "
                f"{n_features}",
                where=where,
                remedy="give one entry for each column",
            )
    columns = np.array(spec.columns, dtype=np.int64)
    counts = np.bincount(columns, minlength=n_features)
    if len(counts) > n_features or (counts != 1).any():
        raise _no_permutation(counts, n_features, where)
    return Symmetry(
        columns,
        np.array(spec.signs or [1] * n_features, dtype=np.float32),
        np.array(spec.offsets or [0] * n_features, dtype=np.float32),
        _class_permutation(spec.classes, vocabulary, where),
    )


def _no_permutation(counts: IntArray, n_features: int, where: Path) -> ConfigError:
    if len(counts) > n_features:
        what = f"names column {len(counts) - 1}, but the last one is {n_features - 1}"
    else:
        twice, never = (int(np.flatnonzero(test)[0]) for test in (counts > 1, counts == 0))
        what = f"names column {twice} more than once and column {never} never"
    remedy = "name every column once, counted from 0"
    return ConfigError(f"symmetry.columns {what}", where=where, remedy=remedy)


def _class_permutation(changes: dict[str, str], vocabulary: Vocabulary, where: Path) -> IntArray:
    names = {*changes, *changes.values()}
    unknown = sorted(names - set(vocabulary.names))
    if unknown:
        raise ConfigError(
            f"symmetry.classes names classes that do not exist: {some(unknown)}",
            where=where,
            remedy=f"choose from {some(vocabulary.names, 20)}",
        )
    after = Counter(changes.get(name, name) for name in vocabulary.names)
    for name, count in after.items():
        if count > 1:
            raise ConfigError(
                f"symmetry.classes turns {count} classes into {name}",
                where=where,
                remedy="say what each of them becomes, every class once",
            )
    return np.array([vocabulary.id_of(changes.get(name, name)) for name in vocabulary.names])
