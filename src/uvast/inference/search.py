"""Transcripts from the decoder: greedy and beam search with cached keys and values.

Both work on token sequences like those the decoder was trained on: a long segment may come out as
several equal tokens, which `Transcript.actions` merges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import log_softmax

from uvast.segments import IntArray, merge_repeats

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from uvast.models import Encoded
    from uvast.models.protocols import Writer
    from uvast.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Transcript:
    """What the decoder wrote.

    Args:
        tokens: the actions as decoded, repeats included, without SOS and EOS.
        log_probability: of the tokens and, if it was reached, of EOS.
        ended: whether it reached EOS.
        is_full: whether it has a token for every frame of its video.
    """

    tokens: IntArray
    log_probability: float
    ended: bool
    is_full: bool = False

    @property
    def complete(self) -> bool:
        """Whether a higher `max_segments` would change nothing."""
        return self.ended or self.is_full

    @property
    def actions(self) -> IntArray:
        """The transcript `(S,)`, repeated neighbours merged."""
        return merge_repeats(self.tokens)

    def rank(self, length_power: float) -> float:
        """Its log-probability divided by a power of its length, EOS included."""
        return float(self.log_probability / (len(self.tokens) + 1) ** length_power)


def greedy_transcripts(
    model: Writer, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, *, max_segments: int
) -> tuple[Transcript, ...]:
    """The likeliest token at each step, for B videos with valid frames `(B, T)` at once.

    A video stops at EOS or, if none comes, after `max_segments` tokens or one token per frame.
    """
    n_frames = mask.sum(1).cpu().numpy()
    caps = np.minimum(n_frames, max_segments)
    n_videos = len(caps)
    state = model.start(encoded, mask)
    tokens = np.full(n_videos, vocabulary.sos)
    running = np.ones(n_videos, dtype=bool)
    ended = np.zeros(n_videos, dtype=bool)
    scores = np.zeros(n_videos)
    n_tokens = np.zeros(n_videos, dtype=np.int64)
    written: list[IntArray] = []
    while running.any():
        logits, state = state.step(tokens)
        log_probabilities = log_softmax(logits.astype(np.float64), axis=1)
        if not written:
            _forbid_empty(log_probabilities, vocabulary)
        tokens = log_probabilities.argmax(1)
        ended |= running & (tokens == vocabulary.eos)
        running &= ended | (n_tokens < caps)
        scores += np.where(running, log_probabilities.max(1), 0.0)
        running &= ~ended
        written.append(tokens)
        n_tokens += running
    rows = np.stack(written, axis=1)
    return tuple(
        Transcript(row[:count], float(score), bool(end), is_full=bool(count == most))
        for row, count, score, end, most in zip(
            rows, n_tokens, scores, ended, n_frames, strict=True
        )
    )


def beam_transcripts(
    model: Writer,
    encoded: Encoded,
    mask: Tensor,
    vocabulary: Vocabulary,
    *,
    beam_width: int,
    max_segments: int,
    length_power: float = 0.0,
) -> tuple[Transcript, ...]:
    """The `beam_width` best transcripts of one video (B = 1), by `Transcript.rank`.

    A step keeps the `beam_width` likeliest continuations; those that end there are finished. The
    search stops when no running transcript can overtake the finished ones: log-probabilities only
    fall, and the longest transcript has the largest divisor. A beam of one is greedy search, which
    ignores `length_power`.
    """
    n_frames = int(mask.sum())
    cap = min(max_segments, n_frames)
    power = length_power if beam_width > 1 else 0.0
    state = model.start(encoded, mask)
    tokens = np.array([vocabulary.sos])
    scores = np.zeros(1)
    history = np.empty((1, 0), dtype=np.int64)
    finished: list[Transcript] = []
    for place in range(cap + 1):
        logits, state = state.step(tokens)
        log_probabilities = log_softmax(logits.astype(np.float64), axis=1)
        extended = scores[:, None] + log_probabilities  # (beam, C + 1)
        if place == 0:
            _forbid_empty(extended, vocabulary)
        for origin, token in zip(*_likeliest(extended, beam_width), strict=True):
            if token == vocabulary.eos:
                score = float(extended[origin, token])
                finished.append(Transcript(history[origin], score, ended=True))
        finished = _best_first(finished, power)[:beam_width]
        if place == cap:
            break
        origins, tokens = _likeliest(extended[:, : vocabulary.eos], beam_width)
        scores = extended[origins, tokens]
        best_left = scores[0] / (cap + 1) ** power
        if len(finished) == beam_width and best_left <= finished[-1].rank(power):
            break
        history = np.concatenate((history[origins], tokens[:, None]), axis=1)
        state = state.select(origins)
    cut = [
        Transcript(row, float(score), ended=False, is_full=cap == n_frames)
        for row, score in zip(history, scores, strict=True)
        if len(row) == cap
    ]
    return tuple(finished or _best_first(cut, power))


def _forbid_empty(scores: NDArray[np.float64], vocabulary: Vocabulary) -> None:
    """The first token cannot be EOS: an empty transcript segments nothing."""
    scores[:, vocabulary.eos] = -np.inf


def _likeliest(extended: NDArray[np.float64], count: int) -> tuple[IntArray, IntArray]:
    """The `count` best entries of `(beam, tokens)` above `-inf`, best first: rows and columns."""
    order = np.argsort(-extended, axis=None, kind="stable")[:count]
    rows, columns = np.unravel_index(order, extended.shape)
    possible = np.isfinite(extended[rows, columns])
    return rows[possible], columns[possible]


def _best_first(transcripts: list[Transcript], length_power: float) -> list[Transcript]:
    return sorted(transcripts, key=lambda one: -one.rank(length_power))


@torch.inference_mode()
def transcript_log_probabilities(
    model: Writer, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, tokens: list[IntArray]
) -> tuple[float, ...]:
    """Log-probability, EOS included, of any token sequences of one video (B = 1)."""
    scores = []
    for sequence in tokens:
        whole = np.concatenate(([vocabulary.sos], sequence, [vocabulary.eos]))
        ids = torch.as_tensor(whole, device=mask.device)
        logits = model.decode(encoded, mask, ids[None, :-1]).logits[-1, 0]
        chosen = logits.log_softmax(-1).gather(1, ids[1:, None])
        scores.append(float(chosen.sum()))
    return tuple(scores)
