"""`uvast app`: a project in the browser."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, results
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from uvast.projects import Project
    from uvast.web.security import Door

LOCAL = "127.0.0.1"


def app(
    project: Annotated[Path, typer.Argument(help="The project's folder.", show_default=False)],
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but the default is open to others.")
    ] = LOCAL,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, show_default="the first free one from 8470")
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
    author: Annotated[
        str | None,
        typer.Option(help="The name recorded with changes.", show_default="your user name"),
    ] = None,
) -> None:
    """Annotate, train and review in the browser.

    Work is kept in the project's folder: each change is written before the page shows it as saved.
    An empty or missing folder becomes a new project, and you add videos on the page. Ctrl-C ends
    the app.

    For example:

    ```
    uvast app my-project

    # on a server, seen from your own machine
    uvast app my-project --no-open --port 8470
    ssh -L 8470:127.0.0.1:8470 server
    ```
    """
    for package in ("starlette", "uvicorn", "av"):
        if find_spec(package) is None:
            raise ConfigError(
                f"needs the package {package}",
                where="uvast app",
                remedy="install it with: pip install '.[web,video]' in uvast's folder",
            )
    from uvast.web.serving import serve

    def ready(door: Door) -> None:
        results.print(f"{project} is open at {door.link}")
        if host != LOCAL:
            note(
                "anybody who has this address can change the project, and nothing is encrypted; "
                "use it only in a network you trust, or put a TLS proxy in front"
            )
        note("Ctrl-C ends the app")
        if open_page:
            webbrowser.open(door.link)

    serve(_opened(project), host=host, port=port, author=author, ready=ready)


def _opened(path: Path) -> Project:
    """Opens the project, or makes an empty one where there is nothing yet."""
    from uvast.projects import Project

    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        return Project.open(path)
    made, _ = Project.create(path, [])
    note(f"{path} is a new project: add your videos on the page")
    return made
