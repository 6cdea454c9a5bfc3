"""The page as a person meets it, in headless Chromium: at two widths, in light and dark."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from planted_report import EVIL, EVIL_VIDEO, tracks
from playwright.sync_api import Browser, Page, expect

from uvast.report import Report, write_page
from uvast.report.action_times import action_times
from uvast.report.compare import compare
from uvast.report.content import FilmStrip
from uvast.report.palette import GREY, rgb
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

DESKTOP, PHONE = (1280, 900), (390, 844)
VISIBLE = "(element) => { const b = element.getBoundingClientRect(); return b.width * b.height; }"
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until what was waiting to be drawn is."""

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
    page.locator("#pseudo-list").scroll_into_view_if_needed()
    page.locator("#pseudo-list .track").first.wait_for()
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    brightness = sum(int(part) for part in ground.strip("rgb()").split(",")) / 3
    assert (brightness > 128) == (scheme == "light")


@pytest.mark.parametrize(("size", "n_shown"), [(DESKTOP, 12), (PHONE, 4)])
def test_pictures_lie_below_their_part_of_the_timeline(
    unscored: Report, opened: Opener, size: tuple[int, int], n_shown: int
) -> None:
    assert unscored.comparison is not None
    strip = FilmStrip(tuple(webp(20 * part) for part in range(12)), 4 / 3)
    videos = (replace(unscored.comparison.videos[0], strip=strip), *unscored.comparison.videos[1:])
    page = opened(replace(unscored, comparison=replace(unscored.comparison, videos=videos)), size)
    article = page.locator("#video-list .video", has=page.locator(".strip"))
    expect(article).to_have_count(1)
    bar = article.locator(".track").last.bounding_box()
    pictures = article.locator(".strip img:visible")
    expect(pictures).to_have_count(n_shown)
    assert bar is not None
    for place, picture in enumerate(pictures.all()):
        assert picture.evaluate("(image) => image.complete && image.naturalWidth") == 96
        box = picture.bounding_box()
        assert box is not None
        middle = box["x"] + box["width"] / 2
        assert middle == pytest.approx(bar["x"] + (place + 0.5) / n_shown * bar["width"], abs=2)
        assert box["y"] >= bar["y"] + bar["height"]
        assert box["width"] / box["height"] == pytest.approx(4 / 3, rel=0.1)
    tracks = article.locator(".tracks").evaluate("(one) => [one.clientHeight, one.scrollHeight]")
    assert tracks[0] == tracks[1], "the room kept for the drawing is what it takes"
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]
    pictures.first.hover()
    expect(page.locator("#tip b")).to_have_text("picture")


def webp(level: int) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (96, 72), (level, level, level)).save(content, "WEBP")
    return content.getvalue()


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
    page.locator("#confidence").focus()
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
    found = {"x": tracks({"v": predicted, "w": wrong})}
    compared = compare(found, {"v": true, "w": true}, vocabulary)
    # with a frame rate, no mark of an axis looks like a percent
    report = Report("r", {}, vocabulary=vocabulary, frames_per_second=10.0, comparison=compared)
    page = opened(report, DESKTOP, scheme)
    page.locator("#matrix canvas").scroll_into_view_if_needed()
    page.evaluate(RECORD)
    page.set_viewport_size({"width": 500, "height": 900})
    found = dict(page.evaluate(WRITTEN))
    assert {text for text in found if text.isdecimal()} == {"95", "5", "100"}
    assert (found["100"], found["5"]) == (on_full, on_empty)


def test_the_chosen_decoding_changes_scores_and_confusion(planted: Report, opened: Opener) -> None:
    page = opened(planted)
    assert planted.comparison is not None
    for name, scores in zip(planted.comparison.decodings, planted.comparison.scores, strict=True):
        page.locator("#decoding").select_option(label=name)
        expect(page.locator("#summary dd").last).to_have_text(f"{scores.acc:.1f}")
        expect(page.locator("#scores tr.chosen th")).to_have_text(name)
        expect(page.locator("#video-list .line.chosen").first).to_contain_text(name)


def test_timelines_come_and_go_with_the_screen(opened: Opener) -> None:
    classes = Vocabulary(("a", "b"))
    truths = {
        f"video {i:03d}": Segmentation(np.array([0, 1]), np.array([10 + i, 10])) for i in range(300)
    }
    compared = compare({"one": tracks(truths)}, truths, classes)
    report = Report("many", {}, vocabulary=classes, comparison=compared)
    page = opened(report)
    expect(page.locator("#video-list .video")).to_have_count(24)
    page.locator("#video-list .more").click()
    expect(page.locator("#video-list .video")).to_have_count(300)
    height = page.evaluate("document.documentElement.scrollHeight")
    last = page.locator("#video-list .video").last
    expect(last.locator("canvas")).to_have_count(0)
    last.scroll_into_view_if_needed()
    expect(last.locator("canvas")).to_have_count(3)  # truth, prediction, axis
    expect(page.locator("#video-list .video").first.locator("canvas")).to_have_count(0)
    assert page.locator("#video-list canvas").count() < 100
    assert page.evaluate("document.documentElement.scrollHeight") == height  # nothing moved
    page.locator("#find").fill("video 12")
    expect(page.locator("#video-list .video")).to_have_count(10)
    expect(page.locator("#found")).to_have_text("10 of 300 videos")
    page.locator("#order").select_option("length")
    expect(page.locator("#video-list h3").first).to_have_text("video 129")


@pytest.mark.parametrize(
    ("n_frames", "rate", "marks"),
    [
        (2400, 10.0, ["0:00", "0:30", "1:00", "4:00"]),
        (90_000, 10.0, ["0:00", "1:00:00", "2:00:00", "30:00"]),
        (12, 10.0, ["0:00.0", "0:00.2", "0:01.2"]),
        (1000, None, ["0", "100", "1000"]),
        (7, None, ["0", "1", "7"]),
    ],
)
def test_every_timeline_has_an_axis_of_time(
    opened: Opener, n_frames: int, rate: float | None, marks: list[str]
) -> None:
    classes = Vocabulary(("a",))
    compared = compare({"x": tracks({"v": Segmentation([0], [n_frames])})}, {}, classes)
    page = opened(Report("r", {}, vocabulary=classes, frames_per_second=rate, comparison=compared))
    page.locator("#video-list .axis canvas").scroll_into_view_if_needed()
    page.evaluate(RECORD)
    page.set_viewport_size({"width": 1000, "height": 900})
    assert set(marks) <= {text for text, _ in page.evaluate(WRITTEN)}


def test_time_in_each_action_follows_video_and_decoding(planted: Report, opened: Opener) -> None:
    page = opened(planted)
    rows = page.locator("#time-table tbody tr")

    def texts() -> list[str]:
        return [" ".join(one.split()) for one in rows.all_inner_texts()]

    assert planted.comparison is not None
    assert planted.vocabulary is not None
    for index, name in enumerate(planted.comparison.decodings):
        page.locator("#decoding").select_option(label=name)
        segmentations = [one.tracks[index].segmentation for one in planted.comparison.videos]
        expected = sorted(
            action_times(segmentations, planted.vocabulary), key=lambda one: -one.n_frames
        )
        for text, one in zip(texts(), expected, strict=True):
            mean = np.floor(one.mean_frames + 0.5) / 10  # as JavaScript rounds
            assert text.startswith(
                f"{planted.vocabulary.names[one.action]} {one.n_segments} "
                f"0:{one.n_frames / 10:04.1f} 0:{mean:04.1f} {100 * one.share:.1f} %"
            )
    page.locator("#time-video").select_option(label="good")
    assert texts() == [
        f"{EVIL} 1 0:02.5 0:02.5 50.0 % 0:02.5",
        "_stir & 'mix' 1 0:02.5 0:02.5 50.0 % 0:02.5",
    ]


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_without_truth_clicks_and_confidence_are_drawn(
    unscored: Report, opened: Opener, size: tuple[int, int]
) -> None:
    page = opened(unscored, size)
    expect(page.locator("#summary")).to_be_hidden()
    assert page.locator("#scores").count() == page.locator("#confusion").count() == 0
    expect(page.locator("#confidence")).to_be_checked()
    expect(page.locator("#video-list h3").first).to_have_text(EVIL_VIDEO)  # the least sure
    expect(page.locator("#video-list .figures").first).to_have_text("100 frames · 50 % sure")
    first = page.locator("#video-list .video").first
    assert first.locator(".line > span:first-child").all_inner_texts()[:2] == ["clicks", "new"]
    clicks = first.locator(".track.points")
    expect(clicks).to_have_attribute("aria-label", f"{EVIL_VIDEO}, clicks, 4 clicks")
    clicks.focus()
    page.keyboard.press("ArrowRight")
    expect(clicks).to_have_attribute("aria-valuetext", f"{EVIL}, frame 20")
    track = first.locator(".track").last
    track.focus()
    page.keyboard.press("End")
    expect(track).to_have_attribute("aria-valuetext", "$cut_$, frames 50–100 · 75 % sure")
    pixel = "(element) => [...element.querySelector('canvas').getContext('2d')" + (
        ".getImageData(5, 1, 1, 1).data]"
    )
    page.evaluate(DRAWN)
    *_, opacity = track.evaluate(pixel)
    assert opacity == pytest.approx(0.25 * 255, abs=1)  # what a segment lacks is pale
    page.locator("#confidence").uncheck()
    page.evaluate(DRAWN)
    assert first.locator(".track").last.evaluate(pixel) == [*rgb(GREY), 255]
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]


def test_videos_of_the_training_and_splits_are_marked(planted: Report, opened: Opener) -> None:
    page = opened(planted)
    marked = page.locator("#video-list .video", has=page.locator(".badge"))
    expect(marked).to_have_count(1)
    expect(marked.locator("h3")).to_have_text("good")
    expect(marked.locator(".badge")).to_have_text("used in training")


def test_a_benchmark_needs_no_drawings(benchmark_report: Report, opened: Opener) -> None:
    page = opened(benchmark_report, PHONE)
    expect(page.locator("#benchmark tbody tr")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]


def test_unlabelled_frames_are_named_and_hatched(opened: Opener) -> None:
    classes = Vocabulary(("background", "a"), ("background",))
    truth, found = Segmentation([1, -1], [40, 60]), Segmentation([1, 0], [50, 50])
    made = compare({"frames": tracks({"v": found})}, {"v": truth}, classes)
    page = opened(Report("unlabelled", {}, vocabulary=classes, comparison=made))
    expect(page.locator("#legend li").last).to_have_text("unlabelled")
    bar = page.locator(".track").first
    bar.focus()
    bar.press("End")
    expect(bar).to_have_attribute("aria-valuetext", "unlabelled, frames 40–100")
    n_colours = """(canvas) => {
      const { data } = canvas.getContext("2d").getImageData(canvas.width * 0.7, 2, 40, 12);
      return new Set(Array.from(data).join().match(/\\d+,\\d+,\\d+,\\d+/g)).size; }"""
    page.evaluate(DRAWN)
    assert bar.locator("canvas").evaluate(n_colours) > 1

    expect(page.locator("#time-table tbody tr")).to_have_count(2)
