"""Durations of a given transcript by gradient descent on relaxed boundaries (FIFA).

Time runs over [0, 1]. Segment n has length `exp(s_n)` and a plateau-shaped mask,

    mask_n(t) = sigmoid(k (t - start_n)) sigmoid(k (end_n - t)),

and s minimises `mean over n, t of -log p(action_n | t) mask_n(t)
+ length_weight sum_n |length_n - class mean| + sum_weight |sum_n length_n - 1|`.

`fifa_energy` has the energy and its gradient; this file has the descent.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np

from uvast.config import MAX_SHARPNESS, DecodeConfig, FifaOptimiser
from uvast.durations.fifa_energy import energy, tabulate
from uvast.durations.result import (
    Durations,
    FloatArray,
    checked_log_probabilities,
    checked_transcript,
)
from uvast.errors import InputError
from uvast.segments import round_durations

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from uvast.segments import IntArray

    Energy = Callable[[FloatArray, FloatArray], float]

FAST_STEPS, FAST_STEP_SIZE = 400, 0.1
FIFA_LOG_FLOOR = -100.0
"""A hopeless frame already pulls a boundary hard enough; a lower floor makes steps explode."""

LOG_LENGTHS = (float(np.log(1e-8)), float(np.log(10.0)))


def fifa(
    log_probabilities: ArrayLike,
    transcript: ArrayLike,
    initial: ArrayLike | None = None,
    *,
    mean_durations: ArrayLike | None = None,
    sharpness: float = DecodeConfig.fifa_sharpness,
    length_weight: float = DecodeConfig.fifa_length_weight,
    sum_weight: float = DecodeConfig.fifa_sum_weight,
    optimiser: FifaOptimiser = DecodeConfig.fifa_optimiser,
    n_steps: int = DecodeConfig.fifa_steps,
    step_size: float = DecodeConfig.fifa_step_size,
) -> Durations:
    """Durations of least energy; the minimum may be local.

    Args:
        log_probabilities: frame scores `(T, C)`; lower ones than -100, even `-inf`, count as -100.
        transcript: actions `(S,)`.
        initial: durations to start from `(S,)`, in any unit; None starts from the class means, or
            from equal durations if those are unknown.
        mean_durations: mean frames per segment of each class `(C,)`; needed for a `length_weight`.
        sharpness: k, the slope of the masks.
        length_weight: weight of the distances to the class means (the paper's b).
        sum_weight: weight of the distance between the total length and the video (the paper's g).
        optimiser: `gradient-descent` is the published one; `fast` adapts the step of each length
            (400 Adam steps whose size falls from 0.1 to 0 along a cosine) and keeps the best
            lengths.
        n_steps: steps of `gradient-descent`.
        step_size: step size of `gradient-descent`, in log length.

    Returns:
        Durations; the score is minus the energy of the lengths before rounding.
    """
    frames = checked_log_probabilities(log_probabilities, FIFA_LOG_FLOOR)
    n_frames, n_classes = frames.shape
    actions = checked_transcript(transcript, n_classes, n_frames)
    weights = (float(sharpness), float(length_weight), float(sum_weight))
    _check_settings(weights, optimiser, n_steps, step_size)
    means = _means(mean_durations, actions, n_classes)
    if means is None and length_weight:
        raise InputError("a length weight without mean durations", remedy="pass the means")
    classes, rows = np.unique(actions, return_inverse=True)
    energy_of = partial(
        energy,
        tabulate(-frames.T[classes], weights[0]),
        rows,
        np.zeros(len(actions)) if means is None else means / n_frames,
        weights,
    )
    start = _initial_log_lengths(means if initial is None else initial, actions, n_frames)
    if optimiser == "fast":
        log_lengths, least = _fast_descent(energy_of, start)
    else:
        log_lengths, least = _plain_descent(energy_of, start, n_steps, float(step_size))
    return Durations(round_durations(np.exp(log_lengths), n_frames), -least)


def _check_settings(
    weights: tuple[float, float, float], optimiser: FifaOptimiser, n_steps: int, step_size: float
) -> None:
    if optimiser not in get_args(FifaOptimiser):
        raise InputError(
            f"optimiser {optimiser!r}", remedy=f"choose from {', '.join(get_args(FifaOptimiser))}"
        )
    if n_steps < 0 or not 0 < step_size < np.inf:
        raise InputError(f"{n_steps} steps of size {step_size}", remedy="both have to be positive")
    if not 0 < weights[0] <= MAX_SHARPNESS:
        raise InputError(f"sharpness is {weights[0]}, not in (0, {MAX_SHARPNESS:g}]")
    for name, weight in zip(("length", "sum"), weights[1:], strict=True):
        if not 0 <= weight < np.inf:
            raise InputError(f"the {name} weight is {weight}, not a finite number from 0 up")


def _initial_log_lengths(initial: ArrayLike | None, actions: IntArray, n_frames: int) -> FloatArray:
    """Logarithms of lengths `(S,)` that sum to 1, each at least half a frame before scaling."""
    if initial is None:
        return np.full(len(actions), -np.log(len(actions)))
    lengths = np.asarray(initial, dtype=np.float64)
    if lengths.shape != actions.shape:
        raise InputError(f"{lengths.size} initial durations for {len(actions)} actions")
    if not np.isfinite(lengths).all() or (lengths < 0).any() or lengths.sum() == 0:
        raise InputError("initial durations have to be finite and not negative, and not all 0")
    lengths = np.maximum(lengths / lengths.sum(), 0.5 / n_frames)
    log_lengths: FloatArray = np.log(lengths / lengths.sum())
    return log_lengths


def _means(
    mean_durations: ArrayLike | None, actions: IntArray, n_classes: int
) -> FloatArray | None:
    """The mean duration of each segment's class `(S,)`, in frames."""
    if mean_durations is None:
        return None
    means = np.asarray(mean_durations, dtype=np.float64)
    if means.shape != (n_classes,) or not np.isfinite(means).all():
        raise InputError(f"mean durations of shape {means.shape} for {n_classes} classes")
    return means[actions]


def _plain_descent(
    energy: Energy, log_lengths: FloatArray, n_steps: int, step_size: float
) -> tuple[FloatArray, float]:
    """Gradient descent on the log lengths: the final ones `(S,)` and their energy."""
    gradient = np.empty_like(log_lengths)
    for _ in range(n_steps):
        lengths = np.exp(log_lengths)
        energy(lengths, gradient)
        log_lengths = _clipped(log_lengths - step_size * gradient * lengths)
    return log_lengths, energy(np.exp(log_lengths), gradient)


def _fast_descent(energy: Energy, log_lengths: FloatArray) -> tuple[FloatArray, float]:
    """Adam with a cosine schedule: the best log lengths `(S,)` and their energy."""
    gradient = np.empty_like(log_lengths)
    mean = np.zeros_like(log_lengths)
    square = np.zeros_like(log_lengths)
    best, least = log_lengths, np.inf
    for step in range(FAST_STEPS + 1):
        lengths = np.exp(log_lengths)
        now = energy(lengths, gradient)
        if now < least:
            best, least = log_lengths, now
        gradient *= lengths
        mean += 0.1 * (gradient - mean)
        square += 0.01 * (gradient**2 - square)
        cosine = 0.5 + 0.5 * np.cos(np.pi * step / FAST_STEPS)
        size = FAST_STEP_SIZE * cosine / (1 - 0.9 ** (step + 1))
        deviation = np.sqrt(square / (1 - 0.99 ** (step + 1)))
        log_lengths = _clipped(log_lengths - size * mean / (deviation + 1e-12))
    return best, least


def _clipped(log_lengths: FloatArray) -> FloatArray:
    clipped: FloatArray = np.minimum(np.maximum(log_lengths, LOG_LENGTHS[0]), LOG_LENGTHS[1])
    return clipped
