"""A project's annotations, label files and runs; features are planted, not extracted."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from uvast.data import Dataset
from uvast.errors import (
    CheckpointError,
    CorruptFileError,
    MissingFileError,
    OutputError,
)
from uvast.exchange import ConstantRate, Event, Span, VideoAnnotations
from uvast.features.card import FeatureCard, card_path, write_card
from uvast.projects import LabelledVideos, Project, derived, numbered_runs
from uvast.projects.videos import ProjectVideo, write_videos

EVEN = tuple(np.round(np.arange(20) / 10, 6).tolist())


def plant(
    project: Project, name: str, times: tuple[float, ...] = EVEN, rate: float | None = 10.0
) -> None:
    features = project.features_path(name)
    features.parent.mkdir(exist_ok=True)
    n_frames = len(times) or 20
    np.save(features, np.zeros((n_frames, 3), np.float32))
    card = FeatureCard(
        model="pixels",
        version=("1",),
        widths=(3,),
        source="clip.mp4",
        source_bytes=3,
        fingerprint="aa",
        frames_per_second=rate,
        seconds=2.0,
        n_frames=n_frames,
        n_features=3,
        times=times,
        source_frames=tuple(range(n_frames)),
    )
    write_card(card_path(features), card)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    names = ("full", "clicked", "partly", "new")
    path = tmp_path / "project"
    videos = [ProjectVideo(name, path / f"{name}.mp4", 3, name, 2.0) for name in names]
    write_videos(path, videos)
    return Project.open(path)


FULL = VideoAnnotations("full", (Event("cut", 0.5, 1.0), Event("pour", 1.0, 2.0)))
CLICKED = VideoAnnotations("clicked", (Event("cut", 0.31), Event("pour", 1.29)))
PARTLY = VideoAnnotations("partly", (Event("cut", 0.5, 1.0),), observed=(Span(0.4, 1.0),))


def text(project: Project, name: str) -> str:
    return (project.path / name).read_text()


def test_no_project_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"videos\.json: does not exist; make a project wi"):
        Project.open(tmp_path)
    with pytest.raises(MissingFileError, match="make a project with uvast init"):
        Project.open(tmp_path / "absent")


def test_annotations_make_a_round_trip(project: Project) -> None:
    assert project.annotations("full") is None
    project.write_annotations(FULL)
    assert Project.open(project.path).annotations("full") == FULL
    project.remove_annotations("full")
    project.remove_annotations("full")
    assert project.annotations("full") is None
    with pytest.raises(MissingFileError, match="has no video ful; did you mean full"):
        project.write_annotations(VideoAnnotations("ful"))
    with pytest.raises(MissingFileError, match="has no video"):
        project.annotations("../videos")


def test_annotations_of_two_videos_are_refused(project: Project) -> None:
    (project.path / "annotations").mkdir()
    path = project.path / "annotations" / "full.json"
    path.write_text('{"format": "uvast annotations", "version": 1, "videos": []}')
    with pytest.raises(CorruptFileError, match="holds annotations of 0 videos, not of one"):
        project.annotations("full")


def test_frame_times_are_those_of_the_features(project: Project) -> None:
    assert project.frame_times("full") is None
    plant(project, "full", (0.0, 0.5, 2.0), None)
    times = project.frame_times("full")
    assert times is not None
    assert times.frames_at([1.9, 2.1]).tolist() == [1, 2]
    plant(project, "new", (), None)
    assert project.frame_times("new") is None
    (project.path / "dataset.toml").write_text("frames_per_second = 29.97\n")
    found = project.frame_times("new")
    assert isinstance(found, ConstantRate)
    assert (found.rate.numerator, found.rate.denominator, found.n_frames) == (30000, 1001, 20)


def test_times_that_go_back_are_one_sentence(project: Project) -> None:
    plant(project, "full", (0.0, 0.5, 1.0), None)
    path = card_path(project.features_path("full"))
    path.write_text(path.read_text().replace("[0.0, 0.5, 1.0]", "[0.0, 1.0, 0.5]"))
    with pytest.raises(
        CorruptFileError, match=r"full\.json: .*times of the frames do not increase"
    ):
        project.frame_times("full")


def test_labels_are_materialised_at_the_features_frames(project: Project) -> None:
    for name in ("full", "clicked", "partly"):
        plant(project, name)
    for one in (FULL, CLICKED, PARTLY):
        project.write_annotations(one)
    notes = project.materialise()
    assert notes == (
        "not labelled yet, and left out: new",
        "with clicks only, and left out of training with full labels: clicked",
        "for training with --supervision timestamps, the middle of each segment is used as a "
        "click: full, partly",
    )
    lines = ["background"] * 5 + ["cut"] * 5 + ["pour"] * 10
    assert text(project, "groundTruth/full.txt").split() == lines
    assert not (project.path / "groundTruth" / "clicked.txt").exists()
    assert text(project, "groundTruth/partly.txt").split()[3:11] == [
        *("unlabelled", "background"),
        *["cut"] * 5,
        "unlabelled",
    ]
    assert json.loads(text(project, "labelled.json")) == {"partly": [[4, 10]]}
    assert json.loads(text(project, "timestamps.json"))["clicked"] == [
        {"frame": 3, "label": "cut"},
        {"frame": 12, "label": "pour"},
    ]
    dataset = Dataset.open(project.path)
    assert dataset.vocabulary.names == ("background", "cut", "pour")
    assert dataset.vocabulary.background == ("background",)
    assert dataset.spec.frames_per_second == 10
    assert dataset.timestamps()["clicked"].frames.tolist() == [3, 12]
    assert dataset.source_segmentation("full").transcript.tolist() == [0, 1, 2]


def test_only_what_changed_is_written_and_what_went_is_removed(project: Project) -> None:
    plant(project, "full")
    plant(project, "partly")
    project.write_annotations(FULL)
    project.write_annotations(PARTLY)
    project.materialise()

    def stamps() -> dict[str, int]:
        files = [path for path in project.path.rglob("*") if path.is_file()]
        return {str(path.relative_to(project.path)): path.stat().st_mtime_ns for path in files}

    before = stamps()
    project.materialise()
    assert stamps() == before
    project.remove_annotations("partly")
    project.materialise()
    after = stamps()
    assert set(before) - set(after) == {
        "groundTruth/partly.txt",
        "annotations/partly.json",
        "labelled.json",
    }
    assert after["groundTruth/full.txt"] == before["groundTruth/full.txt"]
    assert after["timestamps.json"] > before["timestamps.json"]
    project.remove_annotations("full")
    project.materialise()
    assert not project.has_labels
    assert not (project.path / "timestamps.json").exists()


def test_what_people_wrote_is_not_overwritten(project: Project) -> None:
    plant(project, "full")
    project.write_annotations(FULL)
    project.materialise()
    labels = project.path / "groundTruth" / "full.txt"
    labels.write_text("mine\n" * 20)
    project.write_annotations(VideoAnnotations("full", (Event("cut", 0.0, 2.0),)))
    with pytest.raises(OutputError, match=r"full\.txt: was not written by uvast, or was changed"):
        project.materialise()
    assert labels.read_text() == "mine\n" * 20
    labels.unlink()
    (project.path / "groundTruth" / "stranger.txt").write_text("cut\n")
    with pytest.raises(OutputError, match=r"stranger\.txt: was not written by uvast"):
        project.materialise()
    (project.path / "groundTruth" / "stranger.txt").unlink()
    project.materialise()
    assert labels.read_text() == "cut\n" * 20


def test_two_at_once_do_not_take_each_other_for_strangers(project: Project, monkeypatch) -> None:
    plant(project, "full")
    project.write_annotations(FULL)
    others: list[threading.Thread] = []
    write_json = derived.write_json

    def meanwhile(path: Path, content: object) -> None:
        write_json(path, content)
        if not others:
            project.write_annotations(VideoAnnotations("full", (Event("cut", 0.0, 2.0),)))
            others.append(threading.Thread(target=project.materialise))
            others[0].start()
            others[0].join(0.5)  # it waits for this one

    monkeypatch.setattr(derived, "write_json", meanwhile)
    project.materialise()
    others[0].join()
    assert (project.path / "groundTruth" / "full.txt").read_text() == "cut\n" * 20
    project.write_annotations(FULL)
    project.materialise()


def test_videos_without_features_or_with_odd_labels_stay_out(project: Project) -> None:
    plant(project, "clicked", (), None)
    plant(project, "partly")
    project.write_annotations(FULL)
    project.write_annotations(CLICKED)
    overlapping = (Event("cut", 0.0, 1.0), Event("pour", 0.5, 2.0))
    project.write_annotations(VideoAnnotations("partly", overlapping))
    notes = project.materialise()
    assert notes[0] == (
        "left out: full has labels but no features yet; make them with uvast extract "
        f"{project.path}"
    )
    assert notes[1] == (
        "left out: the frame rate of clicked is unknown; set frames_per_second in dataset.toml"
    )
    assert notes[2].startswith("left out: partly: 'cut' (0 to 1 s) and 'pour' (0.5 to 2 s) overlap")
    assert len(notes) == 3
    assert not project.has_labels


def test_the_users_settings_stay(project: Project) -> None:
    spec = project.path / "dataset.toml"
    spec.write_text('# mine\nbackground = ["rest"]\nframes_per_second = 25  # guessed\n')
    plant(project, "full")
    project.write_annotations(FULL)
    project.materialise()
    assert spec.read_text() == (
        'feature_axis = "time-first"\n# mine\nbackground = ["rest"]\nframes_per_second = 10.0\n'
    )
    assert text(project, "groundTruth/full.txt").split()[:5] == ["rest"] * 5
    assert Dataset.open(project.path).vocabulary.background == ("rest",)


@pytest.mark.parametrize(
    ("times", "rate"),
    [((EVEN, EVEN), 10.0), ((EVEN, (0.0, 0.04, 0.08)), None), (((0.0, 0.1, 0.5),), None)],
    ids=["even", "two rates", "variable"],
)
def test_the_rate_of_every_frame_is_told_if_there_is_one(
    project: Project, times: tuple[tuple[float, ...], ...], rate: float | None
) -> None:
    for name, one in zip(project.names, times, strict=False):
        plant(project, name, one, None)
    project.materialise()
    assert Dataset.open(project.path).spec.frames_per_second == rate


def test_clicks_alone_are_told_from_segments(project: Project) -> None:
    assert project.labelled == (0, 0)
    for name in ("clicked", "full", "new"):
        plant(project, name)
    for one in (CLICKED, PARTLY):  # the latter has no features
        project.write_annotations(one)
    project.materialise()
    assert project.labelled == LabelledVideos(full=0, clicked=1)
    project.write_annotations(FULL)
    project.materialise()
    assert project.labelled == LabelledVideos(full=1, clicked=1)
    project.write_annotations(replace(CLICKED, video="new"))
    project.materialise()
    assert project.labelled == LabelledVideos(full=1, clicked=2)


@pytest.mark.parametrize(
    ("full", "clicked", "supervision"),
    [(0, 1, "timestamps"), (1, 0, "full"), (1, 1, "full"), (1, 2, "timestamps"), (3, 2, "full")],
)
def test_models_learn_from_what_most_videos_have(full: int, clicked: int, supervision: str) -> None:
    found = LabelledVideos(full, clicked)
    assert found.supervision == supervision
    assert found.is_mixed == bool(full and clicked)


def finish(run: Path, finished: object) -> None:
    run.mkdir(parents=True, exist_ok=True)
    progress = {"progress": json.dumps({"stage": 1, "finished": finished})}
    save_file({"a": np.zeros(1)}, run / "last.safetensors", progress)


def test_runs_are_numbered_and_the_newest_finished_one_is_meant(project: Project) -> None:
    with pytest.raises(CheckpointError, match="has no finished run; train one with uvast train"):
        project.newest_run()
    runs = project.path / "runs"
    assert project.next_run() == runs / "1"
    assert project.next_run() == runs / "2", "an empty folder is somebody's"
    (runs / "1" / "run.json").touch()
    with pytest.raises(CheckpointError, match=r"finish one with uvast train --resume .*runs/1"):
        project.newest_run()
    finish(runs / "9", True)
    finish(runs / "10", True)
    finish(runs / "11", False)
    (runs / "12").mkdir()
    (runs / "12" / "last.safetensors").write_bytes(b"broken")
    finish(runs / "best", True)
    assert project.newest_run() == runs / "10"
    assert project.next_run() == runs / "13"


def test_no_two_processes_get_one_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    both_looked = threading.Barrier(2)
    look = numbered_runs._numbers

    def look_together(runs: Path) -> list[int]:
        numbers = look(runs)
        with suppress(threading.BrokenBarrierError):  # the slower one looks again, alone
            both_looked.wait(timeout=0.5)
        return numbers

    monkeypatch.setattr(numbered_runs, "_numbers", look_together)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(project.next_run())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(run.name for run in found) == ["1", "2"]


def test_projects_work_without_torch() -> None:
    code = "import sys, uvast.projects; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_open_project_sees_what_others_add(project: Project) -> None:
    other = Project.open(project.path)
    write_videos(project.path, project.videos[:1])
    assert other.names == ("full",)
    (project.path / "videos.json").unlink()
    with pytest.raises(MissingFileError, match="run uvast init"):
        _ = other.names
