"""What `uvast train` says and does where nobody chose its settings."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

from in_process import uvast
from uvast.cli import plans
from uvast.cli.plans import idle_cores
from uvast.config import load_config, parse_config
from uvast.runs import RunFolder

TINY = (
    *("--set", "model.width=16", "--set", "model.attention_width=8"),
    *("--set", "model.n_encoder_layers=4", "--set", "model.decoder_feedforward=32"),
)


@pytest.mark.parametrize("preset", [(), ("--preset", "auto")], ids=["none", "auto"])
def test_the_plan_is_told_and_kept(tiny_path, tmp_path, preset):
    run = tmp_path / "run"
    done = uvast(
        *("train", tiny_path, "--split", 1, "--epochs", 2, "--sampling-rate", 2),
        *(*TINY, *preset, "--device", "cpu", "--out", run),
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    first, rate, epochs, stage, *others = lines
    told = " ".join(done.stderr.split())  # long sentences are wrapped
    assert first.startswith("4 videos with labels: ")
    assert rate == "the model sees every 2nd frame, as you asked"
    assert epochs == "2 epochs, as you asked"
    assert stage.startswith("no alignment decoder (stage 2)")
    assert "2 inner runs choose how to decode, each without some of the videos: " in told
    assert "no dark spans" in told
    minutes = others[others.index("first, 2 inner runs of 2 epochs choose how to decode") - 1]
    assert re.fullmatch(r"this will take (less than|about) .*minutes? \(cpu\)", minutes)
    inner = others.index("first, 2 inner runs of 2 epochs choose how to decode")
    assert others[inner + 1] == "training uvast on 4 videos (cpu): 2 epochs of stage 1"
    config = RunFolder.open(run).config
    assert (config.train.sampling_rate, config.train.epochs) == (2, 2)
    small = load_config("small")
    assert config.decode == small.decode
    assert config.train.feature_noise == small.train.feature_noise


def test_a_taken_folder_is_refused_before_the_plan(tiny_path, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "notes.txt").touch()
    done = uvast("train", tiny_path, *TINY, "--device", "cpu", "--out", run)
    assert done.returncode == 2
    assert done.stderr == f"error: {run}: already exists; choose a new or empty folder\n"


def test_a_plan_alone_trains_nothing(tiny_path):
    command = ("train", tiny_path, "--plan", *TINY, "--device", "cpu")
    done = uvast(*command, "--json")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    plan = json.loads(done.stdout)
    said = uvast(*command)
    assert not said.stderr
    *sentences, last = said.stdout.splitlines()
    assert sentences == plan["sentences"]
    assert last.startswith("this will take ")
    assert (plan["facts"]["n_videos"], plan["facts"]["n_folds"]) == (8, 3)
    assert plan["seconds"] > 0
    config = parse_config(plan["config"], where="plan")
    assert (config.train.epochs, config.model.width) == (300, 16)


def test_a_long_sentence_of_a_plan_is_printed_whole(capsys):
    plan = SimpleNamespace(sentences=("word " * 100 + "end",))
    plans.print_plan(plan, as_json=False)
    assert capsys.readouterr().out == f"{plan.sentences[0]}\n"


def test_the_time_is_that_of_all_members(tiny_path, monkeypatch):
    monkeypatch.setattr("uvast.training.expected_seconds", lambda *given: 300.0 * given[3])
    command = ("train", tiny_path, "--plan", "--members", 3, *TINY, "--device", "cpu")
    done = uvast(*command)
    assert done.stdout.splitlines()[-1] == ("3 members will take about 15 minutes (cpu)")
    plan = json.loads(uvast(*command, "--json").stdout)
    assert (plan["members"], plan["seconds"], plan["jobs"]) == (3, 900.0, 1)
    done = uvast(*command, "--jobs", 2)
    assert done.stdout.splitlines()[-1] == (
        "3 members will take about 15 minutes (cpu, 2 models at a time)"
    )
    assert json.loads(uvast(*command, "--jobs", 2, "--json").stdout)["jobs"] == 2


def test_models_are_trained_at_the_same_time_where_that_pays(tiny_path, monkeypatch):
    """Where it does: see test_inner_runs.py."""
    monkeypatch.setattr("uvast.training.jobs_that_pay", lambda *given: given[3])
    members = ("--members", 3, *TINY, "--device", "cpu")
    done = uvast("train", tiny_path, "--plan", "--json", *members)
    assert json.loads(done.stdout)["jobs"] == 3


def test_a_run_that_goes_on_is_not_planned_again(tmp_path):
    done = uvast("train", "--resume", tmp_path, "--plan")
    assert done.returncode == 2
    assert "--resume: a resumed run has its dataset and settings already" in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--plan", "--preset", "small"),
            "--plan: only preset auto makes a plan; leave out --preset",
        ),
        (
            ("--plan", "--model", "asformer"),
            "--plan: only preset auto makes a plan; leave out --preset",
        ),
        (("--out", "run", "--json"), "--json: only a plan is printed as JSON; add --plan"),
        (("--preset", "auto", "--model", "asformer", "--out", "run"), "preset 'auto' looks at the"),
        (("--out", "run", "--sampling-rate", "2", "--set", "train.sampling_rate=3"), "set twice"),
    ],
)
def test_options_that_do_not_go_together(tiny_path, options, sentence):
    done = uvast("train", tiny_path, *options)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("n_models", "jobs", "seconds"), [(1, 1, 900.0), (3, 2, 900.0), (3, 1, 60.0)]
)
def test_cores_are_told_of_only_where_it_pays(monkeypatch, n_models, jobs, seconds):
    monkeypatch.setattr("uvast.cli.plans.n_cores", lambda: 4)
    assert idle_cores(n_models, jobs, seconds, "cpu") == ""
    told = idle_cores(8, 1, 900.0, "cpu")
    assert told == "; --jobs 4 trains 4 models at a time, which takes less"
