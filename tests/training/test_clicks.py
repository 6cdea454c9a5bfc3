"""Runs that learn of the annotated frames: from them alone at first, with the confidence loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from breaking_off import StopAfter, StopError
from safetensors.torch import load_file

from uvast.config import Config, SupervisionConfig
from uvast.data import Batch, Dataset, Timestamps
from uvast.errors import ConfigError
from uvast.runs import RunFolder
from uvast.segments import Segmentation, midpoint_durations
from uvast.supervision import energy_durations
from uvast.training import objectives as objective_module
from uvast.training import resume, train
from uvast.training.clicks import learns_clicks_alone
from uvast.training.refresh import refreshed_targets

RUN = {
    "model.kind": "ms-tcn",
    "model.n_stages": 2,
    "model.n_encoder_layers": 2,
    "decode.transcript": "frames",
    "decode.durations": "none",
    "train.epochs": 4,
    "train.batch_size": 3,
    "loss.confidence": 0.075,
    "supervision.kind": "timestamps",
    "supervision.method": "clicks",
    "supervision.refresh_every": 1,
    "supervision.refresh_after": 2,
    "supervision.refresh_by": "energy",
}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """Every batch that a run learns from."""
    batches: list[Batch] = []
    real = objective_module.FrameWise.losses

    def losses(self: objective_module.FrameWise, batch: Batch) -> objective_module.Losses:
        batches.append(batch)
        return real(self, batch)

    monkeypatch.setattr(objective_module.FrameWise, "losses", losses)
    return batches


@pytest.mark.parametrize("dropping", [0.0, 1.0])
def test_frames_learn_from_clicks_alone_until_targets_are_refreshed(
    tiny: Dataset, small_config: Config, tmp_path: Path, seen: list[Batch], dropping: float
) -> None:
    config = small_config.replaced(**RUN, **{"train.frame_dropping": dropping})
    train(tiny, tmp_path / "run", config=config, split=1)
    clicks = tiny.timestamps()
    assert seen
    per_epoch = len(seen) // 4
    for place, batch in enumerate(seen):
        targets = batch.targets
        for row, name in enumerate(batch.names):
            annotated = targets.is_timestamp[row].nonzero().flatten()
            n_frames, entry = int(batch.lengths[row]), clicks[name]
            assert targets.labels[row, annotated].tolist() == entry.transcript.tolist()
            if not dropping:
                assert annotated.tolist() == entry.frames.tolist()
            else:  # the frames are those that were annotated
                own = tiny.video(name, labels=False).features[entry.frames]
                expected = torch.from_numpy(own.copy())
                scaled = batch.features[row, annotated]
                order = [one.argsort(0) for one in (expected, scaled)]
                torch.testing.assert_close(*order)
            learned = (targets.frame_labels[row] >= 0).nonzero().flatten()
            alone = place < 2 * per_epoch
            assert learned.tolist() == (annotated.tolist() if alone else list(range(n_frames)))
    log = RunFolder(tmp_path / "run").read_log()
    assert [one["confidence"] > 0 for one in log] == [True] * 4


def test_the_run_resumes_to_equal_weights(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.replaced(**RUN)
    train(tiny, tmp_path / "whole", config=config, split=1)
    for n_epochs in (1, 3):
        place = tmp_path / str(n_epochs)
        with pytest.raises(StopError):
            train(tiny, place, config=config, split=1, watcher=StopAfter(n_epochs))
        resume(place)
        whole, broken = (load_file(one / "best.safetensors") for one in (tmp_path / "whole", place))
        for name, value in whole.items():
            np.testing.assert_array_equal(value.numpy(), broken[name].numpy(), err_msg=name)


def test_refreshing_by_energy_cuts_by_the_models_features(
    tiny: Dataset, small_config: Config
) -> None:
    name = tiny.names[0]
    clicks = tiny.timestamps()[name]
    made = np.random.default_rng(0).normal(size=(tiny.video(name).n_frames, 4))

    class Encoder:
        """Features of its own."""

        def encode(self, features: np.ndarray) -> np.ndarray:
            return made

    config = small_config.replaced(**RUN).supervision
    found = refreshed_targets(Encoder(), tiny, [name], {name: clicks}, config)[name]
    expected = Segmentation(clicks.transcript, energy_durations(made, clicks.frames)).merged()
    assert found == expected


def test_with_full_labels_the_same_settings_learn_every_frame(
    tiny: Dataset, small_config: Config, tmp_path: Path, seen: list[Batch]
) -> None:
    config = small_config.replaced(**{**RUN, "supervision.kind": "full", "train.epochs": 3})
    train(tiny, tmp_path / "run", config=config, split=1)
    assert all(one.targets.is_timestamp is None is one.targets.is_certain for one in seen)
    assert "confidence" not in RunFolder(tmp_path / "run").read_log()[-1]


def test_other_runs_hold_no_timestamps(
    tiny: Dataset, small_config: Config, tmp_path: Path, seen: list[Batch]
) -> None:
    changes = {"loss.confidence": 0.0, "supervision.method": "midpoint", "train.epochs": 1}
    train(tiny, tmp_path / "run", config=small_config.replaced(**{**RUN, **changes}), split=1)
    assert all(one.targets.is_timestamp is None for one in seen)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [True, True, False, False]),
        ({"refresh_every": 0}, [True] * 4),
        ({"method": "energy"}, [False] * 4),
        ({"kind": "full"}, [False] * 4),
    ],
    ids=["refreshed", "never refreshed", "another method", "full"],
)
def test_when_clicks_are_all(changes: dict[str, object], expected: list[bool]) -> None:
    config = SupervisionConfig(kind="timestamps", method="clicks", refresh_every=3, refresh_after=2)
    config = replace(config, **changes)
    assert [learns_clicks_alone(epoch, config) for epoch in range(4)] == expected


@pytest.mark.parametrize(
    "warp", ["train.recombination=0.5", "train.speed=1.5", "train.time_warp=1.5"]
)
@pytest.mark.parametrize(
    ("off", "where"),
    [
        ({"supervision.method": "k-medoids"}, "loss.confidence"),
        ({"loss.confidence": 0.0}, "supervision.method"),
    ],
    ids=["confidence", "clicks"],
)
def test_samples_without_timestamps_are_refused_at_once(
    tiny: Dataset,
    small_config: Config,
    tmp_path: Path,
    warp: str,
    off: dict[str, object],
    where: str,
) -> None:
    name, _, value = warp.partition("=")
    config = small_config.replaced(**{**RUN, **off, name: float(value)})
    with pytest.raises(ConfigError) as caught:
        train(tiny, tmp_path / "run", config=config, split=1)
    assert str(caught.value).startswith(
        f"{where}: recombined and warped videos have no annotated frames to learn from; set train."
    )
    assert not (tmp_path / "run").exists()


def test_midpoints_are_the_first_targets_of_clicks(
    tiny: Dataset, small_config: Config, tmp_path: Path, seen: list[Batch]
) -> None:
    changes = {"train.epochs": 1, "supervision.refresh_every": 0}
    train(tiny, tmp_path / "run", config=small_config.replaced(**{**RUN, **changes}), split=1)
    clicks: dict[str, Timestamps] = tiny.timestamps()
    assert seen
    for batch in seen:
        for row, name in enumerate(batch.names):
            entry, n_frames = clicks[name], int(batch.lengths[row])
            expected = Segmentation(entry.transcript, midpoint_durations(entry.frames, n_frames))
            assert batch.targets.labels[row, :n_frames].tolist() == expected.labels.tolist()
