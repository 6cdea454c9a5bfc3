"""More of what a person does with the page: files, fingers, classes, playing, reviews, restarts."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from safetensors.numpy import save_file
from web_page import (
    PHONE,
    RATE,
    READY,
    SCENE,
    Held,
    Opener,
    Served,
    add_classes,
    add_events,
    clicks,
    copied,
    even,
    lane,
    place,
    player,
    predict,
    saved,
    segments,
    served,
    until,
    write_binary,
)

from uvast.projects import Project

DROP = """({name, content}) => {
  const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name, {type: 'video/mp4'}));
  const options = {dataTransfer: data, bubbles: true, cancelable: true};
  const target = document.querySelector('header');
  target.dispatchEvent(new DragEvent('dragover', options));
  const waits = document.body.classList.contains('drop');
  target.dispatchEvent(new DragEvent('drop', options));
  return waits;
}"""
PINCH = """({from, to}) => {
  const stage = document.querySelector('.timeline-stage');
  stage.setPointerCapture = () => {};
  const box = stage.getBoundingClientRect();
  const send = (name, places) => places.forEach((share, i) => stage.dispatchEvent(
    new PointerEvent(name, {
      pointerId: 7 + i, pointerType: 'touch', button: 0, bubbles: true,
      clientX: box.left + share * box.width, clientY: box.top + 5,
    }),
  ));
  send('pointerdown', from);
  send('pointermove', to);
  send('pointerup', to);
}"""
TOO_SMALL = """() => [...document.querySelectorAll('button, select, input, a.button, nav a, label')]
  .filter((one) => one.checkVisibility() && !(one.matches('input') && one.closest('label')))
  .filter((one) => one.getBoundingClientRect().height < 39.5)
  .map((one) => `${one.textContent || one.ariaLabel}: ${one.getBoundingClientRect().height}`)"""
"""What is too small for a finger; the label of a field counts, not the field."""
SPAN = f"[{SCENE}.view.start, {SCENE}.view.end]"


@pytest.mark.usefixtures("refusals")
def test_videos_are_added_by_a_drop(opened: Opener, app: Served, tmp_path: Path) -> None:
    write_binary(tmp_path / "new clip.mp4", even(30))
    content = base64.b64encode((tmp_path / "new clip.mp4").read_bytes()).decode()
    page = opened("videos")
    expect(page.locator(".guide [aria-current]")).to_have_text("Clicks")
    assert page.evaluate(DROP, {"name": "new clip.mp4", "content": content})
    expect(page.locator(".video-card", has_text="new clip")).to_be_visible()
    assert app.app.project.video("new clip").n_frames == 30
    page.evaluate(DROP, {"name": "notes.mp4", "content": base64.b64encode(b"no video").decode()})
    sentence = page.locator(".uploads span.fault")
    expect(sentence).to_have_text(re.compile(r"^notes\.mp4: cannot be read as a video \("))
    assert len(app.app.project.names) == 4
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".uploads .fault")).to_have_count(0)


def test_an_upload_goes_on_in_other_views_and_keeps_the_tab(
    opened: Opener, app: Served, tmp_path: Path
) -> None:
    page = opened("videos")
    page.locator("h1").first.click()  # browsers ask only who has done something
    upload = Held(page, "**/api/videos")
    for n_frames, name in ((30, "one.mp4"), (31, "two.mp4")):
        write_binary(tmp_path / name, even(n_frames))
        content = base64.b64encode((tmp_path / name).read_bytes()).decode()
        page.evaluate(DROP, {"name": name, "content": content})
    upload.wait()
    page.evaluate("location.hash = '#/jobs'")
    expect(page.locator(".jobs")).to_be_visible()
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    progress = page.locator(".uploads .notice")
    expect(progress).to_contain_text("Adding one.mp4")
    assert asked == ["beforeunload"]
    upload.let_go()
    expect(progress).to_contain_text("Adding two.mp4 (2 of 2)")
    expect(progress).to_be_hidden()
    assert {"one", "two"} <= set(app.app.project.names)


@pytest.mark.usefixtures("refusals")
def test_a_drop_counts_in_every_view_but_not_beside_a_dialog(
    opened: Opener, app: Served, tmp_path: Path
) -> None:
    page = opened("annotate/even")
    nothing = base64.b64encode(b"no video").decode()
    page.keyboard.press("?")
    assert not page.evaluate(DROP, {"name": "beside.mp4", "content": nothing})
    page.keyboard.press("Escape")
    assert page.evaluate(DROP, {"name": "notes.mp4", "content": nothing})
    expect(page.locator(".uploads .fault")).to_contain_text("notes.mp4")
    assert "beside" not in page.locator(".uploads").inner_text()
    assert page.url.endswith("#/annotate/even")


SLOW_CHANGES = """() => {
  const send = window.fetch;
  window.fetch = async (address, options) => {
    if (address.endsWith("/changes")) await new Promise((done) => setTimeout(done, 200));
    return send(address, options);
  };
}"""


def test_next_goes_by_the_clicks_that_were_just_made(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    page.evaluate(SLOW_CHANGES)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.rpartition("/")[2].partition("?")[0]))
    seen = []
    for _ in range(3):  # faster than the server looks for what is new
        until(page, f"{READY} && {SCENE}.scene.clicks.length == 0")
        seen.append(page.locator(".bar h1").text_content())
        for key in "12":
            page.keyboard.press("ArrowRight")
            page.keyboard.press(key)
        page.keyboard.press("n")
        expect(page.locator(".bar h1")).not_to_have_text(seen[-1])
    assert sorted(seen) == ["even", "old", "uneven"]
    assert [len(clicks(app, name)) for name in seen] == [2, 2, 2]
    asked = [one for one in asked if one in ("changes", "next")]
    assert asked == ["changes", "changes", "next"] * 3


def test_a_proposal_that_is_declined_does_not_come_again(app: Served, opened: Opener) -> None:
    predict(app, ("reach", 0, 30), ("pour", 30, 80))
    page = opened("annotate/even")
    page.keyboard.press("n")
    until(page, f"{SCENE}.head.seconds > 0")
    expect(page.locator(".inspector")).to_contain_text("What happens here?")
    page.keyboard.press("n")
    expect(page.locator(".bar h1")).not_to_have_text("even")


def test_space_plays_after_a_dialog_that_a_key_opened(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").press("Enter")
    page.get_by_role("button", name="Rename").press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Rename")).to_be_focused()  # of the dialog below
    page.keyboard.press("Escape")
    expect(page.get_by_role("slider", name="Timeline")).to_be_focused()
    page.keyboard.press("Space")
    until(page, f"{SCENE}.head.seconds > 0.2")
    expect(page.locator("dialog")).to_have_count(0)


def test_a_dialog_has_the_keyboard_and_not_its_closing_button(opened: Opener) -> None:
    page = opened("annotate/even")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Close")).to_be_focused()


# both keys before the browser has time for anything else
ENTER_AND_ONE = """async () => {
  document.querySelector("dialog form").requestSubmit();
  for (let i = 0; i < 20; i++) await null;
  const key = {key: "1", code: "Digit1", bubbles: true, cancelable: true};
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", key));
}"""


def test_a_key_after_going_to_a_time_counts_there(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    frames = list(range(10, 90, 10))
    for frame in frames:
        page.keyboard.press("g")
        page.keyboard.type(f"#{frame}")
        page.evaluate(ENTER_AND_ONE)
    saved(page)
    assert [round(start * RATE) for _, start in clicks(app)] == frames


def test_a_job_that_somebody_else_starts_is_followed(app: Served, opened: Opener) -> None:
    def start(kind: Literal["extract", "segment"], code: str) -> int:
        return app.app.jobs.add(kind, (sys.executable, "-c", code), plan=(f"Does {kind}.",)).number

    start("extract", "")
    page = opened("jobs")
    expect(page.locator(".state.done")).to_be_visible(timeout=20_000)  # a process, every second
    shown = page.locator(".details")
    expect(shown).to_have_text("Does extract.")
    number = start("segment", "import time; time.sleep(60)")
    try:
        expect(page.locator(".state.running")).to_be_visible()
        expect(shown).to_have_text("Does segment.")
        page.locator(".job-head", has_text="Features").click()
        expect(shown).to_have_text("Does extract.")
        page.wait_for_timeout(1500)  # news of the other one come
        expect(shown).to_have_text("Does extract.")
    finally:
        app.app.jobs.cancel(number)


def test_a_job_that_ends_before_the_page_hears_news_is_done(
    app: Served, opened: Opener, tmp_path: Path
) -> None:
    page = opened("jobs")
    stop = tmp_path / "stop"
    code = f"import pathlib, time\nwhile not pathlib.Path({str(stop)!r}).exists(): time.sleep(0.1)"
    number = app.app.jobs.add("extract", (sys.executable, "-c", code)).number
    expect(page.locator(".state.running")).to_be_visible()
    news = Held(page, "**/api/events")
    page.reload()
    expect(page.locator(".state.running")).to_be_visible()
    stop.touch()
    while not app.app.jobs.job(number).is_over:
        page.wait_for_timeout(100)
    expect(page.locator(".state.running")).to_be_visible()
    news.let_go()
    expect(page.locator(".state.done")).to_be_visible()


def test_keys_belong_to_the_view_that_a_link_opened(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("videos")
    page.get_by_role("link", name="Annotate").click()
    until(page, READY)
    page.keyboard.press(" ")
    until(page, f"{SCENE}.head.seconds > 0")


def test_ctrl_wheel_and_two_fingers_zoom_where_they_are(app: Served, opened: Opener) -> None:
    page = opened("annotate/even")
    x, y = place(page, 6.0, "clicks")
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    until(page, f"{SCENE}.view.start > 0")
    start, end = page.evaluate(SPAN)
    assert end - start == pytest.approx(8 / np.e, rel=0.02)
    assert place(page, 6.0, "clicks")[0] == pytest.approx(x, abs=1)
    page.keyboard.press("Alt+0")
    page.evaluate(PINCH, {"from": [0.4, 0.6], "to": [0.3, 0.7]})
    start, end = page.evaluate(SPAN)
    assert (start, end) == (pytest.approx(2.0, abs=0.1), pytest.approx(6.0, abs=0.1))
    assert clicks(app) == []


def test_classes_are_renamed_merged_and_given_keys(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour", "cut")
    add_events(app, ("reach", 1.0, None), ("pour", 2.0, None), ("cut", 3.0, None))
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").click()
    row = page.locator(".class-row")
    row.filter(has_text="reach").get_by_role("button", name="Rename").click()
    page.keyboard.type("grasp")
    page.keyboard.press("Enter")
    expect(row.filter(has_text="grasp")).to_be_visible()
    row.filter(has_text="cut").get_by_role("button", name="Merge").click()
    page.get_by_label("Class that stays").select_option("grasp")
    page.get_by_role("dialog", name="Merge cut").get_by_role("button", name="Merge").click()
    expect(row).to_have_count(2)
    key = page.get_by_label("Key of pour")
    key.fill("b")
    key.press("Enter")
    expect(page.locator(".note.bad")).to_contain_text("Split the segment here")
    key.fill("x")
    key.press("Enter")
    saved(page)  # each answer builds the rows anew
    expect(key).to_have_value("x")
    page.get_by_label("Colour of pour").fill("#112233")
    saved(page)
    page.locator(".class-row", has_text="pour").get_by_label("background").check()
    page.keyboard.press("Escape")
    saved(page)
    until(page, f"{SCENE}.scene.classOf('pour').colour == '#112233'")
    assert {one.name: (one.key, one.background) for one in app.app.store.classes}["pour"] == (
        "x",
        True,
    )
    assert clicks(app) == [("grasp", 1.0), ("pour", 2.0), ("grasp", 3.0)]
    page.keyboard.press("x")
    saved(page)
    assert clicks(app)[0] == ("pour", 0.0)


def test_shuttles_with_j_k_l_and_loops_a_segment(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    add_events(app, ("reach", 5.0, 7.0))
    page = opened("annotate/even")
    speed = page.locator(".controls select")
    page.keyboard.press("l")
    page.keyboard.press("l")
    expect(speed).to_have_value("2")
    until(page, f"{SCENE}.head.seconds > 1")
    page.keyboard.press("j")
    expect(speed).to_have_value("1")
    there = player(page, "head.seconds")
    until(page, f"{SCENE}.head.seconds < {there} - 0.2")
    page.keyboard.press("k")
    still = player(page, "head.seconds")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("o")
    seen = set()
    for _ in range(3):  # to the end of the stretch, and back to its begin
        until(page, f"{SCENE}.head.seconds > 6.2")
        until(page, f"{SCENE}.head.seconds < 6")
        seen.add(player(page, "head.seconds"))
    assert still < 5 <= min(seen)
    page.keyboard.press("Escape")
    until(page, f"{SCENE}.head.seconds > 7.2")


def test_edits_wait_for_a_server_that_comes_back(
    source: Project, tmp_path: Path, browser: Browser
) -> None:
    project = copied(source, tmp_path / "mine")
    context = browser.new_context()
    page = context.new_page()
    with served(project) as first:
        add_classes(first, "reach", "pour")
        page.goto(first.app.door.link)
        page.goto(f"{first.app.door.address}/#/annotate/even")
        until(page, READY)
        page.keyboard.press("1")
        saved(page)
    expect(page.locator(".trouble")).to_contain_text("is not responding")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    expect(page.locator(".trouble")).to_contain_text("1 change is not saved yet")
    with served(Project.open(project.path), first.app.door.port) as second:
        page.get_by_role("button", name="Try again").click()
        expect(page.locator(".trouble")).to_contain_text("was restarted")
        context.new_page().goto(second.app.door.link)  # as its terminal says
        saved(page)
        expect(page.locator(".trouble")).to_be_hidden()
        assert clicks(second) == [("reach", 0.0), ("pour", 1.0)]
        page.keyboard.press("Control+z")
        until(page, f"{SCENE}.scene.clicks.length == 1")
    context.close()


def test_who_edits_nothing_is_told_of_a_restart_too(
    source: Project, tmp_path: Path, browser: Browser
) -> None:
    project = copied(source, tmp_path / "mine")
    context = browser.new_context()
    page = context.new_page()
    with served(project) as first:
        page.goto(first.app.door.link)
        expect(page.locator(".video-card")).to_have_count(3)
    expect(page.locator(".trouble")).to_contain_text("is not responding")
    with served(Project.open(project.path), first.app.door.port) as second:
        expect(page.locator(".trouble")).to_contain_text("open the address that its terminal shows")
        context.new_page().goto(second.app.door.link)
        expect(page.locator(".trouble")).to_be_hidden()
    expect(page.locator(".trouble")).to_contain_text("is not responding")
    context.close()


def test_another_project_on_the_same_port_shows_its_own_pictures(
    tmp_path: Path, browser: Browser
) -> None:
    context = browser.new_context()
    page = context.new_page()
    port = 0
    for folder, n_frames in (("first", 100), ("second", 50)):
        source = tmp_path / folder / "source"
        source.mkdir(parents=True)
        write_binary(source / "clip.mp4", even(n_frames))
        project = Project.create(tmp_path / folder / "project", [source])[0]
        mark = project.video("clip").fingerprint[:16]
        with served(project, port) as app:
            port = app.app.door.port
            page.goto("about:blank")
            with page.expect_request(re.compile(f"/frame/clip.*v={mark}")):
                page.goto(app.app.door.link)
            with page.expect_request(re.compile(f"/strip/clip.*v={mark}")):
                page.goto(f"{app.app.door.address}/#/annotate/clip")
            until(page, f"{SCENE}?.seconds > 0")
            page.keyboard.press("End")
            expect(page.locator(".controls .time")).to_have_text(re.compile(rf" · {n_frames - 1}$"))
    context.close()


@pytest.mark.usefixtures("refusals")
def test_an_import_asks_what_becomes_of_labels(app: Served, opened: Opener, tmp_path: Path) -> None:
    add_events(app, ("reach", 5.0, 6.0))
    labels = tmp_path / "even.txt"
    labels.write_text("0.5\t2.0\tpour\n")
    page = opened("videos")
    page.get_by_role("button", name="Import labels").click()
    page.get_by_label("Annotation file").set_input_files(labels)
    page.get_by_label("Format").select_option("audacity")
    send = page.get_by_role("button", name="Import", exact=True)
    send.click()
    expect(page.locator("dialog .fault")).to_contain_text("even has annotations already")
    assert segments(app) == [("reach", 5.0, 6.0)]
    page.get_by_label("Existing labels").select_option("add")
    send.click()
    expect(page.locator(".note")).to_contain_text("undo takes it back")
    assert segments(app) == [("pour", 0.5, 2.0), ("reach", 5.0, 6.0)]


def test_undo_takes_back_an_import_and_an_accepted_prediction(
    app: Served, opened: Opener, tmp_path: Path
) -> None:
    add_classes(app, "reach", "pour")
    labels = tmp_path / "even.txt"
    labels.write_text("0.5\t2.0\treach\n2.0\t3.5\tpour\n")
    predict(app, ("reach", 0, 30), ("pour", 30, 80))
    page = opened("videos")
    page.get_by_role("button", name="Import labels").click()
    page.get_by_label("Annotation file").set_input_files(labels)
    page.get_by_label("Format").select_option("audacity")
    page.get_by_label("Video", exact=True).select_option("even")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".note")).to_contain_text("undo takes it back")
    imported = [("reach", 0.5, 2.0), ("pour", 2.0, 3.5)]
    assert segments(app) == imported
    page.goto(f"{app.app.door.address}/#/annotate/even")
    until(page, f"{SCENE}?.scene.labels.items.length == 2")
    page.get_by_role("button", name="Accept all of the model's segments").click()
    until(page, f"{SCENE}.scene.labels.items.at(-1).end == 8")
    saved(page)
    assert segments(app) == [("reach", 0.0, 3.0), ("pour", 3.0, 8.0)]
    page.keyboard.press("Control+z")
    until(page, f"{SCENE}.scene.labels.items.at(-1)?.end == 3.5")
    saved(page)
    assert lane(page, "labels") == imported == segments(app)
    page.keyboard.press("Control+z")
    until(page, f"{SCENE}.scene.labels.items.length == 0")
    saved(page)
    assert segments(app) == []


def test_the_report_of_a_model_is_shown_in_a_frame(
    source: Project, tmp_path: Path, browser: Browser
) -> None:
    project = copied(source, tmp_path / "mine")
    leave_report(project.path)
    with served(project) as app, browser.new_page() as page:
        page.goto(app.app.door.link)
        page.goto(f"{app.app.door.address}/#/jobs")
        page.locator(".run").get_by_role("button", name="Report").click()
        frame = page.frame_locator("dialog iframe")
        expect(frame.locator("h1")).to_have_text("How it did: well")  # its script runs
        assert frame.locator("p").text_content() == "alone"  # and reaches nothing of the page
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)


def leave_report(project: Path) -> None:
    """What an earlier day left: a finished run, a job that is done, its page."""
    run = project / "runs" / "1"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    save_file({"x": np.zeros(1)}, run / "last.safetensors", {"progress": '{"finished": true}'})
    folder = project / "app" / "jobs" / "1"
    folder.mkdir(parents=True)
    job = {"number": 1, "kind": "report", "command": ["report"], "state": "done", "output": "1"}
    (folder / "job.json").write_text(json.dumps(job))
    pages = project / "app" / "cache" / "reports"
    pages.mkdir(parents=True)
    (pages / "1.html").write_text(
        """<!doctype html><h1>How it did</h1><p></p><script>
        document.querySelector("h1").append(": well");
        try { parent.document.title; } catch { document.querySelector("p").append("alone"); }
        </script>"""
    )


def test_keys_are_told_in_a_narrow_window_but_not_on_a_phone(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    key = ".class-list kbd"
    expect(opened("annotate/even", (720, 800)).locator(key)).to_be_visible()
    expect(opened("annotate/even", PHONE).locator(key)).to_be_hidden()


def test_fits_a_finger_on_a_phone(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour", "a class with a rather long name")
    page = opened("annotate/even", PHONE)
    page.locator(".class-list [data-label=reach]").tap()
    saved(page)
    assert clicks(app) == [("reach", 0.0)]
    for view in ("annotate/even", "videos", "jobs"):
        page.goto(f"{app.app.door.address}/#/{view}")
        expect(page.locator("main button").first).to_be_visible()
        assert page.evaluate(TOO_SMALL) == []
    page.goto(f"{app.app.door.address}/#/annotate/even")
    page.get_by_role("button", name="Add and edit classes").tap()
    assert page.evaluate(TOO_SMALL) == []
