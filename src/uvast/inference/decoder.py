"""Transcript, then durations; or both at once. One call for every decoding, one video at a time.

| `transcript`  | comes from                                                         |
|---------------|--------------------------------------------------------------------|
| `decoder`     | the transcript decoder, greedy or by beam search (the paper)       |
| `frames`      | the runs of the frame labels (the frame-wise baselines)            |
| `boundaries`  | the pieces between a model's boundaries, labelled by their frames  |
| `semi-markov` | exact joint decoding of transcript and durations                   |
| `best`        | the best of all of these by segmentation score and decoder score   |
"""

from __future__ import annotations

from dataclasses import dataclass
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
from uvast.inference.candidates import (
    Candidates,
    cut_candidates,
    find_transcripts,
    lone_candidate,
)
from uvast.inference.option_checks import can_align, check_options, check_priors
from uvast.inference.prediction import DecodedVideo, FramePrediction
from uvast.inference.writing import (
    Written,
    aligned_durations,
    explicit_fractions,
    written_transcripts,
)
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


@dataclass(frozen=True, eq=False)
class Job:
    """One video, ready to decode: B = 1, without padding, the mask `(1, T)` all True.

    `written` is empty if the transcript decoder is not needed.
    """

    frames: FramePrediction
    encoded: Encoded
    mask: Tensor
    written: Written

    @property
    def transcripts(self) -> tuple[Transcript, ...]:
        """What the decoder wrote: its own answer first, then others."""
        return self.written.transcripts


@dataclass(frozen=True, eq=False)
class Decoder:
    """Decodes videos with one set of options."""

    model: nn.Module
    vocabulary: Vocabulary
    priors: Priors
    options: DecodeConfig

    def __post_init__(self) -> None:
        """Refuses what the model cannot do, before the first video."""
        check_options(self.model, self.options)
        check_priors(self.priors, self.options)

    def jobs(
        self, encoded: Encoded, mask: Tensor, frames: tuple[FramePrediction, ...]
    ) -> tuple[Job, ...]:
        """Takes a batch apart; the transcript decoder works on the whole batch at once.

        Args:
            encoded: the model's output for B videos.
            mask: their valid frames `(B, T)`.
            frames: the frame prediction of each video.
        """
        written = [Written()] * len(mask)
        if self.options.transcript in ("decoder", "best"):
            written = written_transcripts(self.model, encoded, mask, self.vocabulary, self.options)
        return tuple(
            Job(own, *alone, text)
            for own, alone, text in zip(frames, encoded.alone(mask), written, strict=True)
        )

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
                return DecodedVideo(one.actions, found, job.written.complete)

    def candidates(self, job: Job) -> Candidates:
        """What `best` chooses from, which includes the model's own semi-Markov decoding."""
        alpha, durations = self.weights.alpha, self.weights.durations
        joint = self.semi_markov(job, alpha)
        if len(joint) > self.options.max_segments:
            return lone_candidate(joint)
        others = () if durations == alpha else (self.semi_markov(job, durations),)
        transcripts = self.transcripts(job, (joint, *others))
        return self.cut_candidates(job, transcripts, durations)

    def transcripts(self, job: Job, joint: Sequence[Segmentation]) -> tuple[IntArray, ...]:
        """Transcripts of joint segmentations, then those of the decoder and the smoothed frames."""
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
        """The model's own weights; `alpha` in the settings replaces all of its powers."""
        own, alpha = self.priors.weights, self.options.alpha
        return own.having_power(alpha) if alpha else own

    def _with_durations(
        self, job: Job, transcript: IntArray, known: IntArray | None
    ) -> Segmentation:
        """Adds durations to a transcript; one read off the frames already has `known` ones."""
        options, frames = self.options, job.frames.log_probabilities
        match options.durations:
            case "alignment":
                found = self._alignment(job, transcript)
            case "fifa":
                # without durations to start from, FIFA starts at the class means
                if known is None and can_align(self.model):
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
        """The setting, else the paper's 1 for Poisson lengths and the model's own for others."""
        own = 1.0 if length_model == "poisson" else self.priors.weights.alpha
        return self.options.alpha or own

    def _cut_scores(self, job: Job) -> FloatArray | None:
        """What the boundaries add to the exact searches `(T,)`; None if they are not used."""
        boundaries, weight = job.frames.boundaries, self.options.boundary_weight
        return boundary_scores(boundaries, weight) if weight and boundaries is not None else None

    def _runs(self, job: Job) -> Segmentation:
        labels = mode_filter(job.frames.labels, self.options.mode_filter or 1)
        return Segmentation.from_labels(labels)

    def semi_markov(self, job: Job, alpha: float) -> Segmentation:
        """Transcript and durations at once, with frame posteriors to a power.

        With several recipes, the likeliest pair of a recipe and its best segmentation wins.
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
            return recipe.log_share + segmentation_score(
                frames, joint, lengths, recipe.transitions, alpha=alpha, cut_scores=cuts
            )

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
