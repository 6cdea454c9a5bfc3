"""Where predictions come from, and which videos their model learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data import Dataset
from uvast.files.names import MANIFEST
from uvast.runs import RunFolder, is_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uvast.inference.output import Manifest
    from uvast.runs import RunInfo


def manifest_of(folder: Path) -> Manifest | None:
    """The manifest of a folder of predictions, if it has one."""
    if not (folder / MANIFEST).is_file():
        return None
    from uvast.inference.output import read_manifest

    return read_manifest(folder)


def predicted_split(manifest: Manifest | None, dataset: Path) -> int | None:
    """The split of this dataset whose test side was predicted, if one was."""
    if manifest is None or manifest.dataset is None:
        return None
    return manifest.split if Path(manifest.dataset).resolve() == dataset.resolve() else None


def learned_by_run(info: RunInfo, dataset: Path) -> frozenset[str]:
    """The videos a run learned from, or chose its epoch by: scores on them are not results.

    A run knows its videos by name, and another dataset's may have the same names. Only if its own
    dataset is gone do equal names count as equal videos.
    """
    return frozenset((*info.train, *info.validation) if _may_be_of(info, dataset) else ())


def seen_by_run(info: RunInfo, dataset: Path) -> frozenset[str]:
    """The videos a run learned from without their labels: scores on them are transductive."""
    return frozenset(info.unlabelled if _may_be_of(info, dataset) else ())


def learned_by_model(manifest: Manifest | None, dataset: Path) -> frozenset[str]:
    """Like `learned_by_run`, for the model behind a folder of predictions; empty if unknown."""
    if manifest is None:
        return frozenset()
    info = _run_info(manifest)
    if info is not None:
        return learned_by_run(info, dataset)
    return frozenset((*manifest.train, *manifest.validation))


def seen_by_model(manifest: Manifest | None, dataset: Path) -> frozenset[str]:
    """Like `seen_by_run`, for the model behind a folder of predictions."""
    if manifest is None:
        return frozenset()
    info = _run_info(manifest)
    return frozenset(manifest.unlabelled) if info is None else seen_by_run(info, dataset)


def trained_on(manifest: Manifest) -> Dataset | None:
    """The dataset the model was trained on, if run and dataset still exist."""
    info = _run_info(manifest)
    if info is None or not Path(info.dataset).is_dir():
        return None
    return Dataset.open(info.dataset)


def _may_be_of(info: RunInfo, dataset: Path) -> bool:
    """Whether a run was trained on this dataset, as far as is known."""
    own = Path(info.dataset)
    return not own.exists() or own.resolve() == dataset.resolve()


def _run_info(manifest: Manifest) -> RunInfo | None:
    model = Path(manifest.model)
    run = model if model.is_dir() else model.parent
    return RunFolder.open(run).info if is_run(run) else None


def training_note(n_scored: int, n_learned: int) -> str | None:
    """A sentence about scored videos that the model learned from; None if there are none."""
    if not n_learned:
        return None
    which = _which(n_scored, n_learned)
    return (
        f"{which} used in training: these scores do not show how well the model does on new videos."
    )


def transductive_note(n_scored: int, n_seen: int) -> str | None:
    """A sentence about scored videos it saw without their labels; None if there are none."""
    if not n_seen:
        return None
    which = _which(n_scored, n_seen)
    return f"{which} seen in training without labels: these scores are transductive."


def _which(n_scored: int, n_found: int) -> str:
    if n_found == n_scored:
        return "All videos scored were" if n_scored > 1 else "The video scored was"
    return f"{n_found} of the {n_scored} videos scored {'was' if n_found == 1 else 'were'}"


def unfamiliar_files(manifest: Manifest | None, videos: Iterable[str]) -> list[str]:
    """The videos' feature files that are far from those the model was trained on."""
    if manifest is None:
        return []
    wanted = set(manifest.unfamiliar) & set(videos)
    return sorted(manifest.videos.get(name, name) for name in wanted)


def unfamiliar_note(files: Sequence[str]) -> str | None:
    """A sentence about such files; None if there are none."""
    if not files:
        return None
    others = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return (
        f"The features in {files[0]}{others} are far from those the model was trained on: check "
        "their units, the order of their columns, and how they were extracted."
    )
