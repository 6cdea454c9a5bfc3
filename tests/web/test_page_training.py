"""From clicks to a corrected export in the browser: train, watch, segment, review, ELAN."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pympi
import pytest
from playwright.sync_api import Browser, Page, expect
from web_page import Served, make_page_project, served, until
from web_project import RATE, write_features

from uvast.projects import Project
from uvast.web.changes import Add
from uvast.web.routes.videos import scene_of

ACTIONS = ("reach", "pour")
LONG = 400_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Three videos whose features tell the two actions, with a click in each."""
    folder = tmp_path_factory.mktemp("training")
    project = make_page_project(folder)
    with served(project) as running:
        for name in project.names:
            _annotate(running, project, name)
        yield running


def _annotate(app: Served, project: Project, name: str) -> None:
    seconds = project.video(name).seconds or 0.0
    n_frames = int(seconds * RATE)
    features = np.random.default_rng(3).normal(0, 0.1, (n_frames, 4))
    features[: n_frames // 2, 0] += 3
    features[n_frames // 2 :, 1] += 3
    write_features(project, name, features)
    clicks = [
        Add(do="add", kind="click", label=label, start=seconds * share)
        for label, share in zip(ACTIONS, (0.25, 0.75), strict=True)
    ]
    app.app.store.change(name, clicks, "anna", seen=0, scene=scene_of(app.app, name))


def run_job(page: Page, kind: str, **fields: str) -> None:
    """Reads the plan, starts, and watches until it is done."""
    n_jobs = page.locator(".job").count()
    page.locator(f"button[data-kind={kind}]").click()
    for label, value in fields.items():
        page.get_by_label(label).fill(value)  # and straight to Start: no press of it may be lost
    # another process makes the plan of a training
    expect(page.locator("dialog .plan li:not(.waiting)").first).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".job")).to_have_count(n_jobs + 1)
    state = page.locator(".job").first.locator(".state")
    expect(state).to_have_class("state done", timeout=LONG)


def test_train_watch_segment_review_export(app: Served, browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(app.app.door.link)
    page.goto(f"{app.app.door.address}/#/jobs")
    run_job(page, "train", Epochs="2")
    expect(page.locator(".chart canvas").first).to_be_visible()
    run_job(page, "segment")
    page.get_by_role("link", name="Review").click()
    expect(page.locator(".queue button.on")).to_be_visible()
    name = (page.locator(".queue .on .hint").text_content() or "").split()[1]
    expect(page.locator(".inspector select")).to_be_visible()  # keys wait for the video's labels
    page.keyboard.press("1")  # classes without a chosen key have theirs by name
    expect(page.locator(".inspector select")).to_have_value("pour")
    page.keyboard.press("Enter")
    expect(page.locator(".saved")).to_have_text("saved")
    assert "pour" in [one.event.label for one in app.app.store.document(name).segments]
    expect(page.locator(".inspector select")).to_be_visible()  # the next one is there
    n_left = page.locator(".queue button:not(.done)").count()
    page.get_by_role("button", name="Accept the whole video").click()
    expect(page.locator(".saved")).to_have_text("saved")
    until(page, f"document.querySelectorAll('.queue button:not(.done)').length < {n_left}")
    assert any(one.reviewed for one in app.app.store.documents.values())
    page.get_by_role("link", name="Videos").click()
    page.get_by_role("button", name="Export").click()
    page.get_by_label("Format").select_option("elan")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert _elan_labels(path, tmp_path) <= set(ACTIONS)
    assert complaints == []
    page.close()


def _elan_labels(path: Path, folder: Path) -> set[str]:
    """The labels of a file, or of the files of an archive, as ELAN's library reads them."""
    import zipfile

    files = [path]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder / "elan")
        files = sorted((folder / "elan").rglob("*.eaf"))
    assert files
    found: set[str] = set()
    for file in files:
        document = pympi.Elan.Eaf(str(file))
        for tier in document.get_tier_names():
            found |= {value for *_, value in document.get_annotation_data_for_tier(tier)}
    assert found
    return found
