"""Files in and out: videos, annotation files, exports; and the classes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote, unquote

from pydantic import Field
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from uvast.errors import InputError, MissingFileError
from uvast.exchange import FORMATS
from uvast.web.answers import body, in_thread, query, read_body
from uvast.web.classes import ClassChange
from uvast.web.interchange import Outgoing, incoming, outgoing, take_in_labels
from uvast.web.live import encoded
from uvast.web.page_words import in_page_words
from uvast.web.routes.videos import app_of, author_of
from uvast.web.uploads import KnownVideoError, check_new, receive, safe_name, take_in

if TYPE_CHECKING:
    from starlette.requests import Request

    from uvast.web.app import App

LARGEST_ANNOTATIONS = 64 * 2**20
N_EXPORTS = 20
"""Downloads that are kept."""

_Name = Annotated[str, Field(min_length=1, max_length=1000)]


class ClassRequest(ClassChange):
    """A change of the classes, and who makes it."""

    author: Annotated[str, Field(max_length=100)] = ""


@dataclass(frozen=True)
class ImportQuery:
    """How to read a file; see `uvast import`."""

    author: Annotated[str, Field(max_length=100)] = ""
    format: Annotated[str, Field(max_length=100)] | None = None
    rate: Annotated[str, Field(max_length=100)] | None = None
    overlaps: Literal["error", "first", "last", "longest"] = "error"
    existing: Literal["refuse", "add", "replace"] = "refuse"
    video: _Name | None = None


@dataclass(frozen=True)
class ExportRequest:
    """What to export; `videos` is None for all."""

    format: Annotated[str, Field(max_length=100)]
    what: Literal["labels", "predictions"] = "labels"
    videos: Annotated[list[_Name], Field(max_length=100_000)] | None = None


async def post_classes(request: Request) -> Response:
    """Changes the classes."""
    app, wanted = app_of(request), await body(request, ClassRequest)
    classes = await in_thread(app.store.change_classes, wanted, author_of(app, wanted.author))
    return JSONResponse({"classes": [vars(one) for one in classes], "number": app.store.number})


async def post_video(request: Request) -> Response:
    """Adds an uploaded video; one that is in the project already is told, and no fault."""
    app = app_of(request)
    length = request.headers.get("content-length", "")
    size = int(length) if length.isascii() and length.isdecimal() else None
    name = safe_name(_file_name(request))
    path = app.project.path / "videos" / name
    try:
        await in_thread(check_new, app.project, path, size)
        path = await receive(request.stream(), path.parent, name, size)
        added = await in_thread(take_in, app.project, path)
    except KnownVideoError as known:
        return JSONResponse({"videos": (), "known": f"{known}."})
    await in_thread(app.overview.refresh)
    app.news.tell(encoded({"project": app.store.number}))
    return JSONResponse({"videos": added})


async def post_import(request: Request) -> Response:
    """Imports an annotation file, as one change that can be undone."""
    app, wanted = app_of(request), query(request, ImportQuery)
    name = _file_name(request)
    seen = await in_thread(lambda: app.store.documents)
    content = await read_body(request, LARGEST_ANNOTATIONS)

    def import_it() -> dict[str, object]:
        with in_page_words():
            found = incoming(
                app,
                content,
                name,
                format_name=wanted.format,
                rate=wanted.rate,
                video=wanted.video,
            )
            done = take_in_labels(
                app,
                found,
                author_of(app, wanted.author),
                seen=seen,
                existing=wanted.existing,
                overlaps=wanted.overlaps,
            )
        return {
            "videos": [one.video for one in found.videos],
            "changed": done.n_changed,
            "notes": done.notes,
            "number": app.store.number,
        }

    return JSONResponse(await in_thread(import_it))


async def post_export(request: Request) -> Response:
    """Makes a file to download."""
    app, wanted = app_of(request), await body(request, ExportRequest)
    names = app.project.names if wanted.videos is None else tuple(wanted.videos)
    made = await in_thread(outgoing, app, wanted.format, wanted.what, names)
    number = _keep(app, made)
    answer = {"id": number, "address": f"/api/exports/{number}", "name": made.name}
    return JSONResponse({**answer, "notes": made.notes})


async def get_export(request: Request) -> Response:
    """Downloads a file that `post_export` made."""
    made = app_of(request).exports.get(request.path_params["id"])
    if made is None:
        raise MissingFileError("this export is gone", remedy="export again")
    place = f"attachment; filename*=UTF-8''{quote(made.name)}"
    return Response(
        made.content,
        media_type="application/octet-stream",
        headers={"content-disposition": place},
    )


async def get_formats(_request: Request) -> Response:
    """The formats, and which can be written."""
    return JSONResponse(
        [
            {
                "name": one.name,
                "title": one.title,
                "suffixes": one.suffixes,
                "writes": one.write is not None,
            }
            for one in FORMATS
        ]
    )


def _keep(app: App, made: Outgoing) -> str:
    number = secrets.token_hex(8)
    app.exports[number] = made
    while len(app.exports) > N_EXPORTS:
        app.exports.pop(next(iter(app.exports)))
    return number


def _file_name(request: Request) -> str:
    name = unquote(request.headers.get("x-name", ""))
    if not name.strip() or len(name) > 1000:
        raise InputError("a file without a name", remedy="send its name as X-Name")
    return name


routes = [
    Route("/api/classes", post_classes, methods=["POST"]),
    Route("/api/videos", post_video, methods=["POST"]),
    Route("/api/import", post_import, methods=["POST"]),
    Route("/api/export", post_export, methods=["POST"]),
    Route("/api/exports/{id}", get_export),
    Route("/api/formats", get_formats),
]
