"""Expected calibration error on the test side, before and after the model's temperature.

    python benchmarks/confidences.py RUN …

For the test side of each run's split, in percent: frame by frame (the likeliest class), and with
every frame as confident as its segment in the model's own decoding, as in reports. Below, the mean
of all runs, and their frames pooled: there, people with whom models are too sure and people with
whom they are too modest make up for each other.

The last line is a bound, not a result: how little the frames could be off if one temperature for
all runs were chosen with the very labels that judge it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import uvast
from uvast.data import Dataset
from uvast.evaluation import expected_calibration_error
from uvast.inference.temperature import Temperature, tempered
from uvast.runs import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

TEMPERATURES = np.geomspace(0.5, 8, 60)


@dataclass
class Judged:
    """Confidences of a test side's frames and whether they are right, by video.

    Args:
        frames: confidence of the likeliest class `(T,)` and whether it is right `(T,)`.
        segments: the same for segments of the model's own decoding.
        untempered: log-probabilities of the classes `(T, C)` and labels `(T,)`.
    """

    frames: list[tuple[NDArray[np.floating], NDArray[np.bool_]]]
    segments: list[tuple[NDArray[np.floating], NDArray[np.bool_]]]
    untempered: list[tuple[NDArray[np.floating], NDArray[np.int64]]]

    def at(self, temperature: float) -> float:
        """Error of the frames in percent at a temperature."""
        return error(
            likeliest(tempered(logs, temperature), labels) for logs, labels in self.untempered
        )


def likeliest(
    logs: NDArray[np.floating], labels: NDArray[np.int64]
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Of log-probabilities `(T, C)`: the likeliest class's probability, and whether it is right."""
    return np.exp(logs.max(1)).clip(0, 1), logs.argmax(1) == labels


def judged(run: Path, temperature: Temperature | None = None) -> Judged:
    """Asks a model about the test side of its split, at its own or at another temperature."""
    info = RunFolder.open(run).info
    model = uvast.load(run)
    if temperature is not None:
        priors = replace(model.priors, temperature=temperature, member_temperatures=())
        model = replace(model, priors=priors)
    dataset = Dataset.open(info.dataset).at_rate(model.sampling_rate)
    side = Judged([], [], [])
    for name in dataset.side(info.split, "test"):
        video = dataset.video(name)
        assert video.labels is not None, "test sides have labels"
        encoded = model.encode_batch([video])
        n_frames = min(len(video.labels), video.n_frames)
        labels = video.labels[:n_frames]
        side.frames.append(likeliest(model.tempered(encoded.frames[0])[:n_frames], labels))
        side.untempered.append((encoded.frames[0].log_probabilities[:n_frames], labels))
        (found,) = model.decode_batch(encoded, model.options())
        assert found.segmentation is not None, "the model's own decoding has durations"
        true = dataset.source_labels(name)
        sure = np.repeat(found.confidences, found.segmentation.durations)[: len(true)]
        is_right = found.segmentation.labels[: len(true)] == true
        side.segments.append((sure.clip(0, 1), is_right))
    return side


def error(pairs: Iterable[tuple[NDArray[np.floating], NDArray[np.bool_]]]) -> float:
    """Expected calibration error of all videos together, in percent."""
    confidences, right = (np.concatenate(one) for one in zip(*pairs, strict=True))
    return 100 * expected_calibration_error(confidences, right)


def pooled(sides: Sequence[Judged]) -> Judged:
    """All test sides as one."""
    return Judged(
        [one for side in sides for one in side.frames],
        [one for side in sides for one in side.segments],
        [one for side in sides for one in side.untempered],
    )


def main() -> None:
    """Prints one line per run, and three for all of them."""
    print("frames  segments | without temperature")
    own: list[Judged] = []
    plain: list[Judged] = []
    for run in map(Path, sys.argv[1:]):
        own.append(judged(run))
        plain.append(judged(run, Temperature()))
        _print_row(_errors(own[-1], plain[-1]), str(run))
    rows = [_errors(*sides) for sides in zip(own, plain, strict=True)]
    _print_row(np.mean(rows, axis=0), "mean")
    together = pooled(own)
    _print_row(_errors(together, pooled(plain)), "all together")
    mean = min(np.mean([side.at(one) for side in own]) for one in TEMPERATURES)
    all_frames = min(together.at(one) for one in TEMPERATURES)
    print(f"with the best temperature for these labels: mean {mean:.1f}, together {all_frames:.1f}")


def _errors(own: Judged, plain: Judged) -> tuple[float, ...]:
    return tuple(error(one) for side in (own, plain) for one in (side.frames, side.segments))


def _print_row(errors: Sequence[float] | NDArray[np.floating], name: str) -> None:
    frames, segments, plain, plain_segments = errors
    print(f"{frames:6.1f}  {segments:8.1f} | {plain:6.1f} {plain_segments:8.1f}  {name}")


if __name__ == "__main__":
    main()
