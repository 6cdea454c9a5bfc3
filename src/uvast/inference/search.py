"""Transcripts from the decoder: greedy and beam search with cached keys and values.

Both work on token sequences as the decoder was trained on: a long segment may come out as several
equal tokens, which `Transcript.actions` merges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from uvast.segments import IntArray, merge_repeats

if TYPE_CHECKING:
    from torch import Tensor

    from uvast.models import Encoded, Uvast
    from uvast.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Transcript:
    """What the decoder wrote.

    Args:
        tokens: the actions as decoded, repeats included, without SOS and EOS.
        log_probability: of the tokens and, if it was reached, of EOS.
        complete: whether EOS came before the cap.
    """

    tokens: IntArray
    log_probability: float
    complete: bool

    @property
    def actions(self) -> IntArray:
        """The transcript `(S,)`, repeated neighbours merged."""
        return merge_repeats(self.tokens)


@torch.inference_mode()
def greedy_transcripts(
    model: Uvast, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, *, max_segments: int
) -> tuple[Transcript, ...]:
    """The likeliest token at each step, for all videos of a batch at once.

    A video stops at EOS, or with `max_segments` tokens or one per frame, the last one kept.
    """
    n_videos = mask.shape[0]
    caps = mask.sum(1).clamp(max=max_segments)
    state = model.start(encoded, mask)
    tokens = torch.full((n_videos,), vocabulary.sos, device=mask.device)
    running = torch.ones(n_videos, dtype=torch.bool, device=mask.device)
    written: list[Tensor] = []
    scores = torch.zeros(n_videos, device=mask.device)
    n_tokens = torch.zeros(n_videos, dtype=torch.long, device=mask.device)
    while bool(running.any()):
        logits, state = model.step(state, tokens)
        log_probabilities = logits.log_softmax(-1)
        # The first token cannot be EOS: an empty transcript segments nothing.
        if not written:
            log_probabilities[:, vocabulary.eos] = -torch.inf
        values, tokens = log_probabilities.max(-1)
        scores += torch.where(running, values, 0.0)
        running = running & (tokens != vocabulary.eos)
        written.append(tokens)
        n_tokens += running
        running = running & (n_tokens < caps)
    rows = torch.stack(written, 1).cpu().numpy()
    counts = n_tokens.tolist()
    return tuple(
        Transcript(row[:count].astype(np.int64), score, count < cap)
        for row, count, score, cap in zip(rows, counts, scores.tolist(), caps.tolist(), strict=True)
    )


@torch.inference_mode()
def beam_transcripts(
    model: Uvast,
    encoded: Encoded,
    mask: Tensor,
    vocabulary: Vocabulary,
    *,
    beam_width: int,
    max_segments: int,
) -> tuple[Transcript, ...]:
    """The `beam_width` best transcripts of one video (B = 1), by log-probability.

    A step keeps the `beam_width` likeliest continuations; those that end there are finished. The
    search stops when no running transcript can overtake the finished ones, since log-probabilities
    only fall. A beam of one is greedy search.
    """
    cap = min(max_segments, int(mask.sum()))
    state = model.start(encoded, mask).select(
        torch.zeros(beam_width, dtype=torch.long, device=mask.device)
    )
    tokens = torch.full((beam_width,), vocabulary.sos, device=mask.device)
    scores = torch.full((beam_width,), -torch.inf, device=mask.device)
    scores[0] = 0.0
    history = torch.empty((beam_width, 0), dtype=torch.long, device=mask.device)
    finished: list[Transcript] = []
    for place in range(cap + 1):
        logits, state = model.step(state, tokens)
        extended = scores[:, None] + logits.log_softmax(-1)  # (beam, C + 1)
        if place == 0:
            extended[:, vocabulary.eos] = -torch.inf
        _, likeliest = extended.flatten().topk(min(beam_width, extended.numel()))
        finished += [
            Transcript(history[origin].cpu().numpy(), float(extended[origin, token]), complete=True)
            for origin, token in zip(*_origins(likeliest, vocabulary), strict=True)
            if token == vocabulary.eos and torch.isfinite(extended[origin, token])
        ]
        finished = sorted(finished, key=lambda one: -one.log_probability)[:beam_width]
        if place == cap:
            break
        extended[:, vocabulary.eos] = -torch.inf
        scores, chosen = extended.flatten().topk(min(beam_width, extended.numel()))
        if len(finished) == beam_width and scores[0] <= finished[-1].log_probability:
            break
        origin, tokens = _origins(chosen, vocabulary)
        history = torch.cat((history[origin], tokens[:, None]), 1)
        state = state.select(origin)
    cut = [
        Transcript(row.cpu().numpy(), score, complete=False)
        for row, score in zip(history, scores.tolist(), strict=True)
        if np.isfinite(score) and history.shape[1] == cap
    ]
    return tuple(sorted(finished or cut, key=lambda one: -one.log_probability)[:beam_width])


def _origins(chosen: Tensor, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Places in a flat `(beam, C + 1)` -> the hypotheses they extend, and by which token."""
    width = vocabulary.eos + 1
    return chosen // width, chosen % width


@torch.inference_mode()
def transcript_log_probabilities(
    model: Uvast, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, tokens: list[IntArray]
) -> tuple[float, ...]:
    """Log-probability, EOS included, of any token sequences of one video (B = 1)."""
    scores = []
    for sequence in tokens:
        actions = torch.tensor(sequence, device=mask.device)
        sos = actions.new_tensor([vocabulary.sos])
        eos = actions.new_tensor([vocabulary.eos])
        inputs = torch.cat((sos, actions))[None]
        logits = model.decode(encoded, mask, inputs, need_weights=False).logits[-1, 0]
        chosen = logits.log_softmax(-1).gather(1, torch.cat((actions, eos))[:, None])
        scores.append(float(chosen.sum()))
    return tuple(scores)
