"""The page as a person meets it, in headless Chromium: at two widths, in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from planted_report import EVIL, EVIL_VIDEO
from playwright.sync_api import Browser, Page, expect

from uvast.report import Report, write_page
from uvast.report.compare import compare
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

DESKTOP, PHONE = (1280, 900), (390, 844)
VISIBLE = "(element) => { const b = element.getBoundingClientRect(); return b.width * b.height; }"

Opener = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens a report from disk; at the end, nothing may have been complained about or asked for."""
    contexts, complaints, requests = [], [], []

    def open_page(report: Report, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> Page:
        path = tmp_path / "report.html"
        write_page(report, path)
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,  # type: ignore[arg-type]
            has_touch=size == PHONE,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url.partition(":")[0] for url in requests} <= {"file"}


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_drawn_and_nothing_sticks_out(
    planted: Report, opened: Opener, size: tuple[int, int], scheme: str
) -> None:
    page = opened(planted, size, scheme)
    expect(page.locator("#summary dd")).to_have_count(5)
    expect(page.locator("#class-table tbody tr")).to_have_count(3)
    expect(page.locator("#video-list .video")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]
    for selector in ("#video-list canvas", "#matrix canvas", "#attention-maps canvas", "svg"):
        page.locator(selector).first.scroll_into_view_if_needed()
        assert page.locator(selector).first.evaluate(VISIBLE) > 1000
    page.locator("#pseudo-list .track").first.wait_for()
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    brightness = sum(int(part) for part in ground.strip("rgb()").split(",")) / 3
    assert (brightness > 128) == (scheme == "light")


def test_names_stay_text(planted: Report, opened: Opener) -> None:
    page = opened(planted)
    expect(page.locator("#video-list h3").first).to_have_text(EVIL_VIDEO)
    expect(page.locator("#legend li").nth(1)).to_have_text(EVIL)
    page.locator("#video-list .track").first.hover()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_pointing_tells_label_and_time(planted: Report, opened: Opener) -> None:
    page = opened(planted)
    truth = page.locator("#video-list .track").first
    width = truth.evaluate("(element) => element.clientWidth")
    expect(page.locator("#tip")).to_be_hidden()
    truth.hover(position={"x": width * 0.6, "y": 8})  # frames 40 to 80 of 100 are $cut_$
    expect(page.locator("#tip b")).to_have_text("$cut_$")
    expect(page.locator("#tip")).to_contain_text("0:04.0–0:08.0 · frames 40–80")
    page.mouse.move(2, 2)
    expect(page.locator("#tip")).to_be_hidden()


def test_a_tap_tells_too(planted: Report, opened: Opener) -> None:
    page = opened(planted, PHONE)
    truth = page.locator("#video-list .track").first
    truth.scroll_into_view_if_needed()
    truth.tap(position={"x": 3, "y": 8})
    expect(page.locator("#tip b")).to_have_text("background")
    box = page.locator("#tip").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE[0]
    page.locator("#videos-title").tap()
    expect(page.locator("#tip")).to_be_hidden()


def test_arrow_keys_walk_over_segments_and_cells(planted: Report, opened: Opener) -> None:
    page = opened(planted)
    truth = page.locator("#video-list .track").first
    page.locator("#order").focus()
    page.keyboard.press("Tab")
    expect(truth).to_be_focused()
    expect(page.locator("#tip b")).to_have_text("background")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(truth).to_have_attribute("aria-valuetext", "$cut_$, 0:04.0–0:08.0 · frames 40–80")
    expect(truth.locator(".cursor")).to_be_visible()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    expect(truth).to_have_attribute("aria-valuenow", "4")
    matrix = page.locator("#matrix")
    matrix.focus()
    page.keyboard.press("ArrowDown")
    expect(matrix).to_have_attribute(
        "aria-valuetext", f"{EVIL} taken for background, 54.5 % · 30 of 55 frames"
    )


RECORD = """() => {
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.written.push([text, this.fillStyle]);
    write.call(this, text, ...place);
  };
}"""
WRITTEN = """() => new Promise((done) => {
  const look = (frames) => requestAnimationFrame(() => {
    if (frames && !window.written.length) look(frames - 1); else done(window.written);
  });
  look(60);
})"""


@pytest.mark.parametrize(
    ("scheme", "on_full", "on_empty"),
    [("light", "#ffffff", "#1c2024"), ("dark", "#1b1f23", "#e6e8eb")],
)
def test_few_classes_have_readable_percents_in_the_confusion_matrix(
    opened: Opener, scheme: str, on_full: str, on_empty: str
) -> None:
    vocabulary = Vocabulary(("a", "b"))
    true = Segmentation([0, 1, 0], [10, 20, 10])
    predicted = Segmentation([0, 1, 0], [10, 20, 10])
    wrong = Segmentation([0, 1, 0], [10, 22, 8])
    compared = compare({"v": true, "w": true}, {"x": {"v": predicted, "w": wrong}}, vocabulary)
    page = opened(Report("r", {}, vocabulary=vocabulary, comparison=compared), DESKTOP, scheme)
    page.locator("#matrix canvas").scroll_into_view_if_needed()
    page.evaluate(RECORD)
    page.set_viewport_size({"width": 500, "height": 900})
    found = dict(page.evaluate(WRITTEN))
    assert {text for text in found if text.isdecimal()} == {"95", "5", "100"}
    assert (found["100"], found["5"]) == (on_full, on_empty)


def test_the_chosen_decoding_changes_scores_and_confusion(planted: Report, opened: Opener) -> None:
    page = opened(planted)
    assert planted.comparison is not None
    for way, scores in zip(planted.comparison.ways, planted.comparison.scores, strict=True):
        page.locator("#way").select_option(label=way)
        expect(page.locator("#summary dd").last).to_have_text(f"{scores.acc:.1f}")
        expect(page.locator("#scores tr.chosen th")).to_have_text(way)
        expect(page.locator("#video-list .line.chosen").first).to_contain_text(way)


def test_timelines_come_and_go_with_the_screen(opened: Opener) -> None:
    classes = Vocabulary(("a", "b"))
    truths = {
        f"video {i:03d}": Segmentation(np.array([0, 1]), np.array([10 + i, 10])) for i in range(300)
    }
    found = {"one": {n: Segmentation(t.transcript, t.durations) for n, t in truths.items()}}
    report = Report("many", {}, vocabulary=classes, comparison=compare(truths, found, classes))
    page = opened(report)
    expect(page.locator("#video-list .video")).to_have_count(24)
    page.locator("#video-list .more").click()
    expect(page.locator("#video-list .video")).to_have_count(300)
    height = page.evaluate("document.documentElement.scrollHeight")
    last = page.locator("#video-list .video").last
    expect(last.locator("canvas")).to_have_count(0)
    last.scroll_into_view_if_needed()
    expect(last.locator("canvas")).to_have_count(2)
    expect(page.locator("#video-list .video").first.locator("canvas")).to_have_count(0)
    assert page.locator("#video-list canvas").count() < 100
    assert page.evaluate("document.documentElement.scrollHeight") == height  # nothing moved
    page.locator("#find").fill("video 12")
    expect(page.locator("#video-list .video")).to_have_count(10)
    expect(page.locator("#found")).to_have_text("10 of 300 videos")
    page.locator("#order").select_option("length")
    expect(page.locator("#video-list h3").first).to_have_text("video 129")


def test_a_benchmark_needs_no_drawings(benchmark_report: Report, opened: Opener) -> None:
    page = opened(benchmark_report, PHONE)
    expect(page.locator("#benchmark tbody tr")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
