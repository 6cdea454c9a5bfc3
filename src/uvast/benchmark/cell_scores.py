"""The scores of a cell, and what was scored: a file in its run folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from uvast.benchmark.cell import Cell  # noqa: TC001 - a record's field types are read
from uvast.benchmark.decoded_scores import ScoreColumns  # noqa: TC001 - the same
from uvast.data.label_digest import has_changed
from uvast.errors import CorruptFileError, DataError
from uvast.evaluation.scores import file_suffix
from uvast.files import is_present, read_record, write_json

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.data import Dataset
    from uvast.evaluation.scores import ScoreProtocol

_REMEDY = "remove this file: the run is scored again, without training"


def scores_file(protocol: ScoreProtocol) -> str:
    """The name of a run's file of scores by one protocol."""
    return f"scores{file_suffix(protocol)}.json"


@dataclass(frozen=True)
class CellScores:
    """The content of a cell's scores file.

    Args:
        cell: what was trained and decoded.
        scores: by decoding.
        videos: the videos that were scored.
        labels: a digest of their labels.
        background: the classes that Edit and F1 left out; None if an earlier version wrote this.
    """

    cell: Cell
    scores: dict[str, ScoreColumns]
    videos: tuple[str, ...] = ()
    labels: str = ""
    background: tuple[str, ...] | None = None

    def is_of(self, dataset: Dataset, videos: tuple[str, ...]) -> bool:
        """Whether these videos, with the labels they have now, were scored."""
        if self.videos != videos or has_changed(self.labels, dataset, videos):
            return False
        return self.background in (None, dataset.vocabulary.background)

    def of(self, cell: Cell) -> dict[str, ScoreColumns]:
        """The scores of the decodings that mean the same to `cell`, or that it does not name."""
        return {
            name: self.scores[name]
            for name, changes in self.cell.decodings.items()
            if name in self.scores and cell.decodings.get(name, changes) == changes
        }

    def write(self, path: Path) -> None:
        """Writes it; a reader sees all or nothing."""
        write_json(path, asdict(self))


def _read(path: Path, protocol: ScoreProtocol) -> CellScores:
    """Files of earlier versions do not name the protocol: they have standard scores."""
    record = read_record(path, CellScores, remedy=_REMEDY)
    if record.cell.protocol != protocol:
        raise CorruptFileError(
            f"has scores by the {record.cell.protocol} protocol, not by {protocol}",
            where=path,
            remedy=_REMEDY,
        )
    return record


def read_scores(cell: Cell, out: Path) -> CellScores | None:
    """The content of a cell's scores file; None if there is none."""
    path = out / cell.key / scores_file(cell.protocol)
    return _read(path, cell.protocol) if is_present(path) else None


def is_finished(cell: Cell, out: Path) -> bool:
    """Whether a cell has all its scores."""
    record = read_scores(cell, out)
    return record is not None and not set(cell.decodings) - set(record.of(cell))


def finished_scores(cell: Cell, out: Path) -> dict[str, ScoreColumns]:
    """The scores that a cell has already, by decoding; a file that cannot be read has none."""
    record = known_scores(cell, out)
    return {} if record is None else record.of(cell)


def known_scores(cell: Cell, out: Path) -> CellScores | None:
    """The content of a cell's scores file; None if there is none, or it cannot be read."""
    with suppress(DataError):  # the cell's outcome reports it
        return read_scores(cell, out)
    return None


def earlier_scores(out: Path, protocol: ScoreProtocol = "standard") -> tuple[CellScores, ...]:
    """The scores by a protocol in a benchmark's folder; files that cannot be read have none."""
    found = []
    for path in sorted(out.glob(f"*/*/*/{scores_file(protocol)}")):
        with suppress(DataError):
            found.append(_read(path, protocol))
    return tuple(found)
