"""Videos, pictures and frame tables."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field
from starlette.responses import Response
from starlette.routing import Route

from uvast.errors import InputError
from uvast.web.answers import in_thread, query
from uvast.web.media import file_answer
from uvast.web.pictures import frame_at, frame_jpeg
from uvast.web.routes.videos import app_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from uvast.web.app import App
    from uvast.web.strips import Wanted

_Width = Annotated[int, Field(ge=16, le=3840)]
_Seconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
_KEPT = {"cache-control": "private, max-age=86400"}


@dataclass(frozen=True)
class FrameQuery:
    """Which frame: by number, or by time."""

    index: Annotated[int, Field(ge=0, lt=2**40)] | None = None
    seconds: _Seconds | None = None
    width: _Width | None = None
    v: str = ""


@dataclass(frozen=True)
class StripQuery:
    """How many pictures, between which times."""

    start: _Seconds = 0.0
    end: _Seconds | None = None
    n: Annotated[int, Field(ge=1, le=200)] = 20
    width: Annotated[int, Field(ge=16, le=320)] = 96
    v: str = ""


async def get_media(request: Request) -> Response:
    """A video file, or a range of it."""
    path = await in_thread(app_of(request).media.to_send, request.path_params["name"])
    return file_answer(path, request.headers.get("range"), head=request.method == "HEAD")


async def get_times(request: Request) -> Response:
    """When each frame is shown, as float64 in little-endian bytes."""
    times = await in_thread(app_of(request).media.table, request.path_params["name"])
    return Response(times.tobytes(), media_type="application/octet-stream", headers=_KEPT)


async def get_frame(request: Request) -> Response:
    """Exactly one frame as JPEG; `x-frame` and `x-seconds` say which."""
    wanted, app, name = query(request, FrameQuery), app_of(request), request.path_params["name"]
    call = app.media.decoders.submit(_frame, app, name, wanted)
    return await asyncio.wrap_future(call)


def _frame(app: App, name: str, wanted: FrameQuery) -> Response:
    times = app.media.table(name)
    index = wanted.index
    if index is None:
        if wanted.seconds is None:
            raise InputError("which frame?", remedy="say index or seconds")
        index = frame_at(times, wanted.seconds)
    content = frame_jpeg(app.media.to_decode(name), times, index, wanted.width)
    headers = {**_KEPT, "x-frame": str(index), "x-seconds": f"{times[index]:.6f}"}
    return Response(content, media_type="image/jpeg", headers=headers)


async def get_strip(request: Request) -> Response:
    """A film strip: one JPEG, pictures from left to right; `x-times` has their moments."""
    wanted, app, name = query(request, StripQuery), app_of(request), request.path_params["name"]
    strip = await in_thread(_strip, app, name, wanted)
    content = await in_thread(app.media.strips.kept, strip)
    if content is None:
        # others may wait for the same strip: it is made even if this client goes away
        content = await asyncio.shield(asyncio.wrap_future(app.media.strips.make(strip)))
    headers = {**_KEPT, "x-times": ",".join(f"{one:.3f}" for one in strip.seconds)}
    return Response(content, media_type="image/jpeg", headers=headers)


def _strip(app: App, name: str, wanted: StripQuery) -> Wanted:
    seconds = app.project.video(name).seconds or float(app.media.table(name)[-1])
    end = min(seconds, wanted.end or seconds)
    if wanted.start >= end:
        raise InputError(f"a strip from {wanted.start:g} to {end:g} s", remedy="end it later")
    edges = np.linspace(wanted.start, end, wanted.n + 1)
    moments = ((edges[1:] + edges[:-1]) / 2).tolist()
    return app.media.wanted_strip(name, moments, wanted.width)


routes = [
    Route("/media/{name}", get_media),
    Route("/frame/{name}", get_frame),
    Route("/strip/{name}", get_strip),
    Route("/times/{name}", get_times),
]
