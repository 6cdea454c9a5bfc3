"""The weights of `best` on their grid, judged on the validation parts of trained runs.

    uvast benchmark gtea --models small --set train.validation=0.25 --set train.epochs=150 \
        --set train.validate_every=150 --set train.alignment_epochs=1 --out val
    python benchmarks/best_weights.py val/gtea/small-full/*

Prints what calibration maximises, the mean of Acc, Edit and F1@50, averaged over the videos: for
each vote of the frames and of the decoder the best over the other weights; then for both pure
decodings, for `best` with its default weights, and for `best` with the weights it would choose.

    python benchmarks/best_weights.py --chosen gtea-runs/*

prints what the inner runs of runs with `train.folds` chose.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import uvast
from uvast.data import Dataset
from uvast.inference.calibration import DECODER_WEIGHTS, Calibration, best_grid, calibrate
from uvast.inference.held_out import POWERS, HeldOut, Truth, hold_out
from uvast.runs import RunFolder
from uvast.segments import Segmentation
from uvast.training.inner_runs import read_calibration


def held_out(run: Path) -> list[HeldOut]:
    """What a run's model makes of its validation part."""
    folder, _, info = RunFolder.open(run)
    model = uvast.load(folder.last)
    dataset = Dataset.open(info.dataset).at_rate(model.sampling_rate)
    found = []
    for name in info.validation:
        labels = dataset.video(name).labels
        assert labels is not None, "runs with full labels have them"
        video = dataset.video(name, labels=False)
        truth = Truth(Segmentation.from_labels(labels))
        at_rate = uvast.data.Video(name, video.features[: len(labels)], None, len(labels))
        found.append(hold_out(model, at_rate, truth))
    return found


def show(found: Calibration) -> None:
    """One line each: weights, scores, calibration error."""
    print(found.weights)
    print(", ".join(f"{name} {value:.1f}" for name, value in found.scores.items()))
    before, after = found.error
    usual = found.temperature.usual
    print(f"temperature {usual:.2f}: calibration error {before:.1f} -> {after:.1f} %")


def main() -> None:
    """Prints the grid, or what was chosen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--chosen", action="store_true")
    options = parser.parse_args()
    if options.chosen:
        for run in options.runs:
            found = read_calibration(run)
            print(run, "" if found else "has no inner runs", sep=": " if found is None else "")
            if found:
                show(found)
        return
    videos = [one for run in options.runs for one in held_out(run)]
    found = calibrate(videos)
    grid = best_grid(videos, POWERS.index(found.weights.alpha)).mean(0)
    table = np.moveaxis(grid, 0, 1).max((1, 2))  # (frames, decoder)
    print("frames  decoder " + " ".join(f"{weight:6g}" for weight in DECODER_WEIGHTS))
    for power, row in zip(POWERS, table, strict=True):
        print(f"{power:6g} {'':8} " + " ".join(f"{value:6.1f}" for value in row))
    show(found)


if __name__ == "__main__":
    main()
