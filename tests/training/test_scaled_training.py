"""Training, resuming and segmenting with scaled features: any scale gives one model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from breaking_off import StopAfter, StopError
from safetensors import safe_open
from safetensors.torch import save_file

import uvast
from uvast.config import Config, load_config
from uvast.data import Dataset, fit_scaling
from uvast.errors import CheckpointError
from uvast.models.checkpoint import read_checkpoint, read_scaling
from uvast.presets import presets
from uvast.runs import RunFolder
from uvast.training import resume, train

PUBLISHED = {
    "50salads",
    "asformer",
    "asrf",
    "bcn",
    "breakfast",
    "c2f-tcn",
    "dtgrm",
    "gtea",
    "li",
    "ms-tcn",
    "ms-tcn++",
    "mucon",
    "sstda",
    "uvast",
}


def changed(source: Path, copy: Path, change: Callable[[np.ndarray], np.ndarray]) -> Path:
    """A copy of a dataset with other features."""
    shutil.copytree(source, copy)
    for path in (copy / "features").glob("*.npy"):
        np.save(path, change(np.load(path)).astype(np.float32))
    return copy


def edit(path: Path, change: Callable[[dict[str, torch.Tensor], dict[str, str]], None]) -> None:
    """Rewrites a checkpoint with its tensors and its header changed in place."""
    with safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    change(tensors, metadata)
    save_file(tensors, path, metadata=metadata)


def as_before_scaling(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """A checkpoint as versions without the setting wrote it."""
    for name in [name for name in tensors if name.startswith("scaling.")]:
        del tensors[name]
    card = json.loads(metadata["card"])
    del card["config"]["train"]["scaling"]
    metadata["card"] = json.dumps(card)


def without_setting(run: Path) -> None:
    path = run / "config.toml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("scaling")))


@pytest.fixture(scope="module")
def run(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scaled") / "run"
    return train(tiny_path, out, config=small_config, split=1).path


def test_units_and_offsets_of_the_files_do_not_matter(
    tiny_path: Path, small_config: Config, run: Path, tmp_path: Path
) -> None:
    """Noise and dark spans included: both come after scaling."""
    settings = {"train.feature_noise": 0.2, "train.time_masking": 0.1}
    other = changed(tiny_path, tmp_path / "data", lambda features: features * 1000 + 5)
    losses = {}
    for scaling in (True, False):
        config = small_config.replaced(**settings, **{"train.scaling": scaling})
        for path in (tiny_path, other):
            out = tmp_path / f"{path.name}-{scaling}"
            found = train(path, out, config=config, split=1).read_log()
            losses[path.name, scaling] = [row["loss"] for row in found]
    assert losses["data", True] == pytest.approx(losses["tiny", True], rel=1e-3)
    assert losses["data", False] != pytest.approx(losses["tiny", False], rel=1e-3)
    model = uvast.load(tmp_path / "data-True")
    prediction = uvast.load(tmp_path / "tiny-True").segment(
        next((tiny_path / "features").glob("*.npy"))
    )
    same = model.segment(other / "features" / next((tiny_path / "features").glob("*.npy")).name)
    assert same.segments[0].label == prediction.segments[0].label
    assert same.confidence == pytest.approx(prediction.confidence, rel=1e-3)


def test_only_videos_that_are_learned_from_are_measured(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.replaced(**{"train.validation": 0.5})
    train(tiny, tmp_path / "run", config=config, split=1)
    info = RunFolder.open(tmp_path / "run").info
    assert info.validation
    exact = fit_scaling(tiny.video(name, labels=False) for name in info.train)
    for name in ("best", "last"):
        found = read_scaling(tmp_path / "run" / f"{name}.safetensors")
        np.testing.assert_array_equal(found.mean, exact.mean)
        np.testing.assert_array_equal(found.deviation, exact.deviation)
    everything = fit_scaling(tiny.video(name, labels=False) for name in tiny.side(1, "train"))
    assert not np.array_equal(everything.mean, exact.mean)


def test_a_loaded_model_scales_once_in_every_call(run: Path, tiny: Dataset) -> None:
    model = uvast.load(run)
    videos = [tiny.video(name, labels=False) for name in tiny.names[:3]]
    frames = model.encode_batch(videos).frames
    for video, one in zip(videos, frames, strict=True):
        given = torch.from_numpy(model.scaling.scaled(video.features))[None]
        with torch.inference_mode():
            expected = model.module.encode(given, None).features[0].numpy()
        np.testing.assert_allclose(one.features, expected, atol=1e-5)
        np.testing.assert_allclose(model.encode(video.features), expected, atol=1e-5)
        assert model.is_familiar(video)


def test_a_resumed_run_keeps_its_scaling_whatever_became_of_the_files(
    tiny_path: Path, small_config: Config, run: Path, tmp_path: Path
) -> None:
    """Bit-equal to the unbroken run; files that change meanwhile do not change the scaling."""
    copy = changed(tiny_path, tmp_path / "data", lambda features: features)
    with pytest.raises(StopError):
        train(copy, tmp_path / "run", config=small_config, split=1, watcher=StopAfter(1))
    shutil.copytree(tmp_path / "run", tmp_path / "second")
    resume(tmp_path / "run")
    for name in ("best", "last"):
        ours = read_checkpoint(tmp_path / "run" / f"{name}.safetensors").tensors
        theirs = read_checkpoint(run / f"{name}.safetensors").tensors
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    for path in (copy / "features").glob("*.npy"):
        np.save(path, np.load(path) * 2)
    resume(tmp_path / "second")
    kept = read_scaling(tmp_path / "second" / "best.safetensors")
    np.testing.assert_array_equal(kept.mean, read_scaling(run / "best.safetensors").mean)


def test_runs_of_earlier_versions_load_and_go_on_without_scaling(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.replaced(**{"train.scaling": False})
    unbroken = train(tiny, tmp_path / "unbroken", config=config, split=1)
    with pytest.raises(StopError):
        train(tiny, tmp_path / "old", config=config, split=1, watcher=StopAfter(1))
    without_setting(tmp_path / "old")
    edit(tmp_path / "old" / "last.safetensors", as_before_scaling)
    assert not RunFolder.open(tmp_path / "old").config.train.scaling
    assert uvast.load(tmp_path / "old").scaling is None
    resume(tmp_path / "old")
    ours = read_checkpoint(tmp_path / "old" / "best.safetensors")
    theirs = read_checkpoint(unbroken.best).tensors
    assert all(torch.equal(ours.tensors[key], theirs[key]) for key in theirs)
    assert ours.card.config["train"]["scaling"] is False


BROKEN = {
    "another width": {"mean": torch.zeros(7, dtype=torch.float64)},
    "another shape": {"deviation": torch.ones(6, 1, dtype=torch.float64)},
    "another type": {"mean": torch.zeros(6)},
    "a NaN mean": {"mean": torch.full((6,), torch.nan, dtype=torch.float64)},
    "an infinite mean": {"mean": torch.full((6,), torch.inf, dtype=torch.float64)},
    "a NaN deviation": {"deviation": torch.full((6,), torch.nan, dtype=torch.float64)},
    "a deviation of 0": {"deviation": torch.zeros(6, dtype=torch.float64)},
    "a negative deviation": {"deviation": -torch.ones(6, dtype=torch.float64)},
    "no deviation": {"deviation": None},
    "no scaling at all": {"mean": None, "deviation": None},
    "another tensor": {"variance": torch.ones(6, dtype=torch.float64)},
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_scalings_are_one_sentence(run: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))

    def change(tensors: dict[str, torch.Tensor], _: dict[str, str]) -> None:
        for key, value in BROKEN[name].items():
            if value is None:
                del tensors[f"scaling.{key}"]
            else:
                tensors[f"scaling.{key}"] = value

    for file in ("best", "last"):
        edit(copy / f"{file}.safetensors", change)
    for call, file in ((uvast.load, "best"), (resume, "last")):
        with pytest.raises(CheckpointError, match=rf"{file}\.safetensors: has a scaling that"):
            call(copy)


def test_a_run_does_not_go_on_with_features_of_another_width(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    copy = changed(tiny_path, tmp_path / "data", lambda features: features)
    config = small_config.replaced(**{"supervision.kind": "timestamps"})
    with pytest.raises(StopError):
        train(copy, tmp_path / "run", config=config, split=1, watcher=StopAfter(1))
    for path in (copy / "features").glob("*.npy"):
        values = np.load(path)
        np.save(path, values[:5] if len(values) == 6 else values[:, :5])
    with pytest.raises(CheckpointError, match=r"does not fit the dataset \(features of width 6"):
        resume(tmp_path / "run")


@pytest.mark.parametrize("name", presets())
def test_only_published_settings_leave_features_as_they_are(name: str) -> None:
    assert bool(load_config(name).train.scaling) == (name not in PUBLISHED)


@pytest.mark.parametrize("name", sorted(set(presets()) - PUBLISHED))
def test_ours_scale_on_top_of_a_dataset_s_preset(name: str) -> None:
    assert load_config(("gtea", name)).train.scaling
