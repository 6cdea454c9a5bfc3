"""A matrix small enough to run in a moment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from benchmark_types import MakeCell

from uvast.benchmark.cell import Cell
from uvast.config import Config


@pytest.fixture
def data(tiny_path: Path, tmp_path: Path) -> Path:
    """A copy of the small dataset, to change."""
    return Path(shutil.copytree(tiny_path, tmp_path / "data"))


@pytest.fixture
def make_cell(tiny_path: Path, small_config: Config) -> MakeCell:
    """Cells of the small dataset, a baseline by default: `make_cell(split=2, seed=1)`."""

    def make(
        *,
        model: str = "ms-tcn",
        split: int = 1,
        seed: int = 0,
        dataset: Path = tiny_path,
        decodings: dict[str, dict[str, object]] | None = None,
        **settings: object,
    ) -> Cell:
        config = small_config.replaced(
            **{
                "model.kind": "ms-tcn",
                "model.n_stages": 1,
                "model.n_encoder_layers": 2,
                "train.epochs": 1,
                "train.alignment_epochs": 0,
                "decode.transcript": "frames",
                "decode.durations": "none",
                **{name.replace("__", "."): value for name, value in settings.items()},
            }
        )
        if decodings is None:
            decodings = {"frames": {"transcript": "frames", "durations": "none"}}
        return Cell(model, str(dataset.resolve()), split, seed, config, decodings)

    return make
