"""Transcript, then durations; or both at once. One video at a time, every way by one call.

| `transcript`  | comes from                                                         |
|---------------|--------------------------------------------------------------------|
| `decoder`     | the transcript decoder, greedy or by beam search (the paper)       |
| `frames`      | the runs of the frame labels (the frame-wise baselines)            |
| `semi-markov` | exact joint decoding of transcript and durations                   |
| `best`        | the best of all of these by segmentation score and decoder score   |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.durations import fifa, mode_filter, semi_markov, viterbi
from uvast.errors import ConfigError
from uvast.inference.candidates import Candidates, find_candidates
from uvast.inference.prediction import DecodedVideo, FramePrediction
from uvast.inference.writing import (
    aligned_durations,
    explicit_fractions,
    written_transcripts,
)
from uvast.models.ensemble import writers
from uvast.segments import IntArray, Segmentation, round_durations

if TYPE_CHECKING:
    from torch import Tensor, nn

    from uvast.config import DecodeConfig
    from uvast.durations import Durations
    from uvast.inference.priors import Priors
    from uvast.inference.search import Transcript
    from uvast.models import Encoded
    from uvast.vocabulary import Vocabulary

BEST_BEAM_WIDTH = 5
"""Transcripts that the decoder writes for `best` where the settings do not say how many."""


@dataclass(frozen=True, eq=False)
class Job:
    """One video, ready to decode: B = 1, without padding, the mask `(1, T)` all True.

    Transcripts are what the decoder wrote, best first; none if it was not asked.
    """

    frames: FramePrediction
    encoded: Encoded
    mask: Tensor
    transcripts: tuple[Transcript, ...]


@dataclass(frozen=True, eq=False)
class Decoder:
    """Decodes videos with one set of options."""

    model: nn.Module
    vocabulary: Vocabulary
    priors: Priors
    options: DecodeConfig

    def __post_init__(self) -> None:
        """Says before the first video what the model cannot do."""
        check_options(self.model, self.options)

    def jobs(
        self, encoded: Encoded, mask: Tensor, frames: tuple[FramePrediction, ...]
    ) -> tuple[Job, ...]:
        """Takes a batch apart; the transcript decoder works on the whole batch at once."""
        lengths = mask.sum(1).tolist()
        alone = [encoded.video(i, n) for i, n in enumerate(lengths)]
        masks = [mask[i : i + 1, :n] for i, n in enumerate(lengths)]
        transcripts: list[tuple[Transcript, ...]] = [()] * len(lengths)
        if self.options.transcript in ("decoder", "best"):
            own_width = BEST_BEAM_WIDTH if self.options.transcript == "best" else 1
            transcripts = written_transcripts(
                self.model,
                encoded,
                mask,
                self.vocabulary,
                beam_width=self.options.beam_width or own_width,
                max_segments=self.options.max_segments,
            )
        return tuple(map(Job, frames, alone, masks, transcripts))

    def decode(self, job: Job) -> DecodedVideo:
        """The segmentation of one video."""
        durations = self.options.durations
        match self.options.transcript:
            case "semi-markov":
                joint = self._semi_markov(job)
                return DecodedVideo(joint.transcript, joint)
            case "best":
                return self.candidates(job).winner(self.priors.decoder_weight)
            case "frames":
                labels = mode_filter(job.frames.labels, self.options.mode_filter or 1)
                runs = Segmentation.from_labels(labels)
                if durations != "none":
                    runs = self._with_durations(job, runs.transcript, runs.durations)
                return DecodedVideo(runs.transcript, runs)
            case "decoder":
                one = job.transcripts[0]
                found = None
                if durations == "explicit":
                    found = self._explicit(job, one.tokens)
                elif durations != "none":
                    found = self._with_durations(job, one.actions, None)
                return DecodedVideo(one.actions, found, one.complete)

    def candidates(self, job: Job) -> Candidates:
        """What `best` chooses from."""
        return find_candidates(
            self.model,
            job,
            self._semi_markov(job),
            self.vocabulary,
            self.priors,
            alpha=self._alpha("gamma"),
            max_segments=self.options.max_segments,
        )

    def _with_durations(
        self, job: Job, transcript: IntArray, known: IntArray | None
    ) -> Segmentation:
        """Durations of a transcript; of one that was read off the frames, some are known."""
        options, frames = self.options, job.frames.log_probabilities
        match options.durations:
            case "alignment":
                found = self._alignment(job, transcript)
            case "fifa":
                # without durations to start from, FIFA starts at the class means
                if known is None and _can_align(self.model):
                    known = self._alignment(job, transcript).durations
                found = fifa(
                    frames,
                    transcript,
                    known,
                    mean_durations=self.priors.poisson.means,
                    sharpness=options.fifa_sharpness,
                    length_weight=options.fifa_length_weight,
                    sum_weight=options.fifa_sum_weight,
                    optimiser=options.fifa_optimiser,
                    n_steps=options.fifa_steps,
                    step_size=options.fifa_step_size,
                )
            case _:
                found = viterbi(
                    frames,
                    transcript,
                    self.priors.length_model(options.length_model),
                    frame_sampling=options.frame_sampling,
                    alpha=self._alpha(options.length_model),
                )
        return Segmentation(transcript, found.durations)

    def _alpha(self, length_model: str) -> float:
        """The setting; else the paper's 1 with Poisson lengths and the model's own with others."""
        own = 1.0 if length_model == "poisson" else self.priors.alpha
        return self.options.alpha or own

    def _semi_markov(self, job: Job) -> Segmentation:
        frames, priors = job.frames.log_probabilities, self.priors
        return semi_markov(frames, priors.gamma, priors.transitions, alpha=self._alpha("gamma"))

    def _alignment(self, job: Job, transcript: IntArray) -> Durations:
        return aligned_durations(self.model, job.encoded, job.mask, self.vocabulary, transcript)

    def _explicit(self, job: Job, tokens: IntArray) -> Segmentation:
        shares = explicit_fractions(self.model, job.encoded, job.mask, self.vocabulary, tokens)
        return Segmentation(tokens, round_durations(shares, job.mask.shape[1])).merged()


def check_options(model: nn.Module, options: DecodeConfig) -> None:
    """Refuses what the model cannot do."""
    decoders = writers(model)
    if options.transcript in ("decoder", "best") and not decoders:
        raise ConfigError(
            f"transcript {options.transcript!r} needs a uvast model, this one is frame-wise",
            remedy="pass --transcript frames or --transcript semi-markov",
        )
    if options.transcript in ("semi-markov", "best"):
        return  # they find durations of their own
    if options.durations == "alignment" and not _can_align(model):
        remedy = "pass --durations viterbi"
        if decoders:
            remedy = f"train stage 2 with uvast train --resume RUN --stage 2, or {remedy}"
        raise ConfigError(
            "durations 'alignment' need a model with an alignment decoder", remedy=remedy
        )
    explicit = options.durations == "explicit"
    if explicit and not any(one.dimensions.explicit_durations for one in decoders):
        raise ConfigError(
            "durations 'explicit' need a model that was trained to predict them",
            remedy="train with --set model.explicit_durations=true or pass --durations viterbi",
        )
    if explicit and options.transcript != "decoder":
        raise ConfigError(
            "durations 'explicit' go with the decoder's own transcript",
            remedy="pass --transcript decoder",
        )


def _can_align(model: nn.Module) -> bool:
    return any(one.alignment is not None for one in writers(model))
