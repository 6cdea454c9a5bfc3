"""A project made once, a copy and its app for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_project import Client, copied, make_project, opened

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
    with opened(project, static) as client:
        yield client
