"""Transcript, then durations; or both at once. One video at a time, every way by one call.

| `transcript`  | comes from                                                         |
|---------------|--------------------------------------------------------------------|
| `decoder`     | the transcript decoder, greedy or by beam search (the paper)       |
| `frames`      | the runs of the frame labels (the frame-wise baselines)            |
| `semi-markov` | exact joint decoding of transcript and durations                   |
| `best`        | the best of all of these by segmentation score and decoder score   |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from uvast.durations import (
    AlignmentWay,
    FifaWay,
    ScoredSegmentation,
    ViterbiWay,
    mode_filter,
    scored_semi_markov,
    segmentation_score,
    smoothed_transcript,
    viterbi,
)
from uvast.errors import ConfigError
from uvast.inference.search import (
    Transcript,
    beam_transcripts,
    greedy_transcripts,
    transcript_log_probabilities,
)
from uvast.models import Encoded, Uvast
from uvast.segments import IntArray, Segmentation, round_durations

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from uvast.config import DecodeConfig
    from uvast.durations import DurationWay
    from uvast.inference.prediction import FramePrediction
    from uvast.inference.priors import Priors
    from uvast.vocabulary import Vocabulary

BEST_BEAM_WIDTH = 5
"""Transcripts that the decoder writes for `best` where the settings do not say how many."""

SMOOTHING_WIDTHS = (1, 9, 25)
"""Widths of the mode filters that read candidates for `best` off the frame labels.

Runs that stay shorter than half of the width are absorbed by their neighbours.
"""


@dataclass(frozen=True, eq=False)
class DecodedVideo:
    """One video, decoded at the model's rate; the segmentation is None for a bare transcript."""

    transcript: IntArray
    segmentation: Segmentation | None
    complete: bool = True


@dataclass(frozen=True, eq=False)
class Job:
    """One video, ready to decode.

    Args:
        frames: the frame head's view.
        encoded: the encoder's output of this video alone (B = 1, no padding).
        mask: `(1, T)`, all True.
        transcripts: what the decoder wrote, best first; empty if it was not asked.
    """

    frames: FramePrediction
    encoded: Encoded
    mask: Tensor
    transcripts: tuple[Transcript, ...]


@dataclass(frozen=True, eq=False)
class Candidates:
    """What `best` chooses from (docs/method.md, Durations).

    Args:
        segmentations: K of them, the joint one first.
        scores: segmentation scores `(K,)`.
        decoder_scores: the decoder's log-probabilities of their transcripts `(K,)`.
        cut_off: transcripts that the decoder had to stop before their end.
    """

    segmentations: tuple[Segmentation, ...]
    scores: NDArray[np.float64]
    decoder_scores: NDArray[np.float64]
    cut_off: tuple[IntArray, ...]

    def winner(self, decoder_weight: float) -> DecodedVideo:
        """The best sum of segmentation score and weighted decoder score, the first of equals."""
        total = self.scores + decoder_weight * self.decoder_scores
        winner = self.segmentations[int(total.argmax())]
        complete = not any(np.array_equal(winner.transcript, one) for one in self.cut_off)
        return DecodedVideo(winner.transcript, winner, complete)


class Decoder:
    """Decodes videos with one set of options."""

    def __init__(
        self, model: nn.Module, vocabulary: Vocabulary, priors: Priors, options: DecodeConfig
    ) -> None:
        check_options(model, options)
        self._model = model
        self._vocabulary = vocabulary
        self._priors = priors
        self._options = options
        self._way = self._duration_way()
        has_alignment = isinstance(model, Uvast) and model.alignment is not None
        self._may_align = has_alignment and options.durations in ("alignment", "fifa")

    def jobs(
        self, encoded: Encoded, mask: Tensor, frames: tuple[FramePrediction, ...]
    ) -> tuple[Job, ...]:
        """Takes a batch apart; the transcript decoder works on the whole batch at once."""
        lengths = mask.sum(1).tolist()
        alone = [
            Encoded(encoded.features[i : i + 1, :n], encoded.logits[i : i + 1, :n])
            for i, n in enumerate(lengths)
        ]
        masks = [mask[i : i + 1, :n] for i, n in enumerate(lengths)]
        transcripts: list[tuple[Transcript, ...]] = [()] * len(lengths)
        if self._options.transcript in ("decoder", "best"):
            assert isinstance(self._model, Uvast), "checked with the options"
            cap = self._options.max_segments
            own_width = BEST_BEAM_WIDTH if self._options.transcript == "best" else 1
            beam_width = self._options.beam_width or own_width
            if beam_width == 1:
                greedy = greedy_transcripts(
                    self._model, encoded, mask, self._vocabulary, max_segments=cap
                )
                transcripts = [(one,) for one in greedy]
            else:
                transcripts = [
                    beam_transcripts(
                        self._model,
                        one,
                        one_mask,
                        self._vocabulary,
                        beam_width=beam_width,
                        max_segments=cap,
                    )
                    for one, one_mask in zip(alone, masks, strict=True)
                ]
        return tuple(map(Job, frames, alone, masks, transcripts))

    def decode(self, job: Job) -> DecodedVideo:
        """The segmentation of one video."""
        way = self._options.transcript
        if way == "semi-markov":
            found = self._semi_markov(job.frames).segmentation
            return DecodedVideo(found.transcript, found)
        if way == "best":
            return self.candidates(job).winner(self._priors.decoder_weight)
        if way == "frames":
            labels = job.frames.labels
            if self._options.mode_filter:
                labels = mode_filter(labels, self._options.mode_filter)
            runs = Segmentation.from_labels(labels)
            if self._options.durations == "none":
                return DecodedVideo(runs.transcript, runs)
            return DecodedVideo(runs.transcript, self._with_durations(job, runs.transcript))
        transcript = job.transcripts[0]
        if self._options.durations == "none":
            return DecodedVideo(transcript.actions, None, transcript.complete)
        if self._options.durations == "explicit":
            return DecodedVideo(
                transcript.actions, self._explicit(job, transcript), transcript.complete
            )
        segmentation = self._with_durations(job, transcript.actions)
        return DecodedVideo(transcript.actions, segmentation, transcript.complete)

    def _with_durations(self, job: Job, transcript: IntArray) -> Segmentation:
        logits = self._assignment_logits(job, transcript) if self._may_align else None
        n_frames = len(job.frames.log_probabilities)
        way = self._way
        if isinstance(way, ViterbiWay) and way.frame_sampling * len(transcript) > n_frames:
            # A coarse grid only saves time: where the transcript does not fit on it, a finer one.
            way = replace(way, frame_sampling=n_frames // len(transcript))
        found = way(job.frames.log_probabilities, transcript, assignment_logits=logits)
        return Segmentation(transcript, found.durations)

    def _duration_way(self) -> DurationWay:
        options = self._options
        if options.durations == "alignment":
            return AlignmentWay()
        if options.durations == "fifa":
            plain = options.fifa_optimiser == "gradient-descent"
            return FifaWay(
                length_model=self._priors.poisson,
                sharpness=options.fifa_sharpness,
                length_weight=options.fifa_length_weight,
                sum_weight=options.fifa_sum_weight,
                optimiser=options.fifa_optimiser,
                n_steps=options.fifa_steps if plain else None,
                step_size=options.fifa_step_size if plain else None,
            )
        return ViterbiWay(
            length_model=self._priors.length_model(options.length_model),
            frame_sampling=options.frame_sampling,
            alpha=self._alpha(options.length_model),
        )

    def _alpha(self, length_model: str) -> float:
        """The setting; else the paper's 1 with Poisson lengths and the model's own with others."""
        if self._options.alpha:
            return self._options.alpha
        return 1.0 if length_model == "poisson" else self._priors.alpha

    def _semi_markov(self, frames: FramePrediction) -> ScoredSegmentation:
        return scored_semi_markov(
            frames.log_probabilities,
            self._priors.gamma,
            self._priors.transitions,
            alpha=self._alpha("gamma"),
        )

    @torch.inference_mode()
    def _assignment_logits(self, job: Job, transcript: IntArray) -> NDArray[np.float32]:
        model = self._model
        assert isinstance(model, Uvast), "checked with the options"
        tokens = self._teacher_tokens(transcript, job.mask)
        decoded = model.decode(job.encoded, job.mask, tokens, need_weights=False)
        segments = decoded.features[:, :-1]
        logits = model.align(job.encoded.features, job.mask, segments, None)
        return logits[0].cpu().numpy()

    @torch.inference_mode()
    def _explicit(self, job: Job, transcript: Transcript) -> Segmentation:
        assert isinstance(self._model, Uvast), "checked with the options"
        tokens = self._teacher_tokens(transcript.tokens, job.mask)
        decoded = self._model.decode(job.encoded, job.mask, tokens, need_weights=False)
        assert decoded.fractions is not None, "checked with the options"
        fractions = decoded.fractions[-1, 0, :-1].clamp(min=0).cpu().numpy()
        durations = round_durations(fractions, job.mask.shape[1])
        return Segmentation(transcript.tokens, durations).merged()

    def _teacher_tokens(self, actions: IntArray, mask: Tensor) -> Tensor:
        tokens = np.concatenate(([self._vocabulary.sos], actions))
        return torch.as_tensor(tokens, device=mask.device)[None]

    def candidates(self, job: Job) -> Candidates:
        """What `best` chooses from: segmentations, each by two scores.

        A joint segmentation of more segments than the decoder may write is not for it to judge,
        and has the best segmentation score of all: noise does not cost T x T.
        """
        joint = self._semi_markov(job.frames).segmentation
        if len(joint) > self._options.max_segments:
            return Candidates((joint,), np.zeros(1), np.zeros(1), ())
        found = self._with_viterbi(job, joint)
        scores = [
            segmentation_score(
                job.frames.log_probabilities,
                one,
                self._priors.gamma,
                self._priors.transitions,
                alpha=self._alpha("gamma"),
            )
            for one in found
        ]
        cut_off = tuple(one.actions for one in job.transcripts if not one.complete)
        return Candidates(found, np.array(scores), self._decoder_scores(job, found), cut_off)

    def _with_viterbi(self, job: Job, joint: Segmentation) -> tuple[Segmentation, ...]:
        """Distinct ones, the joint one first; none longer than the decoder may write."""
        longest = min(len(job.frames.log_probabilities), self._options.max_segments)
        transcripts = [one.actions for one in job.transcripts] + [
            smoothed_transcript(job.frames.log_probabilities, width=width, least=(width + 1) // 2)
            for width in SMOOTHING_WIDTHS
        ]
        distinct = {tuple(t.tolist()): t for t in transcripts if len(t) <= longest}
        distinct.pop(tuple(joint.transcript.tolist()), None)
        viterbi_of = partial(
            viterbi,
            job.frames.log_probabilities,
            length_model=self._priors.gamma,
            alpha=self._alpha("gamma"),
        )
        return (joint, *(Segmentation(t, viterbi_of(t).durations) for t in distinct.values()))

    def _decoder_scores(
        self, job: Job, candidates: tuple[Segmentation, ...]
    ) -> NDArray[np.float64]:
        """Each candidate as the decoder would have written it: long segments in chunks."""
        assert isinstance(self._model, Uvast), "checked with the options"
        fraction = self._priors.chunk_fraction
        tokens = [
            one.chunked(fraction).transcript if fraction else one.transcript for one in candidates
        ]
        return np.array(
            transcript_log_probabilities(
                self._model, job.encoded, job.mask, self._vocabulary, tokens
            )
        )


def check_options(model: nn.Module, options: DecodeConfig) -> None:
    """Says before the first video what the model cannot do."""
    network = model if isinstance(model, Uvast) else None
    if options.transcript in ("decoder", "best") and network is None:
        raise ConfigError(
            f"transcript {options.transcript!r} needs a uvast model, this one is frame-wise",
            remedy="pass --transcript frames or --transcript semi-markov",
        )
    if options.transcript in ("semi-markov", "best"):
        return  # they find durations of their own
    if options.durations == "alignment" and (network is None or network.alignment is None):
        second = (
            "" if network is None else "train stage 2 with uvast train --resume RUN --stage 2, or "
        )
        raise ConfigError(
            "durations 'alignment' need a model with an alignment decoder",
            remedy=f"{second}pass --durations viterbi",
        )
    if options.durations != "explicit":
        return
    if network is None or not network.dimensions.explicit_durations:
        raise ConfigError(
            "durations 'explicit' need a model that was trained to predict them",
            remedy="train with --set model.explicit_durations=true or pass --durations viterbi",
        )
    if options.transcript != "decoder":
        raise ConfigError(
            "durations 'explicit' go with the decoder's own transcript",
            remedy="pass --transcript decoder",
        )
