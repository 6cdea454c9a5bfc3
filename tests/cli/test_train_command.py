"""What `uvast train` says beside the training itself."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from uvast.cli.main import app
from uvast.cli.train import train
from uvast.data import generate_dataset


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
