"""What a model says of the frames: the record that every model's `encode` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Encoded:
    """What a model makes of the frames.

    Args:
        features: frame features `(B, T, D)`, zero on padding.
        logits: class scores of the frames `(B, T, C)`.
        boundaries: log-odds that a segment starts at a frame `(B, T)`; None if the model has no
            such output. A cut is as likely as anywhere where they are 0 (docs/method.md,
            Boundaries).
        earlier: what the stages before this one made of them, in order. Training gives each its
            loss; nothing else looks at them.
    """

    features: Tensor
    logits: Tensor
    boundaries: Tensor | None = None
    earlier: tuple[Encoded, ...] = ()

    @property
    def stages(self) -> tuple[Encoded, ...]:
        """Every stage, this one last."""
        return (*self.earlier, self)
