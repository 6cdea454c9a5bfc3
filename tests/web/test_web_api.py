"""Every endpoint as the page calls it."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import shlex
import shutil
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pympi
import pytest
from PIL import Image
from web_project import (
    N_FRAMES,
    RATE,
    Client,
    copied,
    grey,
    make_project,
    opened,
    write_features,
    write_numbered,
)

from uvast.errors import OutputError
from uvast.exchange import Event, Target, VideoAnnotations, native
from uvast.features.frames import presentation_times
from uvast.projects import Project, ProjectVideo
from uvast.web.media import parse_range
from uvast.web.overview import _Facts
from uvast.web.pictures import strip_jpegs
from uvast.web.routes import files
from uvast.web.uploads import receive


def click(start: float, label: str = "reach") -> dict[str, object]:
    return {"do": "add", "kind": "click", "label": label, "start": start}


def segment(start: float, end: float, label: str = "reach") -> dict[str, object]:
    return {**click(start, label), "kind": "segment", "end": end}


def predict(project: Project, name: str, *segments: dict[str, object]) -> None:
    folder = project.path / "predictions"
    folder.mkdir(exist_ok=True)
    content = {"video": name, "frames_per_second": RATE, "segments": list(segments)}
    (folder / f"{name}.json").write_text(json.dumps(content))


def predicted(label: str, start: int, end: int, **more: object) -> dict[str, object]:
    seconds = {"start_seconds": start / RATE, "end_seconds": end / RATE}
    return {"label": label, "start": start, "end": end, "confidence": 0.9, **seconds, **more}


def upload(client: Client, address: str, name: str, content: bytes, **headers: str) -> Any:
    given = {"content-type": "application/octet-stream", "x-name": quote(name), **headers}
    return client.send("POST", address, content=content, headers=given)


def test_the_list_and_a_video(client: Client) -> None:
    project = client.get("/api/project").json()
    assert [one["name"] for one in project["videos"]] == ["cup", "tea"]
    assert {one["state"] for one in project["videos"]} == {"new"}
    assert project["next"] == {"video": "cup", "seconds": 0.0, "why": "it has no labels yet"}
    video = client.video("cup")
    assert (video["n_frames"], video["seconds"], video["playable"]) == (N_FRAMES, 6.0, True)
    assert video["events"] == []
    assert client.get("/api/videos/nothing").status_code == 404


def test_changes_are_answered_with_the_new_state(client: Client) -> None:
    answer = client.change("cup", click(1.0), click(4.0, "pour")).json()
    assert answer["version"] == 1
    assert answer["number"] == 1
    assert [one["id"] for one in answer["video"]["events"]] == ["e1", "e2"]
    assert answer["video"]["pseudo"] == [
        {"label": "reach", "start": 0.0, "end": 2.5},
        {"label": "pour", "start": 2.5, "end": 6.0},
    ]
    assert answer["video"]["pseudo_by"] == "midpoint"
    row = client.get("/api/project").json()["videos"][0]
    assert (row["state"], row["n_clicks"]) == ("clicks", 2)
    assert client.change("cup", segment(2.0, 3.0), {"do": "reviewed", "value": True}).json()
    assert client.get("/api/project").json()["videos"][0]["state"] == "reviewed"


def test_a_conflict_is_shown_with_what_is_there(client: Client) -> None:
    client.change("cup", click(1.0))
    moved = {"do": "move", "id": "e1", "start": 2.0}
    assert client.change("cup", moved, author="ben").status_code == 200
    answer = client.change("cup", moved, version=1)
    assert answer.status_code == 409
    assert "was changed by ben in the meantime" in answer.json()["error"]
    assert answer.json()["video"]["events"][0]["start"] == 2.0


def test_undo_and_redo(client: Client) -> None:
    client.change("cup", click(1.0))
    assert client.post("/api/undo", {"author": "anna"}).json()["videos"] == {"cup": 2}
    assert client.video("cup")["events"] == []
    assert client.post("/api/undo", {"author": "anna"}).status_code == 409
    assert client.post("/api/redo", {"author": "anna", "video": "cup"}).status_code == 200
    assert len(client.video("cup")["events"]) == 1


def test_classes(client: Client) -> None:
    client.change("cup", click(1.0))
    post = {"author": "anna", "do": "add", "name": "Background"}
    names = [one["name"] for one in client.post("/api/classes", post).json()["classes"]]
    assert names == ["reach", "Background"]
    found = client.post("/api/classes", {"do": "recolour", "name": "reach", "to": "#0000FF"}).json()
    assert found["classes"][0] == {
        "name": "reach",
        "colour": "#0000ff",
        "key": "1",
        "background": False,
    }
    assert found["classes"][1]["background"] is True
    taken = client.post("/api/classes", {"do": "key", "name": "reach", "to": "2"})
    assert taken.status_code == 422
    assert "'Background' has the key '2'" in taken.json()["error"]
    client.post("/api/classes", {"do": "rename", "name": "reach", "to": "grasp"})
    assert client.video("cup")["events"][0]["label"] == "grasp"
    assert client.post("/api/classes", {"do": "rename", "name": "no", "to": "x"}).status_code == 422


def test_a_request_whose_answer_was_lost_is_answered_and_not_done_again(client: Client) -> None:
    def send(wanted: dict[str, object], key: str) -> Any:
        body = {"version": 0, "author": "anna", "changes": [wanted], "key": key}
        return client.post("/api/videos/cup/changes", body).json()

    first, again = send(click(1.0), "a"), send(click(1.0), "a")
    assert first["ids"] == again["ids"] == ["e1"]
    assert [one["id"] for one in again["video"]["events"]] == ["e1"]
    assert send(click(2.0), "b")["ids"] == ["e2"]
    undo = {"author": "anna", "key": "c"}
    answers = [client.post("/api/undo", undo).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(client.get("/api/videos/cup").json()["events"]) == 1


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.EACCES, errno.ESTALE])
def test_a_disk_that_cannot_be_written_for_a_while_loses_no_change(
    client: Client, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr("os.write", fails)
        answer = client.change("cup", click(1.0))
        assert (answer.status_code, "cannot be written" in answer.text) == (507, True)
        patch.setattr("os.ftruncate", fails)
        assert client.change("cup", click(1.0)).status_code == 507
    assert client.change("cup", click(1.0)).status_code == 200
    assert len(client.video("cup")["events"]) == 1


def test_accepting_a_prediction_can_be_undone(client: Client, project: Project) -> None:
    predict(project, "cup", predicted("reach", 0, 25), predicted("pour", 25, 60))
    video = client.video("cup")
    assert [one["end"] for one in video["prediction"]["segments"]] == [2.5, 6.0]
    answer = client.change("cup", {"do": "accept", "from": "prediction"}).json()["video"]
    assert [(one["label"], one["end"]) for one in answer["events"]] == [("reach", 2.5), ("pour", 6)]
    client.post("/api/undo", {"author": "anna"})
    assert client.video("cup")["events"] == []


def test_review_shows_the_least_sure_first(client: Client, project: Project) -> None:
    predict(project, "cup", predicted("reach", 0, 25), predicted("pour", 25, 60, entropy=0.85))
    predict(
        project,
        "tea",
        predicted("reach", 0, 20, entropy=0.1, agreement=0.2),
        predicted("x", 20, 40),
    )
    found = client.get("/api/review?order=unsure").json()
    assert [(one["video"], one["segment"]["label"]) for one in found] == [
        ("tea", "reach"),
        ("cup", "pour"),
        ("cup", "reach"),
        ("tea", "x"),
    ]
    assert found[0]["why"] == "only 20 % of its frames look like reach"
    assert found[1]["why"] == "it looks like several actions at once"
    assert found[1]["measures"] == "entropy 0.85, confidence 0.90"
    client.app.overview.refresh()
    assert client.get("/api/project").json()["next"]["video"] == "cup"  # less sure on the whole
    client.change("tea", segment(0.0, 1.5))
    client.change("cup", {"do": "reviewed", "value": True})
    left = [(one["video"], one["segment"]["label"]) for one in client.get("/api/review").json()]
    assert left == [("tea", "x")]


def test_what_the_members_of_an_ensemble_disagree_about_comes_first(
    client: Client, project: Project
) -> None:
    sure, torn = {"entropy": 0.4, "agreement": 0.9}, {"entropy": 0.3, "agreement": 0.9}
    predict(
        project,
        "cup",
        predicted("reach", 0, 25, **sure, divergence=0.0),
        predicted("pour", 25, 60, **torn, divergence=0.8),
    )
    first, second = client.get("/api/review").json()
    assert (first["segment"]["label"], second["segment"]["label"]) == ("pour", "reach")
    assert first["uncertainty"] == 0.4
    assert first["why"] == "the models that were combined disagree about it"
    assert "divergence 0.80, entropy 0.30" in first["measures"]


def test_label_next_goes_through_the_least_sure_video(client: Client, project: Project) -> None:
    def proposed() -> Any:
        return client.get("/api/project").json()["next"]

    predict(
        project,
        "cup",
        predicted("reach", 0, 20, entropy=0.4),
        predicted("pour", 20, 50, entropy=0.4),
        predicted("stir", 50, 60, entropy=0.6, agreement=0.6),
    )
    predict(
        project,
        "tea",
        predicted("pour", 0, 30, entropy=0.0),
        predicted("stir", 30, 40, entropy=0.9, agreement=0.1),
    )
    first = proposed()  # one moment of tea is less sure, but cup is on the whole
    assert (first["video"], first["seconds"]) == ("cup", 5.5)
    assert first["segment"] == {"label": "stir", "start": 5.25, "end": 5.75}
    assert first["why"] == "the model is unsure of this video, and it looks new"
    answer = {"do": "add", "kind": "click", "label": "stir", "start": 5.5}
    client.change("cup", answer, {"do": "observed", "spans": [[5.25, 5.75]]})
    second = proposed()  # the same video goes on
    assert (second["video"], second["seconds"]) == ("cup", 1.0)
    assert second["segment"] == {"label": "reach", "start": 0.5, "end": 1.5}
    assert second["why"] == "the model is 90 % sure"
    client.change("cup", answer | {"start": 1.0}, {"do": "observed", "spans": []})
    third = proposed()  # clicks stand for all of cup now; between two of them none is missed
    assert (third["video"], third["segment"]["label"]) == ("tea", "stir")
    client.change("tea", segment(0.0, 4.0))
    assert proposed()["why"] == "4 seconds without a click"


def test_label_next_prefers_a_video_that_looks_new(client: Client, project: Project) -> None:
    client.app.project.add_videos([write_numbered(project.path / "pot.mp4", 30)])
    for name, look in (("cup", [1.0]), ("pot", [1.5]), ("tea", [1.0, 5.0])):
        predict(project, name, predicted("reach", 0, 30, entropy=0.5, look=look))
    client.change("cup", {"do": "add", "kind": "click", "label": "reach", "start": 0.5})
    assert client.get("/api/next").json()["video"] == "tea"
    predict(project, "pot", predicted("reach", 0, 30, entropy=0.5, look=[9.0]))
    assert client.get("/api/next").json()["video"] == "pot"


def test_label_next_finds_where_clicking_stopped(client: Client, project: Project) -> None:
    edges = range(0, 60, 10)
    predict(
        project, "cup", *(predicted("reach", one, one + 10, entropy=one / 100) for one in edges)
    )
    predict(project, "tea", predicted("pour", 0, 40, entropy=0.9))
    for start in (0.5, 1.5):
        client.change("cup", {"do": "add", "kind": "click", "label": "reach", "start": start})
    found = client.get("/api/next?leaving=cup").json()
    assert (found["video"], found["seconds"]) == ("cup", 5.5)
    assert "segment" not in found  # another click like those before, for all of the video


def test_label_next_leaves_out_what_is_missing(client: Client, project: Project) -> None:
    pot = write_numbered(project.path / "pot.mp4", 30)
    client.app.project.add_videos([pot])
    for name in ("cup", "tea"):
        client.change(name, {"do": "add", "kind": "click", "label": "reach", "start": 0.1})
    assert client.get("/api/next").json()["video"] == "pot"
    pot.unlink()
    assert client.get("/api/next").json()["why"] == "6 seconds without a click"
    for name, entropy in (("cup", 0.2), ("tea", 0.1), ("pot", 0.9)):
        predict(project, name, predicted("reach", 0, 30, entropy=entropy, look=[1.0]))
    assert client.get("/api/next").json()["video"] != "pot"
    back = write_numbered(pot, 30)
    assert client.get("/api/next").json()["video"] == "pot"
    back.unlink()
    assert client.get("/api/next").json()["video"] != "pot"
    assert {one["video"] for one in client.get("/api/review").json()} == {"cup", "tea"}


def test_a_missing_video_is_not_new(client: Client, project: Project) -> None:
    pot = write_numbered(project.path / "pot.mp4", 30)
    client.app.project.add_videos([pot])

    def state() -> str:
        client.app.overview.refresh()
        rows = client.get("/api/project").json()["videos"]
        return next(str(one["state"]) for one in rows if one["name"] == "pot")

    assert state() == "new"
    pot.unlink()
    assert state() == "missing"
    predict(project, "pot", predicted("reach", 0, 30))
    assert state() == "missing"
    client.change("pot", {"do": "add", "kind": "click", "label": "reach", "start": 0.1})
    assert state() == "clicks"  # which a training uses


def test_label_next_never_stays_while_there_is_another_video(client: Client) -> None:
    def proposed(leaving: str) -> Any:
        return client.get(f"/api/next?leaving={leaving}").json()

    assert proposed("cup")["video"] == "tea"  # skipped
    for name, start in (("cup", 0.5), ("tea", 0.1)):
        client.change(name, {"do": "add", "kind": "click", "label": "reach", "start": start})
        assert proposed(name)["video"] != name
    assert proposed("tea") == {"video": "cup", "seconds": 3.25, "why": "6 seconds without a click"}
    assert proposed("cup")["video"] == "tea"  # though the gap in cup is the widest
    client.change("tea", {"do": "reviewed", "value": True})
    assert proposed("cup")["video"] == "cup"  # the only one
    client.change("cup", {"do": "reviewed", "value": True})
    assert proposed("cup") is None


def test_rounds_are_scored_against_what_was_reviewed(client: Client, project: Project) -> None:
    from uvast.web.rounds import keep_round

    manifest = {"model": str(project.path / "runs" / "3"), "train": ["tea"]}
    for cut in (10, 30):
        predict(project, "cup", predicted("reach", 0, cut), predicted("pour", cut, 60))
        (project.path / "predictions" / "segmentation.json").write_text(json.dumps(manifest))
        client.app.predictions._known.clear()
        keep_round(client.app)
    assert [one["scores"] for one in client.get("/api/curve").json()] == [None, None]
    client.change(
        "cup", segment(0.0, 3.0), segment(3.0, 6.0, "pour"), {"do": "reviewed", "value": True}
    )
    first, second = client.get("/api/curve").json()
    assert first["scores"]["acc"] == pytest.approx(100 * 40 / 60)
    assert second["scores"] == {"acc": 100.0, "edit": 100.0, "f1@50": 100.0}
    assert (second["run"], second["n_videos"], second["learned_from"]) == ("runs/3", 1, False)


def test_media_with_ranges(client: Client, project: Project) -> None:
    content = project.video("cup").path.read_bytes()
    whole = client.get("/media/cup")
    assert (whole.status_code, whole.content) == (200, content)
    assert whole.headers["accept-ranges"] == "bytes"
    for span, part in (("5-9", content[5:10]), ("100-", content[100:]), ("-7", content[-7:])):
        answer = client.get("/media/cup", headers={"range": f"bytes={span}"})
        assert (answer.status_code, answer.content) == (206, part)
    assert answer.headers["content-range"] == f"bytes {len(content) - 7}-{len(content) - 1}/" + str(
        len(content)
    )
    beyond = client.get("/media/cup", headers={"range": f"bytes={len(content)}-"})
    assert beyond.status_code == 416
    assert beyond.headers["content-range"] == f"bytes */{len(content)}"
    head = client.send("HEAD", "/media/cup")
    assert (head.content, head.headers["content-length"]) == (b"", str(len(content)))


@pytest.mark.parametrize(
    ("header", "span"),
    [
        (None, None),
        ("bytes=0-0", (0, 1)),
        ("bytes=9-", (9, 10)),
        ("bytes=3-99", (3, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-30", (0, 10)),
        ("bytes=10-", (10, 10)),
        ("bytes=-0", (10, 10)),
        ("bytes=5-3", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
    ],
)
def test_ranges(header: str | None, span: tuple[int, int] | None) -> None:
    assert parse_range(header, 10) == span


def test_every_frame_is_exactly_that_frame(client: Client, project: Project) -> None:
    times = np.frombuffer(client.get("/times/cup").content, "<f8")
    assert times == pytest.approx(presentation_times(project.video("cup").path))
    for index in (0, 1, 19, 20, 37, N_FRAMES - 1):
        answer = client.get(f"/frame/cup?index={index}")
        picture = np.asarray(Image.open(io.BytesIO(answer.content)))
        assert picture.mean() == pytest.approx(grey(index), abs=2)
        assert answer.headers["x-frame"] == str(index)
    assert client.get("/frame/cup?seconds=3.75&width=16").headers["x-frame"] == "37"
    assert client.get(f"/frame/cup?index={N_FRAMES}").status_code == 422
    assert client.get("/frame/cup").status_code == 422


def test_a_film_strip(client: Client) -> None:
    answer = client.get("/strip/cup?start=0&end=4&n=4&width=32")
    strip = np.asarray(Image.open(io.BytesIO(answer.content)))
    assert strip.shape == (32, 128, 3)
    assert answer.headers["x-times"] == "0.500,1.500,2.500,3.500"
    shown = [strip[:, 32 * place : 32 * (place + 1)].mean() for place in range(4)]
    assert shown == pytest.approx([grey(5), grey(15), grey(25), grey(35)], abs=3)
    assert client.get("/strip/cup?start=5&end=2").status_code == 422


@pytest.fixture
def own(tmp_path: Path, static: Path) -> Iterator[Client]:
    """A project whose videos no other test has."""
    (tmp_path / "own").mkdir()
    with opened(make_project(tmp_path / "own"), static) as client:
        yield client


def test_film_strips_are_kept_and_made_together(own: Client) -> None:
    client, project, media = own, own.app.project, own.app.media
    tiles = [media.wanted_strip("cup", [at, at + 0.5], 32) for at in (0.25, 1.25, 2.25)]
    go = threading.Event()
    media.strips._worker.submit(go.wait, 60)  # all of them have to wait
    futures = [media.strips.make(one) for one in (*tiles, tiles[0])]
    assert futures[0] is futures[3]
    alone = [strip_jpegs(one.path, [one.seconds], 32)[0] for one in tiles]
    assert not any(one.done() for one in futures)
    go.set()
    assert [one.result(60) for one in futures[:3]] == alone
    assert [media.strips.kept(one) for one in tiles] == alone
    folder = project.path / "app" / "cache" / "strips"
    assert len(list(folder.iterdir())) == 3
    video = project.video("cup").path
    os.utime(video, ns=(1, 1))
    assert media.strips.kept(media.wanted_strip("cup", tiles[0].seconds, 32)) is None
    for path in folder.iterdir():
        path.write_bytes(b"kept before")
    os.utime(video, ns=(2, 2))
    address = "/strip/cup?start=0&end=4&n=4&width=32"
    first = client.get(address).content
    shutil.rmtree(folder)
    assert client.get(address).content == first


def test_film_strips_are_bounded(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(client.get("/strip/cup?start=0&end=1&n=1").content)
    monkeypatch.setattr("uvast.web.strips.MOST_BYTES", 4 * size)
    for start in range(1, 6):
        assert client.get(f"/strip/cup?start={start}&end=6&n=1").status_code == 200
        files = [*(project.path / "app" / "cache" / "strips").iterdir()]
        assert sum(path.stat().st_size for path in files) <= 4 * size
    assert len(files) >= 2


def test_a_strip_that_cannot_be_made_is_one_sentence(own: Client) -> None:
    own.app.project.video("cup").path.write_bytes(b"no video")
    answer = own.get("/strip/cup?start=0&end=4&n=4&width=32")
    assert answer.status_code == 422
    assert "cup.mp4" in answer.json()["error"]


def test_an_upload_becomes_a_video(client: Client, project: Project, tmp_path: Path) -> None:
    content = write_numbered(tmp_path / "new.mp4", 12).read_bytes()
    answer = upload(client, "/api/videos", "C:\\films\\..\\my <new>.mp4", content)
    assert answer.json() == {"videos": ["my _new_"]}
    assert (project.path / "videos" / "my _new_.mp4").read_bytes() == content
    assert client.video("my _new_")["n_frames"] == 12
    again = upload(client, "/api/videos", "other.mp4", content)
    known = "other.mp4 is in the project already, and was not added again."
    assert again.json() == {"videos": [], "known": known}
    same = upload(client, "/api/videos", "my _new_.mp4", content)
    assert "my _new_.mp4 is in the project already" in same.json()["known"]
    other = upload(client, "/api/videos", "my _new_.mp4", content + b"more")
    assert other.status_code == 409
    assert "rename the file if it is another video" in other.json()["error"]
    assert not (project.path / "videos" / "other.mp4").exists()


def test_an_upload_that_is_no_video_is_named_as_people_know_it(client: Client) -> None:
    answer = upload(client, "/api/videos", "notes.mp4", b"no video")
    assert answer.json()["error"].startswith("notes.mp4: cannot be read as a video (")


def test_the_command_that_adds_videos_is_ready_for_a_shell(
    pattern: Project, static: Path, tmp_path: Path
) -> None:
    with opened(copied(pattern, tmp_path / "my project"), static) as client:
        command = client.get("/api/project").json()["add_videos"]
    assert shlex.split(command) == ["uvast", "init", f"{tmp_path}/my project", "--videos"]


def test_a_fault_in_the_background_is_told_once_and_keeps_nothing_else(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app, done = client.app, threading.Event()

    def broken() -> None:
        raise ZeroDivisionError("a bug")

    def look(*_: object, **__: object) -> None:
        done.set()

    monkeypatch.setattr("uvast.web.app.SECONDS_BETWEEN_SAVES", 0.01)
    monkeypatch.setattr(app.jobs, "step", broken)
    monkeypatch.setattr(app.pseudo, "step", look)
    app.news.tell = lambda item: None  # type: ignore[method-assign]
    app._keeper.start()
    for _ in range(3):
        assert done.wait(30)
        done.clear()
    app.end()
    assert capsys.readouterr().err.count("ZeroDivisionError: a bug") == 1


def test_an_error_of_a_duty_is_told_again_when_it_is_new_or_came_back(client: Client) -> None:
    app, told = client.app, list[str]()
    app.news.tell = lambda item: told.append(json.loads(item)["error"])  # type: ignore[method-assign]
    outcomes = iter(["full", "full", "gone", "gone", None, "gone", "gone"])

    def duty() -> None:
        if (outcome := next(outcomes)) is not None:
            raise OutputError(outcome)

    for _ in range(7):
        app._try(duty)
    assert told == ["full", "gone", "gone"]


def test_a_look_at_files_that_fails_is_told_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is not taken every second."""
    app, told, n_looks = client.app, list[bytes](), list[None]()

    def broken() -> bool:
        n_looks.append(None)
        if len(n_looks) == 4:
            app._over.set()
        raise OutputError("cannot be written")

    monkeypatch.setattr("uvast.web.app.SECONDS_BETWEEN_SAVES", 0.001)
    monkeypatch.setattr(app.overview, "refresh", broken)
    app.news.tell = told.append  # type: ignore[method-assign]
    app._keep()
    app._over.clear()
    assert told == [b'{"error": "cannot be written"}']


def test_what_was_seen_first_never_hides_what_was_seen_later(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    overview = client.app.overview
    real, looked, go = overview._look_at, threading.Event(), threading.Event()

    def slow(video: ProjectVideo) -> _Facts:
        found = real(video)
        if threading.current_thread() is first:
            looked.set()
            assert go.wait(60)
        return found

    first, second = (threading.Thread(target=overview.refresh) for _ in range(2))
    monkeypatch.setattr(overview, "_look_at", slow)
    first.start()
    assert looked.wait(60)
    predict(project, "cup", predicted("reach", 0, 60))
    second.start()
    second.join(0.3)
    go.set()
    first.join(60)
    second.join(60)
    assert overview._facts["cup"].predicted


def test_an_upload_takes_the_place_of_a_video_whose_file_is_gone(
    client: Client, project: Project, tmp_path: Path
) -> None:
    content = write_numbered(tmp_path / "new.mp4", 12).read_bytes()
    upload(client, "/api/videos", "new.mp4", content)
    there = project.path / "videos" / "new.mp4"
    there.rename(tmp_path / "away.mp4")
    assert upload(client, "/api/videos", "again.mp4", content).json() == {"videos": ["new"]}
    assert Project.open(project.path).source("new").read_bytes() == content
    assert not there.exists()


def test_a_video_whose_file_is_gone_says_so(client: Client, project: Project) -> None:
    path = project.video("cup").path
    path.rename(path.with_name("away.mp4"))
    fault = client.video("cup")["fault"]
    assert fault.startswith(f"{path}: video cup is no longer there")
    client.app.overview.refresh()
    rows = {one["name"]: one for one in client.get("/api/project").json()["videos"]}
    assert (rows["cup"]["error"], rows["tea"]["error"]) == (fault, None)
    path.with_name("away.mp4").rename(path)
    assert client.video("cup")["fault"] is None


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


def test_two_uploads_of_one_name_at_once_do_not_replace_each_other(
    client: Client, tmp_path: Path
) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"the first"
        await receive(pieces(b"the ", b"second"), tmp_path, "new.mp4", None)
        yield b", and more"

    with pytest.raises(OutputError, match=r"new\.mp4: already exists;.*rename the file"):
        client.wait(receive(slow(), tmp_path, "new.mp4", None))
    assert (tmp_path / "new.mp4").read_bytes() == b"the second"
    assert [path.name for path in tmp_path.glob("*new*")] == ["new.mp4"]


def test_a_disk_that_fails_at_the_end_of_an_upload_leaves_nothing(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_file: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(OutputError, match="cannot be written"):
        client.wait(receive(pieces(b"all"), tmp_path / "videos", "new.mp4", 3))
    assert list((tmp_path / "videos").iterdir()) == []


def test_an_upload_is_brought_to_the_disk_beside_the_loop(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, go, real = threading.Event(), threading.Event(), os.fsync

    def slow(file: int) -> None:
        there.set()
        assert go.wait(60)
        real(file)

    monkeypatch.setattr("os.fsync", slow)
    work = receive(pieces(b"all"), tmp_path / "videos", "new.mp4", 3)
    path = asyncio.run_coroutine_threadsafe(work, client.loop)
    try:
        assert there.wait(60)
        assert client.start("GET", "/api/formats").result(10).status_code == 200
    finally:
        go.set()
    assert path.result(60).read_bytes() == b"all"


def test_an_upload_that_cannot_be_taken_in_leaves_nothing(
    client: Client, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OutputError("cannot be written (the disk is full)", where="videos.json")

    monkeypatch.setattr("uvast.projects.project.write_videos", full)
    content = write_numbered(tmp_path / "new.mp4", 12).read_bytes()
    answer = upload(client, "/api/videos", "new.mp4", content)
    assert "the disk is full" in answer.json()["error"]
    assert not (project.path / "videos" / "new.mp4").exists()


@pytest.mark.parametrize(
    ("name", "status"), [("x.exe", 422), ("", 422), ("../..", 422), (".mp4", 422), ("x.mp4", 422)]
)
def test_what_is_no_video_leaves_nothing(
    client: Client, project: Project, name: str, status: int
) -> None:
    assert upload(client, "/api/videos", name, b"no video").status_code == status
    folder = project.path / "videos"
    assert not folder.exists() or not list(folder.iterdir())


def test_uploads_are_bounded(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvast.web.uploads.LARGEST_VIDEO", 10)
    assert upload(client, "/api/videos", "a.mp4", b"x" * 11).status_code == 413
    monkeypatch.setattr("uvast.web.uploads.SPARE", 2**62)
    full = upload(client, "/api/videos", "a.mp4", b"x")
    assert full.status_code == 507
    assert "the disk is full" in full.json()["error"]


def test_import_is_one_change_that_can_be_undone(client: Client) -> None:
    client.change("cup", click(1.0))
    table = b"video,start,end,label\ncup.mp4,0,2,reach\ncup.mp4,2,3.5,pour\ntea.mp4,1,2,pour\n"
    ask = "/api/import?author=ben&existing=replace"
    answer = upload(client, ask, "labels.csv", table).json()
    assert (answer["videos"], answer["changed"]) == (["cup", "tea"], 2)
    assert [one["label"] for one in client.video("cup")["events"]] == ["reach", "pour"]
    client.post("/api/undo", {"author": "ben"})
    assert [one["kind"] for one in client.video("cup")["events"]] == ["click"]
    bad = upload(client, "/api/import", "labels.csv", b"video,start,end,label\nx,0,2,reach\n")
    assert bad.status_code == 422
    late = upload(client, "/api/import", "x.csv", b"video,start,end,label\ntea,2e9,3e9,reach\n")
    assert late.status_code == 422
    assert "its start should be less than or equal to 1000000000" in late.json()["error"]
    one = upload(
        client, "/api/import?video=tea", "a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nup\n"
    )
    assert one.json()["videos"] == ["tea"]


def test_frames_are_those_of_the_video_that_a_path_means(client: Client) -> None:
    """Label Studio puts eight digits before the name of an uploaded file."""
    result = {"type": "timelinelabels", "value": {
        "ranges": [{"start": 1, "end": 20}], "timelinelabels": ["reach"]}}  # fmt: skip
    task = {"data": {"video": "/data/upload/1/a1b2c3d4-cup.mp4"}, "annotations": [
        {"result": [result]}]}  # fmt: skip
    answer = upload(client, "/api/import", "tasks.json", json.dumps([task]).encode())
    assert answer.json()["videos"] == ["cup"]
    (event,) = client.video("cup")["events"]
    assert (event["start"], event["end"]) == (0, 2)


TABLE = b"video,start,end,label\ncup.mp4,0,2,reach\ntea.mp4,1,2,pour\n"


def test_an_import_refuses_videos_with_labels_unless_it_is_told_what_to_do(client: Client) -> None:
    client.change("cup", segment(3.0, 4.0, "pour"), {"do": "reviewed", "value": True})
    refused = upload(client, "/api/import", "labels.csv", TABLE)
    assert refused.status_code == 409
    assert refused.json()["error"] == (
        "labels.csv: video cup has annotations already; "
        "keep both or replace them, under 'Existing labels'"
    )
    assert client.video("tea")["events"] == []  # all or none
    added = upload(client, "/api/import?existing=add", "labels.csv", TABLE).json()
    assert (added["changed"], added["notes"]) == (2, [])
    cup = client.video("cup")
    assert [one["label"] for one in cup["events"]] == ["reach", "pour"]
    assert cup["reviewed"] is False
    client.post("/api/undo")
    assert client.video("cup")["reviewed"] is True
    upload(client, "/api/import?existing=replace", "labels.csv", TABLE)
    cup = client.video("cup")
    assert ([one["label"] for one in cup["events"]], cup["reviewed"]) == (["reach"], False)
    across = b"video,start,end,label\ncup.mp4,1,3,pour\n"
    overlap = upload(client, "/api/import?existing=add", "labels.csv", across)
    assert overlap.status_code == 422
    assert "or choose one under 'Overlapping labels'" in overlap.json()["error"]
    kept = upload(client, "/api/import?existing=add&overlaps=first", "labels.csv", across).json()
    assert kept["notes"] == ["cup: intervals overlap, the first counts"]
    assert [(one["start"], one["end"]) for one in client.video("cup")["events"]] == [(0, 2), (2, 3)]


def test_what_others_do_while_a_file_is_read_is_not_replaced(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.change("cup", click(1.0))
    read = files.incoming

    def slow(*what: Any, **how: Any) -> Any:
        client.change("cup", click(3.0), author="ann")
        return read(*what, **how)

    monkeypatch.setattr(files, "incoming", slow)
    ask = "/api/import?author=ben&existing=replace"
    refused = upload(client, ask, "labels.csv", TABLE)
    assert refused.status_code == 409
    assert "at 3.00 s was changed by ann in the meantime" in refused.json()["error"]
    assert [one["kind"] for one in client.video("cup")["events"]] == ["click", "click"]
    assert client.video("tea")["events"] == []
    monkeypatch.undo()
    assert upload(client, ask, "labels.csv", TABLE).json()["changed"] == 2


def test_an_import_leaves_videos_alone_that_it_has_no_labels_for(client: Client) -> None:
    client.change("cup", click(1.0))
    found = (VideoAnnotations("cup", ()), VideoAnnotations("tea", (Event("pour", 1.0, 2.0),)))
    content = native.write(found, Target("labels.json")).content
    for existing in ("refuse", "replace"):
        address = f"/api/import?author=ben&existing={existing}"
        answer = upload(client, address, "labels.json", content).json()
        assert (answer["videos"], answer["changed"]) == (["tea"], 1)
        assert answer["notes"] == ["cup: has no annotations to import"]
        assert len(client.video("cup")["events"]) == 1
        client.post("/api/undo", {"author": "ben"})
    content = native.write(found[:1], Target("labels.json")).content
    nothing = upload(client, "/api/import?existing=replace", "labels.json", content)
    assert nothing.status_code == 422
    assert "has no annotations to import" in nothing.json()["error"]


def test_a_table_without_a_header_is_refused_in_the_words_of_the_page(client: Client) -> None:
    refused = upload(client, "/api/import", "labels.csv", b"cup.mp4,0,2,reach\n")
    assert refused.status_code == 422
    assert refused.json()["error"] == (
        "labels.csv: has no row that names its columns; "
        "name them video, start, end, label, or choose another 'Format'"
    )


def test_frames_of_a_file_are_those_of_the_chosen_video(client: Client) -> None:
    lines = b"reach\n" * 20 + b"pour\n" * 40
    ask = "/api/import?format=ms-tcn"
    unknown = upload(client, ask, "session 3.txt", lines)
    assert unknown.status_code == 422
    assert "fill in 'Frames per second'" in unknown.json()["error"]
    assert "--" not in unknown.json()["error"]
    # the name of the file is another video's
    assert upload(client, f"{ask}&video=cup", "session 3.txt", lines).status_code == 200
    found = [(one["start"], one["end"]) for one in client.video("cup")["events"]]
    assert found == [(0.0, 2.0), (2.0, N_FRAMES / RATE)]
    answer = upload(client, f"{ask}&video=cup&existing=replace", "tea.txt", lines).json()
    assert (answer["videos"], answer["notes"]) == (["cup"], [])
    short = upload(client, f"{ask}&video=cup&existing=replace", "cup.txt", lines[:60]).json()
    assert "say it under 'Frames per second'" in short["notes"][0]


@pytest.mark.parametrize("name", ["elan", "boris", "via", "label-studio"])
def test_exports_name_the_file_of_the_video(client: Client, name: str) -> None:
    client.change("cup", segment(0.0, 2.0), segment(2.0, 6.0, "pour"))
    made = client.post("/api/export", {"format": name}).json()
    assert made["name"].startswith("cup.")
    assert "mp4" not in made["name"]
    content = client.get(made["address"]).content
    assert b"cup.mp4" in content
    assert [one for one in made["notes"] if "frame rate" in one or "length" in one] == []
    again = upload(client, "/api/import?existing=replace", made["name"], content)
    assert again.json()["videos"] == ["cup"]


def test_elan_export_is_read_by_pympi(client: Client, tmp_path: Path) -> None:
    client.change("cup", segment(0.0, 2.0), segment(2.0, 3.5, "pour"))
    made = client.post("/api/export", {"format": "elan", "what": "labels"}).json()
    assert made["name"] == "cup.eaf"
    answer = client.get(made["address"])
    assert "cup.eaf" in answer.headers["content-disposition"]
    path = tmp_path / "cup.eaf"
    path.write_bytes(answer.content)
    file = pympi.Elan.Eaf(str(path))
    found = [
        one[:3] for tier in file.get_tier_names() for one in file.get_annotation_data_for_tier(tier)
    ]
    assert sorted(found) == [(0, 2000, "reach"), (2000, 3500, "pour")]


def test_exports_of_several_videos_and_of_predictions(client: Client, project: Project) -> None:
    assert client.post("/api/export", {"format": "elan"}).status_code == 422
    for name in ("cup", "tea"):
        client.change(name, segment(0.0, 2.0))
    made = client.post("/api/export", {"format": "elan"}).json()
    archive = zipfile.ZipFile(io.BytesIO(client.get(made["address"]).content))
    assert archive.namelist() == ["cup.eaf", "tea.eaf"]
    predict(project, "cup", predicted("pour", 0, 60))
    made = client.post("/api/export", {"format": "csv", "what": "predictions"}).json()
    assert b"pour" in client.get(made["address"]).content
    assert client.get("/api/exports/nothing").status_code == 404
    assert {"elan", "csv"} <= {one["name"] for one in client.get("/api/formats").json()}


def test_features_as_a_heat_map(client: Client, project: Project) -> None:
    assert client.get("/api/videos/cup/features").status_code == 404
    ramp = np.arange(N_FRAMES)[:, None] * np.array([1.0, -1.0])
    write_features(project, "cup", ramp)
    found = client.get("/api/videos/cup/features?width=6").json()
    up, down = found["rows"]
    assert up == sorted(up) == down[::-1]
    assert (len(up), up[0], up[-1]) == (6, 0, 255)
    assert (found["start"], found["end"]) == (0.0, pytest.approx(6.0))


def test_another_rate_of_features_counts_at_once(static: Path, tmp_path: Path) -> None:
    (tmp_path / "features").mkdir()
    np.save(tmp_path / "features" / "mouse.npy", np.zeros((100, 8), np.float32))
    settings = tmp_path / "dataset.toml"
    settings.write_text('frames_per_second = 10\nfeature_axis = "time-first"\n')
    with opened(Project.create(tmp_path, [])[0], static) as client:
        assert client.video("mouse")["seconds"] == 10.0
        settings.write_text('frames_per_second = 20\nfeature_axis = "time-first"\n')
        assert client.video("mouse")["seconds"] == 5.0


def test_clicks_tell_what_lies_between_segments(client: Client) -> None:
    client.change(
        "tea",
        {"do": "add", "kind": "segment", "label": "reach", "start": 0.0, "end": 1.0},
        {"do": "add", "kind": "click", "label": "pour", "start": 2.0},
        {"do": "add", "kind": "click", "label": "reach", "start": 3.0},
    )
    assert [(one["label"], one["start"], one["end"]) for one in client.video("tea")["pseudo"]] == [
        ("pour", 1.0, 2.5),
        ("reach", 2.5, 4.0),
    ]


def test_pseudo_segments_follow_the_features(client: Client, project: Project) -> None:
    """The change of the features is at 2.0 s, far from the middle between the clicks."""
    labels = np.arange(N_FRAMES) >= 20
    noise = np.random.default_rng(0).normal(size=(N_FRAMES, 4))
    write_features(project, "cup", 10.0 * labels[:, None] + noise)
    client.change("cup", click(0.5), click(5.5, "pour"))
    deadline = time.monotonic() + 60
    while (video := client.video("cup"))["pseudo_by"] != "features":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert video["pseudo"][0]["end"] == pytest.approx(2.0, abs=0.3)
    client.change("cup", {"do": "move", "id": "e1", "start": 3.0})
    assert client.video("cup")["pseudo"][0]["end"] > 3.0


def test_a_project_without_videos(static: Path, tmp_path: Path) -> None:
    features = tmp_path / "project" / "features"
    features.mkdir(parents=True)
    np.save(features / "walk.npy", np.zeros((4, 30), np.float32))
    (tmp_path / "project" / "dataset.toml").write_text(
        'frames_per_second = 10.0\nfeature_axis = "features-first"\n'
    )
    project = Project.create(tmp_path / "project", [])[0]
    with opened(project, static) as client:
        answer = client.change("walk", click(1.0))
        assert answer.status_code == 200, answer.text
        video = client.video("walk")
        assert (video["has_video"], video["playable"], video["seconds"]) == (False, False, 3.0)
        assert len(client.get("/api/videos/walk/features?width=10").json()["rows"]) == 4
        for address in ("/media/walk", "/frame/walk?index=0", "/times/walk", "/strip/walk"):
            assert client.get(address).status_code == 404


def test_another_program_is_seen_at_once(client: Client, project: Project) -> None:
    client.change("cup", click(1.0))
    client.app.store.save()
    project.write_annotations(VideoAnnotations("cup", (Event("drink", 2.0),)))
    video = client.video("cup")
    assert ([one["label"] for one in video["events"]], video["version"]) == (["drink"], 2)


def test_the_page_and_unknown_addresses(client: Client) -> None:
    assert "uvast" in client.get("/").text
    assert client.get("/static/index.html").status_code == 200
    assert client.get("/static/none.js").status_code == 404
    assert client.get("/api/none").json() == {"error": "not found"}
    assert client.send("PUT", "/api/project", json={}).status_code == 405
