"""The networks.

Notation for shapes: B videos in a batch, T frames, S segments, L decoder tokens, C classes,
D model width, F input feature width, N decoder layers, d width of an attention head. Sequences are
`(B, T, D)` everywhere. A mask `(B, T)` is true on valid frames, which come first.
"""

from uvast.models.dimensions import UvastDimensions
from uvast.models.encoded import Encoded
from uvast.models.stepping import DecoderState
from uvast.models.transcript_decoder import Decoded
from uvast.models.uvast import Uvast

__all__ = ["Decoded", "DecoderState", "Encoded", "Uvast", "UvastDimensions"]
