"""One cell of a benchmark: a model trained once, its test side scored by every decoding."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a record's field types are read
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from uvast.benchmark.tables import single_settings
from uvast.config import Config  # noqa: TC001 - a record's field types are read
from uvast.data import Dataset
from uvast.errors import DataError, InputError, OutputError, UvastError
from uvast.evaluation.evaluate import labelled_sides
from uvast.evaluation.scores import HEADINGS
from uvast.evaluation.scoring import score_sides
from uvast.files import is_present, read_record, write_json
from uvast.inference import load
from uvast.inference.inputs import DatasetVideo
from uvast.inference.pipeline import segment_with_decodings
from uvast.runs import RunFolder, is_run
from uvast.training import resume, train

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uvast.inference import Segmenter
    from uvast.runs import RunInfo
    from uvast.segments import IntArray, Segmentation

EARLIER_BEAM_WIDTH = 5
"""Of `best`, in runs whose settings have it written out."""
SCORES_FILE = "scores.json"
COLUMNS = tuple(HEADINGS)


def _whole(scores: dict[str, float]) -> dict[str, float]:
    if tuple(scores) not in (COLUMNS, ("edit",)):
        raise ValueError(f"columns {', '.join(scores) or 'missing'}")
    return scores


ScoreColumns = Annotated[dict[str, Annotated[float, Field(ge=0, le=100)]], AfterValidator(_whole)]
"""Column to number; a bare transcript has only `edit`."""

_Number = Annotated[int, Field(ge=0, lt=2**63)]
_Setting = bool | int | float | str


@dataclass(frozen=True)
class Cell:
    """What is trained and how it is decoded.

    Args:
        model: a name for the table.
        dataset: the dataset's folder, absolute.
        split: the training side it learns from; its test side is scored.
        seed: of training.
        config: all settings; the seed replaces the config's own.
        decodings: name to changes of the config's `decode` section: `{"durations": "fifa"}`.
        timestamps: the timestamps file; None finds the dataset's own.
    """

    model: str
    dataset: str
    split: _Number
    seed: _Number
    config: Config
    decodings: Mapping[str, Mapping[str, _Setting]]
    timestamps: str | None = None

    @property
    def key(self) -> str:
        """The cell's folder below the benchmark's."""
        supervision = self.config.supervision.kind
        return f"{self.data}/{self.model}-{supervision}/split{self.split}-seed{self.seed}"

    @property
    def data(self) -> str:
        """The dataset's name: its folder's."""
        return Path(self.dataset).name

    @property
    def training(self) -> Config:
        """The config with the cell's seed; the split's test side is what it holds out."""
        validation = self.config.train.validation
        share = 0.0 if validation == "auto" else validation
        return self.config.replaced(**{"train.seed": self.seed, "train.validation": share})


def run_cell(cell: Cell, out: Path, *, device: str = "auto") -> dict[str, ScoreColumns]:
    """Trains, or goes on training, then scores what has no score yet.

    Videos are encoded once for all decodings. One that fails does not keep the others from their
    scores. The cell is an ordinary run folder below `out`, the benchmark's.

    Returns:
        Decoding to scores.
    """
    check_cell(cell, out)
    if is_finished(cell, out):
        return finished_scores(cell, out)
    folder = out / cell.key
    if is_run(folder):
        resume(folder, device=device)
    else:
        train(
            cell.dataset,
            folder,
            config=cell.training,
            split=cell.split,
            timestamps=cell.timestamps,
            device=device,
        )
    record = _read_record(cell, out) or _Record(cell, {})
    record = _Record(with_decodings(cell, record.cell), record.of(cell))
    failed: dict[str, UvastError] = {}
    scored: Iterable[tuple[str, ScoreColumns | UvastError]] = ()
    missing = {name: one for name, one in cell.decodings.items() if name not in record.scores}
    if missing:
        model, dataset = load(folder, device=device), Dataset.open(cell.dataset)
        scored = score_decodings(model, dataset, cell.split, missing)
    for name, found in scored:
        if isinstance(found, UvastError):
            failed[name] = found
        else:
            record.scores[name] = found
            record.write(folder / SCORES_FILE)
    record.write(folder / SCORES_FILE)
    if failed:
        raise _together(failed)
    return record.of(cell)


def _together(failed: Mapping[str, UvastError]) -> UvastError:
    """The first error, with the names of all decodings that have one."""
    first = next(iter(failed.values()))
    what = f"no scores for {', '.join(failed)} ({first.what})"
    return type(first)(what, where=first.where, remedy=first.remedy)


def is_finished(cell: Cell, out: Path) -> bool:
    """Whether a cell has all its scores."""
    record = _read_record(cell, out)
    return record is not None and not set(cell.decodings) - set(record.of(cell))


def finished_scores(cell: Cell, out: Path) -> dict[str, ScoreColumns]:
    """The scores that a cell has already, by decoding; a file that cannot be read has none."""
    with suppress(DataError):  # of which the cell's outcome tells
        if record := _read_record(cell, out):
            return record.of(cell)
    return {}


def check_cell(cell: Cell, out: Path) -> None:
    """Refuses a place that holds a run with other settings, finished or not."""
    folder = out / cell.key
    if not is_run(folder):
        return
    _, config, info = RunFolder.open(folder)
    theirs, ours = _settings(info, config), _settings(cell, cell.training)
    other = next((name for name in ours if ours[name] != theirs[name]), None)
    if other is not None:
        raise OutputError(
            "holds a run with other settings "
            f"({other} is {theirs[other]} there, {ours[other]} here)",
            where=folder,
            remedy="choose another --out",
        )


def _settings(run: RunInfo | Cell, config: Config) -> dict[str, object]:
    """All that makes a run; those of earlier versions have the width of their beam written out."""
    own = EARLIER_BEAM_WIDTH if config.decode.transcript == "best" else 1
    width = 0 if config.decode.beam_width == own else config.decode.beam_width
    return {
        "dataset": run.dataset,
        "split": run.split,
        "timestamps": run.timestamps,
        **single_settings(config),
        "decode.beam_width": width,
    }


def earlier_cells(out: Path) -> tuple[Cell, ...]:
    """The cells of a benchmark's folder that have scores; files that cannot be read have none."""
    found = []
    for path in sorted(out.glob(f"*/*/*/{SCORES_FILE}")):
        with suppress(DataError):
            found.append(_read(path).cell)
    return tuple(found)


@dataclass(frozen=True)
class _Record:
    """The content of a cell's file of scores."""

    cell: Cell
    scores: dict[str, ScoreColumns]

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


def _read(path: Path) -> _Record:
    return read_record(
        path, _Record, remedy="remove this file: the run is scored again, without training"
    )


def _read_record(cell: Cell, out: Path) -> _Record | None:
    path = out / cell.key / SCORES_FILE
    return _read(path) if is_present(path) else None


def with_decodings(cell: Cell, before: Cell) -> Cell:
    """The cell with the decodings that were asked for earlier, too."""
    return replace(cell, decodings={**before.decodings, **cell.decodings})


def score_decodings(
    model: Segmenter, dataset: Dataset, split: int, decodings: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, ScoreColumns | UvastError]]:
    """Scores a split's test side by several decodings; each video is encoded once.

    Videos without labels stay out.

    Yields:
        The name of a decoding and its scores, or why it has none.
    """
    try:
        side = labelled_sides(dataset, {split: dataset.side(split, "test")})[split]
        truths = {name: dataset.source_segmentation(name) for name in side}
        found = _decoded(model, dataset, side, decodings)
    except UvastError as error:
        for name, changes in decodings.items():
            if len(decodings) == 1:
                yield name, error
            else:  # alone, to see which one fails
                yield from score_decodings(model, dataset, split, {name: changes})
        return
    side = tuple(sorted(truths))
    for name, predictions in found.items():
        try:
            scored = score_sides(truths, {split: predictions}, {split: side}, dataset.vocabulary)
        except InputError as error:  # a bare transcript of a video that is labelled in part
            yield name, error
        else:
            yield name, scored.scores.columns()


def _decoded(
    model: Segmenter,
    dataset: Dataset,
    names: Sequence[str],
    decodings: Mapping[str, Mapping[str, Any]],
) -> dict[str, dict[str, Segmentation | IntArray]]:
    """Decoding to video to segmentation, or to a bare transcript."""
    sources = [DatasetVideo(dataset, name, model.sampling_rate) for name in names]
    options = {name: model.options(**changes) for name, changes in decodings.items()}
    found: dict[str, dict[str, Segmentation | IntArray]] = {name: {} for name in options}
    for name, outcome in segment_with_decodings(model, sources, options):
        if outcome.prediction is None:
            raise outcome.error or UvastError(f"{outcome.name} has no prediction")
        one = outcome.prediction
        found[name][outcome.name] = one.transcript if one.segmentation is None else one.segmentation
    return found
