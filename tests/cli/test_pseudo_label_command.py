"""`uvast pseudo-label` as a user meets it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from uvast.cli.pseudo_label import Method, Metric, pseudo_label
from uvast.config import SupervisionConfig
from uvast.data import Dataset, DatasetSpec, write_spec
from uvast.errors import InputError, LabelError, OutputError
from uvast.supervision import PseudoLabelOptions, pseudo_segmentations
from uvast.supervision.output import write_pseudo_labels

ROWS = [
    "midpoint",
    "unconstrained k-medoids",
    "constrained k-medoids",
    "constrained k-medoids + prior 0.25",
    "energy (Li et al.)",
    "class models + prior 0.25",
]


@pytest.fixture
def run(tmp_path):
    """Runs the command; an error inside is raised here."""
    app = typer.Typer()
    app.command()(pseudo_label)

    def invoke(dataset, *options: str):
        arguments = [str(dataset), "--out", str(tmp_path / "out"), *options]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return invoke


@pytest.fixture
def sampled_path(tiny_path, tmp_path):
    """The small dataset at a sampling rate of 2, its features and labels as they are."""
    path = tmp_path / "sampled"
    path.mkdir()
    for name in ("features", "groundTruth", "mapping.txt", "timestamps.json"):
        (path / name).symlink_to(tiny_path / name)
    write_spec(path, DatasetSpec(sampling_rate=2, background=("background",)))
    return path


def test_labels_are_written_in_the_standard_layout_at_the_source_rate(run, sampled_path, tmp_path):
    run(sampled_path, "--method", "class-model")
    dataset, out = Dataset.open(sampled_path), Dataset.open(tmp_path / "out")
    expected = pseudo_segmentations(
        dataset, dataset.names, dataset.timestamps(), PseudoLabelOptions("class-model")
    )
    assert out.names == dataset.names
    assert out.vocabulary == dataset.vocabulary
    assert out.spec == dataset.spec
    for name in dataset.names:
        assert len(out.source_labels(name)) == len(dataset.source_labels(name))
        assert out.source_labels(name)[::2].tolist() == expected[name].labels.tolist()


def test_the_table_scores_every_method(run, tiny_path):
    printed = run(tiny_path).stdout
    assert all(row in printed for row in ROWS)
    assert "F1@50" in printed


def test_json_has_the_same_scores(run, tiny_path, tmp_path):
    found = json.loads(run(tiny_path, "--json", "--prior", "0.25").stdout)
    assert list(found["scores"]) == ROWS
    assert found["scores"]["constrained k-medoids"]["edit"] == 100
    dataset, out = Dataset.open(tiny_path), Dataset.open(tmp_path / "out")
    right = np.concatenate(
        [out.source_labels(name) == dataset.source_labels(name) for name in dataset.names]
    )
    acc = found["scores"]["class models + prior 0.25"]["acc"]
    assert acc == pytest.approx(100 * right.mean())


def test_without_ground_truth_there_are_labels_and_no_table(run, tiny_path, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("features", "mapping.txt", "timestamps.json"):
        (bare / name).symlink_to(tiny_path / name)
    found = json.loads(run(bare, "--json").stdout)
    assert found["scores"] == {}
    assert Dataset.open(tmp_path / "out").names == Dataset.open(tiny_path).names


def test_the_table_is_about_the_videos_with_labels(run, tiny_path, tmp_path):
    data = Path(shutil.copytree(tiny_path, tmp_path / "data"))
    first, *others = Dataset.open(data).names
    (data / "groundTruth" / f"{first}.txt").unlink()
    result = run(data, "--method", "midpoint", "--json")
    found = json.loads(result.stdout)
    assert found["videos"] == [first, *others]
    assert found["scores"]["midpoint"]["videos"] == len(others)
    assert "the scores are of the 7 of 8 videos that have labels" in result.stderr
    labels = [
        Dataset.open(place).source_labels(name)
        for place in (tmp_path / "out", data)
        for name in others
    ]
    right = np.concatenate(labels[: len(others)]) == np.concatenate(labels[len(others) :])
    assert found["scores"]["midpoint"]["acc"] == pytest.approx(100 * right.mean())


def test_timestamps_that_do_not_count_are_noted(run, sampled_path):
    (sampled_path / "timestamps.csv").write_text("junk")
    result = run(sampled_path, "--no-table", "--method", "midpoint")
    assert "timestamps.csv is ignored, timestamps.json comes first" in result.stderr


def test_drawn_timestamps_follow_the_seed_and_are_kept(run, tiny_path, tmp_path):
    options = ("--json", "--no-table", "--overwrite", "--sample-timestamps")
    texts = []
    for seed in ("1", "1", "2"):
        run(tiny_path, *options, seed)
        texts.append((tmp_path / "out" / "timestamps.json").read_text())
    assert texts[0] == texts[1] != texts[2]
    truth = Dataset.open(tiny_path)
    for name, entry in Dataset.open(tmp_path / "out").timestamps().items():
        labels = truth.source_labels(name)
        assert labels[entry.frames].tolist() == entry.transcript.tolist()
        assert len(entry) == truth.source_segmentation(name).n_segments


def test_nothing_is_overwritten_by_mistake(run, tiny_path, tmp_path):
    run(tiny_path, "--no-table")
    with pytest.raises(OutputError, match="overwrite"):
        run(tiny_path, "--no-table")
    with pytest.raises(OutputError, match="groundTruth: is read by this command and would be lost"):
        run(tmp_path / "out", "--no-table", "--overwrite")


def test_one_video_is_not_many(run, tiny_path, tmp_path):
    clicks = json.loads((tiny_path / "timestamps.json").read_text())
    name = next(iter(clicks))
    (tmp_path / "one.json").write_text(json.dumps({name: clicks[name]}))
    words = ("--timestamps", str(tmp_path / "one.json"), "--method", "midpoint", "--no-table")
    assert f"wrote 1 video to {tmp_path / 'out'}\n" in run(tiny_path, *words).stderr


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("link", ["out", "dataset", "label file"])
def test_labels_of_the_dataset_are_never_replaced_through_links(run, tiny_path, tmp_path, link):
    data, out = shutil.copytree(tiny_path, tmp_path / "data"), tmp_path / "out"
    labels, first = data / "groundTruth", "groundTruth/" + Dataset.open(data).names[0] + ".txt"
    (out / "groundTruth").mkdir(parents=True)
    if link == "label file":
        (data / first).rename(out / first)
        (data / first).symlink_to(out / first)
    else:
        (out / "groundTruth").rmdir()
        if link == "dataset":
            labels.rename(out / "groundTruth")
            labels.symlink_to(out / "groundTruth")
        else:
            (out / "groundTruth").symlink_to("../data/groundTruth")
    before = files_in(labels)
    with pytest.raises(OutputError, match="is read by this command"):
        run(data, "--no-table", "--sample-timestamps", "1", "--overwrite")
    assert files_in(labels) == before == files_in(tiny_path / "groundTruth")


def test_timestamps_of_an_earlier_run_are_not_lost(run, tiny_path, tmp_path):
    run(tiny_path, "--no-table", "--sample-timestamps", "1")
    clicks = tmp_path / "out" / "timestamps.json"
    with pytest.raises(OutputError, match=r"timestamps.json: is read by this command"):
        run(tiny_path, "--no-table", "--timestamps", str(clicks), "--overwrite")
    assert clicks.exists()


def test_a_new_run_leaves_nothing_of_the_old_one(run, tiny_path, tmp_path):
    out, clicks = tmp_path / "out", tmp_path / "clicks.json"
    run(tiny_path, "--no-table", "--sample-timestamps", "1")
    (out / "features").symlink_to(tiny_path / "features")
    name, *_ = Dataset.open(tiny_path).names
    clicks.write_text(json.dumps({name: [{"frame": 0, "label": "background"}]}))
    run(tiny_path, "--no-table", "--timestamps", str(clicks), "--overwrite")
    assert sorted(path.name for path in (out / "groundTruth").iterdir()) == [f"{name}.txt"]
    # what somebody else put there stays
    kept = ["dataset.toml", "features", "groundTruth", "mapping.txt"]
    assert sorted(path.name for path in out.iterdir()) == kept


def test_a_run_that_breaks_off_leaves_the_old_labels(run, tiny_path, tmp_path, monkeypatch):
    run(tiny_path, "--no-table", "--sample-timestamps", "1")
    before = files_in(tmp_path / "out")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("uvast.supervision.output.write_mapping", full)
    with pytest.raises(OutputError, match="No space left"):
        run(tiny_path, "--no-table", "--sample-timestamps", "2", "--overwrite")
    assert files_in(tmp_path / "out") == before


def test_a_full_disk_is_one_sentence_that_names_the_file(tiny_path, tmp_path, monkeypatch):
    dataset, out = Dataset.open(tiny_path), tmp_path / "out"
    labelled = {name: dataset.source_segmentation(name) for name in dataset.names}
    real, last = Path.write_text, f"{dataset.names[-1]}.txt"
    written = []

    def full(path, text, **options):
        if len(written) == len(dataset.names) - 1:
            raise OSError(28, "No space left on device", str(path))
        written.append(path)
        return real(path, text, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OutputError) as caught:
            write_pseudo_labels(out, dataset, labelled)
    assert str(caught.value) == (
        f"{out / 'groundTruth' / last}: cannot be written (No space left on device); "
        "the disk is full: free some space or choose another place"
    )
    assert len(written) == len(dataset.names) - 1
    assert files_in(out) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from uvast.data import Dataset
from uvast.supervision.output import write_pseudo_labels

dataset, out = Dataset.open(sys.argv[1]), Path(sys.argv[2])
labelled = {name: dataset.source_segmentation(name) for name in dataset.names}
for n_steps in range(90):
    child = os.fork()
    if child == 0:
        seen = []
        def kill(event, arguments):
            if event in ("os.rename", "os.remove", "os.rmdir", "ctypes.dlsym"):
                seen.append(event)
                if len(seen) > n_steps:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(kill)
        write_pseudo_labels(out, dataset, labelled)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print(len(list(out.glob("groundTruth/*.txt"))), os.WIFSIGNALED(status))
    if not os.WIFSIGNALED(status):
        break
"""


def test_killed_at_any_moment_there_are_labels(run, tiny_path, tmp_path):
    run(tiny_path, "--no-table", "--sample-timestamps", "1")
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(tiny_path), str(tmp_path / "out")]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    steps = [line.split() for line in finished.stdout.splitlines()]
    assert len(steps) > 10
    assert steps[-1][1] == "False"
    assert {n_labels for n_labels, _ in steps} == {"8"}


def test_faulty_ground_truth_is_found_before_anything_is_written(run, tiny_path, tmp_path):
    data = shutil.copytree(tiny_path, tmp_path / "data")
    next((data / "groundTruth").iterdir()).write_text("nonsense\n")
    with pytest.raises(LabelError, match="unknown label 'nonsense'"):
        run(data, "--method", "midpoint")
    assert not (tmp_path / "out").exists()


def test_the_command_offers_what_training_offers():
    offered = get_type_hints(SupervisionConfig)
    # `clicks` are no labels, but the lack of them
    assert {one.value for one in Method} == set(get_args(offered["method"])) - {"clicks"}
    assert {one.value for one in Metric} == set(get_args(offered["metric"]))
    trained = SupervisionConfig()
    assert PseudoLabelOptions.from_config(trained) == PseudoLabelOptions()
    for method in Method:
        PseudoLabelOptions(method.value)
    defaults = {k: v.default for k, v in signature(pseudo_label).parameters.items()}
    names = ("method", "metric", "prior", "offsets")
    assert [defaults[name] for name in names] == [getattr(trained, name) for name in names]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--features", "encoder"), "^encoder features need a model; pass --model RUN$"),
        (("--model", "somewhere"), "need no model; pass --features encoder or both$"),
        (("--sample-timestamps", "0", "--timestamps", "some.json"), "choose one of them$"),
    ],
)
def test_options_that_do_not_fit_are_errors(run, tiny_path, options, sentence):
    with pytest.raises(InputError, match=sentence):
        run(tiny_path, *options)


def test_the_last_line_says_what_comes_next(run, tiny_path, tmp_path):
    options = ("--no-table", "--overwrite")
    last = run(tiny_path, *options).stderr.splitlines()[-1]
    command = f"uvast train {tiny_path} --supervision timestamps"
    assert last == f"training makes the same by itself: {command} --out RUN"
    clicks = f"{tiny_path}/timestamps.json"
    own = ("--timestamps", clicks, "--method", "midpoint", "--prior", "0", "--offsets", "0.1")
    last = run(tiny_path, *options, *own).stderr.splitlines()[-1]
    settings = ("method=midpoint", "prior=0.0", "offsets=0.1")
    changed = " ".join(f"--set supervision.{one}" for one in settings)
    assert last.endswith(f": {command} --timestamps {clicks} {changed} --out RUN")
    last = run(tiny_path, *options, "--sample-timestamps", "1").stderr.splitlines()[-1]
    out = tmp_path / "out"
    link = f"ln -s {tiny_path}/features {out}/features"
    assert last == (f"to train on them, add the features: {link} && uvast train {out} --out RUN")


@pytest.mark.parametrize("kind", ["encoder", "both"])
def test_features_of_a_model(run, tiny_path, tmp_path, monkeypatch, kind):
    """An encoder that knows the labels gives exact pseudo-labels."""
    dataset = Dataset.open(tiny_path)
    answers = {
        dataset.video(name).features.tobytes(): 1e3 * np.eye(len(dataset.vocabulary))[ids]
        for name in dataset.names
        for ids in [dataset.source_labels(name)]
    }

    class Encoder:
        sampling_rate = 1

        def encode_batch(self, videos):
            found = [SimpleNamespace(features=answers[v.features.tobytes()]) for v in videos]
            return SimpleNamespace(frames=found)

    monkeypatch.setattr("uvast.inference.load", lambda path: Encoder())
    result = run(tiny_path, "--features", kind, "--model", "run", "--json", "--prior", "0")
    acc = json.loads(result.stdout)["scores"]["constrained k-medoids"]["acc"]
    assert acc == 100 if kind == "encoder" else acc > 90
    assert len(Dataset.open(tmp_path / "out").names) == len(dataset.names)


def test_an_encoder_sees_frames_at_its_own_rate(run, tiny_path, tmp_path, monkeypatch):
    dataset = Dataset.open(tiny_path)
    lengths = []

    class Encoder:
        sampling_rate = 3

        def encode_batch(self, videos):
            lengths.extend(video.n_frames for video in videos)
            return SimpleNamespace(frames=videos)

    monkeypatch.setattr("uvast.inference.load", lambda path: Encoder())
    run(tiny_path, "--features", "encoder", "--model", "run")
    assert lengths == [-(-dataset.source_frames(name) // 3) for name in dataset.names]
    made = Dataset.open(tmp_path / "out")
    for name in made.names:
        assert made.source_frames(name) == dataset.source_frames(name)
