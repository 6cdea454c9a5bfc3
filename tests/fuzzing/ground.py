"""The files that are broken: a dataset, a project, runs, predictions and tables, all tiny."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import numpy as np

from uvast.features.card import FeatureCard, card_path, write_card
from uvast.projects import Project

VIDEO = "s01_task2_001"
"""On the test side of split 1."""

LEARNED = "s02_task2_002"
"""On its training side."""

LONG_NAME = f"s02_{'a' * 40}"
"""A name on which a bad pattern finds no end."""

SPEC = """\
frames_per_second = 15.0
sampling_rate = 2
background = ["background"]
feature_axis = "features-first"
timestamps_rate = "source"
tolerance = 0.02
group_by = "^(s\\\\d+)_"

[symmetry]
columns = [1, 0, 2, 3, 4, 5]
signs = [1, 1, -1, 1, 1, 1]
offsets = [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]
classes = {background = "background"}
"""

SETTINGS = """\
[model]
width = 8
attention_width = 4
n_encoder_layers = 2
n_decoder_layers = 1
decoder_feedforward = 8
alignment_feedforward = 8

[train]
epochs = 2
alignment_epochs = 1
validate_every = 1
"""

FRAME_WISE = """\
[model]
kind = "ms-tcn"
width = 8
n_encoder_layers = 2
n_stages = 1

[train]
epochs = 1
alignment_epochs = 0

[decode]
transcript = "frames"
durations = "none"
"""

GENERATE = "data generate data --videos 6 --classes 4 --frames 50 --features 6 --tasks 2"

COMMANDS = (
    "train data --split 1 --config settings.toml --validation 0.4 --out run",
    "train data --split 1 --config settings.toml --stage 1 --out begun",
    "train data --split 1 --config settings.toml --set train.folds=2 --stage 1 --out folded",
    "ensemble run begun --out together",
    "segment run data --split 1 --out predictions --format txt,csv,json",
    "benchmark data --models frames.toml --splits 1 --durations frames --out bench",
    "sweep data --preset frames.toml --set-range model.width=8,16 --trials 1 --out sweep",
    "pseudo-label data --out warm/pseudo",
    "report run --out warm/run.html",
    "report predictions --dataset data --split 1 --out warm/predictions.html",
    "evaluate predictions data --split 1",
    "data check data",
    "data check project",
    "train project --config settings.toml --set train.epochs=1 --stage 1",
    "export project --out labels.csv",
    "import project labels.csv --replace",
)
"""They write the files and compile every loop, so that a broken case does not have to."""


def make_ground(folder: Path) -> None:
    """Writes all files below an empty folder, which becomes this process's own."""
    from uvast.cli.main import app

    os.chdir(folder)
    for words in _steps(folder):
        code = app(args=words.split(), standalone_mode=False)
        if code:
            raise RuntimeError(f"uvast {words} ended with {code}")


def _steps(folder: Path) -> Iterator[str]:
    yield GENERATE
    _rename(folder / "data", LEARNED, LONG_NAME)
    _write_clicks(folder)
    _write_labelled(folder / "data")
    _write_card(folder / "data" / "features" / f"{VIDEO}.npy")
    (folder / "data" / "dataset.toml").write_text(SPEC)
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "frames.toml").write_text(FRAME_WISE)
    _write_project(folder)
    yield from COMMANDS
    (folder / "folded" / "last.safetensors").unlink()  # as if broken off when weights were chosen


def _write_project(folder: Path) -> None:
    """A project of the same features and labels, as if a user had made them."""
    from uvast.data import Dataset
    from uvast.exchange import ConstantRate, from_frame_labels
    from uvast.features.card import FeatureCard, card_path, write_card
    from uvast.projects import Project

    data = Dataset.open(folder / "data")
    features = folder / "project" / "features"
    features.mkdir(parents=True)
    for name in data.names:
        np.save(features / f"{name}.npy", data.video(name, sampling_rate=1).features)
    project, _ = Project.create(folder / "project", [])
    for name in data.names:
        n_frames, n_features = np.load(features / f"{name}.npy").shape
        card = FeatureCard(
            model="pixels",
            version=("1",),
            widths=(n_features,),
            source=f"{name}.mp4",
            source_bytes=1,
            fingerprint="a",
            frames_per_second=15.0,
            seconds=n_frames / 15,
            n_frames=n_frames,
            n_features=n_features,
            times=tuple(frame / 15 for frame in range(n_frames)),
            source_frames=tuple(range(n_frames)),
        )
        write_card(card_path(features / f"{name}.npy"), card)
        times = ConstantRate(Fraction(15), n_frames)
        labels = data.source_labels(name)
        project.write_annotations(from_frame_labels(name, labels, data.vocabulary.names, times))
    _use_app(project)


def _use_app(project: Project) -> None:
    """What the browser app leaves: a change, a class, a finished job and a round."""
    from uvast.files import write_json
    from uvast.web.changes import Add, Reviewed
    from uvast.web.classes import ClassChange
    from uvast.web.jobs import Job
    from uvast.web.processes import ProcessId
    from uvast.web.rounds import Round
    from uvast.web.scenes import Scene
    from uvast.web.store import Store

    store = Store(project)
    click = Add(do="add", kind="click", label="reach", start=0.5)
    store.change(VIDEO, [click], "anna", seen=0, scene=Scene())
    store.change_classes(ClassChange(do="add", name="other"), "anna")
    store.change(VIDEO, [Reviewed(do="reviewed", value=True)], "anna", seen=1, scene=Scene())
    store.close()
    gone = ProcessId(2**22, "1")
    job = Job(1, "train", ("true",), state="running", process=gone, output="runs/1")
    app = project.path / "app"
    write_json(app / "jobs" / "1" / "job.json", asdict(job))
    write_json(app / "jobs" / "1" / "progress.json", {"what": "x", "done": 1, "total": 2})
    segments = [{"label": "reach", "start": 0, "end": 9, "confidence": 0.5, "entropy": 0.5}]
    found = {"segments": segments, "frames_per_second": 15.0}
    write_json(project.path / "predictions" / f"{VIDEO}.json", found)
    kept = Round(0.0, "1", (), {VIDEO: (("reach", 0.0, 0.6),)})
    write_json(app / "rounds" / "1.json", asdict(kept))


def _rename(data: Path, old: str, new: str) -> None:
    for path in [*data.rglob("*.bundle"), data / "timestamps.json"]:
        path.write_text(path.read_text().replace(old, new))
    for path in data.rglob(f"{old}.*"):
        path.rename(path.with_name(f"{new}{path.suffix}"))


def _write_labelled(data: Path) -> None:
    """One video of each side is labelled in part."""
    spans = {}
    for video in (VIDEO, LONG_NAME):
        n_frames = len((data / "groundTruth" / f"{video}.txt").read_text().splitlines())
        spans[video] = [[0, n_frames // 4], [n_frames // 2, n_frames]]
    (data / "labelled.json").write_text(json.dumps(spans))


def _write_card(features: Path) -> None:
    """As `uvast extract` writes it beside features."""
    n_features, n_frames = np.load(features).shape
    card = FeatureCard(
        model="table",
        version=("1, rows",),
        widths=(n_features,),
        source=str(features),
        source_bytes=1,
        fingerprint="0" * 64,
        frames_per_second=15.0,
        seconds=n_frames / 15,
        n_frames=n_frames,
        n_features=n_features,
        times=tuple((np.arange(n_frames) / 15).tolist()),
        source_frames=tuple(range(n_frames)),
    )
    write_card(card_path(features), card)


def _write_clicks(folder: Path) -> None:
    """The dataset's timestamps in the two other formats."""
    clicks = json.loads((folder / "data" / "timestamps.json").read_text())
    with (folder / "clicks.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["video", "frame", "label"])
        rows.writerows((v, one["frame"], one["label"]) for v in clicks for one in clicks[v])
    frames = {f"{video}.txt": [one["frame"] for one in clicks[video]] for video in clicks}
    table = np.array(frames, dtype=object)
    np.save(folder / "clicks.npy", table, allow_pickle=True)
