"""`best` beside its two parents on test sides: the decoder with Viterbi, and semi-Markov decoding.

    python benchmarks/best_against_parents.py RUN …                  # with the weights of each run
    python benchmarks/best_against_parents.py RUN … --weights INNER …

Each run is scored on the test side of its split with the usual weights and with those that its
inner runs chose (`train.folds`), or those that the runs after `--weights` chose, one for each: so a
model trained without folds can be judged, too. To train inner runs alone, without the run itself:

    uvast train DATA --split 1 --preset small --stage 1 --set train.epochs=1 \
        --set train.fold_epochs=150 --set train.folds=3 --out INNER

Prints Acc, Edit and F1@10/25/50 as means over the runs. Nothing is chosen by these numbers.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

import uvast
from uvast.benchmark.decoded_scores import score_decodings
from uvast.data import Dataset
from uvast.errors import UvastError
from uvast.inference.named_decodings import named_decodings
from uvast.inference.weights import DecodingWeights
from uvast.runs import RunFolder
from uvast.training.inner_runs import read_calibration

DECODINGS = named_decodings(("viterbi", "viterbi + gamma", "semi-markov", "best"))
COLUMNS = ("acc", "edit", "f1@10", "f1@25", "f1@50")


def scores(run: Path, weights_of: Path) -> dict[str, list[float]]:
    """The scores of one run's test side, by decoding and weights."""
    info = RunFolder.open(run).info
    model, chosen = uvast.load(run), read_calibration(weights_of)
    assert chosen is not None, f"{weights_of} has no inner runs"
    assert info.split is not None, "a test side is that of a split"
    data = Dataset.open(info.dataset).at_rate(model.sampling_rate)
    side = data.side(info.split, "test")
    print(f"{run}: {chosen.weights}, out of fold {chosen.scores}")
    found = {}
    for name, weights in (("usual", DecodingWeights()), ("chosen", chosen.weights)):
        with_weights = replace(model, priors=replace(model.priors, weights=weights))
        for decoding, one in score_decodings(with_weights, data, side, DECODINGS):
            if isinstance(one, UvastError):
                raise one
            found[f"{decoding}, {name}"] = [one[column] for column in COLUMNS]
    return found


def main() -> None:
    """Prints one row per decoding and kind of weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--weights", nargs="+", type=Path, default=None)
    options = parser.parse_args()
    rows: dict[str, list[list[float]]] = defaultdict(list)
    for run, weights_of in zip(options.runs, options.weights or options.runs, strict=True):
        for name, row in scores(run, weights_of).items():
            rows[name].append(row)
    for name, found in rows.items():
        print(f"{name:24}" + " ".join(f"{value:6.1f}" for value in np.mean(found, axis=0)))


if __name__ == "__main__":
    main()
