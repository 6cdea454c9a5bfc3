"""What comes while somebody works: news, late answers, names, other models, hidden tabs."""

from __future__ import annotations

import sys

import pytest
from playwright.sync_api import Page, Route, expect
from web_page import (
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
    predict,
    saved,
    segments,
    until,
)

from uvast.web.live import encoded

LISTEN = """() => {
  window.heard = [];
  const stream = new EventSource('/api/events');
  stream.onmessage = (event) => heard.push(event.data);
  return new Promise((done) => (stream.onopen = done));
}"""
SHORTEST = """() => {
  const log = document.querySelector('.details pre');
  window.length = window.shortest = log.textContent.length;
  const look = () => (window.shortest = Math.min(shortest, log.textContent.length));
  new MutationObserver(look).observe(log, {childList: true, characterData: true, subtree: true});
}"""
HIDE = """(hidden) => {
  Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def heard(page: Page, text: str) -> None:
    """Waits until news with a text have come to the page, which said `LISTEN` before."""
    until(page, f"heard.some((one) => one.includes('{text}'))")
    page.wait_for_timeout(200)  # its own stream is another one


def test_review_goes_by_the_newest_prediction(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    predict(app, ("reach", 0, 20), ("pour", 20, 40), ("reach", 40, 80))
    page = opened("review")
    until(page, f"{SCENE}?.scene.prediction.items.length == 3 && {READY}")
    page.keyboard.press("n")
    present = page.locator(".queue .on")
    expect(present).to_contain_text("pour")
    predict(app, ("pour", 0, 10), ("reach", 10, 20), ("pour", 20, 40), ("reach", 40, 80))
    expect(page.locator(".queue button")).to_have_count(4)
    expect(page.locator(".queue button").nth(2)).to_have_attribute("aria-current", "true")
    predict(app, ("reach", 0, 25), ("pour", 25, 80))
    expect(page.locator(".queue button")).to_have_count(2)
    expect(present).to_contain_text("reach")
    page.keyboard.press("Enter")
    saved(page)
    assert segments(app) == [("reach", 0.0, 2.5)]


def test_a_correction_outlives_another_prediction(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    predict(app, ("reach", 0, 20), ("pour", 20, 80))
    page = opened("review")
    until(page, f"{SCENE}?.scene.prediction.items.length == 2 && {READY}")
    page.keyboard.press("2")
    predict(app, ("pour", 0, 40), ("reach", 40, 60), ("pour", 60, 80))
    expect(page.locator(".queue button")).to_have_count(3)
    page.keyboard.press("Enter")
    saved(page)
    assert segments(app) == [("pour", 0.0, 2.0)]
    expect(page.locator(".queue .on")).to_have_count(1)


def test_a_prediction_that_was_not_seen_is_not_accepted(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    predict(app, ("reach", 0, 20))
    page = opened("annotate/even")
    until(page, f"{SCENE}.scene.prediction.items.length == 1")
    page.evaluate(LISTEN)
    changes = Held(page, "**/changes")
    page.keyboard.press("1")
    page.get_by_role("button", name="Accept all of the model's segments").click()
    changes.wait()
    predict(app, ("reach", 0, 40), ("reach", 50, 80))
    heard(page, "even")
    changes.let_go()
    expect(page.locator(".conflict")).to_contain_text("Your change was not made")
    expect(page.get_by_role("button", name="Make it anyway")).to_have_count(0)
    until(page, f"{SCENE}.scene.prediction.items.length == 2")
    assert (clicks(app), segments(app)) == ([("reach", 0.0)], [])
    page.get_by_role("button", name="Accept all of the model's segments").click()
    saved(page)
    assert len(segments(app)) == 2


def test_undo_waits_for_a_change_of_the_classes(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    page.keyboard.press("1")
    saved(page)
    classes = Held(page, "**/api/classes")
    page.get_by_role("button", name="Add and edit classes").click()
    page.get_by_role("button", name="Rename").click()
    page.keyboard.type("grasp")
    page.keyboard.press("Enter")
    classes.wait()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("Control+z")
    page.wait_for_timeout(300)  # for an undo that does not wait
    classes.let_go()
    expect(page.locator(".note")).to_contain_text("Undone")
    saved(page)
    assert clicks(app) == [("reach", 0.0)]
    assert [one.name for one in app.app.store.classes] == ["reach"]


def test_what_is_dragged_may_get_its_name_meanwhile(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    changes = Held(page, "**/changes")
    page.keyboard.press("1")
    changes.wait()
    page.mouse.move(*place(page, 2.0, "clicks"))
    page.mouse.down()
    page.mouse.move(*place(page, 2.3, "clicks"), steps=3)
    changes.let_go()
    saved(page)
    page.mouse.move(*place(page, 4.0, "clicks"), steps=3)
    page.mouse.up()
    saved(page)
    assert clicks(app) == [("reach", pytest.approx(4.0, abs=0.05))]


def test_what_a_menu_is_about_may_get_its_name_meanwhile(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    changes = Held(page, "**/changes")
    page.keyboard.press("1")
    changes.wait()
    page.mouse.click(*place(page, 0.0, "clicks"), button="right")
    changes.let_go()
    saved(page)
    page.get_by_role("menuitemradio", name="pour").click()
    saved(page)
    assert clicks(app) == [("pour", 0.0)]


def test_news_leave_what_is_dragged_to_who_drags_it(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    add_events(app, ("reach", 2.0, 4.0))
    page = opened("annotate/even")
    page.mouse.move(*place(page, 3.0, "labels"))
    page.mouse.down()
    page.mouse.move(*place(page, 5.0, "labels"), steps=3)
    add_events(app, ("reach", 7.0, None))
    until(page, f"{SCENE}.scene.clicks.length == 1")
    moved = pytest.approx(4.0, abs=0.05)
    assert [start for _, start, _ in lane(page, "labels")] == [moved]
    page.mouse.up()
    saved(page)
    assert [start for _, start, _ in segments(app)] == [moved]


def test_news_leave_the_links_of_the_views_alone(app: Served, opened: Opener) -> None:
    page = opened("videos")
    page.evaluate("window.before = document.querySelector('nav a')")
    add_events(app, ("reach", 1.0, None))
    expect(page.locator(".video-card", has_text="even").first).to_contain_text("1 click")
    assert page.evaluate("before.isConnected")


def test_news_leave_a_card_to_who_presses_it(app: Served, opened: Opener) -> None:
    page = opened("videos")
    page.evaluate(LISTEN)
    page.locator(".video-card", has_text="uneven").hover()
    page.mouse.down()
    add_events(app, ("reach", 1.0, None))
    heard(page, "row")
    page.wait_for_timeout(500)  # rows are shown a little later
    page.mouse.up()
    expect(page.locator(".bar h1")).to_have_text("uneven")


def test_a_late_answer_about_a_job_does_not_take_its_log_back(app: Served, opened: Opener) -> None:
    code = "import time\nfor i in range(600): print('step', i, flush=True); time.sleep(0.1)"
    number = app.app.jobs.add("segment", (sys.executable, "-c", code)).number
    try:
        page = opened("jobs")
        page.locator("summary").click()
        log = page.locator(".details pre")
        expect(log).to_contain_text("step 1")
        answer = Held(page, f"**/api/jobs/{number}", answered=True)
        answer.wait()
        answer.is_open = True
        before = log.inner_text()
        expect(log).not_to_have_text(before)
        page.evaluate(SHORTEST)
        answer.let_one_go()
        page.wait_for_timeout(300)
        assert page.evaluate("shortest >= length")
    finally:
        app.app.jobs.cancel(number)


def test_news_of_a_video_that_is_being_opened_count(app: Served, opened: Opener) -> None:
    page = opened("videos")
    page.evaluate(LISTEN)
    answer = Held(page, "**/api/videos/uneven", answered=True)
    page.evaluate("location.hash = '#/annotate/uneven'")
    answer.wait()
    add_events(app, ("reach", 1.0, None), video="uneven")
    heard(page, "uneven")
    answer.let_go()
    until(page, f"{SCENE}?.scene.clicks.length == 1")


@pytest.mark.usefixtures("refusals")
def test_a_refusal_shows_what_came_meanwhile(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    page.evaluate(LISTEN)
    changes: list[Route] = []
    page.route("**/changes", lambda route: changes.append(route))
    with page.expect_request("**/changes"):
        page.keyboard.press("1")
    predict(app, ("reach", 0, 20))
    heard(page, "even")
    changes[0].fulfill(status=422, json={"error": "no"})
    expect(page.locator(".note.bad")).to_contain_text("no")
    until(page, f"{SCENE}.scene.prediction.items.length == 1")
    assert lane(page, "clicks") == []


def test_a_late_list_does_not_take_rows_back(app: Served, opened: Opener) -> None:
    page = opened("videos")
    answer = Held(page, "**/api/project", answered=True)
    app.app.news.tell(encoded({"project": 0}))
    answer.wait()
    add_events(app, ("reach", 1.0, None))
    card = page.locator(".video-card", has_text="1 click")
    expect(card).to_have_count(1)
    answer.let_one_go()
    page.wait_for_timeout(500)
    expect(card).to_have_count(1, timeout=1)


@pytest.mark.usefixtures("refusals")
def test_a_project_that_cannot_be_shown_is_tried_again(app: Served, opened: Opener) -> None:
    page = opened("videos")
    page.route("**/api/project", lambda route: route.fulfill(status=500, json={"error": "no"}))
    page.reload()
    expect(page.locator("main")).to_contain_text("The project cannot be shown")
    page.unroute("**/api/project")
    expect(page.locator(".video-card")).to_have_count(3)


def test_only_what_is_looked_at_is_loaded_anew(app: Served, opened: Opener) -> None:
    page = opened("annotate/even")
    page.evaluate("location.hash = '#/annotate/uneven'")
    until(page, f"{READY} && {SCENE}.seconds < 7")
    page.wait_for_timeout(300)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.rpartition("/")[2].partition("?")[0]))
    app.app.news.tell(encoded({"reload": True}))
    with page.expect_response("**/api/project"):
        pass
    page.wait_for_timeout(500)
    assert sorted(set(asked) & {"project", "even", "uneven"}) == ["project", "uneven"]


def test_a_hidden_tab_listens_again_when_it_is_seen(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    page.evaluate(HIDE, True)
    page.wait_for_timeout(700)
    add_events(app, ("reach", 5.0, None))
    page.wait_for_timeout(1000)
    assert lane(page, "clicks") == []  # it has no connection
    page.keyboard.press("1")
    saved(page)  # what was done goes on
    add_events(app, ("reach", 6.0, None))
    page.evaluate(HIDE, False)
    until(page, f"{SCENE}.scene.clicks.length == 3")
    expect(page.locator(".trouble")).to_be_hidden()
    add_events(app, ("reach", 7.0, None))
    until(page, f"{SCENE}.scene.clicks.length == 4")


def test_a_copy_that_failed_while_nobody_listened_is_told(app: Served, opened: Opener) -> None:
    sleep = (sys.executable, "-c", "import time; time.sleep(600)")
    first = app.app.jobs.add("proxy", sleep, video="even").number  # the others wait for it
    page = opened("annotate/old")
    note = page.locator(".screen-note")
    expect(note).to_contain_text("A copy that plays is being made")
    until(page, "Boolean(document.querySelector('.screen-note progress'))")
    while app.app.jobs.all[0].number == first:
        page.wait_for_timeout(50)
    page.evaluate(HIDE, True)
    page.wait_for_timeout(300)
    app.app.jobs.cancel(app.app.jobs.all[0].number)
    app.app.jobs.cancel(first)
    page.evaluate(HIDE, False)
    expect(note).to_contain_text("The copy for the browser failed")


def test_what_another_program_did_is_told(app: Served, opened: Opener) -> None:
    page = opened("videos")
    sentence = "another program changed annotations/even.json"
    app.app.news.tell(encoded({"project": 1, "note": sentence}))
    expect(page.locator(".note")).to_have_text(sentence)
