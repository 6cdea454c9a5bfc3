"""What an extractor is, and what it asks of the video.

A new one takes one file with a `make` function, and a line in `uvast.features.models`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pictures = NDArray[np.uint8]
    Features = NDArray[np.float32]

Fit = Literal["squeeze", "crop", "keep"]
_MULTIPLE = 32


@dataclass(frozen=True)
class Picture:
    """The size at which frames are seen.

    Args:
        height: in pixels.
        width: in pixels.
        fit: `squeeze` is exactly that size, whatever the video's shape; `crop` is the middle of
            the picture; `keep` keeps the shape and has about that many pixels, both sides
            multiples of 32.
        short_side: with `crop`, the size of the picture's short side before it is cut.
    """

    height: int
    width: int
    fit: Fit = "squeeze"
    short_side: int = 0

    def scaled(self, height: int, width: int) -> tuple[int, int]:
        """The height and width to which a picture of the given size is scaled."""
        if self.fit == "squeeze":
            return self.height, self.width
        if self.fit == "crop":
            factor = self.short_side / min(height, width)
            return max(self.height, round(height * factor)), max(self.width, round(width * factor))
        factor = (self.height * self.width / (height * width)) ** 0.5 / _MULTIPLE
        tall, wide = (max(1, round(side * factor)) for side in (height, width))
        return tall * _MULTIPLE, wide * _MULTIPLE


@dataclass(frozen=True)
class View:
    """What an extractor sees of a video.

    Args:
        picture: the size.
        rate: frames per second; None is every frame of the video.
    """

    picture: Picture
    rate: float | None


@dataclass(frozen=True)
class Request:
    """What an extractor is made for.

    Args:
        rate: of the features, in frames per second; None is the video's own.
        source_rate: the video's nominal frames per second.
        device: where networks run.
        argument: what follows the model's name, such as the file in `onnx:FILE.onnx`.
    """

    rate: float | None
    source_rate: float
    device: str = "auto"
    argument: str = ""

    @property
    def frames_per_second(self) -> float:
        """The rate of the features as a number."""
        return self.source_rate if self.rate is None else self.rate


class Extractor(Protocol):
    """Frames to features, block by block.

    A call gets the frames of a block and, where the video has them, `context` more on each side.
    Row j of its answer belongs to frame `j * stride + centre` of those it was given; the rows of
    the context are thrown away.
    """

    @property
    def name(self) -> str:
        """As in `--model`."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the numbers do."""
        ...

    @property
    def width(self) -> int:
        """F, the features of a row."""
        ...

    @property
    def view(self) -> View:
        """What it sees."""
        ...

    @property
    def stride(self) -> int:
        """Frames from one row to the next."""
        ...

    @property
    def window(self) -> int:
        """Frames of a block, a multiple of the stride."""
        ...

    @property
    def context(self) -> int:
        """Frames on either side of a block, a multiple of the stride."""
        ...

    @property
    def centre(self) -> float:
        """The frame that a row belongs to, counted from the row's first."""
        ...

    def __call__(self, frames: Pictures) -> Features:
        """Frames `(N, H, W, 3)` to `(ceil(N / stride), F)`."""
        ...
