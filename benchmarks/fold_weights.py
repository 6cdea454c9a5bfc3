"""Weights of `best` chosen by some folds and scored on the others, from runs of `uvast compare`.

    uvast compare DATA --set train.folds=0 --out inner
    python benchmarks/fold_weights.py inner/DATA/small-*-full/split1-fold*

There is one run per fold of a training side. Prints the mean of Acc, Edit and F1@50 over the
held-out videos: for both parents, and for `best` with the usual weights and with those that all
folds choose; then with weights that the other folds choose for each fold, one line for each number
of standard errors by which a choice has to beat the usual weights. No test side is opened.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import uvast
from uvast.data import Dataset
from uvast.inference import weight_grid
from uvast.inference.calibration import calibrate
from uvast.inference.held_out import POWERS, HeldOut
from uvast.runs import RunFolder
from uvast.supervision import full_segmentations
from uvast.training.validation import ValidationPart

THRESHOLDS = (0.0, 1.0, 2.0, 3.0)


def held_out(runs: list[Path]) -> list[list[HeldOut]]:
    """What each run makes of the videos that only the others learned from."""
    infos = [RunFolder.open(run).info for run in runs]
    every = sorted({name for info in infos for name in info.train})
    found = []
    for run, info in zip(runs, infos, strict=True):
        model = uvast.load(run)
        dataset = Dataset.open(info.dataset).at_rate(model.sampling_rate)
        names = tuple(name for name in every if name not in info.train)
        part = ValidationPart(dataset, names, full_segmentations(dataset, names), {})
        found.append(part.held_out(model))
    return found


def out_of_fold(folds: list[list[HeldOut]]) -> float:
    """The mean score of all videos with the weights that the other folds choose."""
    scores = []
    for place, fold in enumerate(folds):
        others = [one for other, rest in enumerate(folds) if other != place for one in rest]
        chosen = calibrate(others).weights
        powers = POWERS.index(chosen.alpha), POWERS.index(chosen.durations)
        votes = np.array([[chosen.frames, 1.0, chosen.transitions, chosen.decoder]])
        scores += [one.best(*powers, votes).item() for one in fold]
    return float(np.mean(scores))


def main() -> None:
    """Prints one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    folds = held_out(parser.parse_args().runs)
    chosen = calibrate([one for fold in folds for one in fold])
    print(f"{chosen.n_videos} videos, {chosen.weights}")
    for name, score in chosen.scores.items():
        print(f"  {name:12} {score:.1f}")
    before, after = chosen.error
    print(f"  calibration error {before:.1f} %, with temperature {after:.1f} %")
    for threshold in THRESHOLDS:
        weight_grid.N_ERRORS = threshold
        print(f"  chosen by the other folds, {threshold:g} errors: {out_of_fold(folds):.1f}")


if __name__ == "__main__":
    main()
