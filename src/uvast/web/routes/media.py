"""Videos, pictures and frame tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from uvast.web.answers import in_thread
from uvast.web.media import file_answer
from uvast.web.routes.videos import app_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


async def get_media(request: Request) -> Response:
    """A video, with ranges."""
    path = await in_thread(app_of(request).media.to_send, request.path_params["name"])
    return file_answer(path, request.headers.get("range"), head=request.method == "HEAD")


routes = [Route("/media/{name}", get_media)]
