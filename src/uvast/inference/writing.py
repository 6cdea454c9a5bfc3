"""Transcripts and their scores from all transcript decoders of a model: one, or an ensemble's.

Several decoders write one after the other. All of them score what any of them has written, and the
score of a transcript is the mean of its log-probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from uvast.durations import alignment
from uvast.inference.search import (
    beam_transcripts,
    greedy_transcripts,
    transcript_log_probabilities,
)
from uvast.models.ensemble import mean_probabilities, writers_of
from uvast.models.protocols import as_aligner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from uvast.config import DecodeConfig
    from uvast.durations import Durations
    from uvast.inference.search import Transcript
    from uvast.models import Decoded, Encoded
    from uvast.models.protocols import Writer
    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary


OWN_BEAM_WIDTH = 10
"""If the settings name no beam width: for `best`, and if greedy search does not end."""


class _Beam(NamedTuple):
    """How transcripts are searched; a width of 1 is greedy."""

    width: int
    max_segments: int
    length_power: float

    @classmethod
    def of(cls, options: DecodeConfig, width: int) -> _Beam:
        return cls(width, options.max_segments, options.length_power if width > 1 else 0.0)


@dataclass(frozen=True, eq=False)
class Written:
    """What the decoders of a model wrote for a video.

    Args:
        transcripts: the decoders' own answer first, then others.
        complete: False if `max_segments` stopped the search that the settings ask for.
    """

    transcripts: tuple[Transcript, ...] = ()
    complete: bool = True


def written_transcripts(
    model: nn.Module, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, options: DecodeConfig
) -> list[Written]:
    """The transcripts of each of B videos, whose valid frames are `mask (B, T)`.

    Search is greedy unless the settings ask for a beam. After greedy search, a beam follows for
    `best`, and for videos where greedy search does not end (mostly it loops): there, the beam's
    transcripts come first.
    """
    beam = _Beam.of(options, options.beam_width or 1)
    found = _searched(model, encoded, mask, vocabulary, beam)
    written = [Written(own, own[0].complete) for own in found]
    if options.beam_width:
        return written
    wider = _Beam.of(options, OWN_BEAM_WIDTH)
    for index, alone in enumerate(encoded.alone(mask)):
        greedy = found[index]
        ended = greedy[0].ended
        if options.transcript == "best" or not ended:
            (others,) = _searched(model, *alone, vocabulary, wider)
            both = (*greedy, *others) if ended else (*others, *greedy)
            written[index] = replace(written[index], transcripts=both)
    return written


def _searched(
    model: nn.Module, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, beam: _Beam
) -> list[tuple[Transcript, ...]]:
    """What all decoders write for each video, in one ranking, best first.

    Greedy search works on the whole batch at once, beam search on one video after the other.
    """
    by_writer = [_written(*part, mask, vocabulary, beam) for part in writers_of(model, encoded)]
    if len(by_writer) == 1:
        return by_writer[0]
    return [
        _ranked(
            writers_of(model, own),
            own_mask,
            vocabulary,
            [one for found in by_writer for one in found[index]],
            beam.length_power,
        )
        for index, (own, own_mask) in enumerate(encoded.alone(mask))
    ]


def _written(
    writer: Writer,
    encoded: Encoded,
    mask: Tensor,
    vocabulary: Vocabulary,
    beam: _Beam,
) -> list[tuple[Transcript, ...]]:
    """What one decoder writes for each video."""
    if beam.width == 1:
        greedy = greedy_transcripts(
            writer, encoded, mask, vocabulary, max_segments=beam.max_segments
        )
        return [(one,) for one in greedy]
    return [
        beam_transcripts(
            writer,
            *alone,
            vocabulary,
            beam_width=beam.width,
            max_segments=beam.max_segments,
            length_power=beam.length_power,
        )
        for alone in encoded.alone(mask)
    ]


def _ranked(
    parts: Sequence[tuple[Writer, Encoded]],
    mask: Tensor,
    vocabulary: Vocabulary,
    written: Sequence[Transcript],
    length_power: float,
) -> tuple[Transcript, ...]:
    """Distinct transcripts of one video, by the rank of their mean score; ended ones first."""
    distinct = list({tuple(one.tokens.tolist()): one for one in written}.values())
    tokens = [one.tokens for one in distinct]
    scores = np.mean(
        [transcript_log_probabilities(*part, mask, vocabulary, tokens) for part in parts], axis=0
    )
    scored = [
        replace(one, log_probability=float(score))
        for one, score in zip(distinct, scores, strict=True)
    ]
    return tuple(sorted(scored, key=lambda one: (not one.ended, -one.rank(length_power))))


def segmentation_log_probabilities(
    model: nn.Module,
    encoded: Encoded,
    mask: Tensor,
    vocabulary: Vocabulary,
    segmentations: Sequence[Segmentation],
    chunk_fractions: Sequence[float],
) -> NDArray[np.float64]:
    """The decoders' mean log-probability of the transcript of each of K segmentations `(K,)`.

    Each is scored as the decoder would have written it, in chunks of the length it learned.
    """
    scores = []
    for part, chunk in zip(writers_of(model, encoded), chunk_fractions, strict=True):
        tokens = [(one.chunked(chunk) if chunk else one).transcript for one in segmentations]
        scores.append(transcript_log_probabilities(*part, mask, vocabulary, tokens))
    return np.asarray(np.mean(scores, axis=0))


@torch.inference_mode()
def aligned_durations(
    model: nn.Module, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, transcript: IntArray
) -> Durations:
    """The durations of a transcript `(S,)` of one video, whose mask is `(1, T)`.

    The assignments of frames to segments are averaged over all alignment decoders.
    """
    found = []
    for writer, own in writers_of(model, encoded):
        aligner = as_aligner(writer)
        if aligner is not None and aligner.alignment is not None:
            segments = _read(writer, own, mask, vocabulary, transcript).features[:, :-1]
            found.append(aligner.align(own.features, mask, segments, None)[0])
    if len(found) == 1:
        return alignment(found[0].cpu().numpy())
    mean = mean_probabilities([one.double().log_softmax(-1) for one in found])
    return alignment(mean.cpu().numpy())


@torch.inference_mode()
def explicit_fractions(
    model: nn.Module, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, tokens: IntArray
) -> NDArray[np.float64]:
    """The share of the video that each token lasts `(L,)`, from decoders trained to predict it."""
    found = []
    for writer, own in writers_of(model, encoded):
        fractions = _read(writer, own, mask, vocabulary, tokens).fractions
        if fractions is not None:
            found.append(fractions[-1, 0, :-1].clamp(min=0).cpu().numpy())
    return np.asarray(np.mean(found, axis=0, dtype=np.float64))


def _read(
    writer: Writer, encoded: Encoded, mask: Tensor, vocabulary: Vocabulary, tokens: IntArray
) -> Decoded:
    """A transcript decoder's outputs for a whole transcript."""
    given = np.concatenate(([vocabulary.sos], tokens))
    inputs = torch.as_tensor(given, device=mask.device)[None]
    return writer.decode(encoded, mask, inputs, need_weights=False)
