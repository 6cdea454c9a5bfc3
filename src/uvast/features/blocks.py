"""A stream of frames, handed to an extractor in overlapping blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.features.extractor import Extractor, Features, Pictures


class Blocks:
    """Collects frames and has them extracted, block by block.

    No frame is kept longer than a block needs it.
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._frames: list[Pictures] = []
        self._first = 0  # number of the first frame that is kept
        self._start = 0  # number of the first frame of the next block

    def push(self, picture: Pictures, n_ticks: int) -> Iterator[Features]:
        """Takes a picture that is shown for `n_ticks` ticks; yields rows `(n, F)` when ready."""
        extractor = self._extractor
        for _ in range(n_ticks):
            self._frames.append(picture)
            wanted = self._start + extractor.window + extractor.context
            if self._first + len(self._frames) >= wanted:
                yield self._block()

    def finish(self) -> Iterator[Features]:
        """The rows of the frames that are left when the video is over."""
        while self._start < self._first + len(self._frames):
            yield self._block()

    def _block(self) -> Features:
        extractor = self._extractor
        end = self._start + extractor.window
        seen = np.stack(self._frames[: end + extractor.context - self._first])
        rows = extractor(seen)
        skipped = (self._start - self._first) // extractor.stride
        kept = rows[skipped : skipped + extractor.window // extractor.stride]
        self._start = end
        drop = max(0, end - extractor.context - self._first)
        del self._frames[:drop]
        self._first += drop
        return kept
