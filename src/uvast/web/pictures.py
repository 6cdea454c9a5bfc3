"""Pictures of videos for the page: frame i exactly, film strips, the table of frame times."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError
from uvast.features.extras import extra
from uvast.features.packet_times import packet_times
from uvast.features.pictures import exact_picture, film_pictures
from uvast.files import write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from PIL.Image import Image

_QUALITY = 85


def frame_jpeg(path: Path, times: NDArray[np.float64], index: int, width: int | None) -> bytes:
    """Frame `index` of a video as JPEG.

    Args:
        path: the video.
        times: of its frames `(T,)`.
        index: from 0.
        width: of the picture, in pixels; None for the video's own.
    """
    if not 0 <= index < len(times):
        raise InputError(f"frame {index} of {len(times)} frames", remedy="choose one of them")
    # a little after its start, since times are rounded
    step = times[index + 1] - times[index] if index + 1 < len(times) else 0.0
    picture = exact_picture(path, float(times[index] + 0.25 * step), width)
    return _jpeg(extra("PIL.Image").fromarray(picture))


def frame_at(times: NDArray[np.float64], seconds: float) -> int:
    """The frame that is shown at a moment."""
    found = int(np.searchsorted(times, seconds + 1e-6, side="right")) - 1
    return min(max(found, 0), len(times) - 1)


def strip_jpegs(path: Path, strips: Sequence[Sequence[float]], width: int) -> list[bytes]:
    """Pictures at several moments side by side, for several strips in one pass over the video."""
    moments = sorted({second for strip in strips for second in strip})
    n_shared = max(map(len, strips))
    pictures = dict(zip(moments, film_pictures(path, moments, width, n_shared), strict=True))
    images = extra("PIL.Image")
    return [
        _jpeg(images.fromarray(np.concatenate([pictures[second] for second in strip], axis=1)))
        for strip in strips
    ]


def frame_table(path: Path, kept: Path) -> NDArray[np.float64]:
    """When each frame is shown `(T,)`; kept in a file of 8 bytes per frame."""
    if not kept.is_file():
        write_bytes(kept, packet_times(path).astype("<f8").tobytes())
    return np.fromfile(kept, dtype="<f8")


def _jpeg(image: Image) -> bytes:
    content = io.BytesIO()
    image.save(content, "JPEG", quality=_QUALITY)
    return content.getvalue()
