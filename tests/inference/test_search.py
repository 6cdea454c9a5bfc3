"""Greedy and beam search: caps, ends and log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

import uvast
from uvast.data import Dataset
from uvast.inference.search import (
    beam_transcripts,
    greedy_transcripts,
    transcript_log_probabilities,
)
from uvast.vocabulary import Vocabulary


def test_greedy_search_looks_whether_the_end_follows_the_cap(
    model: uvast.Segmenter, tiny: Dataset
) -> None:
    batch = model.encode_batch([tiny.video(tiny.names[0], labels=False)])
    given = (model.module, batch.encoded, batch.mask, model.vocabulary)
    (whole,) = greedy_transcripts(*given, max_segments=50)
    for cap in (len(whole.tokens), len(whole.tokens) - 1):
        (greedy,) = greedy_transcripts(*given, max_segments=cap)
        (beam,) = beam_transcripts(*given, beam_width=1, max_segments=cap)
        assert greedy.tokens.tolist() == beam.tokens.tolist() == whole.tokens[:cap].tolist()
        assert greedy.complete == beam.complete == (cap == len(whole.tokens))
        assert greedy.log_probability == pytest.approx(beam.log_probability, abs=1e-3)


@pytest.mark.parametrize("beam_width", [1, 2])
def test_a_transcript_of_one_token_a_frame_was_not_stopped_by_the_cap(
    model: uvast.Segmenter, tiny: Dataset, beam_width: int
) -> None:
    """There is no room for another segment, so raising the cap would change nothing."""
    features = tiny.video(tiny.names[0], labels=False).features[:1]
    assert model.segment(features, beam_width=beam_width).complete


def test_a_beam_of_one_is_greedy_and_wider_ones_are_never_worse(
    model: uvast.Segmenter, tiny: Dataset
) -> None:
    for name in tiny.names[:4]:
        batch = model.encode_batch([tiny.video(name, labels=False)])
        given = (model.module, batch.encoded, batch.mask, model.vocabulary)
        (greedy,) = greedy_transcripts(*given, max_segments=50)
        one, *_ = beam_transcripts(*given, beam_width=1, max_segments=50)
        assert one.tokens.tolist() == greedy.tokens.tolist()
        assert one.log_probability == pytest.approx(greedy.log_probability, abs=1e-3)
        wide = beam_transcripts(*given, beam_width=8, max_segments=50)
        alike = beam_transcripts(*given, beam_width=1, max_segments=50, length_power=1.0)
        assert alike[0].tokens.tolist() == greedy.tokens.tolist()
        assert wide[0].log_probability >= greedy.log_probability - 1e-4
        scores = [one.log_probability for one in wide]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.tokens.tolist()) for one in wide}) == len(wide)
        full = transcript_log_probabilities(*given, [one.tokens for one in wide])
        assert scores == pytest.approx(full, abs=1e-3)


@dataclass(frozen=True)
class Chain:
    """A decoder that looks at its last token alone: a row of logits for a, b and SOS."""

    logits: np.ndarray

    def start(self, encoded: object, mask: torch.Tensor) -> Chain:
        return self

    def step(self, tokens: np.ndarray) -> tuple[np.ndarray, Chain]:
        return self.logits[np.minimum(tokens, 2)], self

    def select(self, origins: np.ndarray) -> Chain:
        return self


AB = Vocabulary(("a", "b"))
MOST = 5


def every_rank(logits: np.ndarray, length_power: float) -> dict[tuple[int, ...], float]:
    """Of each transcript of at most `MOST` tokens."""
    logs = log_softmax(logits, axis=1)
    found = {}
    for n_tokens in range(1, MOST + 1):
        for tokens in product((0, 1), repeat=n_tokens):
            steps = zip((2, *tokens), (*tokens, AB.eos), strict=True)
            total = sum(logs[before, after] for before, after in steps)
            found[tokens] = total / (n_tokens + 1) ** length_power
    return found


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 1.0]))
def test_a_beam_that_keeps_all_finds_the_best_of_all(seed: int, length_power: float) -> None:
    logits = 2 * np.random.default_rng(seed).standard_normal((3, 3))
    found = beam_transcripts(
        Chain(logits),  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        torch.ones(1, MOST, dtype=torch.bool),
        AB,
        beam_width=200,
        max_segments=MOST,
        length_power=length_power,
    )
    ranks = every_rank(logits, length_power)
    best = sorted(ranks.values(), reverse=True)
    assert [one.rank(length_power) for one in found] == pytest.approx(best)
    # by transcript, not by place: two that take the same steps in another order tie
    by_tokens = {tuple(one.tokens.tolist()): one.rank(length_power) for one in found}
    assert by_tokens == pytest.approx(ranks)


def test_a_beam_does_not_like_the_shortest_best() -> None:
    """A step costs little, the end much: a short one is likelier, a long one is so by the step."""
    logits = np.log(np.array([[0.02, 0.88, 0.1], [0.88, 0.02, 0.1], [0.6, 0.3, 0.1]]))
    beams = {
        power: beam_transcripts(
            Chain(logits),  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            torch.ones(1, 20, dtype=torch.bool),
            AB,
            beam_width=10,
            max_segments=20,
            length_power=power,
        )
        for power in (0.0, 1.0)
    }
    assert len(beams[0.0][0].tokens) == 1
    assert len(beams[1.0][0].tokens) == 20
