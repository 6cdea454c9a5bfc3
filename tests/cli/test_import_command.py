"""`uvast import` and `uvast export` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from in_process import uvast
from uvast.features import generate_videos
from uvast.files.names import MANIFEST
from uvast.inference.output import write_prediction
from uvast.inference.prediction import Prediction
from uvast.projects import Project
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    generate_videos(folder, n_videos=2, seconds=4.0, width=32, height=32, seed=2)
    return folder


@pytest.fixture
def project(videos: Path, tmp_path: Path) -> Path:
    Project.create(tmp_path / "p", [videos])
    return tmp_path / "p"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(
        "video,start,end,label\ns01_001.mp4,0.5,1,cut\ns01_001.mp4,1,2,stir\ns02_002,1,,look\n"
    )
    return path


def names(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "annotations").glob("*.json"))


def test_in_and_back_again(project, table):
    first, second = Project.open(project).names
    text = table.read_text().replace("s01_001", first).replace("s02_002", second)
    table.write_text(text)
    ended = uvast("import", project, table)
    assert (ended.returncode, names(project)) == (0, [f"{first}.json", f"{second}.json"])
    rows = [line.split("│")[1:-1] for line in ended.stdout.splitlines() if first in line]
    assert [cell.strip() for cell in rows[0][1:3]] == ["2", "0"]
    assert f"undo it with uvast import {project} --undo" in ended.stderr
    assert "no features yet" in ended.stderr

    again = uvast("import", project, table)
    assert again.returncode == 2
    assert f"video {first} has annotations already; keep both with --add, or" in again.stderr

    out = project.parent / "back.csv"
    ended = uvast("export", project, "--out", out)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"wrote {out}: 2 videos, 2 intervals, 1 point\n"
    assert out.read_text().splitlines()[1] == f"{first}.mp4,0.5,1,cut"

    undone = uvast("import", project, "--undo", "--json")
    assert json.loads(undone.stdout)["videos"] == [first, second]
    assert uvast("import", project, table).returncode == 0
    undone = uvast("import", project, "--undo")
    told = r"import 1 of \d{4}-\d\d-\d\d \d\d:\d\d is undone: 2 videos as before\n"
    assert re.fullmatch(told, undone.stderr)
    assert names(project) == []
    ended = uvast("export", project, "--out", out, "--overwrite")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "has no annotations to export; label its videos, or import" in ended.stderr


def test_frames_are_those_of_the_video(project, tmp_path):
    """No --fps: the mp4 file tells; what is written for it counts the same frames."""
    name = Project.open(project).names[0]
    rate = Project.open(project).videos[0].frames_per_second
    (tmp_path / f"{name}.txt").write_text("3 10 cut\n11 20 stir\n")
    ended = uvast("import", project, tmp_path / f"{name}.txt", "--json")
    assert json.loads(ended.stdout)["videos"][0]["intervals"] == 2
    found = Project.open(project).annotations(name)
    assert found is not None
    assert found.events[0].start == pytest.approx(2 / rate, abs=1e-3)
    out = tmp_path / "out"
    assert uvast("export", project, "--to", "intervals", "--out", out).returncode == 0
    assert (out / f"{name}.txt").read_text() == "3 10 cut\n11 20 stir\n"


def test_the_background_is_that_of_the_project(project, tmp_path):
    name = Project.open(project).names[0]
    (project / "dataset.toml").write_text('background = ["idle", "rest"]\n')
    (tmp_path / f"{name}.txt").write_text("3 4 cut\n5 6 idle\n")
    assert uvast("import", project, tmp_path / f"{name}.txt").returncode == 0
    out = tmp_path / "out"
    assert uvast("export", project, "--to", "ms-tcn", "--out", out).returncode == 0
    assert set((out / f"{name}.txt").read_text().split()) == {"cut", "idle"}
    command = ("export", project, "--to", "ms-tcn", "--out", out, "--overwrite")
    assert uvast(*command, "--background", "none").returncode == 0
    assert set((out / f"{name}.txt").read_text().split()) == {"cut", "idle", "none"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{p}"], "no files to import; name annotation files"),
        (["{p}", "{t}", "--undo"], "--undo: takes an import back and reads no files"),
        (["{p}", "{t}", "--add", "--replace"], "choose one of them"),
        (["{p}", "--undo"], "there is no import to undo"),
        (["{p}", "{t}"], "video 's01_x.mp4' is not among the 2 videos; the nearest are s01"),
        (["{d}", "{t}"], "is a dataset with label files, not a project; write label files"),
        (["{t}", "{t}"], "make a project with uvast init"),
        (["{p}", "none.csv"], "none.csv: does not exist"),
    ],
    ids=["no files", "undo files", "both", "no import", "unmatched", "dataset", "none", "missing"],
)
def test_slips_are_sentences(arguments, sentence, project, table, tmp_path):
    table.write_text("video,start,end,label\ns01_x.mp4,0,1,cut\n")
    (tmp_path / "data" / "groundTruth").mkdir(parents=True)
    places = {"p": project, "t": table, "d": tmp_path / "data"}
    ended = uvast("import", *(argument.format(**places) for argument in arguments))
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert names(project) == []


def test_predictions_go_to_label_studio_with_scores(tmp_path):
    runs = Segmentation(np.array([0, 1]), np.array([10, 30]))
    sure = np.array([0.5, 0.75])
    made = Prediction(runs.transcript, runs, sure, 0.6, Vocabulary(("idle", "cut")), 20.0)
    folder = tmp_path / "predictions"
    write_prediction(folder, "v", made, ["txt", "json"])
    (folder / MANIFEST).write_text("{}")
    out = tmp_path / "tasks.json"
    ended = uvast("export", folder, "--to", "label-studio-predictions", "--out", out)
    assert ended.returncode == 0, ended.stderr
    (task,) = json.loads(out.read_text())
    results = task["predictions"][0]["result"]
    ranges = [one["value"]["ranges"][0] for one in results]
    assert ranges == [{"start": 1, "end": 10}, {"start": 11, "end": 40}]
    assert [one["score"] for one in results] == [0.5, 0.75]
    ended = uvast("export", folder / "v.json", "--to", "elan", "--out", tmp_path / "v.eaf")
    assert "note: ELAN has no place for confidences (2)" in ended.stderr
