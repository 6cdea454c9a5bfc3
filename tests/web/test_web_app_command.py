"""`uvast app`: what it says before it serves."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from uvast.cli import app as command
from uvast.errors import ConfigError, MissingFileError, OutputError
from uvast.projects import Project
from uvast.web.serving import serve


def test_a_folder_that_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(MissingFileError, match="make a project with uvast init"):
        command.app(tmp_path, open_page=False)


@pytest.mark.parametrize("is_there", [False, True])
def test_an_empty_folder_becomes_a_project(
    tmp_path: Path, taken: int, capsys: pytest.CaptureFixture[str], *, is_there: bool
) -> None:
    path = tmp_path / "new"
    if is_there:
        path.mkdir()
    with pytest.raises(OutputError, match="cannot listen"):  # nothing else ends the command
        command.app(path, port=taken, open_page=False)
    assert Project.open(path).names == ()
    assert "add your videos on the page" in capsys.readouterr().err


def test_the_server_starts_without_torch() -> None:
    slow = "{'torch', 'numba', 'scipy', 'matplotlib'}"
    code = f"import sys, uvast.web.serving; print(sorted({slow} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(ConfigError, match=r"needs the package uvicorn; .*\[web,video\]"):
        command.app(tmp_path)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_that_is_taken(project: Project, taken: int) -> None:
    with pytest.raises(OutputError, match=f"cannot listen on 127.0.0.1, port {taken}"):
        serve(project, port=taken)
    assert not (project.path / "app" / "server.json").exists()
