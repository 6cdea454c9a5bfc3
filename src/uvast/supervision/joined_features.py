"""Input and encoder features side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from uvast.data import Dataset

Features = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class JoinedFeatures(Mapping[str, Features]):
    """Each video's input features beside other ones `(T, F + D)`, joined when asked for.

    Both parts are scaled to a mean norm of 1, so that neither outweighs the other.

    Args:
        dataset: gives the input features, at the model's rate.
        others: encoder features `(T, D)` of each video.
    """

    dataset: Dataset
    others: Mapping[str, Features]

    def __getitem__(self, name: str) -> Features:
        inputs = self.dataset.video(name, labels=False).features
        return np.concatenate([_scaled(inputs), _scaled(self.others[name])], axis=1)

    def __iter__(self) -> Iterator[str]:
        return iter(self.others)

    def __len__(self) -> int:
        return len(self.others)


def _scaled(features: Features) -> Features:
    norm = np.linalg.norm(features, axis=1).mean()
    return features / norm if norm > 0 else features
