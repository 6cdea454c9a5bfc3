"""What `uvast train` says beside the training itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from in_process import uvast
from uvast.cli.console import progress_bar
from uvast.cli.main import app, main
from uvast.cli.train import train
from uvast.cli.training_bar import TrainingBar
from uvast.config import Config
from uvast.data import generate_dataset
from uvast.errors import ConfigError
from uvast.runs import RunFolder, RunInfo
from uvast.training import EpochReport, Part, Plan, Step


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command with a training that does nothing; returns its notes."""
    monkeypatch.setattr("uvast.training.train", lambda *_, **__: None)
    monkeypatch.setattr("uvast.training.expected_seconds", lambda *_: 300.0)
    alone = typer.Typer()
    alone.command()(train)

    def invoke(*options: str) -> str:
        arguments = [str(tmp_path / "data"), "--out", str(tmp_path / "run"), *options]
        result = CliRunner().invoke(alone, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stderr

    return invoke


def test_timestamps_that_do_not_count_are_noted_if_they_are_trained_on(run, tmp_path):
    generate_dataset(tmp_path / "data", n_videos=2, n_frames=50, n_features=2)
    (tmp_path / "data" / "timestamps.csv").write_text("junk")
    sentence = "timestamps.csv is ignored, timestamps.json comes first"
    assert sentence in run("--supervision", "timestamps")
    assert sentence not in run("--supervision", "full")
    own = str(tmp_path / "data" / "timestamps.json")
    assert sentence not in run("--supervision", "timestamps", "--timestamps", own)


@pytest.mark.parametrize(
    ("option", "value"), [("--validation", "1.5"), ("--refresh-pseudo-labels", "-1")]
)
def test_a_wrong_value_is_named_by_its_option(option, value):
    arguments = ["train", "data", "--out", "run", option, value]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_says_how_to_go_on_if_the_run_has_begun(tmp_path, monkeypatch, capsys, begun):
    def interrupted(_, out: Path, **__) -> None:
        if begun:
            out.mkdir()
            (out / "run.json").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("uvast.training.train", interrupted)
    generate_dataset(tmp_path / "data", n_videos=2, n_frames=50, n_features=2)
    run = tmp_path / "run"
    monkeypatch.setattr(sys, "argv", ["uvast", "train", str(tmp_path / "data"), "--out", str(run)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    how = f"; go on with: uvast train --resume {run}" if begun else ""
    assert capsys.readouterr().err.splitlines()[-1] == f"stopped{how}"


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (
            Plan("uvast", 21, "cpu", {1: 1, 2: 800}),
            "training uvast on 21 videos (cpu): 1 epoch of stage 1, 800 of stage 2",
        ),
        (Plan("uvast", 1, "cuda:0", {2: 30}), "on 1 video (cuda:0): 30 epochs of stage 2"),
        (
            Plan("uvast", 4, "cpu", {1: 9, 2: 3}, member=1, n_members=3, later_epochs=24),
            "training 3 uvast models on 4 videos (cpu): 9 epochs of stage 1, 3 of stage 2 for each",
        ),
        (Plan("ms-tcn", 3, "cpu", {}), "nothing is left to train: the run was finished already"),
    ],
)
def test_the_plan_comes_first(run, tmp_path, monkeypatch, plan, sentence):
    monkeypatch.setattr("uvast.training.train", lambda *_, watcher, **__: watcher.begin(plan))
    generate_dataset(tmp_path / "data", n_videos=2, n_frames=50, n_features=2)
    assert run("--preset", "small").splitlines()[0].endswith(sentence)


@pytest.fixture
def chosen(tmp_path, monkeypatch, run):
    """Runs the command; returns the settings that would be trained with."""
    found = []
    monkeypatch.setattr("uvast.training.train", lambda *_, config, **__: found.append(config.train))
    generate_dataset(tmp_path / "data", n_videos=2, n_frames=50, n_features=2)

    def settings(*options: str):
        run(*options)
        return found[-1]

    return settings


@pytest.mark.parametrize(
    ("options", "epochs"),
    [
        (("--epochs", "7"), (7, 0)),
        (("--epochs", "7", "--stage", "1"), (7, 0)),
        (("--epochs", "7", "--set", "train.alignment_epochs=3"), (7, 3)),
        (("--epochs", "7", "--preset", "uvast"), (7, 7)),
        (("--epochs", "7", "--preset", "ms-tcn"), (7, 0)),
        (("--preset", "demo"), (26, 10)),
        (("--preset", "demo", "--stage", "1"), (26, 0)),
        (("--preset", "uvast", "--set", "train.alignment_epochs=0"), (800, 0)),
        (("--model", "uvast"), (800, 800)),
        (("--set", "train.epochs=5", "--stage", "both"), (5, 5)),
    ],
)
def test_epochs_are_those_of_each_stage(chosen, options, epochs):
    found = chosen(*options)
    assert (found.epochs, found.alignment_epochs) == epochs


def test_short_forms_are_settings(chosen):
    found = chosen("--batch-size", "2", "--learning-rate", "1e-5", "--seed", "3")
    assert (found.batch_size, found.learning_rate, found.seed) == (2, 1e-5, 3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--seed", "3", "--set", "train.seed=4"), "train.seed is set twice"),
        (("--learning-rate", "0"), "--learning-rate: train.learning_rate is 0.0, not above 0"),
        (("--set", "train.learning_rate=0"), "--set: train.learning_rate is 0, not above 0"),
        (("--model", "ms-tcn", "--stage", "both"), "--stage both: ms-tcn has no second stage"),
        (("--timestamps", "clicks.csv"), "--timestamps: this run has full labels, so"),
    ],
)
def test_options_that_would_be_ignored_are_refused(chosen, options, sentence):
    with pytest.raises(ConfigError) as found:
        chosen(*options)
    assert sentence in str(found.value)


@pytest.fixture
def resumed(tmp_path, monkeypatch):
    """Goes on with a run of 5 and so many epochs; returns the settings it goes on with."""

    def invoke(alignment_epochs: int, *options: str, kind: str = "uvast"):
        found = []
        monkeypatch.setattr(
            "uvast.training.resume", lambda _, settings, **__: found.extend(settings)
        )
        changes = {"train.epochs": 5, "train.alignment_epochs": alignment_epochs}
        config = Config().replaced(**changes, **{"model.kind": kind})
        info = RunInfo("/data", 1, 0, "full", None, ("a",), (), {})
        RunFolder(tmp_path / "run").create(config, info)
        alone = typer.Typer()
        alone.command()(train)
        arguments = ["--resume", str(tmp_path / "run"), *options]
        result = CliRunner().invoke(alone, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return found

    return invoke


@pytest.mark.parametrize(
    ("alignment_epochs", "options", "settings"),
    [
        (3, (), []),
        (3, ("--stage", "1"), ["train.alignment_epochs=0"]),
        (0, ("--stage", "1"), []),
        (3, ("--stage", "2"), []),
        (0, ("--stage", "2"), ["train.alignment_epochs=5"]),
        (0, ("--stage", "both"), ["train.alignment_epochs=5"]),
        (0, ("--stage", "2", "--epochs", "9"), ["train.alignment_epochs=9"]),
        (0, ("--stage", "2", "--set", "train.alignment_epochs=9"), ["train.alignment_epochs=9"]),
        (3, ("--epochs", "9"), ["train.epochs=9"]),  # which `resume` refuses
        (3, ("--seed", "9"), ["train.seed=9"]),
    ],
)
def test_no_option_is_ignored_when_a_run_goes_on(resumed, alignment_epochs, options, settings):
    assert resumed(alignment_epochs, *options) == settings


def test_a_baseline_has_no_second_stage_to_go_on_with(resumed):
    with pytest.raises(ConfigError, match="--stage 2: ms-tcn has no second stage"):
        resumed(0, "--stage", "2", kind="ms-tcn")


def test_one_bar_covers_what_is_left_of_all_stages():
    with progress_bar() as progress:
        bar = TrainingBar(progress, "full labels")
        bar.begin(Plan("uvast", 3, "cpu", {1: 2, 2: 4}))  # stage 1 had 5 epochs, 3 are done
        bar.step(Step(1, 4, 5, 0.5))
        assert [(task.completed, task.total) for task in progress.tasks] == [(0.5, 6)]
        bar.epoch(EpochReport(1, 5, 5, 1.0, 1e-3, {"total": 2.0}, {}))
        bar.step(Step(2, 1, 4, 0.25))
        assert [(task.completed, task.total) for task in progress.tasks] == [(2.25, 6)]


def test_inner_runs_are_part_of_the_bar():
    with progress_bar() as progress:
        bar = TrainingBar(progress, "full labels")
        bar.begin(Plan("uvast", 3, "cpu", {1: 5}, folds={2: 1, 3: 4}))  # the first one is done
        bar.step(Step(1, 4, 4, 0.5, Part(fold=2, n_folds=3)))
        (task,) = progress.tasks
        assert (task.completed, task.total) == (0.5, 10)
        assert task.description == "full labels, inner run 2 of 3"
        bar.step(Step(1, 2, 4, 1.0, Part(fold=3, n_folds=3)))
        assert progress.tasks[0].completed == 2.5  # both are on their way
        bar.step(Step(1, 4, 4, 1.0, Part(fold=2, n_folds=3)))
        bar.step(Step(1, 4, 4, 1.0, Part(fold=3, n_folds=3)))
        bar.step(Step(1, 1, 5, 0.25))
        assert progress.tasks[0].completed == 5.25
        assert progress.tasks[0].description == "full labels, stage 1"


def test_one_bar_covers_all_members():
    with progress_bar() as progress:
        bar = TrainingBar(progress)
        bar.begin(Plan("uvast", 3, "cpu", {1: 1}, member=2, n_members=3, later_epochs=4))
        bar.step(Step(1, 4, 4, 0.5, Part(2)))  # the last epoch of a member that was broken off
        (task,) = progress.tasks
        assert (task.completed, task.total) == (0.5, 5)
        assert task.description == "member 2 of 3, stage 1"
        bar.step(Step(1, 4, 4, 1.0, Part(2)))
        bar.begin(Plan("uvast", 3, "cpu", {1: 4}, member=3, n_members=3))
        bar.step(Step(1, 1, 4, 1.0, Part(3)))
        (task,) = progress.tasks
        assert (task.completed, task.total) == (2, 5)
        assert task.description == "member 3 of 3, stage 1"


def test_validation_scores_are_lines_of_their_own(run, tmp_path, monkeypatch):
    scores = {"acc": 71.23, "edit": 60.0, "f1@10": 70.0, "f1@25": 65.5, "f1@50": 50.04}

    def trained(*_, watcher, **__):
        watcher.begin(Plan("uvast", 8, "cpu", {1: 5}, n_validation=2))
        watcher.epoch(EpochReport(1, 5, 5, 1.0, 1e-3, {"total": 2.0}, scores))

    monkeypatch.setattr("uvast.training.train", trained)
    generate_dataset(tmp_path / "data", n_videos=2, n_frames=50, n_features=2)
    plan, line, *_ = run("--preset", "small").splitlines()
    assert plan.startswith("training uvast on 8 videos, 2 more held out for validation (cpu): ")
    assert line == ("stage 1, epoch 5: validation Acc 71.2, Edit 60.0, F1@10/25/50 70.0/65.5/50.0")


def test_a_project_that_does_not_exist_is_not_taken_for_a_missing_out(tmp_path):
    done = uvast("train", tmp_path / "nowhere")
    assert done.returncode == 2
    sentence = "does not exist; give a project, or the folder of a dataset"
    assert done.stderr == f"error: {tmp_path / 'nowhere'}: {sentence}\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--model", "uvas"), "model.kind = 'uvas': no such model; choose from uvast, ms-tcn, "),
        (("--preset", "smal"), "no preset 'smal'; choose from 50salads, asformer, "),
        (("--supervision", "click"), " 'click' is not one of 'full', 'timestamps'."),
        (("--epochs", "3", "--set", "train.epoch=4"), "train.epoch: no such setting; did you"),
    ],
)
def test_misspelt_choices_are_refused_before_the_dataset_is_read(
    tmp_path, monkeypatch, options, sentence
):
    monkeypatch.setattr("uvast.data.Dataset.open", lambda *_: pytest.fail("reads the dataset"))
    generate_dataset(tmp_path / "data", n_videos=2, n_frames=50, n_features=2)
    done = uvast("train", tmp_path / "data", "--out", tmp_path / "run", *options)
    assert done.returncode == 2
    told = " ".join(done.stderr.replace("│", " ").split())
    assert sentence in told
    assert "Value error" not in told


def test_what_stays_out_is_told(tmp_path):
    generate_dataset(tmp_path / "data", n_videos=3, n_frames=50, n_features=2)
    bare, partial, _ = (one.stem for one in sorted((tmp_path / "data" / "groundTruth").iterdir()))
    (tmp_path / "data" / "labelled.json").write_text(f'{{"{bare}": [], "{partial}": [[0, 20]]}}')
    small = ["--preset", "ms-tcn", "--epochs", "1", "--set", "model.width=4", "--device", "cpu"]
    done = uvast("train", tmp_path / "data", *small, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    lacking = "no full labels, only clicks,"
    assert f"1 video has {lacking} and stays out: {bare}" in told
    assert f"1 video is labelled in part, the rest stays out: {partial} (20 of " in told
    assert "training ms-tcn on 2 videos" in told
