"""What earlier commands left in a benchmark's folder, as far as it still counts."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from uvast.benchmark.cell import Cell, with_decodings
from uvast.benchmark.cell_scores import CellScores, earlier_scores
from uvast.data import Dataset
from uvast.errors import UvastError, counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from uvast.evaluation.scores import ScoreProtocol


def with_earlier(
    cells: Sequence[Cell],
    out: Path,
    protocol: ScoreProtocol = "standard",
    *,
    without: Collection[str] = (),
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """The cells with the decodings of earlier commands, then the other cells of those commands.

    Only what was scored by this protocol counts. Cells of inner cross-validation are left out: no
    test side was scored. So are those whose test side has changed since, and those of another
    dataset with the name of one of ours.

    Args:
        cells: those asked for.
        out: the benchmark's folder.
        protocol: by which they are scored.
        without: keys of earlier cells that do not count.

    Returns:
        The cells, and which earlier ones are left out and why, one sentence for each method.
    """
    found = earlier_scores(out, protocol)
    earlier = {one.cell.key: one for one in found if one.cell.fold is None}
    asked = [
        with_decodings(cell, earlier.pop(cell.key).cell) if cell.key in earlier else cell
        for cell in cells
    ]
    places, sides = {cell.data: cell.dataset for cell in cells}, _TestSides()
    kept, unfit = [], Counter[tuple[str, str]]()
    for key, record in earlier.items():
        place = places.get(record.cell.data, record.cell.dataset)
        if key in without:
            continue
        if not sides.are_those_of(record, place):
            unfit[str(PurePosixPath(key).parent), place] += 1
        elif record.videos:  # another machine has the same data in another folder
            kept.append(replace(record.cell, dataset=place))
        else:
            kept.append(record.cell)
    notes = tuple(
        f"the results leave out {counted(n, 'earlier run')} in {out / method}, scored on other "
        f"videos, labels or background classes than {place} has"
        for (method, place), n in unfit.items()
    )
    return (*asked, *kept), notes


@dataclass(frozen=True)
class _TestSides:
    """The test sides of datasets as they are now; what cells have in common is looked up once."""

    opened: dict[str, Dataset | None] = field(default_factory=dict)
    known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def are_those_of(self, record: CellScores, place: str) -> bool:
        """Whether scores are of the dataset in a folder; if it is gone, nothing speaks against it.

        Files of earlier versions do not say what was scored: their dataset's folder decides.
        """
        if not record.videos:
            return record.cell.dataset == place
        key = (place, record.cell.split, record.videos, record.labels, record.background)
        if key not in self.known:
            dataset = self._open(place)
            self.known[key] = dataset is None or _is_of(record, dataset)
        return self.known[key]

    def _open(self, place: str) -> Dataset | None:
        if place not in self.opened:
            self.opened[place] = None
            if Path(place).is_absolute() and Path(place).is_dir():
                with suppress(UvastError):  # a broken dataset says nothing about its scores
                    self.opened[place] = Dataset.open(place)
        return self.opened[place]


def _is_of(record: CellScores, dataset: Dataset) -> bool:
    with suppress(UvastError):  # the split is gone, or a label file is broken
        return record.is_of(dataset, dataset.side(record.cell.split, "test"))
    return False
