"""Speed of decoding beside the published code's recorded costs: one run, medians.

    python benchmarks/decoding.py

Inputs are generated at the sizes of the three datasets; networks have random weights and write as
many actions as a video has. The published code was measured earlier (2 cores, 2 threads). Its
Viterbi runs at the paper's coarser sampling, ours at every frame.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.durations import LengthModel, Transitions, fifa, semi_markov, viterbi
from uvast.segments import Segmentation, merge_repeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.inference.segmenter import Segmenter

N_FEATURES = 2048
LONG, NOISE = "--long", "--noise"


@dataclass(frozen=True)
class Shape:
    """A dataset's typical video, FIFA's settings for it, and the published costs in seconds."""

    name: str
    n_frames: int
    n_classes: int
    n_segments: int
    fifa_step: float
    length_weight: float
    sum_weight: float
    published_viterbi: float
    published_fifa: float
    published_transcript: float
    viterbi_limit: float


SHAPES = (
    Shape("GTEA", 1060, 11, 33, 0.1, 0.0, 0.1, 195.0, 2.2, 0.064, 0.020),
    Shape("Breakfast", 2100, 48, 7, 0.01, 0.1, 1.0, 4.4, 1.6, 0.017, 0.020),
    Shape("50Salads", 5775, 19, 20, 0.01, 0.01, 1.0, 765.0, 6.7, 0.103, 0.150),
)


@dataclass(frozen=True, eq=False)
class Problem:
    """A generated video: its true segmentation and noisy frame log-probabilities `(T, C)`."""

    truth: Segmentation
    frames: np.ndarray

    @classmethod
    def generate(cls, n_frames: int, n_classes: int, n_segments: int, seed: int = 0) -> Problem:
        """Frames that are right three times in four, with noise that lasts for some frames."""
        generator = np.random.default_rng(seed)
        steps = generator.integers(1, n_classes, n_segments)
        cuts = np.sort(generator.choice(n_frames - 1, n_segments - 1, replace=False)) + 1
        durations = np.diff(cuts, prepend=0, append=n_frames)
        truth = Segmentation(np.cumsum(steps) % n_classes, durations)
        noise = generator.standard_normal((n_frames + 14, n_classes))
        sums = np.cumsum(noise, axis=0)
        logits = (sums[14:] - sums[:-14]) / np.sqrt(14)
        logits[np.arange(n_frames), truth.labels] += 2.5
        return cls(truth, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))

    @property
    def mean_durations(self) -> np.ndarray:
        """The same for every class `(C,)`."""
        return np.full(self.frames.shape[1], self.truth.durations.mean())


def median_seconds(function: Callable[[], object], repeats: int) -> float:
    """The median time of a call, once warm."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(
    what: str, shape: str, seconds: float, published: float | None, limit: float | None
) -> None:
    """Prints one measurement."""
    times = "" if published is None else f"{1e3 * published:12,.0f} {published / seconds:10,.1f}x"
    verdict = "" if limit is None else f"{1e3 * limit:8,.0f}  {'ok' if seconds < limit else 'MISS'}"
    print(f"{what:32} {shape:10} {1e3 * seconds:10.2f} {times:24} {verdict}", flush=True)


def measure_durations(shape: Shape) -> None:
    """Viterbi, FIFA and semi-Markov decoding of one shape."""
    problem = Problem.generate(shape.n_frames, shape.n_classes, shape.n_segments)
    frames, transcript = problem.frames, problem.truth.transcript
    means = problem.mean_durations
    poisson = LengthModel.poisson(means)
    gamma = LengthModel("gamma", tuple(means), (2.0,) * shape.n_classes)
    seconds = median_seconds(lambda: viterbi(frames, transcript, poisson), 21)
    row("Viterbi, Poisson", shape.name, seconds, shape.published_viterbi, shape.viterbi_limit)
    seconds = median_seconds(lambda: viterbi(frames, transcript, gamma, alpha=0.2), 21)
    row("Viterbi, Gamma", shape.name, seconds, shape.published_viterbi, shape.viterbi_limit)

    options: dict[str, Any] = {
        "mean_durations": means,
        "length_weight": shape.length_weight,
        "sum_weight": shape.sum_weight,
    }
    fast_options = {**options, "optimiser": "fast"}
    plain_options = {**options, "step_size": shape.fifa_step}
    limit = shape.published_fifa / 10
    seconds = median_seconds(lambda: fifa(frames, transcript, **fast_options), 11)
    row("FIFA, fast", shape.name, seconds, shape.published_fifa, limit)
    seconds = median_seconds(lambda: fifa(frames, transcript, **plain_options), 3)
    row("FIFA, 3000 plain steps", shape.name, seconds, shape.published_fifa, None)
    fast = -fifa(frames, transcript, **fast_options).score
    plain = -fifa(frames, transcript, **plain_options).score
    verdict = "ok" if fast <= plain else "MISS"
    print(f"  final energy: fast {fast:.5f}, plain {plain:.5f}  {verdict}")

    transitions = Transitions.fit([transcript], shape.n_classes)
    seconds = median_seconds(lambda: semi_markov(frames, gamma, transitions, alpha=0.2), 7)
    row("semi-Markov", shape.name, seconds, None, 1.0)


def measure_long_video() -> None:
    """Viterbi on 100,000 frames, with the peak memory of this process."""
    problem = Problem.generate(100_000, 19, 100)
    lengths = LengthModel.poisson(problem.mean_durations)
    seconds = median_seconds(lambda: viterbi(problem.frames, problem.truth.transcript, lengths), 3)
    row("Viterbi, S 100", "T 100,000", seconds, None, 5.0)
    print_peak()


def measure_noise() -> None:
    """Transcripts read off random frames, which have almost as many segments as frames."""
    for n_frames, what in ((2_000, "FIFA, 3000 plain steps"), (20_000, "Viterbi")):
        noise = np.random.default_rng(0).standard_normal((n_frames, 11))
        frames = noise - np.log(np.exp(noise).sum(axis=1, keepdims=True))
        transcript = merge_repeats(frames.argmax(axis=1))
        means = np.full(11, n_frames / len(transcript))
        if what == "Viterbi":
            function = partial(viterbi, frames, transcript, LengthModel.poisson(means))
        else:
            function = partial(fifa, frames, transcript, mean_durations=means)
        seconds = median_seconds(function, 1)
        row(f"{what}, S {len(transcript):,}", f"T {n_frames:,}", seconds, None, None)
    print_peak()


def print_peak() -> None:
    """Prints the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory of the process: {peak:.0f} MB  {'ok' if peak < 1000 else 'MISS'}")


def random_segmenter(shape: Shape) -> Segmenter:
    """A UVAST model with random weights that writes exactly `n_segments` tokens."""
    import torch

    from uvast.config import Config
    from uvast.inference.priors import Priors
    from uvast.inference.segmenter import Segmenter
    from uvast.models import Uvast
    from uvast.models.build import build_model
    from uvast.vocabulary import Vocabulary

    torch.manual_seed(0)
    config = Config().replaced(
        **{
            "decode.max_segments": shape.n_segments,
            "model.attention_smoothing": 31 if shape.name == "50Salads" else 0,
        }
    )
    model = build_model(config.model, n_features=N_FEATURES, n_classes=shape.n_classes).eval()
    assert isinstance(model, Uvast)
    torch.nn.init.zeros_(model.transcript.classify.weight[-1].data)  # some class beats EOS
    problem = Problem.generate(shape.n_frames, shape.n_classes, shape.n_segments)
    return Segmenter(
        model,
        vocabulary=Vocabulary(tuple(f"action {i}" for i in range(shape.n_classes))),
        config=config,
        priors=Priors.fit([problem.truth], shape.n_classes),
    )


def measure_network(shape: Shape) -> None:
    """Transcript decoding, and whole inference of a GTEA-sized video."""
    import torch

    from uvast.inference.search import greedy_transcripts
    from uvast.models import Uvast

    segmenter = random_segmenter(shape)
    model = segmenter.module
    assert isinstance(model, Uvast)
    generator = np.random.default_rng(0)
    features = generator.standard_normal((shape.n_frames, N_FEATURES)).astype(np.float32)
    mask = torch.ones((1, shape.n_frames), dtype=torch.bool)
    with torch.inference_mode():
        encoded = model.encode(torch.from_numpy(features)[None], mask)

    def decode() -> int:
        (one,) = greedy_transcripts(
            model, encoded, mask, segmenter.vocabulary, max_segments=shape.n_segments
        )
        return len(one.tokens)

    n_tokens = decode()
    seconds = median_seconds(decode, 11)
    what = f"transcript, {n_tokens} tokens"
    row(what, shape.name, seconds, shape.published_transcript, shape.published_transcript / 4)
    if shape.name == "GTEA":
        seconds = median_seconds(lambda: segmenter.segment(features), 11)
        row("whole inference + Viterbi", shape.name, seconds, 0.094 + 0.064 + 195, 0.060)


def main() -> None:
    """Prints the table."""
    print(f"{'':32} {'shape':10} {'ours, ms':>10} {'published':>12} {'ratio':>11} {'limit, ms':>9}")
    for alone in (LONG, NOISE):  # in their own processes, to measure their memory
        subprocess.run([sys.executable, __file__, alone], check=True)
    for shape in SHAPES:
        measure_durations(shape)
    for shape in SHAPES:
        measure_network(shape)


if __name__ == "__main__":
    {LONG: measure_long_video, NOISE: measure_noise}.get(sys.argv[-1], main)()
