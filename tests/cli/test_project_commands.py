"""The journey of a project, as a user types it: init, extract, labels, train, segment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from in_process import uvast
from uvast.exchange import Event, VideoAnnotations
from uvast.features import generate_videos, motion_vocabulary
from uvast.projects import Project
from uvast.segments import Segmentation

TINY = (
    *("--set", "model.width=8", "--set", "model.attention_width=4"),
    *("--set", "model.n_encoder_layers=2", "--set", "model.decoder_feedforward=8"),
    *("--epochs", "1", "--stage", "1", "--preset", "small"),
)


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Segmentation]]:
    folder = tmp_path_factory.mktemp("videos")
    made = generate_videos(folder, n_videos=2, seconds=4.0, width=32, height=32, seed=4)
    return folder, made


@pytest.fixture(scope="module")
def extracted(
    videos: tuple[Path, dict[str, Segmentation]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A project with features."""
    path = tmp_path_factory.mktemp("extracted") / "project"
    assert uvast("init", path, "--videos", videos[0]).returncode == 0
    finished = uvast("extract", path, "--model", "pixels")
    assert finished.returncode == 0, finished.stderr
    return path


@pytest.fixture
def project(extracted: Path, tmp_path: Path) -> Project:
    shutil.copytree(extracted, tmp_path / "project")
    return Project.open(tmp_path / "project")


def click(project: Project, made: dict[str, Segmentation]) -> None:
    """One click in the middle of every action."""
    names = motion_vocabulary().names
    for name, truth in made.items():
        middles = [(one.start + one.end) / 60 for one in truth.segments]
        labels = [names[one.action] for one in truth.segments]
        events = tuple(map(Event, labels, middles))
        project.write_annotations(VideoAnnotations(name, events))


def test_a_project_begins_with_its_videos(
    videos: tuple[Path, dict[str, Segmentation]], tmp_path: Path
) -> None:
    folder = tmp_path / "videos"
    shutil.copytree(videos[0], folder)
    (folder / "bad.mp4").write_text("no video")
    command = ("init", tmp_path / "project", "--videos", folder)
    first = uvast(*command)
    assert first.returncode == 2
    assert "2 videos in" in first.stdout
    assert "32x32" in first.stdout
    assert f"skipped: {folder / 'bad.mp4'}: cannot be read as a video" in first.stderr
    assert f"next: uvast extract {tmp_path / 'project'}" in first.stderr
    (folder / "bad.mp4").unlink()
    (folder / "s01_001.mp4").rename(tmp_path / "moved.mp4")
    again = uvast(*command, "--videos", tmp_path / "moved.mp4", "--json")
    assert again.returncode == 0
    report = json.loads(again.stdout)
    assert {one["name"]: one["state"] for one in report["videos"]} == {
        "s01_001": "moved",
        "s02_002": "known",
    }
    assert report["skipped"] == []


def test_lengths_that_are_corrected_are_told(
    videos: tuple[Path, dict[str, Segmentation]], tmp_path: Path
) -> None:
    path = tmp_path / "project"
    assert uvast("init", path, "--videos", videos[0]).returncode == 0
    file = path / "videos.json"
    right = json.loads(file.read_text())
    seconds = right["videos"][1]["seconds"]
    wrong = json.loads(file.read_text())
    wrong["videos"][1]["seconds"] = 1.0
    file.write_text(json.dumps(wrong))
    again = uvast("init", path, "--json")
    assert again.returncode == 0, again.stderr
    assert f"1 length corrected: s02_002 (1.00 to {seconds:.2f} s)\n" in again.stderr
    states = {one["name"]: one["state"] for one in json.loads(again.stdout)["videos"]}
    assert states == {"s01_001": "known", "s02_002": "read again"}
    assert json.loads(file.read_text()) == right
    assert "corrected" not in uvast("init", path).stderr


def test_videos_may_be_listed_as_a_shell_expands_them(
    videos: tuple[Path, dict[str, Segmentation]], tmp_path: Path
) -> None:
    files = sorted(videos[0].glob("*.mp4"))
    made = uvast("init", tmp_path / "project", "--videos", *files, "--json")
    assert made.returncode == 0, made.stderr
    assert [one["path"] for one in json.loads(made.stdout)["videos"]] == list(map(str, files))
    # with the project last, the first video that follows is taken for it
    wrong = uvast("init", "--videos", *files, tmp_path / "other")
    assert wrong.returncode == 2
    assert f"{files[1]}: " in wrong.stderr
    assert not (tmp_path / "other").exists()


def test_a_project_needs_videos(tmp_path: Path) -> None:
    finished = uvast("init", tmp_path / "project")
    assert finished.returncode == 2
    assert "a new project needs videos; uvast init" in finished.stderr
    assert not (tmp_path / "project").exists()
    absent = uvast("init", tmp_path / "project", "--videos", tmp_path / "absent")
    assert absent.returncode == 2
    assert "absent: does not exist; check the path" in absent.stderr
    assert not (tmp_path / "project").exists()


def test_features_have_the_projects_names_and_rate(
    videos: tuple[Path, dict[str, Segmentation]], tmp_path: Path
) -> None:
    for number, name in enumerate(sorted(videos[1])):
        (tmp_path / str(number)).mkdir()
        shutil.copy(videos[0] / f"{name}.mp4", tmp_path / str(number) / "clip.mp4")
    path = tmp_path / "project"
    assert uvast("init", path, "--videos", tmp_path).returncode == 0
    without_out = uvast("extract", tmp_path / "0")
    assert without_out.returncode == 2
    assert (
        "--out: is needed without a project; pass --out DIR, or name a project"
        in without_out.stderr
    )
    (tmp_path / "1" / "clip.mp4").rename(tmp_path / "elsewhere.mp4")
    finished = uvast("extract", path, "--model", "pixels", "--fps", "10")
    assert finished.returncode == 2
    assert "video 1_clip is no longer there; if it has moved, say where to" in finished.stderr
    assert "next: add labels or clicks with uvast import" in finished.stderr
    assert sorted(file.name for file in (path / "features").iterdir()) == [
        *("0_clip.json", "0_clip.npy"),
    ]
    assert "frames_per_second = 10.0" in (path / "dataset.toml").read_text()
    poses = uvast("extract", path, "--model", "poses")
    assert poses.returncode == 2
    assert "has no tables to extract poses from" in poses.stderr


def test_poses_are_a_project_too(tmp_path: Path) -> None:
    (tmp_path / "poses").mkdir()
    rows = "".join(f"{i},{i * i}\n" for i in range(40))
    (tmp_path / "poses" / "mouse.csv").write_text(f"x,y\n{rows}")
    path = tmp_path / "project"
    first = uvast("init", path, "--videos", tmp_path / "poses")
    assert "--model poses --rows-per-second" in first.stderr
    assert uvast("extract", path).returncode == 2
    finished = uvast(*("extract", path, "--model", "table", "--rows-per-second", 20, "--fps", 10))
    assert finished.returncode == 0, finished.stderr
    times = Project.open(path).frame_times("mouse")
    assert times is not None
    assert times.n_frames == 20


def test_commands_say_what_is_missing(extracted: Path, tmp_path: Path) -> None:
    finished = uvast("train", extracted)
    assert finished.returncode == 2
    assert "has no labels to learn from yet; import them with uvast import" in finished.stderr
    segmented = uvast("segment", extracted, extracted, "--out", tmp_path / "out")
    assert segmented.returncode == 2
    assert "has no finished run; train one with uvast train" in segmented.stderr
    assert not (extracted / "runs").exists()
    bare = tmp_path / "bare"
    shutil.copytree(extracted, bare, ignore=shutil.ignore_patterns("features"))
    finished = uvast("train", bare)
    assert "has no features yet; make them with uvast extract" in finished.stderr


def test_a_project_without_labels_can_be_checked(project: Project) -> None:
    checked = uvast("data", "check", project.path)
    assert checked.returncode == 0, checked.stderr + checked.stdout
    assert "no problems" in checked.stdout


def test_clicks_train_a_numbered_run_and_the_project_stands_for_it(
    project: Project, videos: tuple[Path, dict[str, Segmentation]], tmp_path: Path
) -> None:
    click(project, videos[1])
    trained = uvast("train", project.path, *TINY)
    assert trained.returncode == 0, trained.stderr
    run = project.path / "runs" / "1"
    assert f"the model is in {run}; try uvast segment {project.path}" in trained.stderr
    assert json.loads((run / "run.json").read_text())["supervision"] == "timestamps"
    assert project.newest_run() == run
    out = tmp_path / "predictions"
    segmented = uvast("segment", project.path, project.path, "--out", out, "--json")
    assert segmented.returncode == 0, segmented.stderr
    assert json.loads(segmented.stdout)["videos"].keys() == videos[1].keys()
    page = tmp_path / "page.html"
    assert uvast("report", project.path, "--out", page).returncode == 0
    assert page.stat().st_size > 10_000
    pseudo = uvast(
        *("pseudo-label", project.path, "--out", tmp_path / "pseudo", "--no-table", "--json"),
        *("--features", "encoder", "--model", project.path),
    )
    assert pseudo.returncode == 0, pseudo.stderr


@pytest.mark.parametrize("other", [(), (Event("swing", 2.0),)], ids=["nothing", "a click"])
def test_a_video_that_stays_out_is_told_once(
    project: Project, videos: tuple[Path, dict[str, Segmentation]], other: tuple[Event, ...]
) -> None:
    first, second = videos[1]
    project.write_annotations(VideoAnnotations(first, (Event("swing", 0.5, 2.0),)))
    if other:
        project.write_annotations(VideoAnnotations(second, other))
    planned = uvast("train", project.path, "--plan")
    assert planned.stderr.count(second) == 1
    trained = uvast("train", project.path, *TINY)
    assert trained.returncode == 0, trained.stderr
    assert trained.stderr.count(second) == 1
    lacks = "full labels, only clicks," if other else "labels"
    assert f"1 video has no {lacks} and stays out: {second}" in " ".join(trained.stderr.split())


def test_segments_train_with_full_labels_and_a_failed_start_leaves_nothing(
    project: Project, videos: tuple[Path, dict[str, Segmentation]]
) -> None:
    for name in videos[1]:
        project.write_annotations(VideoAnnotations(name, (Event("swing", 0.5, 2.0),)))
    failed = uvast("train", project.path, *TINY, "--device", "cuda:77")
    assert failed.returncode == 2
    assert list((project.path / "runs").iterdir()) == []
    trained = uvast("train", project.path, *TINY)
    assert trained.returncode == 0, trained.stderr
    info = json.loads((project.path / "runs" / "1" / "run.json").read_text())
    assert info["supervision"] == "full"
    checked = uvast("data", "check", project.path, "--json")
    assert checked.returncode == 0, checked.stdout
    scored = uvast("evaluate", project.path / "groundTruth", project.path, "--json")
    assert json.loads(scored.stdout)["acc"] == 100


def test_a_choice_between_segments_and_clicks_is_said(
    project: Project, videos: tuple[Path, dict[str, Segmentation]]
) -> None:
    click(project, videos[1])
    name = next(iter(videos[1]))
    project.write_annotations(VideoAnnotations(name, (Event("swing", 0.5, 2.0),)))
    said = "learns from segments (labelled videos: 1 with segments, 1 with clicks alone); "
    planned = uvast("train", project.path, "--plan", "--json")
    assert planned.returncode == 0, planned.stderr
    assert f"{said}--supervision timestamps changes that" in " ".join(planned.stderr.split())
    assert json.loads(planned.stdout)["facts"]["supervision"] == "full"
    asked = uvast("train", project.path, "--plan", "--json", "--supervision", "timestamps")
    assert json.loads(asked.stdout)["facts"]["supervision"] == "timestamps"
    assert "learns from" not in asked.stderr


def test_processes_have_to_agree_on_a_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    finished = uvast("train", project.path)
    assert finished.returncode == 2
    assert "several processes have to agree on the run's folder; pass --out RUN" in finished.stderr
