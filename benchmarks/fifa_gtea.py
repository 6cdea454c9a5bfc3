"""FIFA on the shared GTEA confidences, no network: start from equal lengths, or the runs' own?

    python benchmarks/fifa_gtea.py [DATASET]

Transcripts are read off the frame labels, plain and after a mode filter of 25 frames. FIFA uses the
settings of preset `gtea`. Scores are means over the splits' test sides.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from semi_markov_gtea import log_posteriors
from uvast.config import load_config
from uvast.data import Dataset, read_spec
from uvast.durations import fifa, mode_filter
from uvast.evaluation import Scores, mean_scores, score
from uvast.segments import Segmentation

OPTIONS = load_config("gtea").decode


def recut(frames: np.ndarray, runs: Segmentation, start: np.ndarray) -> Segmentation:
    """FIFA's durations for frame scores `(T, C)`, starting from the lengths `start` `(S,)`."""
    found = fifa(
        frames,
        runs.transcript,
        start,
        length_weight=OPTIONS.fifa_length_weight,
        sum_weight=OPTIONS.fifa_sum_weight,
        n_steps=OPTIONS.fifa_steps,
        step_size=OPTIONS.fifa_step_size,
    )
    return Segmentation(runs.transcript, found.durations)


def score_split(dataset: Dataset, split: int, width: int) -> dict[str, Scores]:
    """The scores of the runs and of both starts on the test side of a split."""
    names = dataset.side(split, "test")
    truth = [dataset.source_segmentation(name) for name in names]
    frames = [log_posteriors(dataset.video(name, labels=False).features) for name in names]
    runs = [Segmentation.from_labels(mode_filter(one.argmax(1), width)) for one in frames]
    decoded = {
        "frames": runs,
        "FIFA, equal lengths": [
            recut(one, run, np.ones(len(run))) for one, run in zip(frames, runs, strict=True)
        ],
        "FIFA, the runs' own": [
            recut(one, run, run.durations) for one, run in zip(frames, runs, strict=True)
        ],
    }
    return {
        name: score(zip(predictions, truth, strict=True), dataset.vocabulary)
        for name, predictions in decoded.items()
    }


def main() -> None:
    """Prints one row per start, without and with the filter."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "/work/shared/data/gtea")
    dataset = Dataset.open(path, spec=replace(read_spec(path), background=("background",)))
    for width in (1, 25):
        print(
            f"mode filter {width:<9} {'Acc':>6} {'Edit':>6} {'F1@10':>6} {'F1@25':>6} {'F1@50':>6}"
        )
        splits = [score_split(dataset, split, width) for split in dataset.splits]
        for name in splits[0]:
            mean = mean_scores([scores[name] for scores in splits])
            row = (mean.acc, mean.edit, *mean.f1.values())
            print(f"{name:21} " + " ".join(f"{value:6.1f}" for value in row))


if __name__ == "__main__":
    main()
