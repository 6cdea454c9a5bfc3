"""`uvast evaluate` as a user meets it."""

from __future__ import annotations

import csv
import dataclasses
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from uvast.cli.evaluate import ProtocolName
from uvast.cli.main import app
from uvast.data import DatasetSpec, Split, write_spec, write_splits
from uvast.errors import InputError, MissingFileError, OutputError
from uvast.evaluation import PROTOCOLS
from uvast.files import write_json
from uvast.files.names import MANIFEST
from uvast.inference.output import Manifest

TRUTH = {"v1": "AABB", "v2": "AAAA", "v3": "BBBB"}


def write_texts(folder, texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text("".join(f"{letter}\n" for letter in text))


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "kitchen"
    write_texts(folder / "groundTruth", TRUTH)
    (folder / "mapping.txt").write_text("0 A\n1 B\n2 C\n")
    splits = {1: Split(("v2", "v3"), ("v1",)), 2: Split(("v1",), ("v2", "v3"))}
    write_splits(folder / "splits", splits)
    return folder


@pytest.fixture
def predictions(tmp_path):
    folder = tmp_path / "predictions"
    write_texts(folder, TRUTH | {"v1": "AAAB"})
    return folder


@pytest.fixture
def run(data, predictions):
    """Runs the command on both folders; an error inside is raised here."""

    def invoke(*options: str, folder=predictions, exit_code: int = 0):
        arguments = ["evaluate", str(folder), str(data), *options]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == exit_code, result.output
        return result

    return invoke


def rows(output: str) -> list[list[str]]:
    """The cells of the tables in an output."""
    lines = (line for line in output.splitlines() if line.startswith("│"))
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_a_row_for_each_split_and_their_mean(run):
    result = run()
    assert result.stdout.startswith("kitchen, 3 videos, standard protocol\n")
    assert rows(result.stdout) == [
        ["split 1", "100.0", "100.0", "100.0", "100.0", "75.0"],
        ["split 2", "100.0", "100.0", "100.0", "100.0", "100.0"],
        ["mean", "100.0", "100.0", "100.0", "100.0", "87.5"],
    ]
    assert result.stderr == ""


def test_one_split_is_one_row(run):
    assert [row[0] for row in rows(run("--split", "2").stdout)] == ["split 2"]


def test_a_dataset_without_splits(run, data):
    for path in (data / "splits").iterdir():
        path.unlink()
    assert [row[0] for row in rows(run().stdout)] == ["all videos"]


def test_json_has_the_promised_keys(run):
    shared = {"edit": 100, "f1@10": 100, "f1@25": 100, "f1@50": 100, "protocol": "standard"}
    assert json.loads(run("--json").stdout) == {
        "acc": 87.5,
        **shared,
        "videos": 3,
        "in_training": 0,
        "unlabelled": [],
        "transductive": 0,
        "splits": {
            "1": {"acc": 75, **shared, "videos": 1},
            "2": {"acc": 100, **shared, "videos": 2},
        },
    }


def test_json_without_splits(run, data):
    for path in (data / "splits").iterdir():
        path.unlink()
    found = json.loads(run("--json", "--per-video").stdout)
    assert found["splits"] == {}
    assert "split" not in found["per_video"][0]


def test_json_of_one_split_under_the_legacy_protocol(run):
    found = json.loads(run("--json", "--split", "1", "--protocol", "legacy").stdout)
    # The last B is 1 of 2 frames; one frame early, 0 of 1.
    assert found["protocol"] == "legacy"
    assert (found["videos"], found["f1@50"]) == (1, 50)


@pytest.mark.parametrize("suffix", ["", ".txt"])
def test_the_recognition_format_with_and_without_suffix(run, tmp_path, suffix):
    folder = tmp_path / "results"
    folder.mkdir()
    for name, text in TRUTH.items():
        content = "### Frame level recognition: ###\n" + " ".join(text)
        (folder / f"{name}{suffix}").write_text(content)
    assert json.loads(run("--json", folder=folder).stdout)["acc"] == 100


def test_sampled_predictions_are_repeated_back(run, data, tmp_path):
    write_spec(data, DatasetSpec(sampling_rate=2))
    write_texts(tmp_path / "sampled", {"v1": "AB", "v2": "AA", "v3": "BB"})
    assert json.loads(run("--json", folder=tmp_path / "sampled").stdout)["acc"] == 100


def test_classes_and_videos_on_request(run):
    result = run("--per-class", "--per-video")
    assert ["C", "–", "–", "–", "0", "0"] in rows(result.stdout)
    assert ["A", "100.0", "100.0", "100.0", "2", "2"] in rows(result.stdout)
    assert rows(result.stdout)[-3] == ["v1", "1", "4", "100.0", "100.0", "100.0", "100.0", "75.0"]
    of_one = run("--per-video", "--split", "1").stdout
    assert rows(of_one)[-1] == ["v1", "4", "100.0", "100.0", "100.0", "100.0", "75.0"]
    found = json.loads(run("--per-class", "--per-video", "--json").stdout)
    assert found["per_class"]["C"]["f1@50"] is None
    places = [(one["video"], one["split"]) for one in found["per_video"]]
    assert places == [("v1", 1), ("v2", 2), ("v3", 2)]
    assert found["splits"]["1"]["per_class"]["A"]["true"] == 1


def test_the_confusion_goes_to_a_file(run, tmp_path):
    path = tmp_path / "new" / "frames.csv"
    result = run("--confusion", str(path), "--json")
    assert "confusion" not in result.stdout
    assert result.stderr == f"wrote {path}\n"
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["true", "A", "B", "C"],
            ["A", "6", "0", "0"],
            ["B", "1", "5", "0"],
            ["C", "0", "0", "0"],
        ]


def test_an_unwritable_confusion(run, tmp_path):
    with pytest.raises(OutputError, match=r"cannot be written \(Is a directory\); choose another"):
        run("--overwrite", "--confusion", str(tmp_path))


def test_names_that_look_like_markup_are_printed_as_they_are(run, data, predictions):
    (data / "mapping.txt").write_text("0 A\n1 B\n2 [/red] :cut:\n")
    assert rows(run("--per-class").stdout)[-1][0] == "[/red] :cut:"


def test_a_class_called_background_is_pointed_out(run, data):
    (data / "mapping.txt").write_text("0 A\n1 B\n2 background\n")
    note = "note: class 'background' is left out of Edit and F1"
    result = run("--json")
    assert result.stderr.startswith(note)
    json.loads(result.stdout)
    for said in (("background",), ()):
        write_spec(data, DatasetSpec(background=said))
        assert run().stderr == ""


def test_trimmed_videos_are_pointed_out(run, data, predictions):
    write_spec(data, DatasetSpec(tolerance=0.1, feature_axis="time-first"))
    for folder in (data / "groundTruth", predictions):
        write_texts(folder, {name: text * 5 for name, text in TRUTH.items()})
    (data / "features").mkdir()
    for name, n_frames in (("v1", 19), ("v2", 20), ("v3", 20)):
        np.save(data / "features" / f"{name}.npy", np.zeros((n_frames, 2), np.float32))
    assert run().stderr == (
        "note: 1 video trimmed: labels and features differ by up to 1 frame (first: v1)\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--protocol", "strict"], "'strict' is not one of 'standard', 'legacy'"),
        (["--split", "one"], "Invalid value for '--split'"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_options_that_cannot_be_right(run, options, sentence):
    shown = " ".join(run(*options, exit_code=2).stderr.replace("│", " ").split())
    assert sentence in shown
    assert "Traceback" not in shown


def test_the_command_offers_every_protocol():
    assert tuple(one.value for one in ProtocolName) == PROTOCOLS


def test_the_python_call_checks_its_protocol_too(data, predictions):
    from uvast.evaluation import evaluate

    with pytest.raises(InputError, match="unknown protocol 'strict'"):
        evaluate(predictions, data, protocol="strict")


def test_a_confusion_file_is_replaced_only_if_asked_for(data, predictions, tmp_path):
    path = tmp_path / "confusion.csv"
    path.write_text("mine")
    command = ["evaluate", str(predictions), str(data), "--split", "1", "--confusion", str(path)]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, OutputError)
    assert path.read_text() == "mine"
    assert CliRunner().invoke(app, [*command, "--overwrite"]).exit_code == 0
    assert path.read_text().startswith("true,A,B,C")


def test_a_run_is_no_folder_of_predictions(run, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    sentence = "run: is a run, not a folder of predictions; segment first: uvast segment "
    with pytest.raises(MissingFileError, match=sentence):
        run("--split", "1", folder=tmp_path / "run")


def learned(folder, dataset, train, **more):
    manifest = Manifest(
        model="/gone/run",
        checkpoint="0" * 64,
        options={},
        formats=("txt",),
        videos=dict.fromkeys(TRUTH, "/gone/features.npy"),
        dataset=str(dataset.resolve()),
        train=train,
        **more,
    )
    write_json(folder / MANIFEST, dataclasses.asdict(manifest))


def test_videos_that_were_trained_on_are_told_and_marked(run, data, predictions):
    learned(predictions, data, ("v1", "v3"))
    result = run("--per-video")
    assert "warning: 2 of the 3 videos scored were used in training" in " ".join(
        result.stderr.split()
    )
    marks = {row[0]: row[-1] for row in rows(result.stdout) if row[0] in TRUTH}
    assert marks == {"v1": "used", "v2": "", "v3": "used"}
    values = json.loads(run("--per-video", "--json").stdout)
    assert values["in_training"] == 2
    assert {one["video"]: one["in_training"] for one in values["per_video"]} == {
        "v1": True,
        "v2": False,
        "v3": True,
    }


def test_each_split_has_its_own_model(run, data, tmp_path):
    folder = tmp_path / "by split"
    for split, names in {1: ["v1"], 2: ["v2", "v3"]}.items():
        write_texts(folder / f"split{split}", {name: TRUTH[name] for name in names})
    learned(folder / "split1", data, ("v2", "v3"))
    learned(folder / "split2", data, ("v2",))
    values = json.loads(run("--per-video", "--json", folder=folder).stdout)
    assert [one["video"] for one in values["per_video"] if one["in_training"]] == ["v2"]


def test_without_a_manifest_nothing_is_marked(run):
    result = run("--per-video")
    assert "training" not in result.output
    assert json.loads(run("--json").stdout)["in_training"] == 0


def test_the_split_that_was_predicted_is_the_one_that_is_scored(run, data, tmp_path):
    folder = tmp_path / "one side"
    write_texts(folder, {"v1": "AAAB"})
    learned(folder, data, (), split=1)
    values = json.loads(run("--json", folder=folder).stdout)
    assert (list(values["splits"]), values["videos"]) == (["1"], 1)


def test_what_is_unlabelled_is_listed(run, data):
    (data / "labelled.json").write_text(json.dumps({"v1": [[0, 2]], "v3": []}))
    result = run("--per-video")
    notes = " ".join(result.stderr.split())
    assert "note: 1 video has no labels and stays out: v3" in notes
    assert "note: 1 video is labelled in part, the rest stays out: v1 (2 of 4 frames)" in notes
    assert result.stdout.startswith("kitchen, 2 videos, standard protocol\n")
    assert json.loads(run("--json").stdout)["unlabelled"] == ["v3"]


def test_errors_are_shown_and_in_json(run):
    shown = run("--errors").stdout
    assert "Segments: 4 true, 4 predicted" in shown
    assert "named correctly" in shown
    assert "badly cut" in shown
    values = json.loads(run("--errors", "--json").stdout)["errors"]
    assert (values["true"], values["named"], values["badly_cut"]) == (4, 4, 0)
    assert values["start_offset"] == {"median": 1.0, "90 %": 1.0}
    assert "errors" not in json.loads(run("--json").stdout)


def test_one_video_is_not_many(run):
    assert "kitchen, 1 video, standard protocol" in run("--split", "1").stdout
    assert "kitchen, 3 videos, standard protocol" in run().stdout
