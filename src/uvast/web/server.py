"""The app as one ASGI application, and the server around it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from uvast.errors import UvastError
from uvast.files import missing
from uvast.web.answers import on_bug, on_error, on_http_error
from uvast.web.routes import files, jobs, media, review, videos
from uvast.web.security import Guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from uvast.web.app import App

STATIC = Path(__file__).parent / "static"


def make_asgi(app: App, static: Path = STATIC) -> Starlette:
    """All routes behind the guard.

    Args:
        app: the project.
        static: the page's files.
    """

    @asynccontextmanager
    async def lifespan(_asgi: Starlette) -> AsyncIterator[None]:
        app.begin()
        try:
            yield
        finally:
            app.end()

    async def page(_request: Request) -> Response:
        if not (static / "index.html").is_file():
            raise missing(static / "index.html", remedy="install uvast again")
        return FileResponse(static / "index.html")

    asgi = Starlette(
        routes=[
            Route("/", page),
            *videos.routes,
            *media.routes,
            *jobs.routes,
            *files.routes,
            *review.routes,
            Mount("/static", StaticFiles(directory=static, check_dir=False)),
        ],
        middleware=[Middleware(Guard, door=app.door)],
        exception_handlers={UvastError: on_error, HTTPException: on_http_error, Exception: on_bug},
        lifespan=lifespan,
    )
    asgi.router.redirect_slashes = False
    asgi.state.uvast = app
    return asgi
