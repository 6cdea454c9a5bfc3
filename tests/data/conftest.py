"""Datasets to test on: a generated one, shared and never changed, and small ones by hand."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from uvast.data import generate_dataset

MakeDataset = Callable[..., Path]


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small generated dataset; tests that change it take `generated_copy`."""
    path = tmp_path_factory.mktemp("generated") / "demo"
    generate_dataset(path, n_videos=12, n_classes=6, n_frames=80, n_features=8, seed=1)
    return path


@pytest.fixture
def generated_copy(generated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(generated, tmp_path / "copy"))


@pytest.fixture
def make_dataset(tmp_path: Path) -> MakeDataset:
    """Writes a dataset: `videos` maps a name to its labels, one letter a frame.

    Features are (T, F) with the values 0, 1, 2, …, stored features first.
    """

    def make(
        videos: dict[str, str], *, spec: str = "", mapping: str | None = None, n_features: int = 4
    ) -> Path:
        path = tmp_path / "data"
        for folder in ("features", "groundTruth"):
            (path / folder).mkdir(parents=True)
        for name, labels in videos.items():
            values = np.arange(len(labels) * n_features, dtype=np.float32)
            features = values.reshape(len(labels), n_features)
            np.save(path / "features" / f"{name}.npy", np.ascontiguousarray(features.T))
            (path / "groundTruth" / f"{name}.txt").write_text("".join(f"{x}\n" for x in labels))
        if spec:
            (path / "dataset.toml").write_text(spec)
        if mapping is not None:
            (path / "mapping.txt").write_text(mapping)
        return path

    return make
