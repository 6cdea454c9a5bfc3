"""What a model can do with transcripts, and how it says so.

By a field or a method; a model that does not know of either cannot do it. What models do with
frames is in `uvast.models.build`.

| protocol          | says so by                   | what it can do                                |
|-------------------|------------------------------|-----------------------------------------------|
| `Writer`          | `writes_transcripts = True`  | transcripts: whole, and token by token        |
|                   | `gives_fractions = True`     | `decode` also gives each segment's share      |
| `HasWrittenTerms` | a method `written_terms`     | a writer's own losses on what it writes       |
| `Aligner`         | a method `add_alignment`     | a second stage: frames to a writer's segments |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from uvast.data import Targets
    from uvast.models.encoded import Encoded
    from uvast.models.transcript_decoder import Decoded
    from uvast.segments import IntArray


class WriterState(Protocol):
    """Where a writer is in B transcripts."""

    def step(self, tokens: IntArray) -> tuple[NDArray[np.floating], WriterState]:
        """Feeds `tokens (B,)`; returns the next ones' logits `(B, C + 1)` and the new state."""
        ...

    def select(self, indices: IntArray) -> WriterState:
        """The state of the sequences `indices (B',)`, in that order; repeats are welcome."""
        ...


class Writer(Protocol):
    """A model that writes transcripts. Tokens are the C classes, EOS and SOS, in this order."""

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Input features `(B, T, F)`, mask `(B, T)` -> what the model makes of the frames."""
        ...

    def decode(
        self, encoded: Encoded, mask: Tensor | None, tokens: Tensor, need_weights: bool = False
    ) -> Decoded:
        """Teacher forcing with `tokens (B, L)`: SOS, then actions; output i predicts token i+1.

        Args:
            encoded: what `encode` made of the frames.
            mask: valid frames `(B, T)`; None says that all are.
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
        """Scalars by name, weight included; one under the name of a common term replaces it.

        Args:
            encoded: what `encode` made of the features just now, in training.
            decoded: what `decode` made of the target transcript.
            mask: valid frames `(B, T)`.
            targets: what is to be learned.
        """
        ...


class Aligner(Writer, Protocol):
    """A writer with a second stage, in which an alignment decoder is trained on top of it.

    The decoder is the module `alignment`, None until `add_alignment`.
    """

    alignment: Any

    def add_alignment(self) -> nn.Module:
        """Adds the alignment decoder, freshly initialised, where there is none yet."""
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


def as_writer(model: nn.Module) -> Writer | None:
    """The model as one that writes transcripts; None of one that does not."""
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
    """Those losses, if it has any."""
    if not has_written_terms(model):
        return {}
    return cast("HasWrittenTerms", model).written_terms(encoded, decoded, mask, targets)


def as_aligner(model: object) -> Aligner | None:
    """The model as one that has a second stage; None of one that has not."""
    return cast("Aligner", model) if hasattr(model, "add_alignment") else None


def has_alignment(model: object) -> bool:
    """Whether a model has an alignment decoder: its second stage has begun."""
    aligner = as_aligner(model)
    return aligner is not None and aligner.alignment is not None
