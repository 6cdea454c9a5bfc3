"""The videos of a project: linked, known by their content, called by unique names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_video import MakeVideo

from uvast.errors import CorruptFileError, MissingFileError, OutputError
from uvast.features import Order, extract
from uvast.features.models import parse_models
from uvast.projects import Project, is_project
from uvast.projects.linking import unique_names
from uvast.projects.videos import plain_name


def test_a_folder_of_videos_becomes_a_project(tmp_path: Path, make_video: MakeVideo) -> None:
    video = make_video(tmp_path / "videos" / "clip.mp4", 0)
    make_video(tmp_path / "videos" / "day 2" / "other.MP4", 1)
    make_video(tmp_path / "videos" / ".hidden.mp4", 2)
    (tmp_path / "videos" / "notes.txt").write_text("no video")
    assert not is_project(tmp_path / "project")
    project, errors = Project.create(tmp_path / "project", [tmp_path / "videos"])
    assert errors == ()
    assert is_project(project.path)
    assert project.names == ("clip", "other")
    first = project.video("clip")
    assert first.path == video
    assert first.n_bytes == video.stat().st_size
    assert (first.codec, first.width, first.height, first.rotation) == ("h264", 32, 32, 0)
    assert first.frames_per_second == 30
    assert first.n_frames == round((first.seconds or 0) * 30)
    assert Project.open(project.path).videos == project.videos
    assert sorted(path.name for path in (tmp_path / "videos").rglob("*.[mM][pP]4")) == [
        *(".hidden.mp4", "clip.mp4", "other.MP4"),
    ], "videos stay where they are"


def test_names_that_are_alike_get_their_folders(tmp_path: Path, make_video: MakeVideo) -> None:
    for number, name in enumerate(("a/clip.mp4", "b/clip.mp4", "b/alone.mp4")):
        make_video(tmp_path / name, number)
    project, _ = Project.create(tmp_path / "project", [tmp_path / "a", tmp_path / "b"])
    assert project.names == ("a_clip", "alone", "b_clip")
    make_video(tmp_path / "c" / "alone.mp4", 7)
    assert project.add_videos([tmp_path / "c"]) == (("c_alone",), ())
    assert project.video("alone").path == tmp_path / "b" / "alone.mp4", "names stay"


def test_known_videos_are_not_added_again(tmp_path: Path, make_video: MakeVideo) -> None:
    clip = make_video(tmp_path / "a" / "clip.mp4", 0)
    project, _ = Project.create(tmp_path / "project", [clip, clip, tmp_path / "a"])
    assert project.names == ("clip",)
    before = (project.path / "videos.json").stat().st_mtime_ns
    make_video(tmp_path / "b" / "copy.mp4", 0)
    assert project.add_videos([tmp_path / "a", tmp_path / "b"]) == ((), ())
    assert (project.path / "videos.json").stat().st_mtime_ns == before
    assert project.video("clip").path == clip


def outdated(project: Project, **values: object) -> None:
    """What another version of uvast has read in the heads of the videos."""
    path = project.path / "videos.json"
    content = json.loads(path.read_text())
    content["videos"] = [one | values for one in content["videos"]]
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("is_named", [True, False])
def test_what_is_known_about_a_video_is_renewed(
    tmp_path: Path, make_video: MakeVideo, is_named: bool
) -> None:
    clip = make_video(tmp_path / "a" / "clip.mp4", 0)
    project, _ = Project.create(tmp_path / "project", [clip])
    right = project.videos
    outdated(project, seconds=1.0, n_frames=30)
    copy = make_video(tmp_path / "b" / "copy.mp4", 0)
    assert project.add_videos([copy] if is_named else []) == ((), ())
    assert project.videos == right
    make_video(clip, 1)
    _, (error,) = project.add_videos([])
    assert str(error).startswith(f"{clip}: is no longer the video that was added as clip; ")
    clip.unlink()
    assert project.add_videos([]) == ((), ())
    assert project.videos == right


def test_a_video_that_moved_is_named_and_linked_again(
    tmp_path: Path, make_video: MakeVideo
) -> None:
    clip = make_video(tmp_path / "old" / "clip.mp4", 0)
    project, _ = Project.create(tmp_path / "project", [clip])
    assert project.source("clip") == clip
    extract(Order(clip, project.path / "features", parse_models("pixels")))
    (tmp_path / "new").mkdir()
    moved = clip.rename(tmp_path / "new" / "renamed.mp4")
    with pytest.raises(MissingFileError, match=r"clip\.mp4: video clip is no longer there; if it"):
        project.source("clip")
    assert project.add_videos([tmp_path / "new"]) == ((), ())
    assert project.source("clip") == moved
    assert project.names == ("clip",)
    card = project.card("clip")
    assert card is not None
    assert card.source == str(moved), "pictures of reports come from there"


def test_another_video_at_a_known_path_is_refused(tmp_path: Path, make_video: MakeVideo) -> None:
    clip = make_video(tmp_path / "clip.mp4", 0)
    project, _ = Project.create(tmp_path / "project", [clip])
    make_video(clip, 1)
    added, (error,) = project.add_videos([clip])
    assert added == ()
    assert "is no longer the video that was added as clip" in str(error)


def test_bad_videos_are_told_and_the_others_are_in(tmp_path: Path, make_video: MakeVideo) -> None:
    make_video(tmp_path / "videos" / "good.mp4", 0)
    (tmp_path / "videos" / "bad.mp4").write_text("no video")
    (tmp_path / "videos" / "empty.mp4").touch()
    sources = [tmp_path / "videos", tmp_path / "absent"]
    project, errors = Project.create(tmp_path / "project", sources)
    assert project.names == ("good",)
    assert [str(error).split(";")[0].removeprefix(f"{tmp_path}/") for error in errors] == [
        "absent: does not exist",
        "videos/bad.mp4: cannot be read as a video (Invalid data found when processing input)",
        "videos/empty.mp4: is empty",
    ]


def test_names_that_are_no_text_are_told(tmp_path: Path, make_video: MakeVideo) -> None:
    make_video(tmp_path / "videos" / "good.mp4", 0)
    make_video(tmp_path / "videos" / "bad\udcff.mp4", 1)
    project, (error,) = Project.create(tmp_path / "project", [tmp_path / "videos"])
    assert project.names == ("good",)
    assert "has a path that is not UTF-8 text; rename the file" in str(error)


def test_nothing_is_made_of_bad_videos_alone(tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_text("no video")
    with pytest.raises(CorruptFileError, match="cannot be read as a video"):
        Project.create(tmp_path / "project", [tmp_path / "bad.mp4"])
    with pytest.raises(MissingFileError, match="absent: does not exist"):
        Project.create(tmp_path / "project", [tmp_path / "absent"])
    (tmp_path / "folder").mkdir()
    with pytest.raises(CorruptFileError, match="folder: holds no videos; name the files"):
        Project.create(tmp_path / "project", [tmp_path / "folder"])
    assert not (tmp_path / "project").exists()


def test_a_project_with_its_videos_inside_can_move(tmp_path: Path, make_video: MakeVideo) -> None:
    make_video(tmp_path / "project" / "videos" / "clip.mp4", 0)
    project, _ = Project.create(tmp_path / "project", [tmp_path / "project" / "videos"])
    listed = json.loads((project.path / "videos.json").read_text())
    assert listed["videos"][0]["path"] == str(Path("videos") / "clip.mp4")
    (tmp_path / "project").rename(tmp_path / "moved")
    assert Project.open(tmp_path / "moved").source("clip").parent == tmp_path / "moved" / "videos"


def test_poses_stand_in_for_videos(tmp_path: Path) -> None:
    (tmp_path / "poses").mkdir()
    (tmp_path / "poses" / "mouse.csv").write_text("x,y\n1,2\n")
    project, _ = Project.create(tmp_path / "project", [tmp_path / "poses"])
    video = project.video("mouse")
    assert (video.is_video, video.is_table) == (False, True)
    assert (video.seconds, video.codec, video.width) == (None, None, None)


def test_features_that_are_there_are_videos_until_theirs_come(
    tmp_path: Path, make_video: MakeVideo
) -> None:
    (tmp_path / "project" / "features").mkdir(parents=True)
    np.save(tmp_path / "project" / "features" / "clip.npy", np.zeros((5, 2), np.float32))
    project, _ = Project.create(tmp_path / "project", [])
    bare = project.video("clip")
    assert not bare.is_video
    assert not bare.is_table
    video = make_video(tmp_path / "clip.mp4", 0)
    assert project.add_videos([video]) == (("clip",), ())
    assert project.names == ("clip",)
    assert project.video("clip").path == video


def test_features_that_differ_from_a_video_only_in_case_are_told(
    tmp_path: Path, make_video: MakeVideo
) -> None:
    features = tmp_path / "project" / "features"
    features.mkdir(parents=True)
    for name in ("Clip", "other", "OTHER"):
        np.save(features / f"{name}.npy", np.zeros((5, 2), np.float32))
    if len(list(features.iterdir())) < 3:
        pytest.skip("this file system takes such names for one")
    project, errors = Project.create(tmp_path / "project", [make_video(tmp_path / "clip.mp4", 0)])
    assert project.names == ("clip", "OTHER")
    assert [str(error) for error in errors] == [
        f"{features / 'Clip.npy'}: differs from video clip only in case; rename one of them",
        f"{features / 'other.npy'}: differs from video OTHER only in case; rename one of them",
    ]


@pytest.mark.parametrize("name", ["groundTruth", "mapping.txt", "timestamps.json"])
def test_labels_of_others_are_never_taken_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(OutputError, match="was not written by uvast"):
        Project.create(tmp_path, [])
    assert not is_project(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "version is 2, not 1"),
        ({"format": "other"}, "format is 'other', not 'uvast project'"),
        ({"videos": [{"name": "../x"}]}, "videos.0.name is '../x', not a valid file name"),
        ({"videos": [{"path": "a\0b"}]}, "videos.0.path is 'a\\\\x00b', not a path"),
        ({"videos": [{"n_bytes": -1}]}, "videos.0.n_bytes is -1, below 0"),
        ({"videos": [{}, {}]}, "names video clip twice"),
    ],
    ids=["version", "format", "name", "path", "size", "twice"],
)
def test_a_broken_list_of_videos_is_one_sentence(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    plain = {"name": "clip", "path": "clip.mp4", "n_bytes": 3, "fingerprint": "aa"}
    content: dict[str, object] = {"format": "uvast project", "version": 1, "videos": [{}], **change}
    videos = content["videos"]
    assert isinstance(videos, list)
    content["videos"] = [{**plain, **video} for video in videos]
    (tmp_path / "videos.json").write_text(json.dumps(content))
    with pytest.raises(CorruptFileError) as caught:
        Project.open(tmp_path)
    assert sentence.replace("\\\\", "\\") in str(caught.value).replace("\\\\", "\\")


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "A", "b_a", "..", "é"]), min_size=1), max_size=9)
)
def test_names_are_unique_plain_and_stay_plain(parts: list[list[str]]) -> None:
    paths = [Path("/", *one).with_suffix(".mp4") for one in parts if one[-1] != ".."]
    names = unique_names(paths, ["a"])
    assert len({name.casefold() for name in [*names, "a"]}) == len(paths) + 1
    assert all(plain_name(name) == name for name in names)


@given(st.text())
def test_any_text_becomes_a_file_name(text: str) -> None:
    name = plain_name(text)
    assert plain_name(name) == name
    assert "/" not in name
    assert not name.startswith(".")
    assert len(name.encode()) <= 240
