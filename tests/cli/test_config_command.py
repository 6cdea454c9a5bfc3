"""`uvast config` as a user meets it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from uvast.cli.main import app
from uvast.config import Config, load_config
from uvast.errors import ConfigError
from uvast.presets import presets


@pytest.fixture
def printed(tmp_path):
    """Runs the command; what it printed, and the same as settings."""

    def invoke(*options: str) -> tuple[str, Config]:
        result = CliRunner().invoke(app, ["config", *options], catch_exceptions=False)
        assert (result.exit_code, result.stderr) == (0, "")
        (tmp_path / "printed.toml").write_text(result.stdout)
        return result.stdout, load_config(file=tmp_path / "printed.toml")

    return invoke


def test_the_later_option_wins(printed):
    assert printed()[1] == Config()
    options = ("--preset", "gtea", "--model", "asformer", "--set", "train.epochs=3")
    _, config = printed(*options)
    assert config == load_config(("gtea", "asformer"), settings="train.epochs=3")
    assert (config.model.kind, config.model.channel_dropout) == ("asformer", 0.5)


def test_with_a_file_the_model_changes_its_kind_alone(printed, tmp_path):
    file = tmp_path / "my.toml"
    file.write_text("[train]\nepochs = 7\n")
    _, config = printed("--config", str(file), "--model", "asformer")
    assert config == load_config(file=file, settings="model.kind=asformer")
    assert config.train.epochs == 7
    with pytest.raises(ConfigError, match="both a preset and a file are given"):
        printed("--config", str(file), "--preset", "gtea")


def test_a_model_that_nobody_knows_is_told(printed):
    with pytest.raises(ConfigError, match=r"= 'nosuch': no such model; choose from uvast"):
        printed("--model", "nosuch")


def test_presets_are_listed_with_a_sentence_each():
    result = CliRunner().invoke(app, ["config", "--list"], catch_exceptions=False)
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    assert tuple(name for name, _ in lines) == ("auto", *presets())
    assert all(sentence.endswith(".") and len(sentence) < 90 for _, sentence in lines)
    assert dict(lines)["asformer"] == "ASFormer with its published settings (Yi et al. 2021)."
