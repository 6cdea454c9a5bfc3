"""What to label next: the video whose clicks would teach the model most, and where to begin.

A person clicks through whole videos, once in each action: models learn most from that, order and
lengths included. So a proposal is a video first: one already begun, until it is done; then a new
one that the model is unsure of and that looks like nothing known. Within it, the proposal is the
least certain segment that nobody has labelled. docs/label-next.md says what was measured, and what
else was tried.

Whoever labels only that segment and goes on to another video labels its middle half and no more:
the edges are the model's guess, and what nobody looked at stays unlabelled.
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

LOOK_WIDTH = 32
"""The most numbers that describe what a segment looks like."""

MOST_KNOWN = 1000
"""The most known segments that new videos are compared with, evenly chosen if there are more."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """The predicted segments of one video.

    Args:
        looks: what each looks like, see `segment_looks` `(S, L)`.
        doubts: how unsure the model is of each, 0 to 1 `(S,)`.
        lengths: in frames or in seconds `(S,)`.
        known: whether a person has said what happens there `(S,)`.
    """

    looks: FloatArray
    doubts: FloatArray
    lengths: FloatArray
    known: BoolArray

    @property
    def doubt(self) -> float:
        """The mean doubt over the frames."""
        return float(np.average(self.doubts, weights=self.lengths))

    def strangeness(self, known: FloatArray) -> float:
        """The distance to the nearest known look `(K, L)`, averaged over the frames."""
        if not len(known):
            return 0.0
        own, others = (np.einsum("nl,nl->n", one, one) for one in (self.looks, known))
        squares = own[:, None] + others - 2 * (self.looks @ known.T)
        nearest = np.sqrt(np.maximum(squares.min(axis=1), 0))
        return float(np.average(nearest, weights=self.lengths))


class Proposal(NamedTuple):
    """A video, the place of a segment in it, and whether the video was begun before."""

    video: str
    place: int
    begun: bool


class Stretch(NamedTuple):
    """The part of a video that an answer labels, and its middle, where to look."""

    start: float
    moment: float
    end: float


def segment_looks(means: FloatArray) -> FloatArray:
    """What segments look like, in a few numbers `(S, L)`, from their mean scaled features `(S, F)`.

    A fixed random projection preserves distances well enough, and keeps files small.
    """
    width = means.shape[1]
    if width <= LOOK_WIDTH:
        return means
    axes = np.random.default_rng(0).standard_normal((width, LOOK_WIDTH))
    looks: FloatArray = means @ axes / LOOK_WIDTH**0.5
    return looks


def propose(videos: Mapping[str, Predicted]) -> Proposal | None:
    """What to label next; None if everything is known."""
    left = [name for name, one in videos.items() if not one.known.all()]
    if not left:
        return None
    begun = [name for name in left if videos[name].known.any()]
    # by doubt alone, which answers do not change: one begun video is finished before the next
    video = (
        max(begun, key=lambda name: videos[name].doubt) if begun else _most_telling(videos, left)
    )
    chosen = videos[video]
    place = int(np.where(chosen.known, -1.0, chosen.doubts).argmax())
    return Proposal(video, place, bool(begun))


def _most_telling(videos: Mapping[str, Predicted], left: Sequence[str]) -> str:
    """The video with the highest sum of ranks by doubt and strangeness; ties go to doubt."""
    known = np.concatenate([one.looks[one.known] for one in videos.values()])
    known = known[:: 1 + len(known) // MOST_KNOWN]
    doubts = np.array([videos[name].doubt for name in left])
    strange = np.array([videos[name].strangeness(known) for name in left])
    ranks = _ranks(doubts) + _ranks(strange)
    return left[max(range(len(left)), key=lambda place: (ranks[place], doubts[place]))]


def _ranks(values: FloatArray) -> NDArray[np.int64]:
    """How many values are lower than each `(N,)`."""
    return np.searchsorted(np.sort(values), values)


def middle_half(start: float, end: float) -> Stretch:
    """The part of a segment that an answer labels."""
    quarter = (end - start) / 4
    return Stretch(start + quarter, start + 2 * quarter, end - quarter)


def is_known(segments: Edges, labelled: Edges) -> BoolArray:
    """Whether a person has said what happens in the middle of each segment `(S,)`.

    `labelled` are spans in order that do not overlap.
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
    """Whether a video's clicks, one in each action, seem to have covered each segment `(S,)`.

    They have if there is one in it or in a neighbour: a model may cut an action in two.
    """
    padded = np.pad(has_click(segments, clicks), 1)
    found: BoolArray = padded[:-2] | padded[1:-1] | padded[2:]
    return found
