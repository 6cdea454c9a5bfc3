"""`uvast app`: what it says before it serves."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from uvast.cli import app as command
from uvast.errors import ConfigError, MissingFileError, OutputError
from uvast.projects import Project
from uvast.web.serving import serve


def test_a_folder_that_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="make a project with uvast init"):
        command.app(tmp_path, open_page=False)


def test_the_server_starts_without_torch() -> None:
    slow = "{'torch', 'numba', 'scipy', 'matplotlib'}"
    code = f"import sys, uvast.web.serving; print(sorted({slow} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(ConfigError, match=r"needs the package uvicorn; .*\[web,video\]"):
        command.app(tmp_path)


def test_a_port_that_is_taken(project: Project) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(OutputError, match=f"cannot listen on 127.0.0.1, port {port}"):
            serve(project, port=port)
    assert not (project.path / "app" / "server.json").exists()
