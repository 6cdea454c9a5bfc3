"""What a model can do, and how it says so.

It says so by a field or a method; a model that has neither cannot do it.

| protocol           | says so by                  | what it can do                                |
|--------------------|-----------------------------|-----------------------------------------------|
| `FrameModel`       | nothing: every model is one | features and class logits of frames           |
|                    | `gives_boundaries = True`   | `encode` also gives boundaries                |
| `HasInputLayer`    | a method `encode_embedded`  | `encode` begins with a layer frame by frame   |
| `HasOwnTerms`      | a method `own_terms`        | losses of its own on the frames               |
| `LearnsUnlabelled` | a method `adaptation_terms` | learns from unlabelled videos, too            |
| `Writer`           | `writes_transcripts = True` | transcripts: whole, and token by token        |
|                    | `gives_fractions = True`    | `decode` also gives each segment's share      |
| `HasWrittenTerms`  | a method `written_terms`    | a writer's own losses on what it writes       |
| `Aligner`          | a method `add_alignment`    | a second stage: frames to a writer's segments |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from uvast.data import Targets
    from uvast.data.batching import Unlabelled
    from uvast.models.encoded import Encoded
    from uvast.models.transcript_decoder import Decoded
    from uvast.segments import IntArray


class FrameModel(Protocol):
    """What every model can do: give each frame features and class logits."""

    dimensions: Any

    def encode(self, features: Tensor, mask: Tensor) -> Encoded:
        """Input features `(B, T, F)`, mask `(B, T)` -> the model's output for the frames."""
        ...


class HasInputLayer(Protocol):
    """A model whose `encode` is an input layer, frame by frame, and `encode_embedded`.

    A long video's features, which are mostly wider than all that follows, can then be scaled and
    embedded in stretches.
    """

    @property
    def input_layer(self) -> nn.Module:
        """Input features `(B, T, F)` -> `(B, T, D)`."""
        ...

    def encode_embedded(self, x: Tensor, mask: Tensor | None) -> Encoded:
        """The input layer's output `(B, T, D)`, mask `(B, T)` -> what `encode` returns.

        None for a mask means that all frames are valid.
        """
        ...


class HasOwnTerms(Protocol):
    """A model with losses of its own, besides those that every frame-wise model has."""

    def own_terms(
        self, encoded: Encoded, features: Tensor, mask: Tensor, targets: Targets
    ) -> Mapping[str, Tensor]:
        """Scalars by name, as they are added to the loss, weight included.

        Args:
            encoded: what `encode` has just returned for the features, in training.
            features: the input `(B, T, F)`.
            mask: its valid frames `(B, T)`.
            targets: what the model has to learn.
        """
        ...


class LearnsUnlabelled(Protocol):
    """A model that also learns from videos whose labels it does not see."""

    def adaptation_terms(
        self,
        source: Encoded,
        source_mask: Tensor,
        target: Encoded,
        target_mask: Tensor,
        progress: float,
    ) -> Mapping[str, Tensor]:
        """Scalars by name, as they are added to the loss, weight included.

        Args:
            source: what `encode` has just returned for the labelled videos, in training.
            source_mask: their valid frames `(B, T)`.
            target: the same for unlabelled videos, whose number and length may differ.
            target_mask: their valid frames.
            progress: the share of training that is done, from 0 to 1.
        """
        ...


class WriterState(Protocol):
    """Where a writer is in B transcripts."""

    def step(self, tokens: IntArray) -> tuple[NDArray[np.floating], WriterState]:
        """Feeds `tokens (B,)`; returns the next ones' logits `(B, C + 1)` and the new state."""
        ...

    def select(self, indices: IntArray) -> WriterState:
        """The state of the sequences `indices (B',)`, in that order; repeats are allowed."""
        ...


class Writer(Protocol):
    """A model that writes transcripts. Tokens are the C classes, EOS and SOS, in this order."""

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Input features `(B, T, F)`, mask `(B, T)` -> the model's output for the frames."""
        ...

    def decode(
        self, encoded: Encoded, mask: Tensor | None, tokens: Tensor, need_weights: bool = False
    ) -> Decoded:
        """Teacher forcing with `tokens (B, L)`: SOS, then actions; output i predicts token i+1.

        Args:
            encoded: what `encode` returned for the frames.
            mask: valid frames `(B, T)`; None means that all are.
            tokens: padded with EOS.
            need_weights: whether `Decoded.cross_attention` is wanted.
        """
        ...

    def start(self, encoded: Encoded, mask: Tensor | None) -> WriterState:
        """The state before the first token (SOS) of every video's transcript."""
        ...


class HasWrittenTerms(Protocol):
    """A writer with losses of its own on what it writes."""

    def written_terms(
        self, encoded: Encoded, decoded: Decoded, mask: Tensor, targets: Targets
    ) -> Mapping[str, Tensor]:
        """Scalars by name, weight included; one with the name of a common term replaces it.

        Args:
            encoded: what `encode` has just returned for the features, in training.
            decoded: what `decode` returned for the target transcript.
            mask: valid frames `(B, T)`.
            targets: what the model has to learn.
        """
        ...


class Aligner(Writer, Protocol):
    """A writer with a second stage, in which an alignment decoder is trained on top of it.

    The decoder is the module `alignment`, None until `add_alignment`.
    """

    alignment: Any

    def add_alignment(self) -> nn.Module:
        """Adds the alignment decoder, freshly initialised, if there is none yet."""
        ...

    def align(
        self,
        features: Tensor,
        mask: Tensor | None,
        segment_features: Tensor,
        segment_mask: Tensor | None,
    ) -> Tensor:
        """Scores frames `(B, T, D)` against segments `(B, S, D)`: logits `(B, T, S)`."""
        ...


def as_frame_model(model: nn.Module) -> FrameModel:
    """Tells the type checker that a model is a `FrameModel`: every built model is one."""
    return cast("FrameModel", model)


def as_layered(model: object) -> HasInputLayer | None:
    """The model as one that begins with an input layer; None if it does not."""
    return cast("HasInputLayer", model) if hasattr(model, "encode_embedded") else None


def own_terms(
    model: nn.Module, encoded: Encoded, features: Tensor, mask: Tensor, targets: Targets
) -> Mapping[str, Tensor]:
    """A model's own losses (see `HasOwnTerms`); empty if it has none."""
    if not hasattr(model, "own_terms"):
        return {}
    return cast("HasOwnTerms", model).own_terms(encoded, features, mask, targets)


def learns_unlabelled(model: nn.Module) -> bool:
    """Whether a model learns from unlabelled videos, too (see `LearnsUnlabelled`)."""
    return hasattr(model, "adaptation_terms")


def adaptation_terms(
    model: nn.Module, encoded: Encoded, mask: Tensor, unlabelled: Unlabelled | None
) -> Mapping[str, Tensor]:
    """A model's losses on the unlabelled videos beside a batch; empty if there are none."""
    if unlabelled is None:
        return {}
    target = as_frame_model(model).encode(unlabelled.features, unlabelled.mask)
    return cast("LearnsUnlabelled", model).adaptation_terms(
        encoded, mask, target, unlabelled.mask, unlabelled.progress
    )


def gives_boundaries(model: nn.Module) -> bool:
    """Whether a model says where segments start."""
    return bool(getattr(model, "gives_boundaries", False))


def as_writer(model: nn.Module) -> Writer | None:
    """The model as one that writes transcripts; None if it does not."""
    return cast("Writer", model) if getattr(model, "writes_transcripts", False) else None


def gives_fractions(model: object) -> bool:
    """Whether a model also writes how long segments last (explicit durations)."""
    return bool(getattr(model, "gives_fractions", False))


def has_written_terms(model: nn.Module) -> bool:
    """Whether a model has losses of its own on what it writes (see `HasWrittenTerms`)."""
    return hasattr(model, "written_terms")


def written_terms(
    model: nn.Module, encoded: Encoded, decoded: Decoded, mask: Tensor, targets: Targets
) -> Mapping[str, Tensor]:
    """A writer's own losses on what it writes; empty if it has none."""
    if not has_written_terms(model):
        return {}
    return cast("HasWrittenTerms", model).written_terms(encoded, decoded, mask, targets)


def as_aligner(model: object) -> Aligner | None:
    """The model as one that has a second stage; None if it does not."""
    return cast("Aligner", model) if hasattr(model, "add_alignment") else None


def has_alignment(model: object) -> bool:
    """Whether a model has an alignment decoder: its second stage has begun."""
    aligner = as_aligner(model)
    return aligner is not None and aligner.alignment is not None
