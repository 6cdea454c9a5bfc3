"""What a model says about the frames: the record that every model's `encode` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor


@dataclass(frozen=True)
class Encoded:
    """A model's output for the frames.

    Args:
        features: frame features `(B, T, D)`, zero on padding.
        logits: class scores of the frames `(B, T, C)`; for an ensemble, log-probabilities.
        boundaries: log-odds that a segment starts at a frame `(B, T)`; None if the model has no
            such output. Where they are 0, a cut is as likely as anywhere (docs/method.md,
            Boundaries).
        earlier: the outputs of the stages before this one, in order. Training gives each its loss;
            nothing else uses them.
        members: for an ensemble, the output of each of its members.
        frame_weights: a frame's weight in the cross-entropy of these logits, for each class that
            it may be of `(B, T, C)`; None if all have the same weight.
    """

    features: Tensor
    logits: Tensor
    boundaries: Tensor | None = None
    earlier: tuple[Encoded, ...] = ()
    members: tuple[Encoded, ...] = ()
    frame_weights: Tensor | None = None

    @classmethod
    def chained(cls, stages: Sequence[Encoded]) -> Encoded:
        """The last of some stages, with the others as its earlier ones."""
        *earlier, last = stages
        return replace(last, earlier=tuple(earlier))

    @property
    def stages(self) -> tuple[Encoded, ...]:
        """Every stage, this one last."""
        return (*self.earlier, self)

    @property
    def log_probabilities(self) -> Tensor:
        """The log-probabilities of each frame's classes `(B, T, C)`."""
        return self.logits if self.members else self.logits.log_softmax(-1)

    def alone(self, mask: Tensor) -> Iterator[tuple[Encoded, Tensor]]:
        """Each video of the batch by itself (see `video`), with its mask `(1, T)`, all True."""
        for index, n_frames in enumerate(mask.sum(1).tolist()):
            yield self.video(index, n_frames), mask[index : index + 1, :n_frames]

    def video(self, index: int, n_frames: int) -> Encoded:
        """One video of the batch, without padding (B = 1) and without earlier stages."""
        rows = slice(index, index + 1)
        boundaries = None if self.boundaries is None else self.boundaries[rows, :n_frames]
        members = tuple(one.video(index, n_frames) for one in self.members)
        return Encoded(
            self.features[rows, :n_frames],
            self.logits[rows, :n_frames],
            boundaries,
            members=members,
        )
