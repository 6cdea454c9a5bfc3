"""Label next: the video whose clicks would teach most, and the moment to begin with.

A person clicks whole videos, once in each action: that is what models learn most from, order and
lengths included. So a proposal is a video first: one that was begun, until it is done; then the one
that the model is least sure of, by its mean doubt a frame. In it, the least sure segment that
nothing is known of. docs/annotating.md has what was measured, and which other rules were tried.

Who names that one segment and goes on to another video tells of the middle half of it and no more.
The edges are the model's guess, and what nobody looked at stays unlabelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    BoolArray = NDArray[np.bool_]
    Edges = Sequence[tuple[float, float]]
    """The starts and ends of segments, in order."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """The predicted segments of one video.

    Args:
        doubts: how unsure the model is of each, 0 to 1 `(S,)`.
        lengths: in frames or in seconds `(S,)`.
        known: whether a person has said what happens there `(S,)`.
    """

    doubts: FloatArray
    lengths: FloatArray
    known: BoolArray

    @property
    def doubt(self) -> float:
        """The mean over the frames."""
        return float(np.average(self.doubts, weights=self.lengths))


class Proposal(NamedTuple):
    """A video, the place of a segment in it, and whether the video was begun before."""

    video: str
    place: int
    begun: bool


class Stretch(NamedTuple):
    """The part of a video that an answer tells of, and its middle, where to look."""

    start: float
    moment: float
    end: float


def propose(videos: Mapping[str, Predicted]) -> Proposal | None:
    """What to label next; None if everything is known. Of equals the first."""
    left = {name: one for name, one in videos.items() if not one.known.all()}
    if not left:
        return None
    begun = [name for name, one in left.items() if one.known.any()]
    video = max(begun or left, key=lambda name: left[name].doubt)
    chosen = left[video]
    place = int(np.where(chosen.known, -1.0, chosen.doubts).argmax())
    return Proposal(video, place, bool(begun))


def middle_half(start: float, end: float) -> Stretch:
    """What an answer in a segment tells of."""
    quarter = (end - start) / 4
    return Stretch(start + quarter, start + 2 * quarter, end - quarter)


def is_known(segments: Edges, labelled: Edges) -> BoolArray:
    """Whether a person has said what happens in the middle of each segment `(S,)`.

    `labelled` are spans in order and apart.
    """
    edges = np.array(labelled, dtype=np.float64).reshape(-1)
    middles = np.array(segments, dtype=np.float64).reshape(-1, 2).mean(axis=1)
    inside: BoolArray = np.searchsorted(edges, middles, side="right") % 2 == 1
    return inside


def has_click(segments: Edges, clicks: Sequence[float]) -> BoolArray:
    """Whether there is a click in each segment `(S,)`; clicks are in order."""
    edges = np.array(segments, dtype=np.float64).reshape(-1, 2)
    first, after = np.searchsorted(clicks, edges, side="left").T
    found: BoolArray = first < after
    return found


def is_clicked(segments: Edges, clicks: Sequence[float]) -> BoolArray:
    """Whether a video's clicks, one in each action, seem to have come past each segment `(S,)`.

    They have if there is one in it or in its neighbour: a model also cuts actions in two.
    """
    padded = np.pad(has_click(segments, clicks), 1)
    found: BoolArray = padded[:-2] | padded[1:-1] | padded[2:]
    return found
