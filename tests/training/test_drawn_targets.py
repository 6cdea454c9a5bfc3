"""Runs whose cuts are drawn for every epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import ConfigError
from uvast.segments import Segmentation
from uvast.supervision import CutPosterior
from uvast.training import session as sessions
from uvast.training import train
from uvast.training.drawn_targets import drawn_targets

CUTS = {name: CutPosterior(np.array([0, 1]), 20, (5,), (np.full(10, 0.1),)) for name in ("a", "b")}
SOFT = {
    "model.kind": "ms-tcn",
    "model.n_stages": 1,
    "model.n_encoder_layers": 2,
    "decode.transcript": "frames",
    "decode.durations": "none",
    "train.epochs": 2,
    "supervision.kind": "timestamps",
    "supervision.soft": 5.0,
}


def test_epochs_and_videos_have_draws_of_their_own() -> None:
    epochs = [drawn_targets(CUTS, seed=0, stage=1, epoch=epoch) for epoch in range(20)]
    assert epochs[3] == drawn_targets(CUTS, seed=0, stage=1, epoch=3)
    assert len({one["a"].durations[0] for one in epochs}) > 5
    assert any(one["a"] != one["b"] for one in epochs)


def test_a_run_learns_from_other_cuts_in_every_epoch(
    tiny: Dataset, small_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Segmentation]] = []
    real = sessions.draw_epoch

    def seeing(dataset: Dataset, targets: dict[str, Segmentation], *rest: object, **more: object):
        seen.append(dict(targets))
        return real(dataset, targets, *rest, **more)

    monkeypatch.setattr(sessions, "draw_epoch", seeing)
    train(tiny, tmp_path / "run", config=small_config.replaced(**SOFT), split=1)
    assert len(seen) == 2
    assert seen[0].keys() == seen[1].keys()
    assert seen[0] != seen[1]
    for name, clicks in tiny.timestamps().items():
        if name in seen[0]:
            assert (seen[0][name].labels[clicks.frames] == clicks.transcript).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"supervision.kind": "full"}, "supervision.soft: only pseudo-labels can be soft"),
        ({"supervision.refresh_every": 1}, "drawn for each epoch or refreshed, and both are asked"),
    ],
    ids=["full", "refreshed"],
)
def test_what_soft_targets_do_not_go_with(
    tiny: Dataset,
    small_config: Config,
    tmp_path: Path,
    change: dict[str, object],
    sentence: str,
) -> None:
    with pytest.raises(ConfigError) as caught:
        train(tiny, tmp_path / "run", config=small_config.replaced(**{**SOFT, **change}), split=1)
    assert sentence in str(caught.value)
    assert not (tmp_path / "run").exists()
