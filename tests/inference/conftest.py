"""A model trained for a moment on the small dataset, shared by the room's tests."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest

import uvast
from uvast.config import Config
from uvast.training import train


@pytest.fixture(scope="session")
def run(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = small_config.replaced(
        **{
            "train.epochs": 60,
            "train.learning_rate": 3e-3,
            "train.checkpoint_seconds": 60.0,
            "model.encoder_dropout": 0.0,
        }
    )
    return train(tiny_path, tmp_path_factory.mktemp("runs") / "run", config=config, split=1).path


@pytest.fixture(scope="session")
def model(run: Path) -> uvast.Segmenter:
    return uvast.load(run)


@pytest.fixture
def count_calls(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Given functions of `uvast.inference`, returns a list to which each call adds its name."""

    def count(*places: str) -> list[str]:
        calls: list[str] = []
        for place in places:
            real = pkgutil.resolve_name(f"uvast.inference.{place}")

            def counted(*given: object, real: object = real, **options: object) -> object:
                calls.append(real.__name__)
                return real(*given, **options)

            monkeypatch.setattr(f"uvast.inference.{place}", counted)
        return calls

    return count
