"""Planted segmentations, whose names try to break out of the page."""

from __future__ import annotations

import numpy as np

from uvast.data import Timestamps
from uvast.evaluation import Track
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

EVIL = "</script><script>window.hacked=1</script>"
EVIL_VIDEO = '<img src=x onerror="window.hacked=1">&amp;'
CLASSES = Vocabulary(("background", EVIL, "$cut_$", "_stir & 'mix'"), ("background",))


def segmentation(*runs: tuple[int, int]) -> Segmentation:
    return Segmentation(
        np.array([action for action, _ in runs]), np.array([frames for _, frames in runs])
    )


def tracks(
    found: dict[str, Segmentation], split: int | None = None
) -> dict[int | None, dict[str, Track]]:
    """Segmentations of one side as a comparison takes them."""
    return {split: {name: Track(one) for name, one in found.items()}}


TRUTHS = {
    EVIL_VIDEO: segmentation((0, 10), (1, 30), (2, 40), (0, 20)),
    "good": segmentation((3, 25), (1, 25)),
}
PREDICTIONS = {
    "frames": {
        EVIL_VIDEO: segmentation((0, 10), (1, 20), (2, 5), (1, 5), (3, 40), (0, 20)),
        "good": TRUTHS["good"],
    },
    "viterbi <b>": {EVIL_VIDEO: segmentation((0, 50), (2, 50)), "good": TRUTHS["good"]},
}
SURE = {
    None: {
        EVIL_VIDEO: Track(PREDICTIONS["viterbi <b>"][EVIL_VIDEO], np.array([0.25, 0.75])),
        "good": Track(TRUTHS["good"], np.array([1.0, 0.5])),
    }
}
CLICKS = {EVIL_VIDEO: Timestamps(np.array([5, 20, 60, 90]), np.array([0, 1, 2, 0]))}
