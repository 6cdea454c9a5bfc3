"""Serves a project until somebody stops it: one server per project, at its own address."""

from __future__ import annotations

import getpass
import os
import signal
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import uvicorn
from filelock import FileLock, Timeout
from pydantic import Field

from uvast.errors import OutputError, UvastError
from uvast.files import read_record, unwritable, write_json
from uvast.web.app import App
from uvast.web.security import Door
from uvast.web.server import make_asgi

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from uvast.projects import Project

FIRST_PORT = 8470
_N_PORTS = 100


@dataclass(frozen=True)
class _Running:
    """`app/server.json`: where the server that has the project listens."""

    address: Annotated[str, Field(max_length=1000)]
    process: int


def serve(
    project: Project,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    author: str | None = None,
    ready: Callable[[Door], None] = lambda _: None,
) -> None:
    """Serves a project until Ctrl-C.

    Args:
        project: what to show.
        host: the address to listen on.
        port: None takes the first free one.
        author: who makes the changes; None for the name of the user.
        ready: called with the door once it is open.
    """
    with _only_server(project) as announce:
        listener = listen(host, port)
        with listener:
            door = Door.new(host, listener.getsockname()[1])
            app = App(project, door, author or _user())
            announce(door.address)
            config = uvicorn.Config(
                make_asgi(app),
                log_level="critical",  # `answers` reports errors
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=2,
            )
            server = uvicorn.Server(config)
            app.news.is_over = lambda: server.should_exit
            ready(door)
            try:
                with _deaf():
                    server.run(sockets=[listener])
            finally:
                app.end()


@contextmanager
def _deaf() -> Iterator[None]:
    """Ignores Ctrl-C: the server handles it itself, and raises it again when it has stopped."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, lambda *_: None) for one in signals]
    try:
        yield
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


@contextmanager
def _only_server(project: Project) -> Iterator[Callable[[str], None]]:
    """Refuses a second server, and tells it where the first one is."""
    folder = project.path / "app"
    note = folder / "server.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "server.lock")
        lock.acquire(timeout=0)
    except Timeout:
        where = "in another process"
        with suppress(UvastError):
            where = f"at {read_record(note, _Running).address}"
        raise OutputError(
            f"is open in the app already, {where}",
            where=project.path,
            remedy="use that one, or stop it first",
        ) from None
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        yield lambda address: write_json(note, {"address": address, "process": os.getpid()})
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def listen(host: str, port: int | None) -> socket.socket:
    """A socket on the port, or on the first free one.

    It names TCP, although that is the default: only then does asyncio send answers at once
    (TCP_NODELAY). Otherwise each body would wait 40 ms until its header is acknowledged.
    """
    ports = range(FIRST_PORT, FIRST_PORT + _N_PORTS) if port is None else (port,)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    fault: OSError | None = None
    for one in ports:
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, one))
            listener.listen(128)
        except OSError as error:
            listener.close()
            fault = error
        else:
            return listener
    reason = "" if fault is None else f" ({fault.strerror or fault})"
    raise OutputError(
        f"cannot listen on {host}, port {ports[-1]}{reason}",
        remedy="choose another --port or --host",
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"
