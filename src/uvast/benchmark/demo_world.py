"""What the demo starts from: generated videos, one click per action, and the hidden truth."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.data import Split
from uvast.data.label_files import write_labels
from uvast.data.splits import write_splits
from uvast.errors import OutputError
from uvast.features import card_path, generate_videos, motion_vocabulary, read_card
from uvast.features.extras import extra
from uvast.features.generate import RATE
from uvast.files import write_text
from uvast.files.names import GROUND_TRUTH
from uvast.vocabulary import BACKGROUND

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from uvast.segments import Segmentation

MARK = ".uvast-demo"
SPLIT = 1
"""The truth's split: `videos` is its training side, `new-videos` its test side."""


@dataclass(frozen=True)
class WorldSize:
    """How much is generated: videos to learn from, new videos, and the size of each video."""

    n_videos: int = 16
    n_new: int = 4
    seconds: float = 24.0
    width: int = 128
    height: int = 96


FAST = WorldSize(n_videos=4, n_new=2, seconds=8.0, width=64, height=48)


@dataclass(frozen=True)
class DemoPlace:
    """The files of a demo below its folder `out`."""

    out: Path

    @property
    def videos(self) -> Path:
        """The videos to learn from."""
        return self.out / "videos"

    @property
    def new_videos(self) -> Path:
        """The videos that no model is trained on."""
        return self.out / "new-videos"

    @property
    def clicks(self) -> Path:
        """One click per action of `videos`: video, time, label."""
        return self.out / "clicks.csv"

    @property
    def project(self) -> Path:
        """The project that `uvast init` makes."""
        return self.out / "project"

    @property
    def predictions(self) -> Path:
        """Predictions of the new videos."""
        return self.out / "predictions"

    @property
    def truth(self) -> Path:
        """A dataset with every video's features and true labels, to score by."""
        return self.out / "truth"

    @property
    def report(self) -> Path:
        """The report page."""
        return self.out / "report.html"


def clear_place(out: Path, *, overwrite: bool) -> None:
    """Makes sure that a demo can begin here; only an earlier demo is ever removed."""
    extra("av")  # fails before anything is removed
    if not out.exists() or not any(out.iterdir()):
        return
    if not overwrite or not (out / MARK).exists():
        raise OutputError(
            "is not empty",
            where=out,
            remedy="choose another --out, or replace an earlier demo with --overwrite",
        )
    shutil.rmtree(out)


def make_videos(place: DemoPlace, size: WorldSize, *, seed: int) -> dict[str, Segmentation]:
    """Writes the videos, and the clicks on those to learn from; returns the truth of all."""
    write_text(place.out / MARK, "made by uvast demo\n")
    truths = generate_videos(
        place.videos,
        n_videos=size.n_videos + size.n_new,
        seconds=size.seconds,
        width=size.width,
        height=size.height,
        seed=seed,
    )
    place.new_videos.mkdir()
    for name in list(truths)[size.n_videos :]:
        (place.videos / f"{name}.mp4").rename(place.new_videos / f"{name}.mp4")
    known = dict(list(truths.items())[: size.n_videos])
    write_text(place.clicks, _clicks_csv(known, np.random.default_rng(seed)))
    return truths


def write_truth(place: DemoPlace, truths: Mapping[str, Segmentation]) -> None:
    """Writes the dataset `place.truth`, once all features exist."""
    sides: dict[str, list[str]] = {"train": [], "test": []}
    for side, folder in (("train", place.project), ("test", place.predictions)):
        for features in sorted((folder / "features").glob("*.npy")):
            name = features.stem
            sides[side].append(name)
            write_labels(
                place.truth / GROUND_TRUTH / f"{name}.txt",
                (_label(action) for action in _seen(truths[name], features)),
            )
            for file in (features, card_path(features)):
                (place.truth / "features").mkdir(exist_ok=True)
                shutil.copy2(file, place.truth / "features" / file.name)
    for name in ("mapping.txt", "dataset.toml", "timestamps.json"):
        shutil.copy2(place.project / name, place.truth / name)
    split = Split(train=tuple(sides["train"]), test=tuple(sides["test"]))
    write_splits(place.truth / "splits", {SPLIT: split})


def _seen(truth: Segmentation, features: Path) -> list[int]:
    """The true action of each frame of the features."""
    shown = np.array(read_card(card_path(features)).source_frames)
    actions: list[int] = truth.labels[shown].tolist()
    return actions


def _clicks_csv(truths: Mapping[str, Segmentation], generator: np.random.Generator) -> str:
    """A random moment in each action, in seconds."""
    lines = ["video,time,label"]
    for name, truth in truths.items():
        frames = truth.sampled_timestamps(generator).tolist()
        actions = truth.transcript.tolist()
        lines += [
            f"{name},{(frame + 0.5) / RATE:.3f},{_label(action)}"
            for frame, action in zip(frames, actions, strict=True)
        ]
    return "\n".join((*lines, ""))


def _label(action: int) -> str:
    vocabulary = motion_vocabulary()
    name = vocabulary.names[action]
    return BACKGROUND if name in vocabulary.background else name
