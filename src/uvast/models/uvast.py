"""The whole network: frame encoder, transcript decoder and, after stage 1, alignment decoder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch import nn

from uvast.errors import InputError
from uvast.models.alignment_decoder import AlignmentDecoder
from uvast.models.boundary_head import BoundaryHead
from uvast.models.dimensions import UvastDimensions
from uvast.models.encoded import Encoded
from uvast.models.encoder import FrameEncoder, checked_mask, padding_only
from uvast.models.ms_tcn import Refinement
from uvast.models.stepping import DecoderState
from uvast.models.transcript_decoder import Decoded, TranscriptDecoder

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Decoded", "DecoderState", "Encoded", "Uvast", "UvastDimensions"]


class Uvast(nn.Module):
    """Encoder, transcript decoder and alignment decoder (None until `add_alignment`).

    A mask marks the valid frames of a padded batch; None means all are valid and saves a check.
    Padding has no effect: a video's outputs are the same alone and in a batch.
    """

    writes_transcripts = True

    def __init__(self, dimensions: UvastDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.encoder = FrameEncoder(dimensions)
        self.transcript = TranscriptDecoder(dimensions)
        self.refinements = nn.ModuleList(
            Refinement(
                width=dimensions.width,
                n_classes=dimensions.n_classes,
                n_layers=dimensions.n_encoder_layers,
                dropout=dimensions.encoder_dropout,
            )
            for _ in range(dimensions.n_refinement_stages or 0)
        )
        self.boundary = BoundaryHead(dimensions.width) if dimensions.boundary_output else None
        self.alignment: AlignmentDecoder | None = None

    @property
    def gives_boundaries(self) -> bool:
        """Whether `encode` gives boundaries."""
        return self.boundary is not None

    @property
    def gives_fractions(self) -> bool:
        """Whether `decode` gives each segment's share of the video."""
        return self.dimensions.explicit_durations

    def add_alignment(self) -> AlignmentDecoder:
        """Adds the alignment decoder, freshly initialised, if there is none yet."""
        if self.alignment is None:
            like = next(self.parameters())
            self.alignment = AlignmentDecoder(self.dimensions).to(like.device, like.dtype)
        return self.alignment

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)` and valid frames `(B, T)` -> frame features, logits, boundaries.

        Stages that refine the logits do not change the features that the decoders see.
        """
        mask = checked_mask(features, mask, self.dimensions.n_features)
        hidden, logits = self.encoder(features, mask)
        return self._refined(hidden, logits, mask)

    @property
    def input_layer(self) -> nn.Module:
        """See `uvast.models.protocols.HasInputLayer`."""
        return self.encoder.embed

    def encode_embedded(self, x: Tensor, mask: Tensor | None) -> Encoded:
        """See `uvast.models.protocols.HasInputLayer`."""
        mask = padding_only(mask)
        hidden, logits = self.encoder.embedded(x, mask)
        return self._refined(hidden, logits, mask)

    def _refined(self, hidden: Tensor, logits: Tensor, mask: Tensor | None) -> Encoded:
        """The encoder's output with all stages and boundaries."""
        stages = [Encoded(hidden, logits)]
        for refinement in self.refinements:
            stages.append(replace(refinement(stages[-1], mask), features=hidden))
        boundaries = None if self.boundary is None else self.boundary(hidden)
        return replace(Encoded.chained(stages), boundaries=boundaries)

    def decode(
        self, encoded: Encoded, mask: Tensor | None, tokens: Tensor, need_weights: bool = False
    ) -> Decoded:
        """Teacher forcing with `tokens (B, L)`: SOS, then actions; output i predicts token i+1."""
        return self.transcript(  # type: ignore[no-any-return]
            encoded.features, padding_only(mask), tokens, need_weights=need_weights
        )

    def start(self, encoded: Encoded, mask: Tensor | None) -> DecoderState:
        """The decoder's state before the first token (SOS) of every video's transcript."""
        return self.transcript.start(encoded.features, padding_only(mask))

    def align(
        self,
        features: Tensor,
        mask: Tensor | None,
        segment_features: Tensor,
        segment_mask: Tensor | None,
    ) -> Tensor:
        """Scores frames `(B, T, D)` against segments `(B, S, D)`: logits `(B, T, S)` before τ."""
        if self.alignment is None:
            raise InputError(
                "the model has no alignment decoder", remedy="train stage 2 or call add_alignment()"
            )
        return self.alignment(  # type: ignore[no-any-return]
            features, padding_only(mask), segment_features, padding_only(segment_mask)
        )
