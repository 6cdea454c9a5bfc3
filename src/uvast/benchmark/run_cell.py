"""Trains a cell of a benchmark and scores it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.benchmark.cell import Cell, settings_of, with_decodings
from uvast.benchmark.cell_scores import (
    CellScores,
    finished_scores,
    is_finished,
    read_scores,
    scores_file,
)
from uvast.benchmark.decoded_scores import ScoreColumns, score_decodings
from uvast.data import Dataset
from uvast.data.label_digest import has_changed, label_digest
from uvast.errors import OutputError, UvastError
from uvast.evaluation.scores import PROTOCOLS
from uvast.files import is_present
from uvast.inference import load
from uvast.runs import RunFolder, is_run
from uvast.training import resume, train
from uvast.training.inner_runs import FOLDS
from uvast.training.samples import samples_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uvast.runs import RunInfo


def run_cell(cell: Cell, out: Path, *, device: str = "auto") -> dict[str, ScoreColumns]:
    """Trains or resumes a cell, then adds the missing scores of its test side or fold.

    Videos are encoded once for all decodings. A decoding that fails does not stop the others. The
    cell is an ordinary run folder below `out`, the benchmark's folder.

    Returns:
        Decoding to scores.
    """
    check_cell(cell, out)
    if is_finished(cell, out):
        return finished_scores(cell, out)
    folder = _trained(cell, out, device)
    record = read_scores(cell, out) or CellScores(cell, {})
    dataset = Dataset.open(cell.dataset)
    videos = _scored(cell, dataset)
    record = CellScores(
        replace(
            with_decodings(cell, record.cell), calibrated_by=_calibrated_by(cell, record, folder)
        ),
        record.of(cell),
        videos,
        label_digest(dataset, videos),
        dataset.vocabulary.background,
    )
    path = folder / scores_file(cell.protocol)
    failed: dict[str, UvastError] = {}
    scored: Iterable[tuple[str, ScoreColumns | UvastError]] = ()
    missing = {name: one for name, one in cell.decodings.items() if name not in record.scores}
    if missing:
        model = load(folder, device=device)
        scored = score_decodings(model, dataset, videos, missing, protocol=cell.protocol)
    for name, found in scored:
        if isinstance(found, UvastError):
            failed[name] = found
        else:
            record.scores[name] = found
            record.write(path)
    record.write(path)
    if failed:
        raise _together(failed)
    return record.of(cell)


def _trained(cell: Cell, out: Path, device: str) -> Path:
    """Trains a cell to the end from wherever it stands; returns its run folder."""
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


def _calibrated_by(cell: Cell, record: CellScores, folder: Path) -> str | None:
    """Whose inner runs chose how a cell decodes; a run of an earlier command may have its own."""
    if is_run(folder / FOLDS / "1"):
        return None
    return cell.calibrated_by or record.cell.calibrated_by


def _together(failed: Mapping[str, UvastError]) -> UvastError:
    """The first error, with the names of all decodings that have one."""
    first = next(iter(failed.values()))
    what = f"no scores for {', '.join(failed)} ({first.what})"
    return type(first)(what, where=first.where, remedy=first.remedy)


def check_cell(cell: Cell, out: Path) -> None:
    """Refuses a folder that holds a run or scores of other settings, finished or not."""
    folder = out / cell.key
    if is_run(folder):
        _, config, info = RunFolder.open(folder)
        _check_settings(cell, settings_of(info, config), folder)
        _check_videos(cell, info, folder)
    record = read_scores(cell, out)
    if record is not None:
        _check_scores(cell, record, folder)
    elif not is_run(folder):
        _check_can_be_scored(cell, folder)


def _check_settings(cell: Cell, theirs: Mapping[str, object], folder: Path) -> None:
    """Refuses a run or scores of other settings."""
    ours = settings_of(cell, cell.training)
    other = next((name for name in ours if ours[name] != theirs[name]), None)
    if other is not None:
        raise OutputError(
            f"holds a run with other settings "
            f"({other} is {theirs[other]} there, {ours[other]} here)",
            where=folder,
            remedy="choose another --out",
        )


def _check_scores(cell: Cell, record: CellScores, folder: Path) -> None:
    """Refuses scores of other settings, videos or labels; they may be all that is left of a run."""
    is_alone, path = not is_run(folder), folder / scores_file(cell.protocol)
    if is_alone:
        before = _found_here(record.cell, cell) if record.videos else record.cell
        _check_settings(cell, settings_of(before, before.training), path)
    if not record.videos:  # of an earlier version
        return
    dataset = Dataset.open(cell.dataset)
    if not record.is_of(dataset, _scored(cell, dataset)):
        raise OutputError(
            "has scores of other videos, labels or background classes than are to be scored now",
            where=path,
            remedy="choose another --out, or remove this file to train again"
            if is_alone
            else "remove this file: the run is scored again, without training",
        )


def _found_here(before: Cell, cell: Cell) -> Cell:
    """A recorded cell with our paths: another machine has files of the same names elsewhere."""
    names = [
        None if one.timestamps is None else Path(one.timestamps).name for one in (before, cell)
    ]
    timestamps = cell.timestamps if names[0] == names[1] else before.timestamps
    return replace(before, dataset=cell.dataset, timestamps=timestamps)


def _check_can_be_scored(cell: Cell, folder: Path) -> None:
    """Refuses to train anew where only scores by another protocol are left of a finished run."""
    for other in PROTOCOLS:
        if is_present(folder / scores_file(other)):
            raise OutputError(
                f"has scores by the {other} protocol and no weights to score by {cell.protocol}",
                where=folder,
                remedy=f"pass --protocol {other}, or choose another --out to train anew",
            )


def _check_videos(cell: Cell, info: RunInfo, folder: Path) -> None:
    """Refuses a run of other videos or labels, where the dataset has changed since."""
    dataset = Dataset.open(cell.dataset)
    learned, wanted = {*info.train, *info.validation}, _to_learn(cell, dataset)
    if learned != wanted:
        name = min(learned ^ wanted)
        did, should = ("did", "would not") if name in learned else ("did not", "would")
        raise OutputError(
            f"holds a run of other videos: it {did} learn from {name}, now it {should}",
            where=folder,
            remedy="choose another --out, or remove this folder",
        )
    rate = dataset.at_rate(cell.config.train.sampling_rate).sampling_rate
    if info.sampling_rate not in (0, rate):
        raise OutputError(
            f"holds a run at a sampling rate of {info.sampling_rate}, and the dataset's is {rate}",
            where=folder,
            remedy="choose another --out, or remove this folder",
        )
    by_clicks = cell.config.supervision.kind == "timestamps"
    if has_changed(info.labels, dataset, learned, by_clicks=by_clicks, timestamps=cell.timestamps):
        raise OutputError(
            "holds a run whose labels have changed since",
            where=folder,
            remedy="choose another --out, or remove this folder",
        )


def _to_learn(cell: Cell, dataset: Dataset) -> set[str]:
    """The videos that a cell trained today would learn from."""
    side = dataset.side(cell.split, "train") if cell.fold is None else cell.fold.train
    return set(samples_of(dataset, cell.config, side, cell.timestamps).videos)


def _scored(cell: Cell, dataset: Dataset) -> tuple[str, ...]:
    """The videos that a cell is scored on: its fold, or its split's test side."""
    return dataset.side(cell.split, "test") if cell.fold is None else cell.fold.held_out
