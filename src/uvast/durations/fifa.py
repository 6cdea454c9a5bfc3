"""Durations of a given transcript by gradient descent on relaxed boundaries (FIFA).

Time runs over [0, 1]. Segment n has length `exp(s_n)` and the mask of a plateau,

    mask_n(t) = sigmoid(k (t - start_n)) sigmoid(k (end_n - t)),

and s minimises `mean over n, t of -log p(action_n | t) mask_n(t)
+ length_weight sum_n |length_n - class mean| + sum_weight |sum_n length_n - 1|`.

`fifa_energy` has the energy and its gradient, this file the descent.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

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

Optimiser = Literal["fast", "gradient-descent"]
DEFAULT_STEPS: dict[Optimiser, tuple[int, float]] = {
    "fast": (400, 0.1),
    "gradient-descent": (3000, 0.01),
}
FIFA_LOG_FLOOR = (
    -100.0
)  # A frame beyond hope pulls a boundary hard enough; more makes steps explode.
MAX_SHARPNESS = 700.0
LOG_LENGTHS = (float(np.log(1e-8)), float(np.log(10.0)))
PATIENCE = 50


def fifa(
    log_probabilities: ArrayLike,
    transcript: ArrayLike,
    initial: ArrayLike | None = None,
    *,
    mean_durations: ArrayLike | None = None,
    sharpness: float = 80.0,
    length_weight: float = 0.0,
    sum_weight: float = 1.0,
    optimiser: Optimiser = "fast",
    n_steps: int | None = None,
    step_size: float | None = None,
    tolerance: float | None = None,
    keep_energies: bool = False,
) -> Durations:
    """Durations of least energy, up to a local minimum.

    Args:
        log_probabilities: frame scores `(T, C)`; values below -100, `-inf` too, count as -100.
        transcript: actions `(S,)`.
        initial: durations to start from `(S,)`, in any unit; uniform without.
        mean_durations: mean frames of each class `(C,)`; needed for a `length_weight`.
        sharpness: k, the slope of the masks.
        length_weight: weight of the distances to the class means (the paper's b).
        sum_weight: weight of the distance of the sum of lengths to the whole video (g).
        optimiser: `gradient-descent` is the published one; `fast` adapts the step of each length
            (Adam, its step falling to 0 by a cosine), and keeps its best lengths.
        n_steps: at most so many; 400 (`fast`) or 3000.
        step_size: in log length; 0.1 (`fast`, the first step) or 0.01.
        tolerance: stop once the best energy falls by less than this share in 50 steps.
        keep_energies: return the energy before each step and at the end.

    Returns:
        Durations; the score is minus the energy of the lengths before rounding.
    """
    frames = checked_log_probabilities(log_probabilities, FIFA_LOG_FLOOR)
    n_frames, n_classes = frames.shape
    actions = checked_transcript(transcript, n_classes, n_frames)
    steps, size = _schedule(optimiser, n_steps, step_size)
    weights = _checked_weights(sharpness, length_weight, sum_weight)
    classes, rows = np.unique(actions, return_inverse=True)
    energy_of = partial(
        energy,
        tabulate(-frames.T[classes], weights[0]),
        rows,
        _targets(mean_durations, actions, frames.shape, length_weight),
        weights,
    )
    descend = _fast_descent if optimiser == "fast" else _plain_descent
    start = _initial_log_lengths(initial, actions, n_frames)
    log_lengths, energies = descend(energy_of, start, steps, size, tolerance)
    final = energies.min() if optimiser == "fast" else energies[-1]
    durations = round_durations(np.exp(log_lengths), n_frames)
    return Durations(durations, -float(final), energies if keep_energies else None)


def _schedule(
    optimiser: Optimiser, n_steps: int | None, step_size: float | None
) -> tuple[int, float]:
    """Number and size of an optimiser's steps, its own where none are given."""
    if optimiser not in get_args(Optimiser):
        raise InputError(
            f"optimiser {optimiser!r}", remedy=f"choose from {', '.join(get_args(Optimiser))}"
        )
    steps, size = DEFAULT_STEPS[optimiser]
    steps = steps if n_steps is None else n_steps
    size = size if step_size is None else step_size
    if steps < 0 or not 0 < size < np.inf:
        raise InputError(f"{steps} steps of size {size}", remedy="both have to be positive")
    return steps, float(size)


def _checked_weights(
    sharpness: float, length_weight: float, sum_weight: float
) -> tuple[float, float, float]:
    if not 0 < sharpness <= MAX_SHARPNESS:
        raise InputError(f"sharpness is {sharpness}, not in (0, {MAX_SHARPNESS:g}]")
    for name, weight in (("length", length_weight), ("sum", sum_weight)):
        if not 0 <= weight < np.inf:
            raise InputError(f"the {name} weight is {weight}, not a finite number from 0 up")
    return float(sharpness), float(length_weight), float(sum_weight)


def _initial_log_lengths(initial: ArrayLike | None, actions: IntArray, n_frames: int) -> FloatArray:
    """Logarithms of lengths that sum to 1 `(S,)`, each at least half a frame before that."""
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


def _targets(
    mean_durations: ArrayLike | None,
    actions: IntArray,
    shape: tuple[int, ...],
    length_weight: float,
) -> FloatArray:
    """The class mean of each segment as a share of the video `(S,)`."""
    n_frames, n_classes = shape
    if mean_durations is None:
        if length_weight:
            raise InputError("a length weight without mean durations", remedy="pass the means")
        return np.zeros(len(actions))
    means = np.asarray(mean_durations, dtype=np.float64)
    if means.shape != (n_classes,) or not np.isfinite(means).all():
        raise InputError(f"mean durations of shape {means.shape} for {n_classes} classes")
    return means[actions] / n_frames


def _is_done(energies: FloatArray, tolerance: float | None) -> bool:
    """Whether the best energy fell by less than a share `tolerance` in the last steps."""
    n_steps = len(energies)
    if tolerance is None or n_steps < 2 * PATIENCE or n_steps % PATIENCE:
        return False
    old = energies[:-PATIENCE].min()
    return bool(old - energies.min() < tolerance * abs(old))


def _plain_descent(
    energy: Energy,
    log_lengths: FloatArray,
    n_steps: int,
    step_size: float,
    tolerance: float | None,
) -> tuple[FloatArray, FloatArray]:
    """Gradient descent in the log lengths: the last of them `(S,)`, and the energies."""
    gradient = np.empty_like(log_lengths)
    energies = np.empty(n_steps + 1)
    for step in range(n_steps + 1):
        lengths = np.exp(log_lengths)
        energies[step] = energy(lengths, gradient)
        if step == n_steps or _is_done(energies[: step + 1], tolerance):
            break
        log_lengths = _clipped(log_lengths - step_size * gradient * lengths)
    return log_lengths, energies[: step + 1]


def _fast_descent(
    energy: Energy,
    log_lengths: FloatArray,
    n_steps: int,
    step_size: float,
    tolerance: float | None,
) -> tuple[FloatArray, FloatArray]:
    """Adam with a cosine of steps: the best log lengths `(S,)`, and the energies."""
    gradient = np.empty_like(log_lengths)
    mean = np.zeros_like(log_lengths)
    square = np.zeros_like(log_lengths)
    best, best_energy = log_lengths, np.inf
    energies = np.empty(n_steps + 1)
    for step in range(n_steps + 1):
        lengths = np.exp(log_lengths)
        energies[step] = energy(lengths, gradient)
        if energies[step] < best_energy:
            best, best_energy = log_lengths, energies[step]
        if step == n_steps or _is_done(energies[: step + 1], tolerance):
            break
        gradient *= lengths
        mean += 0.1 * (gradient - mean)
        square += 0.01 * (gradient**2 - square)
        size = step_size * (0.5 + 0.5 * np.cos(np.pi * step / n_steps)) / (1 - 0.9 ** (step + 1))
        deviation = np.sqrt(square / (1 - 0.99 ** (step + 1)))
        log_lengths = _clipped(log_lengths - size * mean / (deviation + 1e-12))
    return best, energies[: step + 1]


def _clipped(log_lengths: FloatArray) -> FloatArray:
    clipped: FloatArray = np.minimum(np.maximum(log_lengths, LOG_LENGTHS[0]), LOG_LENGTHS[1])
    return clipped
