"""Scoring labels of Breakfast's size: does it take less than 10 s to read and score them all?

    python benchmarks/scoring.py

1712 videos, 3.6 M frames, 48 classes, 4 splits; labels are generated. Two predictions: `good` moves
the boundaries, `frame-wise` also gets single frames wrong, which gives many short segments. Each is
scored through the files, as `uvast evaluate` does, and from memory. Exit code 1 above the limit.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from uvast.data import Dataset, Split, write_splits
from uvast.data.label_files import write_mapping
from uvast.evaluation import evaluate, score
from uvast.segments import Segmentation, round_durations
from uvast.vocabulary import Vocabulary

N_VIDEOS = 1712
N_CLASSES = 48
N_SPLITS = 4
N_FRAMES = 3_590_899
MEAN_SEGMENTS = 6.8
LIMIT_SECONDS = 10.0


def draw_truth(generator: np.random.Generator) -> list[Segmentation]:
    """The truth of all videos, as long and with as many segments as Breakfast's."""
    lengths = round_durations(generator.lognormal(sigma=0.7, size=N_VIDEOS), N_FRAMES)
    videos = []
    for n_frames in lengths.tolist():
        n_segments = 2 + int(generator.poisson(MEAN_SEGMENTS - 2))
        steps = generator.integers(1, N_CLASSES, n_segments)
        transcript = np.cumsum(steps) % N_CLASSES  # a step is never 0: no repeated neighbours
        videos.append(
            Segmentation(
                transcript, round_durations(generator.lognormal(size=n_segments), n_frames)
            )
        )
    return videos


def moved(true: Segmentation, generator: np.random.Generator) -> Segmentation:
    """The truth with other durations, up to about a third longer or shorter."""
    factors = generator.uniform(0.67, 1.33, len(true))
    return Segmentation(true.transcript, round_durations(true.durations * factors, true.n_frames))


def with_noise(segmentation: Segmentation, generator: np.random.Generator) -> Segmentation:
    """Gives two frames in a hundred a random class."""
    labels = segmentation.labels
    wrong = generator.random(len(labels)) < 0.02
    labels[wrong] = generator.integers(0, N_CLASSES, int(wrong.sum()))
    return Segmentation.from_labels(labels)


def write_folder(folder: Path, videos: list[Segmentation], classes: Vocabulary) -> None:
    """Writes one label per line, in the simplest way: the benchmark is about reading."""
    folder.mkdir(parents=True)
    for name, segmentation in zip(video_names(), videos, strict=True):
        text = "\n".join(classes.decode(segmentation.labels.tolist()))
        (folder / f"{name}.txt").write_text(text + "\n")


def video_names() -> list[str]:
    """The names of all videos."""
    return [f"video{index:04}" for index in range(N_VIDEOS)]


def write_dataset(folder: Path, truth: list[Segmentation], classes: Vocabulary) -> None:
    """A dataset of labels and splits, without features."""
    write_folder(folder / "groundTruth", truth, classes)
    write_mapping(folder / "mapping.txt", classes.names)
    names = video_names()
    splits = {
        number: Split(
            tuple(name for place, name in enumerate(names) if place % N_SPLITS != number - 1),
            tuple(names[number - 1 :: N_SPLITS]),
        )
        for number in range(1, N_SPLITS + 1)
    }
    write_splits(folder / "splits", splits)


def main() -> int:
    """Prints seconds and scores; returns 1 if scoring through files takes too long."""
    generator = np.random.default_rng(0)
    classes = Vocabulary(tuple(f"pour_action_{index:02}" for index in range(N_CLASSES)))
    truth = draw_truth(generator)
    good = [moved(true, generator) for true in truth]
    frame_wise = [with_noise(one, generator) for one in good]
    print(
        f"{N_VIDEOS} videos, {sum(one.n_frames for one in truth):,} frames, "
        f"{sum(map(len, truth)) / N_VIDEOS:.1f} segments a video"
    )
    slowest = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        dataset = Path(scratch, "dataset")
        write_dataset(dataset, truth, classes)
        for name, predictions in (("good", good), ("frame-wise", frame_wise)):
            write_folder(Path(scratch, name), predictions, classes)
            start = time.perf_counter()
            scores = evaluate(Path(scratch, name), Dataset.open(dataset), confusion=True)
            through_files = time.perf_counter() - start
            start = time.perf_counter()
            score(zip(predictions, truth, strict=True), classes)
            from_memory = time.perf_counter() - start
            slowest = max(slowest, through_files)
            print(
                f"{name:10}  {sum(map(len, predictions)) / N_VIDEOS:5.1f} segments  "
                f"files {through_files:.2f} s  memory {from_memory:.2f} s  "
                f"Acc {scores.acc:.1f}  Edit {scores.edit:.1f}  F1@50 {scores.f1[50]:.1f}"
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB; the limit is {LIMIT_SECONDS:.0f} s")
    return int(slowest >= LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
