"""The whole network: frame encoder, transcript decoder and, after stage 1, alignment decoder."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from uvast.errors import InputError
from uvast.models.alignment_decoder import AlignmentDecoder
from uvast.models.dimensions import UvastDimensions
from uvast.models.encoder import FrameEncoder, checked_mask, padding_only
from uvast.models.stepping import DecoderState
from uvast.models.transcript_decoder import Decoded, TranscriptDecoder

__all__ = ["Decoded", "DecoderState", "Encoded", "Uvast", "UvastDimensions"]


@dataclass(frozen=True)
class Encoded:
    """What the encoder makes of the frames.

    Args:
        features: frame features `(B, T, D)`, zero on padding.
        logits: class scores of the frames `(B, T, C)`; of an ensemble, log-probabilities.
        members: of an ensemble, what each of its members makes of them.
    """

    features: Tensor
    logits: Tensor
    members: tuple[Encoded, ...] = ()

    @property
    def log_probabilities(self) -> Tensor:
        """Of the classes, for each frame `(B, T, C)`."""
        return self.logits if self.members else self.logits.log_softmax(-1)

    def video(self, index: int, n_frames: int) -> Encoded:
        """One video of the batch, without padding (B = 1)."""
        rows = slice(index, index + 1)
        members = tuple(one.video(index, n_frames) for one in self.members)
        return Encoded(self.features[rows, :n_frames], self.logits[rows, :n_frames], members)


class Uvast(nn.Module):
    """Encoder, transcript decoder and alignment decoder (None until `add_alignment`).

    A mask marks the valid frames of a padded batch; None says that all are valid and saves a check.
    Padding never takes part: a video's outputs are the same alone and in a batch.
    """

    def __init__(self, dimensions: UvastDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.encoder = FrameEncoder(dimensions)
        self.transcript = TranscriptDecoder(dimensions)
        self.alignment: AlignmentDecoder | None = None

    def add_alignment(self) -> AlignmentDecoder:
        """Adds the alignment decoder, freshly initialised, where there is none yet."""
        if self.alignment is None:
            like = next(self.parameters())
            self.alignment = AlignmentDecoder(self.dimensions).to(like.device, like.dtype)
        return self.alignment

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)` and valid frames `(B, T)` -> frame features and frame logits."""
        mask = checked_mask(features, mask, self.dimensions.n_features)
        hidden, logits = self.encoder(features, mask)
        return Encoded(hidden, logits)

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
