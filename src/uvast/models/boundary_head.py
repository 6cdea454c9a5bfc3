"""The boundary output of a frame encoder: does a segment start at this frame?"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from uvast.models.convolution import DilatedConvolution


class BoundaryHead(nn.Module):
    """Convolution over a frame and its neighbours, GELU, linear layer to one number.

    A start shows in how a frame differs from the one before; a linear layer alone would have to
    find that in the features that tell its class.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = DilatedConvolution(width, 1)
        self.classify = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Frame features `(B, T, D)`, zero on padding -> log-odds of a start `(B, T)`."""
        scores: Tensor = self.classify(functional.gelu(self.convolution(x)))
        return scores.squeeze(2)
