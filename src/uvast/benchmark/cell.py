"""One cell of a benchmark: a model trained once, its test side scored by every decoding."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a record's field types are read
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from uvast.benchmark.decoded_scores import ScoreColumns, score_decodings
from uvast.benchmark.tables import single_settings
from uvast.config import Config  # noqa: TC001 - a record's field types are read
from uvast.data import Dataset
from uvast.data.label_digest import label_digest
from uvast.errors import DataError, OutputError, UvastError
from uvast.files import is_present, read_record, write_json
from uvast.inference import load
from uvast.runs import RunFolder, is_run
from uvast.training import resume, train
from uvast.training.samples import find_samples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.runs import RunInfo

EARLIER_BEAM_WIDTH = 5
"""Of `best`, in runs whose settings have it written out."""
SCORES_FILE = "scores.json"

_Number = Annotated[int, Field(ge=0, lt=2**63)]
_Setting = bool | int | float | str | list[float]


@dataclass(frozen=True)
class CellFold:
    """The part of a training side that a cell is about (see `uvast.data.folds`).

    Args:
        number: which fold, from 1.
        of: how many there are.
        train: the videos to learn from.
        held_out: the videos to score.
    """

    number: _Number
    of: _Number
    train: tuple[str, ...]
    held_out: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """What is trained and how it is decoded.

    Args:
        model: a name for the table.
        dataset: the dataset's folder, absolute.
        split: the training side it learns from; its test side is scored, unless `fold` is given.
        seed: of training.
        config: all settings; the seed replaces the config's own.
        decodings: name to changes of the config's `decode` section: `{"durations": "fifa"}`.
        timestamps: the timestamps file; None finds the dataset's own.
        fold: the part of the training side that is scored, another to learn from; the test side
            is never seen then.
        calibrated_by: the key of the cell whose inner runs choose how this one decodes, too; None
            for inner runs of its own.
    """

    model: str
    dataset: str
    split: _Number
    seed: _Number
    config: Config
    decodings: Mapping[str, Mapping[str, _Setting]]
    timestamps: str | None = None
    fold: CellFold | None = None
    calibrated_by: str | None = None

    @property
    def key(self) -> str:
        """The cell's folder below the benchmark's."""
        method = f"{self.model}-{self.config.supervision.kind}"
        fold = "" if self.fold is None else f"-fold{self.fold.number}of{self.fold.of}"
        return f"{self.data}/{method}/split{self.split}{fold}-seed{self.seed}"

    @property
    def data(self) -> str:
        """The dataset's name: its folder's."""
        return Path(self.dataset).name

    @property
    def note(self) -> str:
        """What every row of its scores must say; empty if nothing."""
        return "transductive" if self.config.train.unlabelled == "test" else ""

    @property
    def settings(self) -> dict[str, object]:
        """All that makes it, but for its split and its seed."""
        own = _settings(self, self.config)
        return {name: own[name] for name in own if name not in ("split", "train.seed")}

    @property
    def training(self) -> Config:
        """The config with the cell's seed; what it scores is what it holds out."""
        validation = self.config.train.validation
        share = 0.0 if validation == "auto" else validation
        return self.config.replaced(**{"train.seed": self.seed, "train.validation": share})


def run_cell(cell: Cell, out: Path, *, device: str = "auto") -> dict[str, ScoreColumns]:
    """Trains, or goes on training, then scores the test side, or the fold, where it has no score.

    Videos are encoded once for all decodings. One that fails does not keep the others from their
    scores. The cell is an ordinary run folder below `out`, the benchmark's.

    Returns:
        Decoding to scores.
    """
    check_cell(cell, out)
    if is_finished(cell, out):
        return finished_scores(cell, out)
    folder = _trained(cell, out, device)
    record = _read_record(cell, out) or _Record(cell, {})
    dataset = Dataset.open(cell.dataset)
    videos = _scored(cell, dataset)
    labels = label_digest(dataset, videos)
    record = _Record(with_decodings(cell, record.cell), record.of(cell), videos, labels)
    failed: dict[str, UvastError] = {}
    scored: Iterable[tuple[str, ScoreColumns | UvastError]] = ()
    missing = {name: one for name, one in cell.decodings.items() if name not in record.scores}
    if missing:
        model = load(folder, device=device)
        scored = score_decodings(model, dataset, videos, missing)
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


def _trained(cell: Cell, out: Path, device: str) -> Path:
    """The folder of its run, trained to the end from wherever it stands."""
    folder = out / cell.key
    first = None if cell.calibrated_by is None else out / cell.calibrated_by
    if first is not None and not RunFolder(first).is_finished():
        raise OutputError(
            f"waits for {cell.calibrated_by}, whose inner runs choose how it decodes",
            where=folder,
            remedy="run the same command again when that is finished",
        )
    if is_run(folder):
        resume(folder, device=device, calibrated_by=first)
        return folder
    train(
        cell.dataset,
        folder,
        config=cell.training,
        split=cell.split,
        videos=None if cell.fold is None else cell.fold.train,
        timestamps=cell.timestamps,
        device=device,
        held_out=None if cell.fold is None else cell.fold.held_out,
        calibrated_by=first,
    )
    return folder


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
    _check_videos(cell, info, out)


def _check_videos(cell: Cell, info: RunInfo, out: Path) -> None:
    """Refuses a run, or scores, of other videos: the split or the labels have changed since."""
    folder, dataset = out / cell.key, Dataset.open(cell.dataset)
    learned, wanted = {*info.train, *info.validation}, _to_learn(cell, dataset)
    if learned != wanted:
        name = min(learned ^ wanted)
        did, should = ("did", "would not") if name in learned else ("did not", "would")
        raise OutputError(
            f"holds a run of other videos: it {did} learn from {name}, now it {should}",
            where=folder,
            remedy="choose another --out, or remove this folder",
        )
    by_clicks = cell.config.supervision.kind == "timestamps"
    if info.labels not in (
        "",
        label_digest(dataset, learned, by_clicks=by_clicks, timestamps=cell.timestamps),
    ):
        raise OutputError(
            "holds a run of labels that have changed since",
            where=folder,
            remedy="choose another --out, or remove this folder",
        )
    record, scored = _read_record(cell, out), _scored(cell, dataset)
    if record is not None and record.videos and not record.is_of(dataset, scored):
        raise OutputError(
            "has scores of other videos, or of other labels, than are to be scored now",
            where=folder / SCORES_FILE,
            remedy="remove this file: the run is scored again, without training",
        )


def _to_learn(cell: Cell, dataset: Dataset) -> set[str]:
    """The videos that a cell trained today would learn from."""
    if cell.fold is not None:
        return set(cell.fold.train)
    data = dataset.at_rate(cell.config.train.sampling_rate)
    side = data.side(cell.split, "train")
    clicks = None
    if cell.config.supervision.kind == "timestamps":
        clicks = data.timestamps(cell.timestamps, names=side)
    return set(find_samples(data, side, clicks).videos)


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
    """The content of a cell's file of scores; the videos they are of and a digest of their labels.

    Earlier versions wrote neither.
    """

    cell: Cell
    scores: dict[str, ScoreColumns]
    videos: tuple[str, ...] = ()
    labels: str = ""

    def is_of(self, dataset: Dataset, videos: tuple[str, ...]) -> bool:
        """Whether these videos, with the labels they have now, were scored."""
        return self.videos == videos and self.labels == label_digest(dataset, videos)

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


def _scored(cell: Cell, dataset: Dataset) -> tuple[str, ...]:
    """What a cell is scored on: its fold, or its split's test side."""
    return dataset.side(cell.split, "test") if cell.fold is None else cell.fold.held_out
