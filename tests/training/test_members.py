"""Several models trained into one run folder, killed and resumed."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from breaking_off import StopError
from safetensors.torch import load_file

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import CheckpointError, ConfigError, OutputError
from uvast.inference.ensemble import make_ensemble
from uvast.report.sources import run_charts, training_charts
from uvast.runs import RunFolder, is_run
from uvast.training import EpochReport, Plan, resume, train
from uvast.training.inner_runs import read_calibration
from uvast.training.watching import Silent


class Follower(Silent):
    """Keeps what it is told, and breaks a run off after so many epochs, or beginnings."""

    def __init__(self, epochs: int = 0, begins: int = 0) -> None:
        self.epochs, self.begins = epochs, begins
        self.plans: list[Plan] = []

    def begin(self, plan: Plan) -> None:
        self.plans.append(plan)
        self.begins -= 1
        if not self.begins:
            raise StopError

    def epoch(self, report: EpochReport) -> None:
        self.epochs -= 1
        if not self.epochs:
            raise StopError


def weights(run: Path) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in load_file(run / "best.safetensors").items()}


def assert_equal_weights(left: Path, right: Path) -> None:
    first, second = weights(left), weights(right)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


@pytest.fixture(scope="module")
def config(small_config: Config) -> Config:
    return small_config.replaced(
        **{"train.epochs": 2, "train.alignment_epochs": 1, "train.seed": 5, "train.averaging": 0.9}
    )


@pytest.fixture(scope="module")
def trained(tiny_path: Path, config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("members") / "run"
    return train(tiny_path, out, config=config, split=1, members=2).path


def test_members_are_what_their_seeds_give_alone(
    trained: Path, tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    for index, seed in enumerate((5, 6)):
        own = config.replaced(**{"train.seed": seed})
        alone = train(tiny_path, tmp_path / str(seed), config=own, split=1).path
        assert_equal_weights(alone, trained / "members" / str(index + 1))
    joined = make_ensemble([tmp_path / "5", tmp_path / "6"], tmp_path / "joined").path
    assert_equal_weights(joined, trained)
    folder, _, info = RunFolder.open(trained)
    assert folder.is_finished()
    assert [(one.source, one.seed) for one in info.members] == [("members/1", 5), ("members/2", 6)]
    assert all(one.sha256 for one in info.members)
    assert info.train == RunFolder.open(tmp_path / "5").info.train


@pytest.mark.parametrize(
    "stop",
    [{"begins": 1}, {"epochs": 2}, {"begins": 2}, {"epochs": 5}],
    ids=["at once", "first member", "between", "second member"],
)
def test_a_run_broken_off_at_any_moment_resumes_to_equal_weights(
    trained: Path, tiny_path: Path, config: Config, tmp_path: Path, stop: dict[str, int]
) -> None:
    out = tmp_path / "run"
    with pytest.raises(StopError):
        train(tiny_path, out, config=config, split=1, members=2, watcher=Follower(**stop))
    assert is_run(out)
    assert not RunFolder(out).is_finished()
    with pytest.raises(CheckpointError, match="has no checkpoint yet; finish it with uvast train"):
        uvast.load(out)
    with pytest.raises(OutputError, match="already holds a run"):
        train(tiny_path, out, config=config, split=1, members=2)
    resume(out)
    assert_equal_weights(out, trained)
    info, other = (RunFolder.open(run).info for run in (out, trained))
    # the order of a header's entries, and with it the hash, is any
    assert replace(info, members=()) == replace(other, members=())
    assert [one.seed for one in info.members] == [one.seed for one in other.members]


def test_a_member_without_its_run_goes_on_if_it_is_of_this_run(
    trained: Path, tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    """A kill may come between the first member's files and those of the whole run."""
    out = tmp_path / "run"
    with pytest.raises(StopError):
        train(tiny_path, out, config=config, split=1, members=2, watcher=Follower(begins=1))
    (out / "run.json").unlink()
    with pytest.raises(OutputError, match=r"members/1: holds a run with other settings"):
        train(tiny_path, out, config=config, split=2, members=2)
    train(tiny_path, out, config=config, split=1, members=2)
    assert_equal_weights(out, trained)


def test_a_kill_before_the_hashes_is_made_good(trained: Path, tmp_path: Path) -> None:
    out = shutil.copytree(trained, tmp_path / "run")
    text = (out / "run.json").read_text()
    (out / "run.json").write_text(re.sub(r'"sha256": "\w+"', '"sha256": null', text))
    (out / "best.safetensors").write_bytes(b"of before")
    resume(out)
    assert_equal_weights(out, trained)
    assert all(one.sha256 for one in RunFolder.open(out).info.members)
    shutil.rmtree(out / "members")  # the model is whole without them
    resume(out)
    assert_equal_weights(out, trained)
    with pytest.raises(ConfigError, match="its member members/1 has been deleted, so no setting"):
        resume(out, settings=["train.alignment_epochs=9"])


def test_the_second_stage_can_come_later(
    trained: Path, tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    first = config.replaced(**{"train.alignment_epochs": 0})
    out = train(tiny_path, tmp_path / "run", config=first, split=1, members=2).path
    with pytest.raises(StopError):
        resume(out, settings=["train.alignment_epochs=1"], watcher=Follower(begins=2))
    resume(out)  # it knows what was asked for
    assert_equal_weights(out, trained)
    assert RunFolder.open(out).config.train.alignment_epochs == 1
    with pytest.raises(ConfigError, match="would change a run that has begun"):
        resume(out, settings=["train.epochs=9"])
    assert RunFolder.open(out).config.train.epochs == 2


def test_the_plan_tells_member_and_epochs_to_come(
    tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    follower = Follower()
    out = train(
        tiny_path, tmp_path / "run", config=config, split=1, members=3, watcher=follower
    ).path
    told = [(plan.member, plan.n_members, plan.later_epochs) for plan in follower.plans]
    assert told == [(1, 3, 6), (2, 3, 3), (3, 3, 0)]
    assert all(plan.epochs == {1: 2, 2: 1} for plan in follower.plans)
    again = Follower()
    resume(out, watcher=again)
    assert [plan.epochs for plan in again.plans] == [{}]


def test_an_ensemble_of_other_runs_has_nothing_to_train(trained: Path, tmp_path: Path) -> None:
    parts = [trained / "members" / "1", trained / "members" / "2"]
    out = make_ensemble(parts, tmp_path / "joined").path
    follower = Follower()
    resume(out, watcher=follower)
    assert [plan.epochs for plan in follower.plans] == [{}]
    with pytest.raises(ConfigError, match="is made of other runs, whose settings cannot be"):
        resume(out, settings=["train.alignment_epochs=9"])
    (out / "best.safetensors").unlink()
    with pytest.raises(OutputError, match="has lost its model; make it again with uvast ensemble"):
        resume(out)


@pytest.mark.parametrize("members", [0, 101])
def test_numbers_of_members(tiny: Dataset, tmp_path: Path, members: int) -> None:
    with pytest.raises(ConfigError, match=f"members: {members} members; train between 1 and 100"):
        train(tiny, tmp_path / "run", members=members)
    assert not (tmp_path / "run").exists()


def test_several_processes_train_one_model(
    tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="several processes cannot train the members"):
        train(tiny, tmp_path / "run", members=2)


@pytest.fixture(scope="module")
def folded(config: Config) -> Config:
    changes = {"train.folds": 2, "train.alignment_epochs": 0, "decode.transcript": "best"}
    return config.replaced(**changes)


@pytest.fixture(scope="module")
def calibrated(
    tiny_path: Path, folded: Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Follower]:
    out, follower = tmp_path_factory.mktemp("folded") / "run", Follower()
    train(tiny_path, out, config=folded, split=1, members=3, watcher=follower)
    return out, follower


def test_the_inner_runs_of_the_first_member_serve_all(
    calibrated: tuple[Path, Follower], tiny_path: Path, folded: Config, tmp_path: Path
) -> None:
    out, follower = calibrated
    found = [read_calibration(out / "members" / str(number)) for number in (1, 2, 3)]
    assert found[0] is not None
    assert found[1:] == found[:1] * 2
    for number in (2, 3):
        folds = out / "members" / str(number) / "folds"
        assert [one.name for one in folds.iterdir()] == ["weights.json"]
    model = uvast.load(out)
    assert (model.priors.weights, model.priors.temperature) == (
        found[0].weights,
        found[0].temperature,
    )
    told = [(plan.folds, plan.epochs, plan.later_epochs) for plan in follower.plans]
    assert told == [({1: 2, 2: 2}, {1: 2}, 4), ({}, {1: 2}, 2), ({}, {1: 2}, 0)]
    # its weights are those of a run without inner ones, which only choose how to decode
    plain = folded.replaced(**{"train.folds": 0, "train.seed": 6})
    alone = train(tiny_path, tmp_path / "alone", config=plain, split=1).path
    assert_equal_weights(alone, out / "members" / "2")


@pytest.mark.parametrize(
    "stop",
    [{"epochs": 3}, {"epochs": 5}, {"begins": 2}, {"epochs": 7}],
    ids=["inner run", "first member", "between", "second member"],
)
def test_inner_runs_broken_off_choose_the_same(
    calibrated: tuple[Path, Follower],
    tiny_path: Path,
    folded: Config,
    tmp_path: Path,
    stop: dict[str, int],
) -> None:
    out = tmp_path / "run"
    with pytest.raises(StopError):
        train(tiny_path, out, config=folded, split=1, members=3, watcher=Follower(**stop))
    resume(out)
    assert_equal_weights(out, calibrated[0])
    for number in ("1", "2", "3"):
        place = Path("members") / number / "folds" / "weights.json"
        assert (out / place).read_bytes() == (calibrated[0] / place).read_bytes()
    model, expected = uvast.load(out), uvast.load(calibrated[0])
    assert model.priors.as_dict() == expected.priors.as_dict()


def test_a_member_killed_before_it_was_told_is_told_when_it_goes_on(
    calibrated: tuple[Path, Follower], tiny_path: Path, folded: Config, tmp_path: Path
) -> None:
    out, follower = tmp_path / "run", Follower()
    with pytest.raises(StopError):
        train(tiny_path, out, config=folded, split=1, members=3, watcher=Follower(begins=2))
    shutil.rmtree(out / "members" / "2" / "folds")
    resume(out, watcher=follower)
    assert [plan.folds for plan in follower.plans] == [{}, {}]
    assert_equal_weights(out, calibrated[0])


def test_the_report_has_the_curves_of_all_members(calibrated: tuple[Path, Follower]) -> None:
    folder, _, info = RunFolder.open(calibrated[0])
    charts = run_charts(folder, info)
    members = [RunFolder(calibrated[0] / "members" / number) for number in ("1", "2", "3")]
    alone = [training_charts(one.read_log()) for one in members]
    assert [replace(one, thin=()) for one in charts] == list(alone[0])
    assert [one.thin for one in charts] == list(zip(*alone[1:], strict=True))
    one = members[0]
    assert run_charts(*RunFolder.open(one.path)[::2]) == alone[0]
