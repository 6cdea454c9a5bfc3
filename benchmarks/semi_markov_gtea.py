"""Semi-Markov decoding of the shared GTEA confidences, no network: do the documented figures hold?

    python benchmarks/semi_markov_gtea.py [DATASET]

The features' rows 11..21 are class confidences. They are clipped, normalised, and decoded with
lengths and transitions fitted on the training side of each split; scores are means over the splits.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from uvast.data import Dataset, read_spec
from uvast.durations import LengthModel, Transitions, semi_markov
from uvast.evaluation import Scores, mean_scores, score
from uvast.segments import Segmentation

CONFIDENCES = slice(11, 22)
ALPHA = 0.2
EXPECTED = {
    "argmax": (76.2, 28.6, 39.8, 36.6, 29.2),
    "semi-markov": (78.8, 82.7, 88.8, 87.3, 78.2),
}


def log_posteriors(features: np.ndarray) -> np.ndarray:
    """Features `(T, F)` to log-probabilities `(T, C)`."""
    confidences = np.clip(features[:, CONFIDENCES].astype(np.float64), 1e-6, None)
    return np.log(confidences / confidences.sum(axis=1, keepdims=True))


def score_split(dataset: Dataset, split: int) -> dict[str, Scores]:
    """The scores of both decodings on the test side of a split."""
    n_classes = len(dataset.vocabulary)
    training = [dataset.source_segmentation(name) for name in dataset.side(split, "train")]
    length_model = LengthModel.fit(training, n_classes, "gamma")
    transitions = Transitions.fit(training, n_classes)
    videos = [dataset.video(name, labels=False) for name in dataset.side(split, "test")]
    truth = [dataset.source_segmentation(video.name) for video in videos]
    posteriors = [log_posteriors(video.features) for video in videos]
    decoded = {
        "argmax": [Segmentation.from_labels(frames.argmax(axis=1)) for frames in posteriors],
        "semi-markov": [
            semi_markov(frames, length_model, transitions, alpha=ALPHA) for frames in posteriors
        ],
    }
    return {
        name: score(zip(predictions, truth, strict=True), dataset.vocabulary)
        for name, predictions in decoded.items()
    }


def main() -> None:
    """Prints the scores beside the documented ones."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "/work/shared/data/gtea")
    dataset = Dataset.open(path, spec=replace(read_spec(path), background=("background",)))
    splits = [score_split(dataset, split) for split in dataset.splits]
    print(f"{'':12} {'Acc':>6} {'Edit':>6} {'F1@10':>6} {'F1@25':>6} {'F1@50':>6}")
    for name, expected in EXPECTED.items():
        mean = mean_scores([scores[name] for scores in splits])
        row = (mean.acc, mean.edit, *mean.f1.values())
        print(f"{name:12} " + " ".join(f"{value:6.1f}" for value in row))
        print(f"{'  documented':12} " + " ".join(f"{value:6.1f}" for value in expected))


if __name__ == "__main__":
    main()
