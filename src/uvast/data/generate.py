"""The built-in generated dataset: small, hard for frame-wise classifiers, fixed by its seed.

Videos show one of several tasks. A task is a grammar: an order of steps, some optional, some
repeated, some that may swap with their neighbour. Durations are log-normal per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import lfilter

from uvast.data.label_files import write_labels, write_mapping
from uvast.data.spec import DatasetSpec, write_spec
from uvast.data.splits import make_splits, write_splits
from uvast.data.timestamp_files import write_timestamps
from uvast.data.timestamps import Timestamps, annotate
from uvast.errors import InputError, OutputError
from uvast.files import is_present, temporary_folder
from uvast.files.names import GROUND_TRUTH
from uvast.segments import Segmentation, merge_repeats, round_durations
from uvast.vocabulary import BACKGROUND, Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.data.timestamps import Annotation
    from uvast.segments import IntArray

    FloatArray = NDArray[np.float64]

_STEPS = (
    *("take", "open", "pour", "stir", "cut", "peel", "spread", "mix", "shake", "close", "wash"),
    *("serve", "fold", "scoop", "crack", "fry", "put", "wipe"),
)
_GROUP_BY = r"^(s\d+)_"


@dataclass(frozen=True)
class _Step:
    """One place in a task's grammar: an action, and what may happen to it."""

    action: int
    skip: float
    repeat: float
    swap: float


@dataclass(frozen=True)
class _World:
    """What all videos of a dataset share.

    Args:
        vocabulary: the classes.
        tasks: the grammars.
        log_means: mean of the log-duration by class `(C,)`.
        log_deviations: its standard deviation `(C,)`.
        prototypes: mean feature by class `(C, F)`.
        styles: how subjects differ `(subjects, F)`.
    """

    vocabulary: Vocabulary
    tasks: tuple[tuple[_Step, ...], ...]
    log_means: FloatArray
    log_deviations: FloatArray
    prototypes: FloatArray
    styles: FloatArray


def generate_dataset(
    path: str | Path,
    *,
    n_videos: int = 40,
    n_classes: int = 12,
    n_frames: int = 400,
    n_features: int = 64,
    n_tasks: int = 4,
    n_subjects: int = 10,
    n_splits: int = 4,
    seed: int = 0,
) -> None:
    """Writes a dataset with features, labels, timestamps, splits and `dataset.toml`.

    Args:
        path: a folder that does not exist yet, or is empty.
        n_videos: videos, at least 2.
        n_classes: classes, the background one included, at least 3.
        n_frames: mean length of a video; lengths vary by about a fifth.
        n_features: feature width.
        n_tasks: grammars.
        n_subjects: the most subjects, each with its own style; splits keep them apart.
        n_splits: folds of the cross-validation, at most one per subject.
        seed: equal seeds give equal bytes.
    """
    path = Path(path)
    _check_sizes(n_videos=(n_videos, 2), n_classes=(n_classes, 3), n_frames=(n_frames, 50))
    _check_sizes(n_features=(n_features, 2), n_tasks=(n_tasks, 1), n_subjects=(n_subjects, 2))
    _check_sizes(n_splits=(n_splits, 2), seed=(seed, 0))
    _check_empty(path)
    n_subjects = min(n_subjects, n_videos)
    world = _make_world(
        np.random.default_rng([seed, 0]), n_classes, n_features, n_tasks, n_subjects
    )
    place = path if path.is_dir() else path.parent
    with temporary_folder(place) as temporary:
        folder = temporary / "dataset"
        (folder / "features").mkdir(parents=True)
        annotations: dict[str, tuple[Annotation, ...]] = {}
        for index in range(n_videos):
            generator = np.random.default_rng([seed, 1, index])
            subject, task = index % n_subjects, int(generator.integers(n_tasks))
            name = f"s{subject + 1:02d}_task{task + 1}_{index + 1:03d}"
            segmentation = _make_segmentation(world, task, n_frames, generator)
            features = _make_features(world, segmentation, subject, generator)
            np.save(folder / "features" / f"{name}.npy", np.ascontiguousarray(features.T))
            labels = world.vocabulary.decode(segmentation.labels)
            write_labels(folder / GROUND_TRUTH / f"{name}.txt", labels)
            clicks = segmentation.sampled_timestamps(generator)
            timestamps = Timestamps(clicks, segmentation.transcript)
            annotations[name] = annotate(timestamps, world.vocabulary)
        n_splits = min(n_splits, n_subjects)
        _write_shared_files(folder, world.vocabulary.names, annotations, n_splits, seed)
        if place == path:  # keep it: it may be the working folder, a link or a mount
            for child in sorted(folder.iterdir()):
                child.rename(path / child.name)
        else:
            folder.rename(path)


def _write_shared_files(
    folder: Path,
    classes: tuple[str, ...],
    annotations: dict[str, tuple[Annotation, ...]],
    n_splits: int,
    seed: int,
) -> None:
    names = sorted(annotations)
    write_mapping(folder / "mapping.txt", classes)
    write_timestamps(folder / "timestamps.json", {name: annotations[name] for name in names})
    splits = make_splits(names, folds=n_splits, group_by=_GROUP_BY, seed=seed)
    write_splits(folder / "splits", splits)
    spec = DatasetSpec(
        frames_per_second=15.0,
        background=(BACKGROUND,),
        feature_axis="features-first",
        group_by=_GROUP_BY,
    )
    write_spec(folder, spec)


def _check_sizes(**sizes: tuple[int, int]) -> None:
    for name, (value, least) in sizes.items():
        if value < least:
            raise InputError(f"{name} is {value}", remedy=f"choose at least {least}")


def _check_empty(path: Path) -> None:
    if not is_present(path):
        return
    # what a killed process left is removed by the next write
    if not path.is_dir() or any(not one.name.startswith(".uvast.") for one in path.iterdir()):
        raise OutputError("exists already", where=path, remedy="choose a new or empty folder")


def _class_names(n_classes: int) -> tuple[str, ...]:
    steps = [*_STEPS, *(f"step_{index}" for index in range(len(_STEPS) + 1, n_classes))]
    return (BACKGROUND, *steps[: n_classes - 1])


def _make_world(
    generator: np.random.Generator, n_classes: int, n_features: int, n_tasks: int, n_subjects: int
) -> _World:
    # classes come in families that look alike, as "pour water" and "pour milk" do
    families = generator.normal(size=((n_classes + 2) // 3, n_features))
    own = generator.normal(size=(n_classes, n_features))
    prototypes = 0.6 * families[np.arange(n_classes) // 3] + 0.8 * own
    return _World(
        vocabulary=Vocabulary(_class_names(n_classes), (BACKGROUND,)),
        tasks=tuple(_make_task(generator, n_classes) for _ in range(n_tasks)),
        log_means=generator.normal(0.0, 0.5, size=n_classes),
        log_deviations=generator.uniform(0.25, 0.5, size=n_classes),
        prototypes=prototypes / np.sqrt(n_features),
        styles=generator.normal(size=(n_subjects, n_features)) / np.sqrt(n_features),
    )


def _make_task(generator: np.random.Generator, n_classes: int) -> tuple[_Step, ...]:
    n_steps = min(n_classes - 1, int(generator.integers(6, 9)))
    actions = 1 + generator.permutation(n_classes - 1)[:n_steps]
    kinds = generator.choice(4, size=n_steps, p=[0.4, 0.2, 0.2, 0.2])
    return tuple(
        _Step(
            action=int(action),
            skip=0.4 if kind == 1 else 0.0,
            repeat=0.5 if kind == 2 else 0.0,
            swap=0.4 if kind == 3 else 0.0,
        )
        for action, kind in zip(actions, kinds, strict=True)
    )


def _make_transcript(task: tuple[_Step, ...], generator: np.random.Generator) -> IntArray:
    steps = list(task)
    for index in range(len(steps) - 1):
        if generator.random() < steps[index].swap:
            steps[index], steps[index + 1] = steps[index + 1], steps[index]
    transcript = [0]
    for step in steps:
        if generator.random() < step.skip:
            continue
        transcript.append(step.action)
        if generator.random() < step.repeat:
            transcript += [0, step.action]
        elif generator.random() < 0.2:
            transcript.append(0)
    return merge_repeats([*transcript, 0])


def _make_segmentation(
    world: _World, task: int, n_frames: int, generator: np.random.Generator
) -> Segmentation:
    transcript = _make_transcript(world.tasks[task], generator)
    spread = generator.normal(size=len(transcript))
    sizes = np.exp(world.log_means[transcript] + world.log_deviations[transcript] * spread)
    length = n_frames * np.exp(0.2 * generator.normal() - 0.02)
    return Segmentation(transcript, round_durations(sizes, max(len(transcript), int(length))))


def _make_features(
    world: _World, segmentation: Segmentation, subject: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """Features `(T, F)`: prototypes with blended boundaries + style + drift + noise."""
    n_frames, n_features = segmentation.n_frames, world.prototypes.shape[1]
    scale = 1 / np.sqrt(n_features)
    shown = _with_distractions(segmentation.labels, len(world.prototypes), generator)
    clean = _smoothed(world.prototypes[shown], 9)
    style = 0.4 * world.styles[subject] + 0.2 * scale * generator.normal(size=n_features)
    drift = 0.4 * scale * _slow_walk(n_frames, n_features, n_frames / 4, generator)
    flicker = 1.0 * scale * _slow_walk(n_frames, n_features, 6, generator)
    noise = 1.6 * scale * generator.normal(size=(n_frames, n_features))
    features: FloatArray = clean + style + drift + flicker + noise
    return features.astype(np.float32)


def _with_distractions(
    labels: IntArray, n_classes: int, generator: np.random.Generator
) -> IntArray:
    """Now and then a few frames look like another class, as when a hand hides the scene."""
    shown = labels.copy()
    for start in np.flatnonzero(generator.random(len(labels)) < 0.015):
        shown[start : start + generator.integers(4, 16)] = generator.integers(n_classes)
    return shown


def _smoothed(values: FloatArray, width: int) -> FloatArray:
    """A moving average over time `(T, F)`, with the ends repeated."""
    padded = np.pad(values, ((width // 2 + 1, width // 2), (0, 0)), mode="edge")
    sums = np.cumsum(padded, axis=0)
    return (sums[width:] - sums[:-width]) / width


def _slow_walk(
    n_frames: int, n_features: int, memory: float, generator: np.random.Generator
) -> FloatArray:
    """Noise `(T, F)` of unit variance that forgets itself after about `memory` frames."""
    keep = np.exp(-1 / memory)
    steps = generator.normal(size=(n_frames, n_features))
    steps[1:] *= np.sqrt(1 - keep**2)
    walk: FloatArray = lfilter([1.0], [1.0, -keep], steps, axis=0)
    return walk
