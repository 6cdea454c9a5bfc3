"""Plain words, and signs of what goes on: for people who never trained a network."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, expect
from web_page import (
    READY,
    Held,
    Opener,
    Served,
    add_classes,
    add_events,
    predict,
    served,
    until,
)

from uvast.projects import Project

LAPTOP = (1024, 700)


def test_a_plan_in_the_making_tells_its_time(opened: Opener) -> None:
    page = opened("jobs")
    held = Held(page, "**/api/plan")
    page.get_by_role("button", name="Features…").click()
    held.wait()
    expect(page.get_by_role("progressbar", name="Making the plan")).to_be_visible()
    expect(page.locator("dialog .wait .hint")).to_have_text(re.compile(r"^[1-9]\d* s$"))
    held.let_go()
    expect(page.locator("dialog .plan li:not(.waiting)").first).to_be_visible()
    expect(page.locator("dialog .wait")).to_be_hidden()


def test_a_long_plan_leaves_its_start_in_sight(opened: Opener) -> None:
    page = opened("jobs", LAPTOP)
    page.route("**/api/plan", lambda route: route.fulfill(json={"plan": ["It does."] * 60}))
    page.get_by_role("button", name="Segment…").click()
    expect(page.locator("dialog .plan li")).to_have_count(60)
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_in_viewport(ratio=1)
    page.locator("dialog .plan li").last.scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="Close")).to_be_in_viewport(ratio=1)


def test_the_order_of_the_videos_says_what_it_is(opened: Opener) -> None:
    page = opened("videos")
    expect(page.locator("label", has_text="Order")).to_be_visible()
    page.get_by_label("Order").select_option("length")
    expect(page.locator(".video-card strong")).to_have_text(["even", "uneven", "old"])


def more_below(page: Page) -> bool:
    """Whether the panels at the side say that they go on below."""
    return bool(page.evaluate("document.querySelector('.side').classList.contains('more')"))


def test_panels_that_are_cut_off_say_so(app: Served, opened: Opener) -> None:
    add_classes(app, *(f"class {number}" for number in range(12)))
    add_events(app, ("class 1", 1.0, None), ("class 2", 2.0, 3.0))
    predict(app, ("class 1", 0, 40), ("class 2", 40, 80))
    page = opened("annotate/even", LAPTOP)
    until(page, "document.querySelector('.side').classList.contains('more')")
    page.locator(".side").evaluate("(side) => side.scrollTo(0, side.scrollHeight)")
    until(page, "!document.querySelector('.side').classList.contains('more')")
    page.set_viewport_size({"width": 1024, "height": 1400})
    page.set_viewport_size({"width": 1024, "height": 1390})
    assert not more_below(page)


def test_a_long_name_leaves_the_label_of_a_review_its_room(
    browser: Browser, source: Project, tmp_path: Path
) -> None:
    study = "openfield_2024-03-11T09-15-02_cam1_topview_left_cohortB_mouse1"
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / f"{study}.mp4").write_bytes(source.video("even").path.read_bytes())
    with served(Project.create(tmp_path / "project", [tmp_path / "source"])[0]) as app:
        add_classes(app, "climbs a wall", "grooms")
        predict(app, ("climbs a wall", 0, 40), ("grooms", 40, 80), video=study)
        page = browser.new_page(viewport={"width": LAPTOP[0], "height": LAPTOP[1]})
        page.goto(app.app.door.link)
        page.goto(f"{app.app.door.address}/#/review")
        until(page, READY)
        expect(page.locator(".queue button")).to_have_count(2)
        cut = "(one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight"
        for part in page.locator(".queue button, .queue .name, .queue .hint").all():
            assert not part.evaluate(cut)
        names, counts = (page.locator(f".queue .{one}").all() for one in ("name", "count"))
        for name, count in zip(names, counts, strict=True):  # side by side
            left, right = name.bounding_box(), count.bounding_box()
            assert left is not None
            assert right is not None
            assert left["x"] + left["width"] <= right["x"]
        page.close()


def test_what_is_in_the_project_already_is_no_fault(
    opened: Opener, source: Project, tmp_path: Path
) -> None:
    page = opened("videos")
    again = tmp_path / "again.mp4"
    again.write_bytes(source.video("even").path.read_bytes())
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add videos").click()
    chooser.value.set_files([again])
    known = "again.mp4 is in the project already, and was not added again."
    expect(page.locator(".uploads .told")).to_have_text(known)
    expect(page.locator(".uploads .fault")).to_have_count(0)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".uploads .told")).to_have_count(0)


def test_a_finished_job_says_how_long_it_took(opened: Opener) -> None:
    page = opened("jobs")
    page.get_by_role("button", name="Features…").click()
    page.get_by_label("Extractor").select_option("pixels")
    expect(page.locator("dialog .plan li:not(.waiting)").first).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    state = page.locator(".job .state").first
    expect(state).to_have_text(re.compile(r"^done in (a|\d+) (second|minute)s?$"), timeout=120_000)


def test_losses_have_words_and_keep_their_names(app: Served, opened: Opener) -> None:
    number = app.app.jobs.add("train", (sys.executable, "-c", ""), output="runs/1").number
    run = app.app.project.path / "runs" / "1"
    run.mkdir(parents=True)
    (run / "log.csv").write_text("stage,epoch,loss,group_frame\n1,1,2,1\n1,2,1,0.5\n")
    page = opened("jobs")
    title = page.locator(f"[data-job='{number}'] .chart strong").last
    expect(title).to_have_text("Error in which actions the frames show at all")
    expect(title).to_have_attribute("title", "Stage 1: group frame")
    expect(page.locator(f"[data-job='{number}'] .chart .key").last).to_contain_text("group_frame")


def test_arrows_choose_between_clicks_and_segments(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    clicks, segments = (page.get_by_role("radio", name=one) for one in ("Clicks", "Segments"))
    clicks.focus()
    page.keyboard.press("ArrowRight")
    expect(segments).to_be_focused()
    expect(segments).to_have_attribute("aria-checked", "true")
    page.keyboard.press("ArrowUp")
    expect(clicks).to_be_focused()
    assert page.evaluate("document.querySelector('.timeline').timeline.head.seconds") == 0
    page.keyboard.press("Shift+Tab")  # both are one stop
    expect(segments).not_to_be_focused()
    expect(page.locator("[role=radio][tabindex='0']")).to_have_count(1)


def test_who_has_no_class_is_told_to_add_one(app: Served, opened: Opener) -> None:
    page = opened("annotate/even")
    expect(page.locator(".inspector")).to_contain_text("Add a class first")
    add_classes(app, "reach")
    expect(page.locator(".inspector")).to_contain_text("press a class's key once in each action")


def test_a_review_of_everything_says_that_all_is_seen(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    predict(app, ("reach", 0, 80))
    add_events(app, ("reach", 0.0, 8.0))
    page = opened("review")
    expect(page.locator(".empty")).to_contain_text("Every segment of the newest model")


def test_the_end_of_a_review_tells_what_was_passed_over(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    predict(app, ("reach", 0, 40), ("pour", 40, 80))
    page = opened("review")
    expect(page.locator(".queue button.on")).to_be_visible()
    until(page, READY)
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".queue button").last).to_have_attribute("aria-current", "true")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".note")).to_contain_text(
        "2 segments that you passed over stay in the list."
    )
