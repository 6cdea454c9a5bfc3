"""Inner runs and members in processes of their own: the same weights, and one story."""

from __future__ import annotations

import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import torch
from breaking_off import StopAfter, StopError
from checkpoint_contents import contents

from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import ConfigError, TrainingError
from uvast.runs import RunFolder
from uvast.training import EpochReport, Part, Plan, Step, resume, train
from uvast.training.side_by_side import Task, Teller, tell, train_side_by_side
from uvast.training.watching import Silent


class Story(Silent):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.epochs: set[tuple[Part, int]] = set()
        self.plans: list[Plan] = []

    def begin(self, plan: Plan) -> None:
        self.plans.append(plan)

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        self.told.append((n_done, n_most))

    def step(self, step: Step) -> None:
        self.told.append(step)

    def epoch(self, report: EpochReport) -> None:
        self.epochs.add((report.part, report.epoch))
        self.told.append(report)


@pytest.fixture(scope="module")
def config(small_config: Config) -> Config:
    return small_config.replaced(
        **{
            "train.folds": 2,
            "train.epochs": 2,
            "train.alignment_epochs": 0,
            "decode.transcript": "best",
        }
    )


@pytest.fixture(scope="module")
def in_turn(
    tiny_path: Path, config: Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Story]:
    torch.set_num_threads(1)
    run, story = tmp_path_factory.mktemp("runs") / "run", Story()
    train(tiny_path, run, config=config, split=1, members=3, watcher=story)
    return run, story


def same(run: Path, other: Path) -> bool:
    weights = "members/1/folds/weights.json"
    found = [(run / weights).read_bytes() == (other / weights).read_bytes()]
    found += [
        contents(run / name) == contents(other / name)
        for name in ("best.safetensors", *(f"members/{k}/last.safetensors" for k in (1, 2, 3)))
    ]
    return all(found)


def test_they_end_with_the_weights_that_they_have_one_after_the_other(
    in_turn: tuple[Path, Story], tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    story = Story()
    train(tiny_path, tmp_path / "run", config=config, split=1, members=3, watcher=story, jobs=2)
    assert same(tmp_path / "run", in_turn[0])
    assert story.epochs == in_turn[1].epochs
    assert {part for part, _ in story.epochs} == {
        *(Part(1, fold, 2) for fold in (1, 2)),
        *(Part(member) for member in (1, 2, 3)),
    }
    assert {plan.member: plan.epochs for plan in story.plans} == {k: {1: 2} for k in (1, 2, 3)}


def test_broken_off_in_a_later_member_they_go_on(
    in_turn: tuple[Path, Story], tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    run, watcher = tmp_path / "run", StopAfter(7)
    with pytest.raises(StopError):
        train(tiny_path, run, config=config, split=1, members=3, watcher=watcher, jobs=2)
    assert RunFolder.open(run).info.jobs == 2  # and so it goes on
    resume(run)
    assert same(run, in_turn[0])


@pytest.fixture(scope="module")
def broken_off(
    tiny_path: Path, config: Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """A dataset and a run on it that ended in an inner run."""
    folder = tmp_path_factory.mktemp("broken-off")
    data, run = folder / "data", folder / "run"
    shutil.copytree(tiny_path, data)
    with pytest.raises(StopError):
        train(data, run, config=config, split=1, watcher=StopAfter(1), jobs=2)
    return data, run


def test_classes_that_change_meanwhile_are_an_error(broken_off: tuple[Path, Path]) -> None:
    data, run = broken_off
    mapping = data / "mapping.txt"
    before = mapping.read_text()
    mapping.write_text(f"{before}{len(before.splitlines())} a-new-one\n")
    with pytest.raises(
        TrainingError, match=r"classes have changed .* \(a-new-one\); start a new run"
    ):
        resume(run)
    mapping.write_text(before)


def test_broken_off_in_an_inner_run_they_go_on(
    in_turn: tuple[Path, Story], broken_off: tuple[Path, Path]
) -> None:
    _, run = broken_off
    resume(run)
    first = in_turn[0] / "members" / "1"
    weights = "folds/weights.json"
    assert (run / weights).read_bytes() == (first / weights).read_bytes()
    assert contents(run / "last.safetensors") == contents(first / "last.safetensors")


def test_a_spec_of_its_own_needs_one_process(tiny: Dataset, config: Config, tmp_path: Path) -> None:
    data = Dataset.open(tiny.path, spec=replace(tiny.spec, tolerance=0.05))
    with pytest.raises(ConfigError, match=r"write the spec to dataset\.toml, or leave jobs out"):
        train(data, tmp_path / "run", config=config, split=1, jobs=2)


def test_what_else_a_process_prints_is_left_alone() -> None:
    story = Story()
    for line in ("loading plug-ins", "[1, 2]", "", '["pseudo_labels", 3, 4]'):
        tell(story, line)
    assert story.told == [(3, 4)]


def test_what_a_process_cannot_do_is_one_sentence(
    in_turn: tuple[Path, Story], tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    info = RunFolder.open(in_turn[0] / "members" / "2").info
    folder = RunFolder(tmp_path / "run")
    folder.create(config, replace(info, dataset=str(tmp_path / "nowhere")))
    with pytest.raises(TrainingError, match=r"run: .*nowhere: does not exist; .*") as caught:
        train_side_by_side([Task(str(folder.path), "cpu")], [Silent()], jobs=1)
    assert "\n" not in str(caught.value)


def test_a_watcher_of_another_process_is_told_the_same() -> None:
    plan = Plan("uvast", 3, "cpu", {1: 5, 2: 1}, 2, ("a note",), {1: 4, 3: 4}, 2, 3, 7, 1, True)
    part = Part(2, 1, 3)
    report = EpochReport(1, 2, 5, 0.25, 1e-3, {"total": 2.5}, {"acc": 70.0}, part)
    words = StringIO()
    teller = Teller(words)
    teller.begin(plan)
    teller.pseudo_labels(3, 20)
    teller.step(Step(1, 2, 5, 0.5, part))
    teller.epoch(report)
    story = Story()
    for line in words.getvalue().splitlines():
        tell(story, line)
    assert story.plans == [plan]
    assert story.told == [(3, 20), Step(1, 2, 5, 0.5, part), report]


def test_processes_of_one_model_have_no_others_beside_them(
    tiny_path: Path, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="jobs: several processes train one model already"):
        train(tiny_path, tmp_path / "run", config=config, split=1, jobs=2)
    assert not (tmp_path / "run").exists()
