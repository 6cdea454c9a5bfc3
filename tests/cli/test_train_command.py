"""What `uvast train` says beside the training itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from uvast.cli.main import app, main
from uvast.cli.train import train
from uvast.data import generate_dataset
from uvast.training import Plan


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command with a training that does nothing; returns its notes."""
    monkeypatch.setattr("uvast.training.train", lambda *_, **__: None)
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
    assert capsys.readouterr().err == f"stopped{how}\n"


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (
            Plan("uvast", 21, "cpu", {1: 1, 2: 800}),
            "training uvast on 21 videos (cpu): 1 epoch of stage 1, 800 of stage 2",
        ),
        (Plan("uvast", 1, "cuda:0", {2: 30}), "on 1 video (cuda:0): 30 epochs of stage 2"),
        (Plan("ms-tcn", 3, "cpu", {}), "nothing is left to train: the run was finished already"),
    ],
)
def test_the_plan_comes_first(run, tmp_path, monkeypatch, plan, sentence):
    monkeypatch.setattr("uvast.training.train", lambda *_, watcher, **__: watcher.begin(plan))
    generate_dataset(tmp_path / "data", n_videos=2, n_frames=50, n_features=2)
    assert run().splitlines()[0].endswith(sentence)
