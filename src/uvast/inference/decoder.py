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

import numpy as np
import torch

from uvast.durations import alignment, fifa, mode_filter, semi_markov, viterbi
from uvast.errors import ConfigError
from uvast.inference.candidates import Candidates, find_candidates
from uvast.inference.prediction import DecodedVideo, FramePrediction
from uvast.inference.search import Transcript, beam_transcripts, greedy_transcripts
from uvast.models import Encoded, Uvast
from uvast.segments import IntArray, Segmentation, round_durations

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from uvast.config import DecodeConfig
    from uvast.inference.priors import Priors
    from uvast.vocabulary import Vocabulary

BEST_BEAM_WIDTH = 5
"""Transcripts that the decoder writes for `best` where the settings do not say how many."""


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
            transcripts = self._written(encoded, mask, list(zip(alone, masks, strict=True)))
        return tuple(map(Job, frames, alone, masks, transcripts))

    def _written(
        self, encoded: Encoded, mask: Tensor, alone: list[tuple[Encoded, Tensor]]
    ) -> list[tuple[Transcript, ...]]:
        """The decoder's transcripts of each video, by greedy search over all videos at once."""
        assert isinstance(self._model, Uvast), "checked with the options"
        cap = self._options.max_segments
        own_width = BEST_BEAM_WIDTH if self._options.transcript == "best" else 1
        width = self._options.beam_width or own_width
        if width == 1:
            greedy = greedy_transcripts(
                self._model, encoded, mask, self._vocabulary, max_segments=cap
            )
            return [(one,) for one in greedy]
        return [
            beam_transcripts(
                self._model, *one, self._vocabulary, beam_width=width, max_segments=cap
            )
            for one in alone
        ]

    def decode(self, job: Job) -> DecodedVideo:
        """The segmentation of one video."""
        match self._options.transcript:
            case "semi-markov":
                joint = self._semi_markov(job)
                return DecodedVideo(joint.transcript, joint)
            case "best":
                return self.candidates(job).winner(self._priors.decoder_weight)
            case "frames":
                runs = self._runs(job)
                return DecodedVideo(runs.transcript, self._recut(job, runs))
            case "decoder":
                one = job.transcripts[0]
                return DecodedVideo(one.actions, self._cut(job, one), one.complete)

    def _runs(self, job: Job) -> Segmentation:
        """The runs of the frame labels."""
        labels, width = job.frames.labels, self._options.mode_filter
        return Segmentation.from_labels(mode_filter(labels, width) if width else labels)

    def _recut(self, job: Job, runs: Segmentation) -> Segmentation:
        """The same transcript with durations of its own."""
        if self._options.durations == "none":
            return runs
        return self._with_durations(job, runs.transcript, runs.durations)

    def _cut(self, job: Job, transcript: Transcript) -> Segmentation | None:
        """What the decoder wrote, with durations if any are wanted."""
        match self._options.durations:
            case "none":
                return None
            case "explicit":
                return self._explicit(job, transcript)
            case _:
                return self._with_durations(job, transcript.actions, None)

    def _with_durations(
        self, job: Job, transcript: IntArray, known: IntArray | None
    ) -> Segmentation:
        """Durations of a transcript; of one that was read off the frames, some are known."""
        options, frames = self._options, job.frames.log_probabilities
        match options.durations:
            case "alignment":
                found = alignment(self._assignment_logits(job, transcript))
            case "fifa":
                found = fifa(
                    frames,
                    transcript,
                    self._fifa_start(job, transcript) if known is None else known,
                    mean_durations=self._priors.poisson.means,
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
                    self._priors.length_model(options.length_model),
                    frame_sampling=options.frame_sampling,
                    alpha=self._alpha(options.length_model),
                )
        return Segmentation(transcript, found.durations)

    def _fifa_start(self, job: Job, transcript: IntArray) -> IntArray | None:
        """The alignment decoder's durations; without one, FIFA starts at the class means."""
        if not isinstance(self._model, Uvast) or self._model.alignment is None:
            return None
        return alignment(self._assignment_logits(job, transcript)).durations

    def _alpha(self, length_model: str) -> float:
        """The setting; else the paper's 1 with Poisson lengths and the model's own with others."""
        if self._options.alpha:
            return self._options.alpha
        return 1.0 if length_model == "poisson" else self._priors.alpha

    def _semi_markov(self, job: Job) -> Segmentation:
        return semi_markov(
            job.frames.log_probabilities,
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
        """What `best` chooses from."""
        assert isinstance(self._model, Uvast), "checked with the options"
        return find_candidates(
            self._model,
            job,
            self._semi_markov(job),
            self._vocabulary,
            self._priors,
            alpha=self._alpha("gamma"),
            max_segments=self._options.max_segments,
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
