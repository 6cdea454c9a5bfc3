"""`uvast demo`: from video files to actions by real commands; never removes a stranger's files."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest

from in_process import uvast
from uvast.benchmark.demo import BASELINE, CLICKS, DECODED, FULL, Step
from uvast.benchmark.demo_world import FAST, DemoPlace, clear_place
from uvast.data import Dataset
from uvast.errors import OutputError
from uvast.evaluation.pseudo_labels import methods_to_compare
from uvast.features import extras
from uvast.supervision import PseudoLabelOptions


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[DemoPlace, dict[str, object], str]:
    """A fast demo: its files, its JSON and its notes."""
    place = DemoPlace(tmp_path_factory.mktemp("here") / "demo")
    ended = uvast("demo", "--fast", "--json", "--out", place.out)
    assert ended.returncode == 0, ended.stderr
    return place, json.loads(ended.stdout), ended.stderr


def test_the_commands_are_those_of_a_user(finished) -> None:
    place, _, notes = finished
    lines = [line.strip() for line in notes.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("$ ")]
    assert [words[:2] for words in commands] == [
        *(["uvast", name] for name in ("init", "extract", "import", "train", "segment")),
        *(["uvast", name] for name in ("overlay", "report")),
    ]
    assert "in the browser: uvast app" in notes
    assert "your turn: uvast init MY-PROJECT --videos" in notes
    assert {path.stem for path in place.predictions.glob("*.txt")} == {
        path.stem for path in place.new_videos.iterdir()
    }
    assert (place.out / "annotated.mp4").stat().st_size > 1_000


def test_the_model_has_seen_clicks_alone_and_no_new_video(finished) -> None:
    place, result, _ = finished
    info = json.loads((Path(str(result["run"])) / "run.json").read_text())
    assert info["supervision"] == "timestamps"
    truth = Dataset.open(place.truth)
    assert sorted(info["train"]) == sorted(truth.side(1, "train"))
    assert len(truth.side(1, "test")) == FAST.n_new
    assert not list(place.project.glob("groundTruth/*"))


def test_each_click_lies_in_its_action(finished) -> None:
    place, _, _ = finished
    truth = Dataset.open(place.truth)
    with place.clicks.open() as file:
        rows = list(csv.DictReader(file))
    for name in truth.side(1, "train"):
        labels = truth.vocabulary.decode(truth.source_labels(name))
        clicks = [(float(row["time"]), row["label"]) for row in rows if row["video"] == name]
        seen = [labels[int(seconds * 15)] for seconds, _ in clicks]
        # a feature frame lasts two frames of the video: a click on the second may be the next's
        assert sum(a == b for a, (_, b) in zip(seen, clicks, strict=True)) >= len(clicks) - 2
        transcript = truth.source_segmentation(name).transcript
        assert [label for _, label in clicks] == list(truth.vocabulary.decode(transcript))


def test_the_tables_and_the_page_are_there(finished) -> None:
    place, result, _ = finished
    rows = [(row["model"], row["decoding"]) for row in result["scores"]]
    assert rows == [
        (BASELINE, "frames"),
        *((FULL, name) for name in DECODED),
        *((CLICKS, name) for name in DECODED),
    ]
    pseudo_labels = result["pseudo_labels"]
    assert list(pseudo_labels) == list(methods_to_compare(PseudoLabelOptions()))
    assert pseudo_labels["class models + prior 0.25"]["acc"] > pseudo_labels["midpoint"]["acc"]
    assert pseudo_labels["unconstrained k-medoids"]["edit"] < 50, "without order, segments break up"
    assert pseudo_labels["constrained k-medoids"]["edit"] == 100
    page = place.report.read_text()
    assert "<title>project, run 1 – uvast report</title>" in page
    assert page.count('"strip":') == FAST.n_new, "pictures under every new video"


def test_only_an_earlier_demo_is_replaced(tmp_path: Path) -> None:
    clear_place(tmp_path / "new", overwrite=False)
    (tmp_path / "thesis.txt").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match=r"is not empty; choose another --out"):
            clear_place(tmp_path, overwrite=overwrite)
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    (tmp_path / ".uvast-demo").write_text("made by uvast demo\n")
    clear_place(tmp_path, overwrite=True)
    assert not tmp_path.exists()


def test_a_seed_is_not_negative(tmp_path: Path) -> None:
    ended = uvast("demo", "--seed", "-1", "--out", tmp_path / "demo")
    assert ended.returncode == 2
    assert "--seed" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize("place", ["while it makes videos", "in a step"])
def test_a_stopped_demo_says_how_to_start_again(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step alone could go on; the demo cannot, and refuses a folder that is not empty."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    makes_nothing = stop if place == "while it makes videos" else lambda *_, **__: {}
    steps = [Step("extract", ("extract", "videos"))]
    monkeypatch.setattr("uvast.benchmark.demo_world.make_videos", makes_nothing)
    monkeypatch.setattr("uvast.benchmark.demo.steps_to_predictions", lambda *_, **__: steps)
    monkeypatch.setattr("uvast.features.models.parse_models", stop)
    ended = uvast("demo", "--out", tmp_path / "my demo")
    assert ended.returncode == 130
    *_, last = ended.stderr.splitlines()
    assert last == f"stopped; start again with: uvast demo --out '{tmp_path}/my demo' --overwrite"


def test_without_its_extra_the_demo_says_which_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_av(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(extras, "import_module", without_av)
    ended = uvast("demo", "--out", tmp_path / "demo")
    assert ended.returncode == 2
    assert "needs the package av; install it with: pip install '.[video]'" in ended.stderr
    assert not (tmp_path / "demo").exists()
