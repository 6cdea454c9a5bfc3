"""Transcript and durations in one exact pass.

Maximises, over all segmentations, the sum of `alpha log p(action | frame)`, a length score per
segment, the log-probability of the transcript (first action, neighbours and, if known, the end)
and a score per cut:

    enter[t, c] = max over b != c of  best[t, b] + bigram[b, c] + cut[t]
    best[t, c]  = max over s < t of   enter[s, c] + frames[s:t, c] + length[c, t - s]

`enter` is known only after all earlier `best`, so the search for s is online. The length score is
concave, so a later start, once better, stays better: for each class, a queue holds the starts that
will be best at some end, each with the first such end. `O(C T log T + C^2 T)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.durations.result import (
    FloatArray,
    check_classes,
    checked_alpha,
    checked_cut_scores,
    checked_log_probabilities,
    checked_transcript,
)
from uvast.errors import InputError, counted
from uvast.kernels import kernel
from uvast.segments import IntArray, Segmentation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from uvast.durations.length_model import LengthModel
    from uvast.durations.transitions import Transitions


ALPHA = 0.2
"""The power of the frame posteriors, unless held-out videos chose another."""


def semi_markov(
    log_probabilities: ArrayLike,
    length_model: LengthModel,
    transitions: Transitions,
    *,
    alpha: float = ALPHA,
    cut_scores: ArrayLike | None = None,
) -> Segmentation:
    """The best of all segmentations, exactly, by `segmentation_score`.

    Ties are broken from the end: the lower class, then the earlier start, and so on. Frame scores
    `(T, C)` below `LOG_FLOOR`, even `-inf`, count as `LOG_FLOOR`. Frame probabilities are far too
    confident, so they are raised to the power alpha. A segment that starts at frame t adds
    `cut_scores[t]`, if there are any `(T,)`; the first segment starts with no cut and adds nothing.

    Raises:
        InputError: if the transitions forbid every segmentation of T frames.
    """
    frames = checked_log_probabilities(log_probabilities)
    n_frames, n_classes = frames.shape
    check_classes(n_classes, length_model, transitions)
    length_scores = length_model.scores(n_frames)
    prefix = np.zeros((n_frames + 1, n_classes))
    np.multiply(frames, checked_alpha(alpha), out=prefix[1:])
    del frames  # as large as the sums, if it is a copy
    np.cumsum(prefix[1:], axis=0, out=prefix[1:])
    actions, ends, score = _search(
        prefix,
        length_scores,
        # Copies, because the compiler treats a frozen array as another type.
        transitions.initial.copy(),
        transitions.following.copy(),
        transitions.ending.copy(),
        checked_cut_scores(cut_scores, n_frames),
    )
    if score == -np.inf:
        raise InputError(
            f"the transitions allow no segmentation of {counted(n_frames, 'frame')}",
            remedy="let a video end with an action that it can reach, or leave the ends out "
            "(decode.ends=false)",
        )
    return Segmentation(actions, np.diff(ends, prepend=0))


def segmentation_score(
    log_probabilities: ArrayLike,
    segmentation: Segmentation,
    length_model: LengthModel,
    transitions: Transitions | None = None,
    *,
    alpha: float,
    cut_scores: ArrayLike | None = None,
) -> float:
    """What `viterbi` (without transitions) and `semi_markov` (with them) maximise.

    It takes the frame scores `(T, C)`, any segmentation of the T frames and, if there are any, the
    scores of cuts `(T,)`. It is `-inf` if the transitions forbid the transcript, as they do
    repeated actions.
    """
    frames, lengths, order = score_parts(
        log_probabilities, segmentation, length_model, transitions, cut_scores=cut_scores
    )
    return checked_alpha(alpha) * frames + lengths + order


def score_parts(
    log_probabilities: ArrayLike,
    segmentation: Segmentation,
    length_model: LengthModel,
    transitions: Transitions | None = None,
    *,
    cut_scores: ArrayLike | None = None,
) -> tuple[float, float, float]:
    """The parts of `segmentation_score`: frames (before the power alpha), lengths, transitions.

    Takes frame scores `(T, C)` and cut scores `(T,)`. The part of the lengths includes the cuts.
    """
    frames = checked_log_probabilities(log_probabilities)
    n_frames, n_classes = frames.shape
    if segmentation.n_frames != n_frames:
        raise InputError(f"a segmentation of {segmentation.n_frames} frames for {n_frames} frames")
    check_classes(n_classes, length_model, transitions)
    actions = checked_transcript(segmentation.transcript, n_classes, n_frames)
    lengths = length_model.score(actions, segmentation.durations).sum()
    cuts = checked_cut_scores(cut_scores, n_frames)[segmentation.starts].sum()
    return (
        float(frames[np.arange(n_frames), segmentation.labels].sum()),
        float(lengths + cuts),
        0.0 if transitions is None else transitions.score(actions),
    )


@kernel
def _overtakes(
    later: int, earlier: int, end: int, entered: FloatArray, length_scores: FloatArray
) -> bool:
    """Whether a later start is strictly better than an earlier one for a segment's end.

    `entered` has one class's score at each start, `length_scores` that of each length, `(T + 1,)`.
    """
    score = entered[earlier] + length_scores[end - earlier]
    return bool(entered[later] + length_scores[end - later] > score)


@kernel
def _overtaking_end(
    later: int, earlier: int, after: int, entered: FloatArray, length_scores: FloatArray
) -> int:
    """The first end beyond `after` at which a later start overtakes an earlier one, or T + 1.

    Scores as in `_overtakes`.
    """
    low, high = after + 1, len(entered)
    while low < high:
        middle = (low + high) // 2
        if _overtakes(later, earlier, middle, entered, length_scores):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _enter(
    best: FloatArray, bigram: FloatArray, enter: FloatArray, previous: NDArray[np.int32]
) -> None:
    """Best score and previous action of a segment of each class that starts where others end.

    Fills `enter (C,)` and `previous (C,)` from `best (C,)` and `bigram (C, C)`.
    """
    enter[:] = -np.inf
    for b in range(len(best)):
        for c in range(len(best)):
            score = best[b] + bigram[b, c]
            if score > enter[c]:
                enter[c] = score
                previous[c] = b


@kernel
def _search(
    prefix: FloatArray,
    length_scores: FloatArray,
    initial: FloatArray,
    bigram: FloatArray,
    final: FloatArray,
    cut_scores: FloatArray,
) -> tuple[IntArray, IntArray, float]:
    """Actions and ends `(S,)` of the best segmentation, and its score, `-inf` if there is none.

    `prefix (T + 1, C)` has the sums of the frame scores before each frame, `length_scores
    (C, T + 1)` is indexed by class and length; `initial` and `final` are `(C,)`, `bigram` is
    `(C, C)`, `cut_scores` is `(T,)`.
    """
    n_frames, n_classes = prefix.shape[0] - 1, prefix.shape[1]
    entered = np.empty((n_classes, n_frames + 1))  # enter minus prefix: what a start brings along
    starts = np.zeros((n_frames + 1, n_classes), dtype=np.int32)
    previous = np.zeros((n_frames + 1, n_classes), dtype=np.int32)
    queue = np.empty((n_classes, n_frames + 1), dtype=np.int32)
    best_from = np.empty((n_classes, n_frames + 1), dtype=np.int32)
    heads = np.zeros(n_classes, dtype=np.int64)
    tails = np.zeros(n_classes, dtype=np.int64)
    enter = initial.copy()
    best = np.empty(n_classes)
    for end in range(1, n_frames + 1):
        start = end - 1
        for c in range(n_classes):
            scores, mine = length_scores[c], entered[c]
            mine[start] = enter[c] - prefix[start, c]
            head, tail = heads[c], tails[c]
            while head < tail - 1 and best_from[c, head + 1] <= end:
                head += 1
            if enter[c] > -np.inf:
                while tail > head and _overtakes(
                    start, queue[c, tail - 1], max(best_from[c, tail - 1], end), mine, scores
                ):
                    tail -= 1
                since = end
                if tail > head:
                    after = max(best_from[c, tail - 1], end)
                    since = _overtaking_end(start, queue[c, tail - 1], after, mine, scores)
                if since <= n_frames:
                    queue[c, tail] = start
                    best_from[c, tail] = since
                    tail += 1
            heads[c], tails[c] = head, tail
            best[c] = -np.inf
            if tail > head:
                s = queue[c, head]
                starts[end, c] = s
                best[c] = mine[s] + scores[end - s] + prefix[end, c]
        if end < n_frames:
            _enter(best, bigram, enter, previous[end])
            enter += cut_scores[end]

    totals = best + final
    last = int(np.argmax(totals))
    actions, ends = _trace_back(starts, previous, last)
    return actions, ends, totals[last]


@kernel
def _trace_back(
    starts: NDArray[np.int32], previous: NDArray[np.int32], last: int
) -> tuple[IntArray, IntArray]:
    """Actions and ends `(S,)` of the best segmentation that ends with the action `last`.

    Both tables are (T + 1, C): `starts` is indexed by a segment's end and class, `previous` (the
    action before it) by its start and class.
    """
    n_frames = len(starts) - 1
    actions = np.empty(n_frames, dtype=np.int64)
    ends = np.empty(n_frames, dtype=np.int64)
    place, end, action = n_frames, n_frames, last
    while end > 0:
        place -= 1
        actions[place], ends[place] = action, end
        start = starts[end, action]
        end, action = start, previous[start, action]
    return actions[place:], ends[place:]
