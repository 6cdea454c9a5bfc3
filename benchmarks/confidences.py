"""Expected calibration error on the test side, before and after the model's temperature.

    python benchmarks/confidences.py RUN …

For the test side of each run's split, in percent: frame by frame (the likeliest class), and with
every frame as confident as its segment in the model's own decoding, as in reports. The last line
pools the frames of all runs: there, people with whom models are too sure and people with whom they
are too modest make up for each other.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import uvast
from uvast.data import Dataset
from uvast.evaluation import expected_calibration_error
from uvast.inference.temperature import Temperature
from uvast.runs import RunFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

Pairs = list[tuple[np.ndarray, np.ndarray]]
"""Confidences `(T,)` and whether each is right `(T,)`, by video."""


def judged(run: Path, temperature: Temperature | None) -> tuple[Pairs, Pairs]:
    """The confidences of frames and of segments; None takes the model's own temperature."""
    info = RunFolder.open(run).info
    model = uvast.load(run)
    if temperature is not None:
        priors = replace(model.priors, temperature=temperature, member_temperatures=())
        model = replace(model, priors=priors)
    dataset = Dataset.open(info.dataset).at_rate(model.sampling_rate)
    frames: Pairs = []
    segments: Pairs = []
    for name in dataset.side(info.split, "test"):
        video = dataset.video(name)
        assert video.labels is not None, "test sides have labels"
        encoded = model.encode_batch([video])
        n_frames = min(len(video.labels), video.n_frames)
        shown = np.exp(model.tempered(encoded.frames[0]))
        right = shown.argmax(1)[:n_frames] == video.labels[:n_frames]
        frames.append((shown.max(1)[:n_frames].clip(0, 1), right))
        (found,) = model.decode_batch(encoded, model.options())
        assert found.segmentation is not None, "the model's own decoding has durations"
        true = dataset.source_labels(name)
        sure = np.repeat(found.confidences, found.segmentation.durations)[: len(true)]
        segments.append((sure.clip(0, 1), found.segmentation.labels[: len(true)] == true))
    return frames, segments


def error(pairs: Pairs) -> float:
    """Expected calibration error of all videos together, in percent."""
    confidences, right = (np.concatenate(one) for one in zip(*pairs, strict=True))
    return 100 * expected_calibration_error(confidences, right)


def main() -> None:
    """Prints one line per run, and one for all of them."""
    print("frames  segments | without temperature")
    every: list[Pairs] = [[], [], [], []]
    for run in map(Path, sys.argv[1:]):
        found = (*judged(run, None), *judged(run, Temperature()))
        for all_runs, one in zip(every, found, strict=True):
            all_runs += one
        _print_row(found, str(run))
    _print_row(every, "all together")


def _print_row(columns: Sequence[Pairs], name: str) -> None:
    own, own_segments, plain, plain_segments = map(error, columns)
    print(f"{own:6.1f}  {own_segments:8.1f} | {plain:6.1f} {plain_segments:8.1f}  {name}")


if __name__ == "__main__":
    main()
