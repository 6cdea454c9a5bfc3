"""What the decoders are compared with: brute force, slow recurrences, and generated inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np

from uvast.segments import Segmentation


@dataclass(frozen=True, eq=False)
class TableLengths:
    """A length model by its table `(C, T + 1)`: integers make sums exact and ties common."""

    table: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(self.table)

    def score(self, actions, lengths):
        return self.table[np.asarray(actions), np.asarray(lengths)]

    def scores(self, n_frames):
        return self.table[:, : n_frames + 1]


def concave_table(generator, n_classes, n_frames):
    """Integer scores, concave in the length, with plateaus."""
    slopes = -np.sort(-generator.integers(-3, 4, (n_classes, n_frames)), axis=1)
    table = np.cumsum(slopes, axis=1).astype(float)
    return np.concatenate((np.full((n_classes, 1), -np.inf), table), axis=1)


def integer_frames(generator, n_frames, n_classes):
    return generator.integers(-3, 1, (n_frames, n_classes)).astype(float)


def random_frames(generator, n_frames, n_classes):
    logits = 2 * generator.standard_normal((n_frames, n_classes))
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def planted_frames(segmentation, n_classes, probability=0.9):
    """Log-probabilities `(T, C)` that favour a segmentation's labels."""
    rest = (1 - probability) / (n_classes - 1)
    frames = np.full((segmentation.n_frames, n_classes), np.log(rest))
    frames[np.arange(len(frames)), segmentation.labels] = np.log(probability)
    return frames


@cache
def all_ends(n_frames, n_segments):
    """Every choice of ends `(n, S)`, those with early boundaries first."""
    inner = list(combinations(range(1, n_frames), n_segments - 1))
    cuts = np.array(inner, dtype=np.int64).reshape(len(inner), n_segments - 1)
    return np.concatenate((cuts, np.full((len(inner), 1), n_frames)), axis=1)


def brute_force_durations(frames, transcript, lengths, *, allowed=None, held=None):
    """The first best of all cuts, and its score.

    Args:
        frames: scores `(T, C)`.
        transcript: actions `(S,)`.
        lengths: length model.
        allowed: frames where a boundary may lie; all without.
        held: first and last timestamp of each segment `(S, 2)`.
    """
    ends = all_ends(len(frames), len(transcript))
    if allowed is not None:
        ends = ends[np.isin(ends, allowed).all(axis=1)]
    starts = np.concatenate((np.zeros((len(ends), 1), dtype=np.int64), ends[:, :-1]), axis=1)
    if held is not None:
        inside = ((starts <= held[:, 0]) & (held[:, 1] < ends)).all(axis=1)
        starts, ends = starts[inside], ends[inside]
    if not len(ends):
        return None
    sums = np.concatenate((np.zeros((1, frames.shape[1])), np.cumsum(frames, axis=0)))
    scores = sums[ends, transcript] - sums[starts, transcript]
    scores = (scores + lengths.score(transcript, ends - starts)).sum(axis=1)
    best = int(scores.argmax())
    return ends[best] - starts[best], scores[best], scores


@cache
def all_segmentations(n_frames, n_classes):
    """Every segmentation without repeated neighbours, once."""
    labels = product(range(n_classes), repeat=n_frames)
    return tuple(Segmentation.from_labels(np.array(one)) for one in labels)


def slow_viterbi_score(frames, transcript, lengths):
    """The `O(S T^2)` recurrence."""
    n_frames = len(frames)
    sums = np.concatenate((np.zeros((1, frames.shape[1])), np.cumsum(frames, axis=0)))
    best = np.full(n_frames + 1, -np.inf)
    best[0] = 0
    for action in transcript:
        length_scores = lengths.score(action, np.arange(1, n_frames + 1))
        previous, best = best - sums[:, action], np.full(n_frames + 1, -np.inf)
        for t in range(1, n_frames + 1):
            best[t] = sums[t, action] + (previous[:t] + length_scores[:t][::-1]).max()
    return best[-1]


def slow_semi_markov_score(frames, lengths, transitions):
    """The `O(C T^2 + C^2 T)` recurrence."""
    n_frames, n_classes = frames.shape
    sums = np.concatenate((np.zeros((1, n_classes)), np.cumsum(frames, axis=0)))
    table = lengths.score(np.arange(n_classes)[:, None], np.arange(1, n_frames + 1))
    enter = np.full((n_frames + 1, n_classes), -np.inf)
    enter[0] = transitions.initial
    for t in range(1, n_frames + 1):
        best = (enter[:t] - sums[:t] + table.T[:t][::-1]).max(axis=0) + sums[t]
        enter[t] = (best[:, None] + transitions.bigram).max(axis=0)
    return best.max()
