"""Walks through docs/annotating.md as a new user would, in a real browser, and times every step.

    python benchmarks/tutorial.py [--pictures docs/images] [--epochs 60]

From an empty folder and generated video files to a trained model and corrected labels in ELAN's
format. The steps press what the tutorial says; only the times of the clicks come from the truth of
the generated videos. `--pictures` also takes the docs' pictures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from server_process import served
from web_page import SCENE, go_to, saved, until

from conftest import QUIET
from uvast.features.generate import MOTIONS, generate_videos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.segments import Segmentation

N_VIDEOS = 5
N_CLICKED = 3
N_REVIEWED = 6
SECONDS = 3600
"""An hour is more than any step may take."""


class Walk:
    """One walk: the page, the pictures, the times.

    Args:
        page: the browser's page.
        pictures: where pictures go; None for none.
    """

    def __init__(self, page: Page, pictures: Path | None) -> None:
        self.page = page
        self.pictures = pictures

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Prints how long a step took."""
        began = time.monotonic()
        yield
        print(f"{time.monotonic() - began:7.1f} s  {what}", flush=True)

    def picture(self, name: str) -> None:
        """Saves what the page shows, at a smaller size."""
        if self.pictures is None:
            return
        self.page.mouse.move(1, 1)
        self.page.wait_for_timeout(1500)
        content = Image.open(BytesIO(self.page.screenshot())).convert("RGB")
        content = content.resize(
            (content.width * 3 // 4, content.height * 3 // 4), Image.Resampling.LANCZOS
        )
        if name.endswith(".webp"):
            content.save(self.pictures / name, quality=80)
        else:  # noise needs few colours, but would take all of them
            few = content.quantize(256, Image.Quantize.MAXCOVERAGE, 1, dither=Image.Dither.NONE)
            few.save(self.pictures / f"{name}.png", optimize=True)

    def button(self, name: str) -> None:
        """Presses a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def guided(self, title: str) -> None:
        """Takes the next step that the page suggests, which must have this title."""
        self.page.get_by_role("link", name="Videos", exact=True).click()
        expect(self.page.locator(".guide h2")).to_have_text(title)
        self.page.locator(".guide .button.main").click()

    def job(self) -> None:
        """Starts the planned job and waits until it is done."""
        expect(self.page.locator("dialog .plan li").first).to_be_visible()
        n_jobs = self.page.locator(".job").count()
        self.button("Start")
        expect(self.page.locator(".job")).to_have_count(n_jobs + 1)
        state = self.page.locator(".job").first.locator(".state")
        expect(state).to_have_class("state done", timeout=1000 * SECONDS)


def add_videos(walk: Walk, videos: Path) -> None:
    """Adds the videos to the new project."""
    expect(walk.page.locator(".welcome")).to_be_visible()
    walk.picture("app-new")
    with walk.page.expect_file_chooser() as chooser:
        walk.button("Add videos")
    chooser.value.set_files(sorted(videos.glob("*.mp4")))
    expect(walk.page.locator(".video-card")).to_have_count(N_VIDEOS, timeout=1000 * SECONDS)
    walk.picture("app-videos")


def add_classes(walk: Walk) -> None:
    """Adds classes by keyboard; the dialog stays open for the next name."""
    walk.button("Add the first class")
    for name in MOTIONS:
        walk.page.keyboard.type(name)
        walk.page.keyboard.press("Enter")
        expect(walk.page.locator(".class-row")).to_have_count(MOTIONS.index(name) + 1)
    walk.page.locator(".class-row", has_text="rest").get_by_label("background").check()
    walk.picture("app-classes")
    walk.page.keyboard.press("Escape")


def click_actions(walk: Walk, truth: Segmentation) -> None:
    """Clicks once in the middle of each action."""
    until(walk.page, f"{SCENE}?.seconds > 0")
    start = 0
    for action, length in zip(truth.transcript, truth.durations, strict=True):
        go_to(walk.page, int(start + length // 2))
        walk.page.keyboard.press(str(int(action) + 1))
        start += length
    saved(walk.page)
    expect(walk.page.locator(".about")).to_contain_text(f"{len(truth.transcript)} clicks")


def show_everything(walk: Walk, name: str) -> None:
    """Shows a video's clicks and the model's prediction: the picture at the top of the docs."""
    walk.page.get_by_role("link", name="Videos", exact=True).click()
    walk.page.locator(".video-card", has_text=name).click()
    until(walk.page, f"{SCENE}?.scene.prediction.items.length > 0")
    go_to(walk.page, 100)
    walk.page.wait_for_timeout(3000)
    walk.picture("app-annotate.webp")


def review(walk: Walk) -> None:
    """Accepts some segments, and corrects one: its class by key, then its edge."""
    walk.guided("Review what the model is least sure of")
    expect(walk.page.locator(".queue button.on")).to_be_visible()
    walk.picture("app-review")
    walk.page.keyboard.press("2")
    walk.page.keyboard.press("]")
    for _ in range(N_REVIEWED):
        walk.page.keyboard.press("Enter")
        walk.page.wait_for_timeout(200)
    walk.button("Accept the whole video")
    saved(walk.page)


def export(walk: Walk, folder: Path) -> Path:
    """Exports the labels for ELAN."""
    walk.page.get_by_role("link", name="Videos", exact=True).click()
    walk.button("Export")
    walk.page.get_by_label("Format").select_option("elan")
    walk.picture("app-export")
    with walk.page.expect_download() as waiting:
        walk.button("Download")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def take(walk: Walk, link: str, folder: Path, truths: dict[str, Segmentation], epochs: int) -> None:
    """Takes all steps."""
    page = walk.page
    with walk.step("the page is there"):
        page.goto(link)
        expect(page.locator("main > *")).to_be_visible()
    with walk.step(f"{N_VIDEOS} videos are added"):
        add_videos(walk, folder / "recordings")
    with walk.step(f"{len(MOTIONS)} classes have their names"):
        walk.guided("Click once in each action")
        add_classes(walk)
    name = ""
    for number in range(N_CLICKED):
        if number:
            page.keyboard.press("n")
            expect(page.locator(".bar h1")).not_to_have_text(name)
        name = page.locator(".bar h1").text_content() or ""
        with walk.step(f"{len(truths[name].transcript)} clicks in {name}"):
            click_actions(walk, truths[name])
        if not number:
            walk.picture("app-clicks")
    with walk.step("features"):
        walk.guided("Compute features")
        page.get_by_label("Extractor").select_option("pixels")
        walk.job()
    with walk.step(f"a model, {epochs} epochs"):
        walk.guided("Train a model")
        page.get_by_label("Epochs").fill(str(epochs))
        page.get_by_label("Epochs").press("Tab")
        expect(page.locator("dialog .waiting")).to_have_count(0)
        walk.picture("app-plan")
        walk.job()
        walk.picture("app-training")
    with walk.step("all videos are segmented"):
        walk.guided("Segment all videos")
        walk.job()
    show_everything(walk, next(iter(truths)))
    with walk.step(f"{N_REVIEWED} segments and a video are reviewed"):
        review(walk)
    with walk.step("ELAN's file is there"):
        path = export(walk, folder)
    print(f"{path.name}: {path.stat().st_size} bytes")


def main() -> None:
    """Walks once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pictures", type=Path, help="a folder for the docs' pictures")
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "recordings").mkdir()
        truths = generate_videos(
            folder / "recordings", n_videos=N_VIDEOS, seconds=20, width=240, height=180, seed=4
        )
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(QUIET))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        with served(folder / "my-project", seconds=SECONDS) as app:
            link = f"{app.address}/?token={app.token}"
            take(Walk(page, options.pictures), link, folder, truths, options.epochs)
        browser.close()


if __name__ == "__main__":
    main()
