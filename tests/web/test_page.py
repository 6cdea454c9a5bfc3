"""The page as a person meets it: keyboard, mouse, a second tab, a server that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from web_page import (
    DESKTOP,
    PHONE,
    READY,
    SCENE,
    Opener,
    Served,
    add_classes,
    clicks,
    dropped,
    go_to,
    lane,
    place,
    player,
    saved,
    segments,
    served,
    shown_number,
    until,
)

from uvast.projects import Project

VIEWS = ("videos", "annotate/even", "jobs", "review")


def test_annotates_by_keyboard_alone_while_playing(app: Served, opened: Opener) -> None:
    page = opened("annotate/even")
    page.get_by_role("button", name="Add the first class").press("Enter")
    for name in ("reach", "pour"):
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        expect(page.locator(".class-row", has_text=name)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.keyboard.press("Space")
    spans = [dropped(page, key, after) for key, after in (("1", 0.5), ("2", 1.5))]
    page.keyboard.press("Space")
    saved(page)
    assert [label for label, _ in clicks(app)] == ["reach", "pour"]
    (_, reach), (_, pour) = clicks(app)
    for (before, after), seconds in zip(spans, (reach, pour), strict=True):
        assert before <= seconds <= after
    until(page, f"{SCENE}.scene.pseudo.items.length == 2")
    first, second = lane(page, "pseudo")
    assert (first[0], second[0]) == ("reach", "pour")
    assert reach < first[2] == second[1] < pour
    page.reload()
    until(page, f"{SCENE}.scene.clicks.length == 2")
    page.keyboard.press("Control+z")
    until(page, f"{SCENE}.scene.clicks.length == 1")
    saved(page)
    assert clicks(app) == [("reach", reach)]
    page.keyboard.press("Control+Shift+Z")
    until(page, f"{SCENE}.scene.clicks.length == 2")
    saved(page)
    assert clicks(app) == [("reach", reach), ("pour", pour)]


def test_keys_step_jump_split_merge_nudge_and_delete(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    page.keyboard.press("Alt+s")
    page.keyboard.press("1")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    page.keyboard.press(".")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    saved(page)
    assert segments(app) == [("reach", 0, 3.0), ("pour", 3.0, pytest.approx(4.04))]
    page.keyboard.press("Shift+ArrowLeft")
    assert player(page, "head.seconds") == 3.0
    page.keyboard.press("[")
    saved(page)
    assert segments(app) == [("reach", 0, 2.96), ("pour", 2.96, pytest.approx(4.04))]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("b")
    saved(page)
    assert [one[:2] for one in segments(app)] == [("reach", 0), ("reach", 1.96), ("pour", 2.96)]
    page.keyboard.press("Home")
    page.keyboard.press("Shift+B")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Backspace")
    saved(page)
    until(page, f"{SCENE}.scene.labels.items.length == 1")
    go_to(page, 31)
    until(page, f"{SCENE}.head.seconds == 1.24")
    saved(page)
    assert segments(app) == [("reach", 0, 2.96)]


def test_relabels_and_drags_by_mouse(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    page = opened("annotate/even")
    page.keyboard.press("1")
    saved(page)
    page.mouse.click(*place(page, 0.0, "clicks"), button="right")
    page.get_by_role("menuitemradio", name="pour").click()
    until(page, f"{SCENE}.scene.clicks[0]?.label == 'pour'")
    x, y = place(page, 0.0, "clicks")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*place(page, 2.0, "clicks"), steps=3)
    page.mouse.up()
    saved(page)
    until(page, f"!{SCENE}.scene.clicks[0].pending")
    [(label, seconds)] = clicks(app)
    assert label == "pour"
    assert seconds == pytest.approx(2.0, abs=0.05)
    page.locator(".class-list [data-label=reach]").click()
    until(page, f"{SCENE}.scene.clicks[0]?.label == 'reach'")


DEAF = """async () => {
  (await import('/static/js/documents.js')).VideoDocument.prototype.hear = () => {};
}"""


@pytest.mark.usefixtures("refusals")
def test_a_second_tab_sees_edits_and_a_conflict_is_shown(app: Served, opened: Opener) -> None:
    add_classes(app, "reach", "pour")
    mine, other = opened("annotate/even"), opened("annotate/even")
    mine.keyboard.press("1")
    until(other, f"{SCENE}.scene.clicks.length == 1")
    other.evaluate(DEAF)  # what others do does not reach this tab
    other.evaluate("localStorage.setItem('uvast.author', JSON.stringify('ben'))")
    mine.keyboard.press("Shift+Digit2")
    until(mine, f"{SCENE}.scene.clicks[0].label == 'pour'")
    saved(mine)
    other.mouse.click(*place(other, 0.0, "clicks"))
    other.keyboard.press("Delete")
    expect(other.locator(".conflict")).to_contain_text("in the meantime")
    assert clicks(app) == [("pour", 0.0)]
    assert [label for label, *_ in lane(other, "clicks")] == ["pour"]
    other.get_by_role("button", name="Make it anyway").click()
    until(mine, f"{SCENE}.scene.clicks.length == 0")


@pytest.mark.usefixtures("refusals")
@pytest.mark.parametrize("status", [0, 507])
def test_says_what_is_not_saved_and_saves_it_later(
    app: Served, opened: Opener, status: int
) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    sentence = "The disk is full"
    answer = {"status": 507, "json": {"error": sentence}}
    page.route("**/changes", lambda route: route.fulfill(**answer) if status else route.abort())
    until(page, f"fetch('/a/changes').then((answer) => answer.status == {status}, () => true)")
    page.keyboard.press("1")
    expect(page.locator(".trouble")).to_contain_text(sentence if status else "is not responding")
    expect(page.locator(".trouble")).to_contain_text("1 change is not saved yet")
    assert [label for label, *_ in lane(page, "clicks")] == ["reach"]
    assert clicks(app) == []
    page.unroute("**/changes")
    page.get_by_role("button", name="Try again").click()
    saved(page)
    expect(page.locator(".trouble")).to_be_hidden()
    assert clicks(app) == [("reach", 0.0)]


@pytest.mark.parametrize("video", ["even", "uneven"])
def test_random_seeks_show_the_right_frame(app: Served, opened: Opener, video: str) -> None:
    page = opened(f"annotate/{video}")
    n_frames = 200 if video == "even" else 90
    for number in np.random.default_rng(5).integers(n_frames, size=10).tolist():
        go_to(page, number)
        assert shown_number(page, number) == number


def test_an_avi_gets_its_proxy(app: Served, opened: Opener) -> None:
    page = opened("annotate/old")
    expect(page.locator(".screen-note")).to_contain_text("A copy that plays is being made")
    until(page, "document.querySelector('video')?.readyState >= 2", 60)
    for number in (59, 17, 33, 2):
        go_to(page, number)
        assert shown_number(page, number) == number


def test_features_alone_are_a_heat_map_to_click_at(browser: Browser, tmp_path: Path) -> None:
    features = np.random.default_rng(4).normal(size=(100, 8)).astype(np.float32)
    (tmp_path / "features").mkdir()
    np.save(tmp_path / "features" / "mouse.npy", features)
    (tmp_path / "dataset.toml").write_text('frames_per_second = 10\nfeature_axis = "time-first"\n')
    with served(Project.create(tmp_path, [])[0]) as app:
        add_classes(app, "sniff")
        page = browser.new_page()
        page.goto(app.app.door.link)
        page.goto(f"{app.app.door.address}/#/annotate/mouse")
        expect(page.locator(".class-list [data-label=sniff]")).to_be_visible()
        until(page, "document.querySelector('.heat').width > 50")
        page.keyboard.press("Space")
        until(page, f"{SCENE}.head.seconds > 0.3")
        page.keyboard.press("Space")
        page.keyboard.press("1")
        saved(page)
        assert clicks(app, "mouse") == [("sniff", player(page, "head.seconds"))]
        page.close()


def test_keys_can_be_changed_and_are_remembered(app: Served, opened: Opener) -> None:
    page = opened("annotate/even")
    page.keyboard.press("?")
    key = page.get_by_role("button", name="Key of: One second forward")
    key.press("Enter")
    page.keyboard.press("b")
    expect(page.locator("dialog .fault")).to_contain_text("Split the segment here")
    key.press("Enter")
    page.keyboard.press("d")
    expect(key).to_have_text("D")
    page.reload()
    until(page, READY)
    page.keyboard.press("d")
    until(page, f"{SCENE}.head.seconds == 1")


def test_a_command_does_not_get_the_key_of_a_class(app: Served, opened: Opener) -> None:
    add_classes(app, "reach")
    page = opened("annotate/even")
    page.keyboard.press("?")
    key = page.get_by_role("button", name="Key of: One second forward")
    key.press("Enter")
    page.keyboard.press("1")
    expect(page.locator("dialog .fault")).to_contain_text("That key belongs to “reach”")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    saved(page)
    assert clicks(app) == [("reach", 0.0)]


def test_a_reset_does_not_take_the_key_of_a_class(app: Served, opened: Opener) -> None:
    """Split gave B away, and a class took it."""
    add_classes(app, "reach")
    page = opened("annotate/even")
    page.keyboard.press("?")
    split = page.get_by_role("button", name="Key of: Split the segment here")
    split.press("Enter")
    page.keyboard.press("x")
    expect(split).to_have_text("X")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add and edit classes").click()
    its = page.get_by_label("Key of reach")

    def give(key: str) -> None:
        its.fill(key)
        its.press("Enter")
        saved(page)
        expect(its).to_have_value(key)

    give("b")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    reset = page.get_by_role("button", name="Reset all keys")
    reset.click()
    fault = page.locator("dialog .fault")
    expect(fault).to_have_text("B is the key of “reach”. Give that one another key first.")
    expect(split).to_have_text("X")
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    saved(page)
    assert clicks(app) == [("reach", 0.0)]
    page.get_by_role("button", name="Add and edit classes").click()
    give("1")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    reset.click()
    expect(fault).to_have_text("")
    expect(split).to_have_text("B")


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits(app: Served, opened: Opener, size: tuple[int, int], scheme: str) -> None:
    add_classes(app, "reach", "pour", "<b>a class with a very long name & signs</b>")
    page = opened("annotate/even", size, scheme)
    for view in VIEWS:
        page.goto(f"{app.app.door.address}/#/{view}")
        expect(page.locator("main h1").first).to_be_attached()
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) <= 0
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", dark)[0]) < 100) == (scheme == "dark")
