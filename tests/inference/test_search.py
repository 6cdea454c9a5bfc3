"""Greedy and beam search: caps, ends and log-probabilities."""

from __future__ import annotations

import pytest

import uvast
from uvast.data import Dataset
from uvast.inference.search import (
    beam_transcripts,
    greedy_transcripts,
    transcript_log_probabilities,
)


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
        assert wide[0].log_probability >= greedy.log_probability - 1e-4
        scores = [one.log_probability for one in wide]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.tokens.tolist()) for one in wide}) == len(wide)
        full = transcript_log_probabilities(*given, [one.tokens for one in wide])
        assert scores == pytest.approx(full, abs=1e-3)
