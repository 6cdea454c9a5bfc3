"""A project made once, a copy and its app for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from web_page import DESKTOP, PHONE, READY, Opener, Served, make_page_project, served, until
from web_project import Client, copied, make_project
from web_project import opened as opened_client

from uvast.projects import Project


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    (folder / "index.html").write_text("<!doctype html><title>uvast</title>")
    return folder


@pytest.fixture
def project(pattern: Project, tmp_path: Path) -> Project:
    return copied(pattern, tmp_path / "project")


@pytest.fixture
def client(project: Project, static: Path) -> Iterator[Client]:
    with opened_client(project, static) as client:
        yield client


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Videos for the page."""
    return make_page_project(tmp_path_factory.mktemp("page"))


@pytest.fixture
def app(source: Project, tmp_path: Path) -> Iterator[Served]:
    with served(copied(source, tmp_path / "page")) as running:
        yield running


@pytest.fixture
def refusals() -> None:
    """For tests that meet answers that are no success: the browser complains of each."""


@pytest.fixture
def opened(browser: Browser, app: Served, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens views; at the end nothing may have been complained about or asked for elsewhere."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []
    requests: list[str] = []

    def open_page(view: str, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,  # type: ignore[arg-type]
            has_touch=size == PHONE,
        )
        contexts.append(context)
        # routes that begin on an open page miss a request now and then: begin before it opens
        context.route("**/nothing-asks-for-this", lambda route: route.abort())
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(app.app.door.link)
        page.goto(f"{app.app.door.address}/#/{view}")
        expect(page.locator("main > *")).to_be_visible()
        if view.startswith("annotate"):
            until(page, READY)
        return page

    yield open_page
    for context in contexts:
        context.close()
    if "refusals" in request.fixturenames:
        complaints = [one for one in complaints if not one.startswith("Failed to load resource")]
    assert complaints == []
    elsewhere = [url for url in requests if not url.startswith(app.app.door.address)]
    assert [url for url in elsewhere if not url.startswith(("blob:", "data:"))] == []
