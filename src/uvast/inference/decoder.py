"""Transcript, then durations; or both at once. One video at a time, every way by one call.

| `transcript`  | comes from                                                         |
|---------------|--------------------------------------------------------------------|
| `decoder`     | the transcript decoder, greedy or by beam search (the paper)       |
| `frames`      | the runs of the frame labels (the frame-wise baselines)            |
| `boundaries`  | the pieces between a model's boundaries, named by their frames     |
| `semi-markov` | exact joint decoding of transcript and durations                   |
| `best`        | the best of all of these by segmentation score and decoder score   |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from uvast.durations import (
    boundary_scores,
    cut_at_boundaries,
    fifa,
    mode_filter,
    segmentation_score,
    semi_markov,
    viterbi,
)
from uvast.errors import ConfigError
from uvast.inference.candidates import (
    Candidates,
    cut_candidates,
    find_transcripts,
    lone_candidate,
)
from uvast.inference.prediction import DecodedVideo, FramePrediction
from uvast.inference.writing import (
    Beam,
    aligned_durations,
    explicit_fractions,
    written_transcripts,
)
from uvast.models.build import gives_boundaries
from uvast.models.ensemble import writers
from uvast.models.protocols import as_aligner, gives_fractions, has_alignment
from uvast.segments import IntArray, Segmentation, round_durations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from uvast.config import DecodeConfig
    from uvast.durations import Durations
    from uvast.durations.result import FloatArray
    from uvast.inference.priors import Priors
    from uvast.inference.recipes import Recipe
    from uvast.inference.search import Transcript
    from uvast.inference.weights import DecodingWeights
    from uvast.models import Encoded
    from uvast.vocabulary import Vocabulary

OWN_BEAM_WIDTH = 10
"""Of a beam where the settings do not name one: for `best`, and after greedy search without end."""


@dataclass(frozen=True, eq=False)
class Job:
    """One video, ready to decode: B = 1, without padding, the mask `(1, T)` all True.

    Transcripts are what the decoder wrote, first its own, then others; none if it was not asked.
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
        if self.options.recipes and not self.priors.transcripts:
            raise ConfigError(
                "the model does not know the transcripts that recipes are made of",
                where="decode.recipes",
                remedy="train it again, or set decode.recipes=0",
            )
        if self.options.ends and self.priors.transitions.final is None:
            raise ConfigError(
                "the model does not know after which actions videos end",
                where="decode.ends",
                remedy="train it again, or set decode.ends=false",
            )

    def jobs(
        self, encoded: Encoded, mask: Tensor, frames: tuple[FramePrediction, ...]
    ) -> tuple[Job, ...]:
        """Takes a batch apart; the transcript decoder works on the whole batch at once."""
        lengths = mask.sum(1).tolist()
        alone = [encoded.video(i, n) for i, n in enumerate(lengths)]
        masks = [mask[i : i + 1, :n] for i, n in enumerate(lengths)]
        transcripts: list[tuple[Transcript, ...]] = [()] * len(lengths)
        if self.options.transcript in ("decoder", "best"):
            transcripts = self._written(encoded, mask, self.options.beam_width or 1)
            if not self.options.beam_width:
                given = zip(alone, masks, transcripts, strict=True)
                transcripts = [self._searched_further(*one) for one in given]
        return tuple(map(Job, frames, alone, masks, transcripts))

    def _searched_further(
        self, encoded: Encoded, mask: Tensor, greedy: tuple[Transcript, ...]
    ) -> tuple[Transcript, ...]:
        """Greedy transcripts of one video, and a beam's where more are needed.

        That is for `best`, and where the decoder comes to no end, which is mostly a loop: then the
        beam's come first.
        """
        if not greedy[0].complete:
            return (*self._written(encoded, mask, OWN_BEAM_WIDTH)[0], *greedy)
        if self.options.transcript == "best":
            return (*greedy, *self._written(encoded, mask, OWN_BEAM_WIDTH)[0])
        return greedy

    def _written(self, encoded: Encoded, mask: Tensor, width: int) -> list[tuple[Transcript, ...]]:
        beam = Beam(width, self.options.max_segments, self.options.length_power)
        return written_transcripts(self.model, encoded, mask, self.vocabulary, beam)

    def decode(self, job: Job) -> DecodedVideo:
        """The segmentation of one video."""
        durations = self.options.durations
        match self.options.transcript:
            case "semi-markov":
                joint = self.semi_markov(job, self.weights.alpha)
                return DecodedVideo(joint.transcript, joint)
            case "best":
                return self.candidates(job).winner(self.weights)
            case "frames" | "boundaries" as source:
                runs = self._runs(job) if source == "frames" else _pieces(job)
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
                ended = all(tried.complete for tried in job.transcripts)
                return DecodedVideo(one.actions, found, ended)

    def candidates(self, job: Job) -> Candidates:
        """What `best` chooses from; it has heard of the model's own semi-Markov decoding."""
        alpha, durations = self.weights.alpha, self.weights.durations
        joint = self.semi_markov(job, alpha)
        if len(joint) > self.options.max_segments:
            return lone_candidate(joint)
        others = () if durations == alpha else (self.semi_markov(job, durations),)
        transcripts = self.transcripts(job, (joint, *others))
        return self.cut_candidates(job, transcripts, durations)

    def transcripts(self, job: Job, joint: Sequence[Segmentation]) -> tuple[IntArray, ...]:
        """Those of joint segmentations, then those of the decoder and of the smoothed frames."""
        return find_transcripts(job, joint, max_segments=self.options.max_segments)

    def cut_candidates(self, job: Job, transcripts: Sequence[IntArray], power: float) -> Candidates:
        """Transcripts with their best durations, and the parts of their scores."""
        return cut_candidates(
            self.model,
            job,
            transcripts,
            self.vocabulary,
            self.priors,
            power=power,
            cut_scores=self._cut_scores(job),
            recipes=self.recipes,
        )

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """The orders of actions that joint decoding tries."""
        return self.priors.recipes(self.options)

    @property
    def weights(self) -> DecodingWeights:
        """The model's own; a power that the settings name takes the place of every other."""
        own, alpha = self.priors.weights, self.options.alpha
        return own.having_power(alpha) if alpha else own

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
                    cut_scores=self._cut_scores(job),
                )
        return Segmentation(transcript, found.durations)

    def _alpha(self, length_model: str) -> float:
        """The setting; else the paper's 1 with Poisson lengths and the model's own with others."""
        own = 1.0 if length_model == "poisson" else self.priors.weights.alpha
        return self.options.alpha or own

    def _cut_scores(self, job: Job) -> FloatArray | None:
        """What the boundaries add to the exact searches `(T,)`; None if they are left out."""
        boundaries, weight = job.frames.boundaries, self.options.boundary_weight
        return boundary_scores(boundaries, weight) if weight and boundaries is not None else None

    def _runs(self, job: Job) -> Segmentation:
        labels = mode_filter(job.frames.labels, self.options.mode_filter or 1)
        return Segmentation.from_labels(labels)

    def semi_markov(self, job: Job, alpha: float) -> Segmentation:
        """Transcript and durations at once, with frame posteriors to a power.

        Of several recipes, the likeliest with the likeliest segmentation by it.
        """
        frames, lengths = job.frames.log_probabilities, self.priors.gamma
        cuts = self._cut_scores(job)
        found = []
        for one in self.recipes:
            joint = semi_markov(frames, lengths, one.transitions, alpha=alpha, cut_scores=cuts)
            found.append((joint, one))
        if len(found) == 1:
            return found[0][0]

        def total(pair: tuple[Segmentation, Recipe]) -> float:
            joint, recipe = pair
            score = partial(segmentation_score, frames, joint, lengths, recipe.transitions)
            return recipe.log_share + score(alpha=alpha, cut_scores=cuts)

        return max(found, key=total)[0]

    def _alignment(self, job: Job, transcript: IntArray) -> Durations:
        return aligned_durations(self.model, job.encoded, job.mask, self.vocabulary, transcript)

    def _explicit(self, job: Job, tokens: IntArray) -> Segmentation:
        shares = explicit_fractions(self.model, job.encoded, job.mask, self.vocabulary, tokens)
        return Segmentation(tokens, round_durations(shares, job.mask.shape[1])).merged()


def _pieces(job: Job) -> Segmentation:
    boundaries = job.frames.boundaries
    assert boundaries is not None, "checked with the options"
    return cut_at_boundaries(job.frames.log_probabilities, boundaries)


def check_options(model: nn.Module, options: DecodeConfig) -> None:
    """Refuses what the model cannot do."""
    if not gives_boundaries(model):
        _check_without_boundaries(options)
    decoders = writers(model)
    if options.transcript in ("decoder", "best") and not decoders:
        raise ConfigError(
            f"transcript {options.transcript!r} needs a model that writes transcripts, "
            "and this one is frame-wise",
            remedy="pass --transcript frames or --transcript semi-markov",
        )
    if options.transcript in ("semi-markov", "best"):
        return  # they find durations of their own
    if options.durations == "alignment" and not _can_align(model):
        remedy = "pass --durations viterbi"
        if any(map(as_aligner, decoders)):
            remedy = f"train stage 2 with uvast train --resume RUN --stage 2, or {remedy}"
        raise ConfigError(
            "durations 'alignment' need a model with an alignment decoder", remedy=remedy
        )
    explicit = options.durations == "explicit"
    if explicit and not any(map(gives_fractions, decoders)):
        raise ConfigError(
            "durations 'explicit' need a model that was trained to predict them",
            remedy="train with --set model.explicit_durations=true or pass --durations viterbi",
        )
    if explicit and options.transcript != "decoder":
        raise ConfigError(
            "durations 'explicit' go with the decoder's own transcript",
            remedy="pass --transcript decoder",
        )


def _check_without_boundaries(options: DecodeConfig) -> None:
    own = "train with --set model.boundary_output=true"
    if options.transcript == "boundaries":
        raise ConfigError(
            "transcript 'boundaries' needs a model with a boundary output",
            remedy=f"{own} or --model asrf, or pass --transcript frames",
        )
    if options.boundary_weight:
        raise ConfigError(
            f"boundary_weight is {options.boundary_weight:g}, and the model has no boundary output",
            where="decode",
            remedy=f"{own}, or set decode.boundary_weight=0",
        )


def _can_align(model: nn.Module) -> bool:
    return any(map(has_alignment, writers(model)))
