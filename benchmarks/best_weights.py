"""The two weights of `best` on a grid, judged on the validation parts of trained runs.

    uvast benchmark gtea --models small --set train.validation=0.25 \
        --set train.validate_every=150 --set train.alignment_epochs=1 --out val
    python benchmarks/best_weights.py val/gtea/small-full/*

Prints the mean over the runs of what calibration raises: the mean of Acc, Edit and F1@50.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import uvast
from uvast.data import Dataset
from uvast.evaluation import score
from uvast.inference.calibration import selection_score
from uvast.runs import RunFolder
from uvast.segments import Segmentation

ALPHAS = (0.1, 0.2, 0.3)
DECODER_WEIGHTS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)


def grid(run: Path) -> np.ndarray:
    """Scores `(alphas, decoder weights)` on the validation part of a run."""
    folder, _, info = RunFolder.open(run)
    model = uvast.load(folder.last)
    dataset = Dataset.open(info.dataset)
    truths = {name: _truth(dataset, name) for name in info.validation}
    encoded = [model.encode_batch([dataset.video(name, labels=False)]) for name in truths]
    options = model.options(transcript="best")
    rows = []
    for alpha in ALPHAS:
        priors = replace(model.priors, alpha=alpha)
        candidates = [model.candidates(one, options, priors=priors)[0] for one in encoded]
        for weight in DECODER_WEIGHTS:
            found = (one.winner(weight).segmentation for one in candidates)
            scores = score(zip(found, truths.values(), strict=True), model.vocabulary)
            rows.append(selection_score(scores))
    return np.reshape(rows, (len(ALPHAS), len(DECODER_WEIGHTS)))


def _truth(dataset: Dataset, name: str) -> Segmentation:
    labels = dataset.video(name).labels
    assert labels is not None, "runs with full labels have them"
    return Segmentation.from_labels(labels)


def main() -> None:
    """Prints the grid."""
    mean = np.mean([grid(Path(run)) for run in sys.argv[1:]], axis=0)
    print("alpha   decoder weight " + " ".join(f"{weight:6.1f}" for weight in DECODER_WEIGHTS))
    for alpha, row in zip(ALPHAS, mean, strict=True):
        print(f"{alpha:5.1f} {'':16} " + " ".join(f"{value:6.1f}" for value in row))


if __name__ == "__main__":
    main()
