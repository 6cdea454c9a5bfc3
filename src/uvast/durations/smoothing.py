"""Transcripts read off frame labels: a mode filter, and short runs given to their neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.durations.result import checked_log_probabilities
from uvast.errors import InputError
from uvast.kernels import kernel
from uvast.segments import IntArray, Segmentation, merge_repeats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def mode_filter(labels: ArrayLike, width: int) -> IntArray:
    """The most frequent label in a window around each frame `(T,)`.

    On ties the frame's own label wins, else the lowest one. The window is cut off at the ends of
    the video. Its width is odd; 1 changes nothing.
    """
    if width < 1 or width % 2 == 0:
        raise InputError(f"a mode filter of width {width}, not a positive odd number")
    classes, ids = np.unique(_checked_labels(labels), return_inverse=True)
    modes: IntArray = classes[_modes(ids, width // 2, len(classes))]
    return modes


def absorb_short_runs(labels: ArrayLike, least: int) -> IntArray:
    """Labels `(T,)` without runs shorter than `least` frames; the last run left always stays.

    The shortest run goes first (on ties, the earliest). Each neighbour gets half of it, the left
    one also the odd frame; at an end of the video, the only neighbour gets all of it. Neighbours
    of one label that then meet become one run.
    """
    checked = _checked_labels(labels)
    runs = Segmentation.from_labels(checked)
    # Copies, because the compiler treats a frozen array as another type.
    durations = _absorbed(runs.transcript.copy(), runs.durations.copy(), min(least, len(checked)))
    return np.repeat(runs.transcript, durations)


def smoothed_labels(log_probabilities: ArrayLike, *, width: int = 1, least: int = 1) -> IntArray:
    """The likeliest class of each frame `(T,)` by scores `(T, C)`, mode-filtered with `width`.

    Runs shorter than `least` frames are absorbed.
    """
    labels = checked_log_probabilities(log_probabilities, -np.inf).argmax(axis=1)
    return absorb_short_runs(mode_filter(labels, width), least)


def smoothed_transcript(
    log_probabilities: ArrayLike, *, width: int = 1, least: int = 1
) -> IntArray:
    """The transcript `(S,)` of `smoothed_labels`."""
    return merge_repeats(smoothed_labels(log_probabilities, width=width, least=least))


def _checked_labels(labels: ArrayLike) -> IntArray:
    checked = np.asarray(labels)
    if checked.ndim != 1 or not checked.size or checked.dtype.kind not in "iu":
        raise InputError(
            f"labels of shape {checked.shape} and type {checked.dtype}, not (T,) integers of at "
            "least one frame"
        )
    return checked.astype(np.int64)


@kernel
def _modes(labels: IntArray, half: int, n_classes: int) -> IntArray:
    n_frames = len(labels)
    counts = np.zeros(n_classes, dtype=np.int64)
    modes = np.empty_like(labels)
    for t in range(min(half, n_frames)):
        counts[labels[t]] += 1
    for t in range(n_frames):
        if t + half < n_frames:
            counts[labels[t + half]] += 1
        if t - half - 1 >= 0:
            counts[labels[t - half - 1]] -= 1
        mode = np.argmax(counts)
        modes[t] = labels[t] if counts[labels[t]] == counts[mode] else mode
    return modes


@kernel
def _absorbed(actions: IntArray, durations: IntArray, least: int) -> IntArray:
    """Durations of the runs `(S,)` once those under `least` frames are absorbed, which leaves 0.

    Runs only grow, so each length is finished before the next, and a walk from left to right finds
    its runs in order. At most T / l runs have l frames or more: `O(T log least)`.
    """
    n_runs = len(actions)
    left = np.arange(-1, n_runs - 1)
    right = np.arange(1, n_runs + 1)
    right[-1] = -1
    first = 0
    for length in range(1, least):
        i = first
        while i >= 0:
            before, after = left[i], right[i]
            if durations[i] == length and before != after:  # the only run has -1 on both sides
                to_left = 0 if before < 0 else length if after < 0 else (length + 1) // 2
                durations[i] = 0
                if before >= 0:
                    durations[before] += to_left
                    right[before] = after
                else:
                    first = after
                if after >= 0:
                    durations[after] += length - to_left
                    left[after] = before
                if before >= 0 and after >= 0 and actions[before] == actions[after]:
                    durations[before] += durations[after]
                    durations[after] = 0
                    after = right[after]
                    right[before] = after
                    if after >= 0:
                        left[after] = before
            i = after
    return durations
