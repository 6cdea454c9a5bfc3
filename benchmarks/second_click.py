"""A second click where the class models are unsure: what it does for pseudo-labels.

    OMP_NUM_THREADS=1 python benchmarks/second_click.py DATA… [--seeds 0,1,2] [--shares 0.25,1]
        [--sampling-rate 1]

A person clicks once anywhere in each action, and class models cut between the clicks. Then the
person clicks again in a share of the gaps between two clicks, naming which of the two actions it
is, and never errs. Where the new clicks are:

- `random`: random gaps, a random frame of each.
- `middle`: the same gaps, the frame half-way.
- `longest`: the longest gaps, the frame half-way: what length alone would choose.
- `least sure`: the gaps whose cut is least certain, and the frame that is as likely before the cut
  as after it.

Nothing is trained: the scores compare the pseudo-labels of all videos with their labels, as mean
and standard deviation over the seeds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uvast.data import Dataset, Timestamps
from uvast.evaluation import score
from uvast.supervision import (
    PseudoLabelOptions,
    full_segmentations,
    pseudo_segmentations,
)
from uvast.supervision.cut_posterior import CutPosterior, cut_posteriors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.segments import Segmentation

WAYS = ("random", "middle", "longest", "least sure")


@dataclass(frozen=True)
class Gap:
    """The frames between two clicks, and what is known about the cut there.

    Args:
        video: the video's name.
        start: the first frame after the left click.
        end: the right click.
        doubt: entropy of the cut, in nats.
        balance: the frame that is as likely left as right of the cut.
    """

    video: str
    start: int
    end: int
    doubt: float
    balance: int


def find_gaps(cuts: Mapping[str, CutPosterior]) -> list[Gap]:
    """All gaps that have a frame to ask about."""
    return [
        gap
        for name, one in cuts.items()
        for first, shares in zip(one.firsts, one.probabilities, strict=True)
        if (gap := _gap(name, first, shares)) is not None
    ]


def _gap(name: str, first: int, shares: np.ndarray) -> Gap | None:
    """A gap whose cut may be at `first` or later; the last possible frame was clicked."""
    if len(shares) < 2:
        return None
    before = 1 - np.cumsum(shares)[:-1]  # the probability that the cut comes after each frame
    doubt = -(shares * np.log(np.maximum(shares, 1e-300))).sum()
    balance = first + int(np.abs(before - 0.5).argmin())
    return Gap(name, first, first + len(shares) - 1, float(doubt), balance)


def more_clicks(
    gaps: list[Gap], way: str, share: float, generator: np.random.Generator
) -> dict[str, list[int]]:
    """The frames of each video that the person is asked about."""
    order = generator.permutation(len(gaps))
    if way == "least sure":
        order = np.argsort([-gap.doubt for gap in gaps], kind="stable")
    elif way == "longest":
        order = np.argsort([gap.start - gap.end for gap in gaps], kind="stable")
    found: dict[str, list[int]] = {}
    for place in order[: round(share * len(gaps))].tolist():
        gap = gaps[place]
        frames = {
            "random": int(generator.integers(gap.start, gap.end)),
            "least sure": gap.balance,
        }
        middle = (gap.start + gap.end - 1) // 2
        found.setdefault(gap.video, []).append(frames.get(way, middle))
    return found


def answered(
    clicks: Mapping[str, Timestamps],
    asked: Mapping[str, list[int]],
    truths: Mapping[str, Segmentation],
) -> dict[str, Timestamps]:
    """All clicks after the person has said what happens at the frames."""
    found = {}
    for name, one in clicks.items():
        frames = np.sort(np.concatenate((one.frames, asked.get(name, [])))).astype(np.int64)
        found[name] = Timestamps(frames, truths[name].labels[frames])
    return found


def first_clicks(truths: Mapping[str, Segmentation], seed: int) -> dict[str, Timestamps]:
    """One click anywhere in each action."""
    found = {}
    for number, (name, truth) in enumerate(truths.items()):
        generator = np.random.default_rng([seed, number])
        frames = generator.integers(truth.starts, truth.ends)
        found[name] = Timestamps(frames, truth.transcript)
    return found


def measure(
    dataset: Dataset, shares: list[float], seeds: list[int]
) -> dict[str, list[tuple[float, float, float, float]]]:
    """Clicks per action, Acc, Edit and F1@50 of each row of the table, by seed."""
    truths = full_segmentations(dataset, dataset.names)
    n_actions = sum(map(len, truths.values()))
    options = PseudoLabelOptions()
    table: dict[str, list[tuple[float, float, float, float]]] = {}

    def note(row: str, clicks: Mapping[str, Timestamps]) -> dict[str, Segmentation]:
        made = pseudo_segmentations(dataset, dataset.names, clicks, options)
        found = score([(made[name], truths[name]) for name in truths], dataset.vocabulary)
        n_clicks = sum(map(len, clicks.values())) / n_actions
        table.setdefault(row, []).append((n_clicks, found.acc, found.edit, found.f1[50]))
        return made

    for seed in seeds:
        clicks = first_clicks(truths, seed)
        made = note("one click", clicks)
        cuts = cut_posteriors(
            lambda name: dataset.video(name, labels=False).features, clicks, made, temperature=1.0
        )
        gaps = find_gaps(cuts)
        for share in shares:
            for way in WAYS:
                asked = more_clicks(gaps, way, share, np.random.default_rng([seed, 1]))
                note(f"{way}, {share:.0%} of gaps", answered(clicks, asked, truths))
    return table


def main() -> None:
    """Prints a table of all datasets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--shares", default="0.25,1")
    parser.add_argument("--sampling-rate", type=int, default=1)
    options = parser.parse_args()
    shares = [float(one) for one in options.shares.split(",")]
    seeds = [int(one) for one in options.seeds.split(",")]
    print("| data | clicks | clicks per action | Acc | Edit | F1@50 |\n|---|---|---|---|---|---|")
    for path in options.data:
        found = measure(Dataset.open(path).at_rate(options.sampling_rate), shares, seeds)
        for row, runs in found.items():
            n_clicks, *scores = np.array(runs).T
            shown = " | ".join(
                f"{one.mean():.1f} ± {one.std(ddof=len(seeds) > 1):.1f}" for one in scores
            )
            print(f"| {path.name} | {row} | {n_clicks.mean():.2f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
