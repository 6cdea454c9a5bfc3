"""MuCon's segment branch: a recurrent network that writes actions and how long each lasts.

A bidirectional LSTM reads the pooled frames; an LSTM writes one action after the other. It attends
to what was read, and what it has seen is an input to its next step. The segments' shares of the
video are the softmax of their log-lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from uvast.models.layers import dropout
from uvast.models.transcript_decoder import Decoded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from uvast.segments import IntArray


@dataclass(frozen=True)
class WrittenLengths(Decoded):
    """A `Decoded` of one layer (N = 1), with lengths; shares are 0 where no segment follows.

    Args:
        log_lengths: `(B, L)`, before they become shares; arbitrary where no segment follows.
    """

    log_lengths: Tensor


class Hidden(NamedTuple):
    """What the writing network knows after a token: state, cell and what it saw, `(B, D)` each."""

    state: Tensor
    cell: Tensor
    seen: Tensor


class Memory(NamedTuple):
    """What was read from T' pooled frames `(B, T', D)`; `padding (B, T')` is 0 or -inf, or None."""

    keys: Tensor
    values: Tensor
    padding: Tensor | None


class SegmentBranch(nn.Module):
    """Reads pooled frames and writes tokens with log-lengths; `width` is that of every layer."""

    def __init__(self, width: int, n_classes: int, rate: float) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.rate = rate
        self.reader = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.begin = nn.Linear(width, 2 * width)
        self.key = nn.Linear(width, width, bias=False)
        self.embed = nn.Embedding(n_classes + 2, width)  # classes, EOS, SOS
        self.writer = nn.LSTMCell(2 * width, width)
        self.mix = nn.Linear(2 * width, width)
        self.classify = nn.Linear(width, n_classes + 1)
        self.regress = nn.Linear(width, 1, bias=False)  # a bias would change no share

    def read(self, pooled: Tensor, mask: Tensor | None) -> Tensor:
        """Pooled frames `(B, T', D)`, valid ones `(B, T')` -> `(B, T', D)`, zero on padding."""
        if mask is None:
            read: Tensor = self.reader(pooled)[0]
            return read
        lengths = mask.sum(1).cpu()  # both directions begin at a valid frame
        packed = pack_padded_sequence(pooled, lengths, batch_first=True, enforce_sorted=False)
        padded, _ = pad_packed_sequence(
            self.reader(packed)[0], batch_first=True, total_length=pooled.shape[1]
        )
        return padded

    def start(self, read: Tensor, mask: Tensor | None) -> tuple[Memory, Hidden]:
        """The result of `read` -> the memory, and the state before B transcripts' first token."""
        half = read.shape[2] // 2
        last = read[:, -1, :half]  # where the forward direction has ended
        padding = None
        if mask is not None:
            ends = (mask.sum(1) - 1).clamp(min=0)
            last = read[torch.arange(len(read), device=read.device), ends, :half]
            padding = read.new_zeros(mask.shape).masked_fill(~mask, -math.inf)
        both = torch.cat((last, read[:, 0, half:]), 1)
        state, cell = self.begin(both).tanh().chunk(2, 1)
        memory = Memory(self.key(read) / math.sqrt(read.shape[2]), read, padding)
        return memory, Hidden(state, cell, torch.zeros_like(state))

    def advance(self, memory: Memory, before: Hidden, token: Tensor) -> tuple[Hidden, Tensor]:
        """Feeds one embedded token `(B, D)`; also returns the attention weights `(B, T')`.

        The sequences of a single video share its memory.
        """
        given = torch.cat((token, before.seen), 1)
        state, cell = self.writer(given, (before.state, before.cell))
        # one video's sequences are its queries, else each video has one
        shared = len(memory.keys) == 1
        queries = state.unsqueeze(0 if shared else 1)  # (1, B, D) or (B, 1, D)
        scores = queries @ memory.keys.transpose(1, 2)
        if memory.padding is not None:
            scores = scores + memory.padding.unsqueeze(1)
        weights = scores.softmax(-1)
        seen = weights @ memory.values
        over = 0 if shared else 1
        return Hidden(state, cell, seen.squeeze(over)), weights.squeeze(over)

    def embedded(self, tokens: Tensor) -> Tensor:
        """Tokens `(…)` -> `(…, D)`."""
        return dropout(self.embed(tokens), self.rate, self.training)

    def mixed(self, states: Tensor, seen: Tensor) -> Tensor:
        """States and what was seen, `(…, D)` each -> features for the next token `(…, D)`."""
        return self.mix(torch.cat((states, seen), -1)).tanh()  # type: ignore[no-any-return]

    def forward(self, read: Tensor, mask: Tensor | None, tokens: Tensor) -> WrittenLengths:
        """Teacher forcing: position i of the output predicts token i + 1.

        Args:
            read: the result of `read` `(B, T', D)`.
            mask: its valid frames `(B, T')`; None when all are.
            tokens: SOS and the actions, padded with EOS `(B, L)`.
        """
        memory, hidden = self.start(read, mask)
        states, seen, weights = [], [], []
        for token in self.embedded(tokens).unbind(1):
            hidden, looked = self.advance(memory, hidden, token)
            states.append(hidden.state)
            seen.append(hidden.seen)
            weights.append(looked)
        features = self.mixed(torch.stack(states, 1), torch.stack(seen, 1))
        outputs = dropout(features, self.rate, self.training)
        log_lengths = self.regress(outputs).squeeze(2)
        is_segment = torch.zeros_like(tokens, dtype=torch.bool)
        is_segment[:, :-1] = tokens[:, 1:] < self.n_classes
        return WrittenLengths(
            logits=self.classify(outputs).unsqueeze(0),
            features=features,
            cross_attention=torch.stack(weights, 1).unsqueeze(0),
            fractions=log_shares(log_lengths, is_segment).exp().where(is_segment, 0.0).unsqueeze(0),
            log_lengths=log_lengths,
        )


def log_shares(log_lengths: Tensor, is_segment: Tensor) -> Tensor:
    """Logarithms of the shares of the video `(B, S)`; finite but meaningless without a segment."""
    least = torch.finfo(log_lengths.dtype).min  # with -inf, a video without segments would give NaN
    return log_lengths.masked_fill(~is_segment, least).log_softmax(1)


@dataclass(frozen=True, eq=False)
class SegmentBranchState:
    """Where the branch is in its transcripts, one per sequence (B of them)."""

    branch: SegmentBranch
    memory: Memory
    hidden: Hidden

    def select(self, indices: IntArray) -> SegmentBranchState:
        """The state of the sequences `indices (B',)`, in that order; repeats are allowed."""
        chosen = torch.as_tensor(indices, device=self.hidden.state.device)
        memory = self.memory
        if len(memory.keys) > 1:
            keys, values, padding = memory
            padding = None if padding is None else padding[chosen]
            memory = Memory(keys[chosen], values[chosen], padding)
        return replace(self, memory=memory, hidden=Hidden(*(one[chosen] for one in self.hidden)))

    @torch.inference_mode()
    def step(self, tokens: IntArray) -> tuple[NDArray[np.floating], SegmentBranchState]:
        """Feeds `tokens (B,)`; returns the next ones' logits `(B, C + 1)` and the new state."""
        given = self.branch.embedded(torch.as_tensor(tokens, device=self.hidden.state.device))
        hidden, _ = self.branch.advance(self.memory, self.hidden, given)
        logits = self.branch.classify(self.branch.mixed(hidden.state, hidden.seen))
        return logits.cpu().numpy(), replace(self, hidden=hidden)
