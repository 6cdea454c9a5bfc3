"""What people meet who have never seen the page: silence, long names, small screens."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from web_page import (
    DESKTOP,
    READY,
    SCENE,
    Opener,
    Served,
    add_classes,
    add_events,
    clicks,
    even,
    predict,
    saved,
    served,
    until,
    write_binary,
)

from uvast.projects import Project

LAPTOP = (1024, 700)
NARROW = (720, 900)


@pytest.mark.usefixtures("refusals")
def test_a_refusal_is_read_over_the_dialog_that_it_answers(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").click()
    page.get_by_label("Name of the new class").fill("reach")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator(".note")).to_contain_text("'reach' already")
    page.get_by_role("button", name="Rename reach").click()
    page.get_by_label("New name").fill("pour")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".notices .notes")).to_have_count(1)  # and not gone with the dialog


def test_a_key_without_a_class_says_why_nothing_happens(app: Served, opened: Opener) -> None:
    page = opened("annotate/even")
    page.keyboard.press("1")
    expect(page.locator(".note")).to_have_text("No class has the key 1.")
    add_classes(app, "reach")
    until(page, "document.querySelector('[data-label=reach]')")
    page.keyboard.press("1")
    saved(page)
    assert clicks(app) == [("reach", 0.0)]


@pytest.mark.usefixtures("refusals")
def test_a_class_is_deleted_at_once_unless_it_is_used(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    add_events(app, ("reach", 1.0, None))
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").click()
    page.get_by_role("button", name="Delete reach").click()
    expect(page.locator(".note")).to_contain_text("'reach' has events in even; merge it into")
    page.get_by_role("button", name="Delete pour").click()
    expect(page.locator(".note", has_text="Deleted pour; undo brings it back.")).to_be_visible()
    expect(page.locator(".class-row")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")
    expect(page.locator(".class-list [data-label=pour]")).to_be_visible()


@pytest.mark.usefixtures("refusals")
def test_a_key_that_is_refused_leaves_its_field(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").click()
    page.get_by_label("Key of pour").fill("1")
    page.keyboard.press("Tab")
    expect(page.locator(".note")).to_contain_text("'reach' has the key '1'")
    expect(page.get_by_label("Key of pour")).to_have_value("2")


@pytest.mark.usefixtures("refusals")
def test_many_rejected_files_leave_room_for_the_page(app: Served, opened: Opener) -> None:
    page = opened("videos")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add videos").click()
    names = [f"{number}.mp4" for number in range(12)]
    chooser.value.set_files([{"name": n, "mimeType": "video/mp4", "buffer": b"x"} for n in names])
    expect(page.locator(".uploads span.fault")).to_have_count(len(names))
    box = page.locator(".notices").bounding_box()
    assert box is not None
    assert box["height"] < DESKTOP[1] / 3
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".uploads .fault")).to_have_count(0)


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two videos of one study."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "source").mkdir()
    study = "openfield_2024-03-11T09-15-02_cam1_topview_left_cohortB_mouse"
    for number in (1, 2):
        write_binary(folder / "source" / f"{study}{number}.mp4", even(10 * number))
    return Project.create(folder / "project", [folder / "source"])[0]


def test_next_says_when_there_is_no_other_video(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    write_binary(tmp_path / "source" / "mouse.mp4", even(10))
    with served(Project.create(tmp_path / "project", [tmp_path / "source"])[0]) as app:
        page = browser.new_page()
        page.goto(app.app.door.link)
        page.goto(f"{app.app.door.address}/#/annotate/mouse")
        until(page, READY)
        page.keyboard.press(".")
        until(page, f"{SCENE}.head.seconds > 0")
        page.keyboard.press("n")  # the proposal, which is here
        until(page, f"{SCENE}.head.seconds === 0")
        page.keyboard.press("n")
        expect(page.locator(".note").first).to_have_text("There is no other video in this project.")
        page.close()


@pytest.mark.parametrize("size", [LAPTOP, NARROW], ids=["laptop", "narrow"])
def test_long_names_of_videos_are_read_to_their_end(
    long_names: Project, browser: Browser, size: tuple[int, int]
) -> None:
    with served(long_names) as app:
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto(app.app.door.link)
        expect(page.locator(".video-card")).to_have_count(2)
        cut = "(one) => one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth"
        for name in page.locator(".video-card strong").all():
            assert not name.evaluate(cut)
        for part in page.locator(".guide .button.main, main").all():
            assert not part.evaluate("(one) => one.scrollWidth > one.clientWidth")
        page.close()


def test_the_buttons_of_the_player_are_one_line_on_a_laptop(app: Served, opened: Opener) -> None:
    page = opened("annotate/even", LAPTOP)
    page.evaluate("document.querySelector('.controls .time').textContent = '2:54:20.00 · 10460'")
    groups = page.locator(".controls .group").all()
    assert len({box["y"] for one in groups if (box := one.bounding_box())}) == 1
    page = opened("jobs", LAPTOP)
    for part in ("p:not(.hint)", "button"):
        ends = [one.bounding_box() for one in page.locator(f".step > {part}").all()]
        assert len({round(box["y"] + box["height"]) for box in ends if box}) == 1


RING_IS_WHOLE = """() => {
  const [row, list] = [document.activeElement, document.activeElement.closest('.class-list')];
  const {outlineStyle, outlineWidth, outlineOffset} = getComputedStyle(row);
  const reach = parseFloat(outlineWidth) + parseFloat(outlineOffset);
  const [inner, outer] = [row, list].map((one) => one.getBoundingClientRect());
  return outlineStyle === 'solid' && inner.left - reach >= outer.left
    && inner.right + reach <= outer.right && inner.top - reach >= outer.top;
}"""


def test_the_ring_of_a_focused_class_is_not_cut_off(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    page.get_by_role("button", name="Add and edit classes").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.label") == "reach"
    assert page.evaluate(RING_IS_WHOLE)


def test_the_list_of_a_review_is_seen_on_a_laptop(app: Served, opened: Opener) -> None:
    add_classes(app, *(f"class {number}" for number in range(12)))
    predict(app, *((f"class {number}", 6 * number, 6 * number + 6) for number in range(12)))
    page = opened("review", LAPTOP)
    row = page.locator(".queue button.on")
    expect(row).to_be_visible()
    side, seen = page.locator(".side").bounding_box(), row.bounding_box()
    assert side is not None
    assert seen is not None
    assert seen["y"] + 2 * seen["height"] <= side["y"] + side["height"]


DELAYS = """() => {
  const later = window.setTimeout;
  window.delays = [];
  window.setTimeout = (call, delay, ...rest) => (delays.push(delay), later(call, delay, ...rest));
}"""


def test_what_an_export_leaves_out_can_be_read(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    add_events(app, ("reach", 1.0, None), ("reach", 2.0, 3.0))
    page = opened("videos")
    page.evaluate(DELAYS)
    page.get_by_role("button", name="Export").click()
    page.get_by_label("Format").select_option("boris")
    with page.expect_download():
        page.get_by_role("button", name="Download").click()
    text = page.locator(".note").text_content() or ""
    assert "annotators (2). 'reach' has intervals and points" in text
    assert text.endswith(".")
    assert page.evaluate("Math.max(...delays)") >= 80 * len(text)  # milliseconds
