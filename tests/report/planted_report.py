"""Planted segmentations, whose names try to break out of the page."""

from __future__ import annotations

import numpy as np

from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

EVIL = "</script><script>window.hacked=1</script>"
EVIL_VIDEO = '<img src=x onerror="window.hacked=1">&amp;'
CLASSES = Vocabulary(("background", EVIL, "$cut_$", "_stir & 'mix'"), ("background",))


def segmentation(*runs: tuple[int, int]) -> Segmentation:
    return Segmentation(
        np.array([action for action, _ in runs]), np.array([frames for _, frames in runs])
    )


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
