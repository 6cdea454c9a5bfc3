"""What once went wrong on the page: drags, slow videos, corrections that were lost, ends."""

from __future__ import annotations

import sys

import pytest
from playwright.sync_api import Page, Route, expect
from web_page import (
    PHONE,
    READY,
    SCENE,
    Held,
    Opener,
    Served,
    add_classes,
    add_events,
    clicks,
    lane,
    place,
    player,
    predict,
    saved,
    segments,
    uneven,
    until,
)


def drag(page: Page, name: str, *moments: float) -> None:
    """Presses at the first moment of a lane and lets go at the last."""
    page.mouse.move(*place(page, moments[0], name))
    page.mouse.down()
    for seconds in moments[1:]:
        page.mouse.move(*place(page, seconds, name), steps=4)
    page.mouse.up()


def test_a_segment_lands_where_it_is_dragged_to(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    add_events(app, ("reach", 2.0, 4.0))
    page = opened("annotate/even")
    drag(page, "labels", 3.0, 5.0)
    saved(page)
    [(_, start, end)] = segments(app)
    assert (start, end) == (pytest.approx(4.0, abs=0.05), pytest.approx(6.0, abs=0.05))
    drag(page, "labels", 5.0, 7.9)  # past the end
    saved(page)
    assert segments(app) == [("reach", pytest.approx(6.0), pytest.approx(8.0))]


def test_the_last_frame_can_be_labelled(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    until(page, READY)
    page.keyboard.press("Alt+s")
    page.keyboard.press("End")
    page.keyboard.press("1")
    page.keyboard.press("1")
    saved(page)
    assert segments(app) == [("reach", 7.96, 8.0)]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Delete")
    until(page, f"{SCENE}.scene.labels.items.length == 0")
    add_events(app, ("reach", 6.0, 7.0))
    until(page, f"{SCENE}.scene.labels.items.length == 1")
    drag(page, "labels", 7.0, 8.0)
    saved(page)
    assert segments(app) == [("reach", 6.0, 8.0)]
    page.keyboard.press("]")
    page.keyboard.press("o")  # up to the end, again and again
    for _ in range(2):
        until(page, f"{SCENE}.head.seconds > 7.5")
        until(page, f"{SCENE}.head.seconds < 7 && {SCENE}.head.seconds >= 6")
    assert segments(app) == [("reach", 6.0, 8.0)]


def test_a_corrected_suggestion_is_kept_when_the_mouse_is_pressed(
    app: Served, opened: Opener
) -> None:
    add_classes(app, "reach", "pour")
    predict(app, ("reach", 0, 30), ("pour", 30, 80))
    page = opened("annotate/even")
    until(page, f"{SCENE}.scene.prediction.items.length == 2")
    page.mouse.click(*place(page, 2.0, "prediction"))
    page.keyboard.press("Shift+Digit2")
    drag(page, "prediction", 2.98, 4.0)
    page.mouse.click(*place(page, 1.0, "prediction"))
    page.mouse.click(*place(page, 7.0, "clicks"))
    page.keyboard.press("Enter")
    saved(page)
    assert segments(app) == [("pour", 0.0, pytest.approx(4.0, abs=0.05))]


def test_a_class_chosen_by_mouse_leaves_the_keyboard_to_the_player(
    app: Served, opened: Opener
) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    changes = Held(page, "**/changes")
    page.keyboard.press("1")
    changes.wait()
    choice = page.get_by_label("Class of what is selected")
    choice.click()
    changes.let_go()
    saved(page)  # which the panel shows only when nobody is about to choose
    choice.select_option("pour")
    expect(page.locator(".inspector select")).to_have_value("pour")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("1")
    saved(page)
    assert clicks(app) == [("pour", 0.0), ("reach", 1.0)]


CUT_OFF = """() => {
  const video = document.querySelector('video');
  Object.defineProperty(video, 'error', {value: {code: MediaError.MEDIA_ERR_NETWORK}});
  video.dispatchEvent(new Event('error'));
}"""


def test_a_video_that_is_cut_off_comes_back_at_the_same_frame(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    until(page, READY)
    for key in ("ArrowRight", "ArrowRight", ">"):
        page.keyboard.press(key)
    until(page, f"{SCENE}.head.seconds == 2")
    page.evaluate(CUT_OFF)
    expect(page.locator(".screen-note")).to_contain_text("until the app responds again")
    page.keyboard.press(".")
    until(page, f"{SCENE}.head.seconds == 2.04")
    expect(page.locator(".controls select")).to_have_value("2")
    page.keyboard.press("1")
    saved(page)
    until(page, f"document.querySelector('video')?.readyState >= 2 && {READY}")
    assert (player(page, "head.seconds"), clicks(app)) == (2.04, [("reach", 2.04)])


@pytest.mark.usefixtures("refusals")
def test_frames_that_are_not_the_exact_ones_are_told(app: Served, opened: Opener) -> None:
    page = opened("videos")
    page.route("**/times/**", lambda route: route.fulfill(status=500, json={"error": "a fault"}))
    page.goto(f"{app.app.door.address}/#/annotate/even")
    told = "Frames are counted at an even rate until you reload the page: a fault"
    expect(page.locator(".note")).to_have_text(told)
    until(page, f"{SCENE}?.seconds > 0")


def test_segments_stay_the_choice_in_the_next_video(app: Served, opened: Opener) -> None:
    page = opened("annotate/even")
    page.get_by_role("radio", name="Segments").click()
    page.goto(f"{app.app.door.address}/#/annotate/uneven")
    expect(page.get_by_role("radio", name="Segments")).to_have_attribute("aria-checked", "true")


SLOW_VIDEO = """(name) => {
  const send = window.fetch;
  window.fetch = async (address, options) => {
    const isFirst = !window.letIn && address.includes(`videos/${name}`);
    if (isFirst) await new Promise((done) => (window.letIn = done));
    return send(address, options);
  };
}"""


def test_keys_while_a_video_opens_change_none(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    predict(app, ("reach", 0, 40), ("pour", 40, 80))
    predict(app, ("reach", 0, 55), video="uneven")
    page = opened("review")
    until(page, f"{SCENE}?.scene.prediction.items.length == 2 && {READY}")
    page.evaluate(SLOW_VIDEO, "uneven")
    page.locator(".queue button", has_text="uneven").click()
    until(page, "Boolean(window.letIn)")
    for key in ("2", "Enter", "]"):
        page.keyboard.press(key)
    page.evaluate("letIn()")
    until(page, f"{SCENE}.scene.prediction.items.length == 1 && {SCENE}.seconds < 7")
    assert segments(app) == [] == segments(app, "uneven")
    expect(page.locator(".inspector select")).to_have_value("reach")
    page.keyboard.press("End")  # the frames are those of this video
    until(page, f"Math.abs({SCENE}.head.seconds - {uneven(90)[-1]}) < 1e-3")
    page.keyboard.press("Enter")
    saved(page)
    assert [one[0] for one in segments(app, "uneven")] == ["reach"]
    assert segments(app) == []


def test_review_ticks_what_is_labelled_and_no_more_when_undone(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    predict(app, ("reach", 0, 20), ("pour", 20, 40), ("reach", 40, 80))
    page = opened("review")
    until(page, f"{SCENE}?.scene.prediction.items.length == 3 && {READY}")
    done = page.locator(".queue .count", has_text="✓")
    page.mouse.click(*place(page, 3.0, "prediction"))  # not the one that the queue shows
    page.keyboard.press("Enter")
    expect(done).to_have_count(1)
    expect(page.locator(".queue button").nth(1)).to_contain_text("✓")
    expect(page.locator(".inspector select")).to_have_value("reach")
    saved(page)
    page.keyboard.press("Control+z")
    expect(done).to_have_count(0)
    for _ in range(3):
        page.keyboard.press("Enter")
    expect(done).to_have_count(3)
    expect(page.locator(".note", has_text="the last one")).to_be_visible()
    assert [one[0] for one in lane(page, "labels")] == ["reach", "pour", "reach"]


def test_the_menu_of_classes_has_its_keys_and_keeps_them(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    add_events(app, ("reach", 1.0, None))
    page = opened("annotate/even")
    menu = page.get_by_role("menu")

    def open_menu() -> None:
        page.mouse.click(*place(page, 1.0, "clicks"), button="right")
        expect(menu).to_be_visible()

    open_menu()
    for key in ("Delete", "x", "Control+z"):
        page.keyboard.press(key)
    page.keyboard.press("2")
    expect(menu).to_have_count(0)
    until(page, f"{SCENE}.scene.clicks[0].label == 'pour'")
    saved(page)
    open_menu()
    page.keyboard.press("Tab")
    expect(menu).to_have_count(0)
    open_menu()
    page.evaluate("location.hash = '#/videos'")
    expect(page.locator(".videos")).to_be_visible()
    expect(menu).to_have_count(0)
    assert clicks(app) == [("pour", 1.0)]


def test_a_dialog_closes_by_a_press_beside_it_alone(opened: Opener) -> None:
    page = opened("annotate/even")
    page.keyboard.press("g")
    box = page.get_by_role("dialog")
    edges = box.bounding_box()
    field = page.get_by_label("Time, #frame").bounding_box()
    assert edges is not None
    assert field is not None
    page.mouse.click(edges["x"] + 3, edges["y"] + 3)  # its padding
    page.mouse.move(field["x"] + 20, field["y"] + 5)
    page.mouse.down()
    page.mouse.move(5, 5)  # what is selected ends beside it
    page.mouse.up()
    expect(box).to_be_visible()
    page.mouse.click(5, 5)
    expect(box).to_have_count(0)


def test_news_leave_the_table_of_classes_to_who_types_in_it(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").click()
    key = page.get_by_label("Key of pour")
    key.fill("x")
    add_events(app, ("reach", 1.0, None), ("pour", 2.0, None))
    until(page, f"{SCENE}.scene.clicks.length == 2")
    page.wait_for_timeout(600)  # news of the project come a little later
    expect(key).to_be_focused()
    expect(key).to_have_value("x")
    background = page.get_by_label("pour is background")
    background.press("Space")
    until(page, "document.querySelector('[aria-label=\"pour is background\"]').checked")
    expect(background).to_be_focused()


def test_news_wait_for_who_presses_or_types(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").click()
    background = page.get_by_label("pour is background")
    background.focus()
    page.keyboard.down("Space")
    add_classes(app, "wipe")  # while the key is down, somebody adds a class
    until(page, "document.querySelectorAll('.class-list button').length == 3")
    page.keyboard.up("Space")
    until(page, "document.querySelector('[aria-label=\"pour is background\"]').checked")
    expect(page.get_by_label("Key of wipe")).to_be_visible()
    background.hover()
    page.mouse.down()
    add_classes(app, "cut")
    until(page, "document.querySelectorAll('.class-list button').length == 4")
    page.mouse.up()
    until(page, "!document.querySelector('[aria-label=\"pour is background\"]').checked")
    key = page.get_by_label("Key of pour")
    key.fill("x")
    add_classes(app, "stir")
    until(page, "document.querySelectorAll('.class-list button').length == 5")
    expect(key).to_have_value("x")
    key.press("Enter")
    expect(page.get_by_label("Key of stir")).to_be_visible()
    expect(key).to_have_value("x")
    expect(page.locator(".class-list button", has_text="pour").locator("kbd")).to_have_text("X")


def test_the_log_of_a_job_grows_in_place(app: Served, opened: Opener) -> None:
    code = "import time\nfor i in range(90): print('step', i, flush=True); time.sleep(0.5)"
    number = app.app.jobs.add("segment", (sys.executable, "-c", code), plan=("Does it.",)).number
    try:
        page = opened("jobs")
        page.locator("summary").click()
        log = page.locator(".details pre")
        expect(log).to_contain_text("step 1")
        page.evaluate("window.before = document.querySelectorAll('.job, .job *')")
        expect(log).to_contain_text("step 5")
        same = "[...document.querySelectorAll('.job pre, .job progress, .job-head')]"
        assert page.evaluate(f"{same}.every((one) => [...before].includes(one))")
        expect(log).to_be_visible()
    finally:
        app.app.jobs.cancel(number)
    expect(page.locator(".state.cancelled")).to_be_visible()
    expect(page.locator(".job progress")).to_be_hidden()


def test_undo_names_the_video_that_is_not_looked_at(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    add_events(app, ("reach", 1.0, None), video="uneven")
    page = opened("annotate/even")
    page.keyboard.press("Control+z")
    expect(page.locator(".note")).to_have_text("Undone: change in uneven")
    page.keyboard.press("1")
    saved(page)
    page.keyboard.press("Control+z")
    expect(page.locator(".note").last).to_have_text("Undone: change")


@pytest.mark.usefixtures("refusals")
def test_a_change_whose_answer_was_lost_is_made_once(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    lost: list[str] = []
    changes, undo = Held(page, "**/changes"), Held(page, "**/api/undo")

    def lose(route: Route) -> None:
        if route.request.url in lost:
            route.fallback()  # the next try waits until the trouble was seen
            return
        lost.append(route.request.url)
        route.fetch()
        route.abort()

    page.route("**/changes", lose)
    page.route("**/api/undo", lose)
    page.keyboard.press("1")
    expect(page.locator(".trouble")).to_contain_text("1 change is not saved yet")
    page.keyboard.press("Shift+Digit2")  # of the click that may not have been made
    changes.let_go()
    saved(page)
    assert clicks(app) == [("pour", 0.0)]
    page.keyboard.press("Control+z")
    expect(page.locator(".trouble")).to_be_visible()
    undo.let_go()
    saved(page)
    until(page, f"{SCENE}.scene.clicks[0]?.label == 'reach'")
    assert clicks(app) == [("reach", 0.0)]
    assert len(lost) == 2


@pytest.mark.usefixtures("refusals")
def test_an_address_with_a_bare_percent_sign_is_read_as_it_is(app: Served, opened: Opener) -> None:
    page = opened("videos")
    page.goto(f"{app.app.door.address}/#/annotate/100%")
    expect(page.locator("main")).to_contain_text("There is no “100%” in this project.")
    page.goto(f"{app.app.door.address}/#/videos")
    expect(page.locator(".video-card")).to_have_count(3)


def test_a_video_whose_file_is_gone_says_so(app: Served, opened: Opener) -> None:
    path = app.app.project.video("even").path
    away = path.with_name("away.mp4")
    path.rename(away)
    try:
        app.app.overview.refresh()
        page = opened("videos")
        card = page.locator(".video-card[href$='/even']")
        expect(card).to_contain_text("file missing")
        expect(card.locator(".state")).to_have_text("missing")
        expect(card).to_contain_text("video even is no longer there")
        page = opened("annotate/even")
        expect(page.locator(".screen-note")).to_contain_text("video even is no longer there")
    finally:
        away.rename(path)
    expect(page.locator("video")).to_be_attached()


TOO_WIDE = """() => [...document.querySelectorAll('dialog select, .menu')]
  .filter((one) => {
    const room = (one.closest('dialog') ?? document.documentElement).getBoundingClientRect();
    return one.getBoundingClientRect().right > room.right;
  }).map((one) => one.className || one.ariaLabel)"""


def test_long_names_fit_dialogs_and_menus(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "a class with a name that is " + 5 * "very " + "long")
    add_events(app, ("reach", 2.0, None))
    page = opened("annotate/even", PHONE)
    page.mouse.click(*place(page, 2.0, "clicks"), button="right")
    expect(page.locator(".menu")).to_be_visible()
    assert page.evaluate(TOO_WIDE) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add and edit classes").click()
    page.get_by_role("button", name="Merge reach").click()
    expect(page.get_by_label("Class that stays")).to_be_visible()
    assert page.evaluate(TOO_WIDE) == []
