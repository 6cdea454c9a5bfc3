"""`uvast ensemble` and `uvast train --members` as a user meets them."""

from __future__ import annotations

import json

import pytest

from in_process import uvast
from uvast.runs import RunFolder

SMALL = (
    *("--set", "model.width=8", "--set", "model.attention_width=4"),
    *("--set", "model.n_encoder_layers=3", "--set", "model.decoder_feedforward=16"),
    *("--set", "train.alignment_epochs=0", "--set", "train.epochs=1"),
)


@pytest.fixture(scope="module")
def run(tiny_path, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    done = uvast(
        *("train", tiny_path, "--preset", "small", "--split", 1, "--members", 2),
        *("--seed", 3, *SMALL, "--out", out),
    )
    assert done.returncode == 0, done.stderr
    assert "training 2 uvast models on 4 videos (cpu): 1 epoch of stage 1 for each" in done.stderr
    assert f"the model is in {out}" in done.stderr
    return out


def test_members_are_one_model_for_segment_evaluate_and_report(run, tiny_path, tmp_path):
    predictions = tmp_path / "predictions"
    done = uvast("segment", run, tiny_path, "--split", 1, "--out", predictions)
    assert done.returncode == 0, done.stderr
    file = next(one for one in predictions.glob("*.json") if one.name != "segmentation.json")
    segments = json.loads(file.read_text())["segments"]
    assert all(0 <= one["divergence"] <= 1 for one in segments)
    done = uvast("evaluate", predictions, tiny_path, "--split", 1, "--json")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "page.html"
    done = uvast("report", run, "--out", page)
    assert done.returncode == 0, done.stderr
    assert "ensemble of 2 (uvast, uvast)" in page.read_text()


def test_runs_are_joined(run, tmp_path):
    out = tmp_path / "together"
    parts = [run / "members" / "1", run / "members" / "2"]
    done = uvast("ensemble", *parts, "--out", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"the model, an ensemble of 2, is in {out}\n"
    assert [one.seed for one in RunFolder.open(out).info.members] == [3, 4]
    again = uvast("ensemble", *parts, "--out", out)
    assert again.returncode == 2
    assert again.stderr.startswith(f"error: {out}: already holds a run")
    assert uvast("train", "--resume", out).stderr.splitlines() == [
        "nothing is left to train: the run was finished already",
        f"the model is in {out}",
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "--resume", "run", "--members", 2), "leave out DATASET, --out, --preset"),
        (("ensemble", "run", "--out", "out"), "an ensemble needs at least two runs; name more of"),
        (("ensemble", "nowhere", "run", "--out", "out"), "nowhere: does not exist; name a run"),
    ],
    ids=["resume", "one", "nowhere"],
)
def test_slips_are_one_sentence(run, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(run.parent)
    done = uvast(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not (run.parent / "out").exists()
