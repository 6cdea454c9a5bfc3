"""Jobs: processes of their own that outlive the server; and what they are told to do."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from web_project import Client, grey, opened, write_features, write_numbered

from uvast.errors import InputError, MissingFileError, OutputError
from uvast.features.extractor import Picture, View
from uvast.features.frames import FrameReader, presentation_times
from uvast.projects import Project
from uvast.web.jobs import Job, Jobs
from uvast.web.plans import JobRequest, make_plan
from uvast.web.playable import MediaKind
from uvast.web.proxies import make_proxy

WAITS = "import time\nprint('begun', flush=True)\ntime.sleep(60)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def until(jobs: Jobs, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, jobs.all
        time.sleep(0.05)
        jobs.step()


def ended(jobs: Jobs, job: Job) -> Job:
    until(jobs, lambda: jobs.job(job.number).is_over)
    return jobs.job(job.number)


def begun(jobs: Jobs, job: Job) -> None:
    until(jobs, lambda: jobs.log(job.number) == ["begun"])


def test_one_job_at_a_time_in_order(tmp_path: Path) -> None:
    told: list[tuple[int, str]] = []
    jobs = Jobs(tmp_path, lambda job: told.append((job.number, job.state)))
    first = jobs.add("extract", python("print('hello')"))
    fails = python("import sys; print('error: no data'); sys.exit(2)")
    second = jobs.add("train", fails)
    assert (jobs.job(1).state, jobs.job(2).state) == ("running", "queued")
    assert jobs.add("train", fails).number == 2  # asked for twice
    assert ended(jobs, first).state == "done"
    failed = ended(jobs, second)
    assert (failed.state, failed.error) == ("failed", "no data")
    assert jobs.log(1) == ["hello"]
    assert told.index((1, "done")) < told.index((2, "running"))
    with pytest.raises(MissingFileError):
        jobs.job(3)


def test_a_full_disk_does_not_start_a_job_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(tmp_path)
    jobs.add("extract", python(WAITS))
    waiting = jobs.add("train", python("print('begun')"))
    jobs.cancel(1)
    writes = []

    def full(path: Path, content: object) -> None:
        writes.append(path)
        raise OutputError("cannot be written", where=path)

    jobs._jobs[1] = replace(jobs.job(1), state="cancelled")  # whether it has ended or not
    monkeypatch.setattr("uvast.web.jobs.write_json", full)
    with pytest.raises(OutputError):
        jobs.step()
    assert len(writes) == 1
    monkeypatch.undo()
    assert ended(jobs, waiting).state == "done"
    assert jobs.log(waiting.number) == ["begun"]


def test_progress_comes_from_the_command(tmp_path: Path) -> None:
    code = (
        "from uvast.files.progress import ProgressFile\n"
        "ProgressFile.wanted().tell('counting', 3, 4, 7.5)"
    )
    jobs = Jobs(tmp_path)
    assert ended(jobs, jobs.add("extract", python(code))).state == "done"
    progress = jobs.progress(1)
    assert (progress.what, progress.share, progress.seconds_left) == ("counting", 0.75, 7.5)


def test_cancel_is_ctrl_c(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    code = (
        "import time\n"
        "print('begun', flush=True)\n"
        "try:\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('in good order')\n"
    )
    job = jobs.add("train", python(code))
    waiting = jobs.add("segment", python("pass"))
    begun(jobs, job)
    jobs.cancel(waiting.number)
    jobs.cancel(job.number)
    assert ended(jobs, job).state == "cancelled"
    assert jobs.log(job.number)[-1] == "in good order"
    assert jobs.job(waiting.number).state == "cancelled"


def test_who_does_not_hear_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvast.web.jobs.SECONDS_TO_END", 0.2)
    jobs = Jobs(tmp_path)
    deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    job = jobs.add("train", python(deaf + WAITS))
    begun(jobs, job)
    jobs.cancel(job.number)
    assert ended(jobs, job).state == "cancelled"


def test_a_job_outlives_the_server(tmp_path: Path) -> None:
    code = (
        "import time, pathlib\n"
        "print('begun', flush=True)\n"
        f"while not pathlib.Path({str(tmp_path / 'go')!r}).exists(): time.sleep(0.05)"
    )
    before = Jobs(tmp_path)
    job = before.add("train", python(code))
    begun(before, job)
    after = Jobs(tmp_path)
    after.step()
    assert after.job(job.number).state == "running"
    (tmp_path / "go").touch()
    assert ended(after, job).state == "done"


def test_a_job_that_died_meanwhile_has_failed(tmp_path: Path) -> None:
    before = Jobs(tmp_path)
    job = before.add("train", python(WAITS))
    begun(before, job)
    process = before.job(job.number).process
    assert process is not None
    os.killpg(process.number, signal.SIGKILL)
    failed = ended(Jobs(tmp_path), job)
    assert failed.state == "failed"
    assert failed.error == "its process was killed; its last words: begun"


def test_another_process_of_the_same_number_is_not_the_job(tmp_path: Path) -> None:
    from dataclasses import replace

    jobs = Jobs(tmp_path)
    job = jobs.add("train", python("pass"))
    assert job.process is not None
    other = replace(job.process, number=os.getpid())
    assert not other.is_alive
    other.stop(kill=True)  # would end this test


def test_features_need_a_video_file(static: Path, tmp_path: Path) -> None:
    with opened(Project.create(tmp_path / "project", [])[0], static) as client:
        answer = client.post("/api/plan", {"kind": "extract"})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("there are no video files to compute features of")


def test_features_leave_out_missing_files(client: Client, project: Project) -> None:
    pot = write_numbered(project.path / "pot.mp4", 30)
    client.app.project.add_videos([pot])
    pot.unlink()
    plan = client.post("/api/plan", {"kind": "extract"}).json()["plan"]
    assert plan == ["Computes features of 2 videos.", "Leaves out missing files: pot."]


def test_plans_and_what_is_missing(client: Client, project: Project) -> None:
    plan = client.post("/api/plan", {"kind": "extract"}).json()["plan"]
    assert plan == ["Computes features of 2 videos."]
    answer = client.post("/api/jobs", {"kind": "train"})
    assert answer.status_code == 422
    assert "no video has both labels and features yet" in answer.json()["error"]
    assert client.post("/api/jobs", {"kind": "segment"}).status_code == 422
    write_features(project, "cup", np.zeros((60, 4)))
    plan = client.post("/api/plan", {"kind": "extract"}).json()["plan"]
    assert plan == ["1 of 2 videos done. Computes features of 1 video."]
    client.change("cup", {"do": "add", "kind": "click", "label": "reach", "start": 1.0})
    wanted = {"kind": "train", "epochs": 3, "device": "cpu"}
    plan = client.post("/api/plan", wanted).json()["plan"]
    assert plan[-2].startswith("This will take ")
    assert plan[-1] == "Goes to a new run folder; earlier models stay."
    assert "1 video with clicks: 60 frames, 1 action of 1 class." in plan
    assert "3 rounds through all videos (epochs), as you asked." in plan
    assert not [one for one in plan if "--" in one]  # options of the command line
    assert "Not labelled yet, and left out: tea." in plan
    full = {"kind": "train", "supervision": "full"}
    assert "no video has segments yet" in client.post("/api/plan", full).json()["error"]
    write_features(project, "tea", np.zeros((40, 4)))
    client.change("tea", {"do": "add", "kind": "segment", "label": "pour", "start": 1, "end": 2})
    own = {"kind": "train", "preset": "demo"}  # a preset has no plan of its own
    both = client.post("/api/plan", {**own, "supervision": "timestamps"}).json()["plan"]
    assert both[0] == "Learns from the clicks of 2 videos."
    plan = client.post("/api/plan", own).json()["plan"]
    assert plan[:2] == [
        "Learns from the segments of 1 video.",
        "1 video with clicks alone stays out.",
    ]
    assert client.post("/api/plan", {"kind": "train", "preset": "--out=/x"}).status_code == 422
    assert client.post("/api/plan", {"kind": "segment", "run": "../../x"}).status_code == 422
    assert client.get("/api/jobs").json() == []


def test_another_job_of_the_kind_is_queued_and_the_same_one_is_not(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.app.jobs, "step", lambda: None)  # all wait
    write_features(project, "cup", np.zeros((60, 4)))
    client.change("cup", {"do": "add", "kind": "click", "label": "reach", "start": 1.0})
    train = {"kind": "train", "preset": "demo"}
    wanted = [train, {**train, "epochs": 3}, train, {"kind": "extract"}]
    wanted += [{"kind": "extract", "extractor": "pixels"}, {**train, "epochs": 3}]
    answers = [client.post("/api/jobs", one).json() for one in wanted]
    assert [one["number"] for one in answers] == [1, 2, 1, 3, 4, 2]
    assert [client.app.jobs.job(number).output for number in (1, 2)] == ["runs/1", "runs/2"]
    assert "--epochs=3" in client.app.jobs.job(2).command
    jobs = Jobs(project.path / "app" / "jobs")  # after a restart
    plan = make_plan(client.app, JobRequest("train", preset="demo"))
    same = jobs.open("train", plan.command)
    assert same is not None
    assert same.number == 1


def test_a_proxy_has_the_same_frames_at_the_same_times(tmp_path: Path) -> None:
    import av

    video = tmp_path / "old.avi"
    with av.open(str(video), "w") as file:
        stream = file.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(30):
            picture = np.full((48, 64, 3), grey(7 * number), np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode())
    told: list[float] = []
    proxy = tmp_path / "proxy.mp4"
    make_proxy(video, proxy, told.append)
    assert presentation_times(proxy) == pytest.approx(presentation_times(video), abs=1e-3)
    shown = [one.picture.mean() for one in FrameReader(proxy, [View(Picture(48, 64), None)])]
    assert shown == pytest.approx([grey(7 * number) for number in range(30)], abs=6)
    assert told[0] == 0.0


def test_a_proxy_is_made_by_a_job_and_then_played(client: Client, project: Project) -> None:
    answer = client.post("/api/jobs", {"kind": "proxy", "video": "tea"}).json()
    assert answer["plan"] == [
        "Makes a copy of tea that browsers play; the original stays as it is."
    ]
    job = ended(client.app.jobs, client.app.jobs.job(answer["number"]))
    assert job.error is None
    view = client.get(f"/api/jobs/{job.number}").json()
    assert (view["state"], view["progress"], view["curves"]) == ("done", 1.0, {})
    assert client.video("tea")["media"].endswith("p")
    assert client.get("/media/tea").content != project.video("tea").path.read_bytes()
    with pytest.raises(InputError):
        make_plan(client.app, JobRequest("proxy"))


@pytest.mark.parametrize(
    ("kind", "plays"),
    [
        (MediaKind(("mov", "mp4"), "h264", "yuv420p"), True),
        (MediaKind(("mov", "mp4"), "h264", "yuv422p"), False),
        (MediaKind(("mov", "mp4"), "hevc", "yuv420p"), False),
        (MediaKind(("mov", "mp4"), "mpeg4", "yuv420p"), False),
        (MediaKind(("webm",), "vp9", "yuv420p"), True),
        (MediaKind(("webm",), "libdav1d", "yuv420p"), True),
        (MediaKind(("matroska",), "h264", "yuv420p"), False),
        (MediaKind(("avi",), "h264", "yuv420p"), False),
    ],
    ids=str,
)
def test_what_browsers_play(kind: MediaKind, plays: bool) -> None:
    assert kind.is_playable == plays
