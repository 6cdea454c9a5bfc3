"""A model trained for a moment on the small dataset, shared by the room's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import uvast
from uvast.config import Config
from uvast.training import train


@pytest.fixture(scope="session")
def run(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = small_config.replaced(
        **{"train.epochs": 60, "train.learning_rate": 3e-3, "model.encoder_dropout": 0.0}
    )
    return train(tiny_path, tmp_path_factory.mktemp("runs") / "run", config=config, split=1).path


@pytest.fixture(scope="session")
def model(run: Path) -> uvast.Segmenter:
    return uvast.load(run)
