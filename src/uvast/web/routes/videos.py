"""One video: its state and its changes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from starlette.responses import JSONResponse
from starlette.routing import Route

from uvast.exchange.records import one_line
from uvast.web.answers import body, in_thread, json_answer
from uvast.web.changes import MOST_CHANGES, Change
from uvast.web.documents import ConflictError
from uvast.web.scenes import Scene
from uvast.web.views import video_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from uvast.web.app import App

Author = Annotated[str, Field(max_length=100)]
VideoName = Annotated[str, Field(min_length=1, max_length=1000)]


@dataclass(frozen=True)
class ChangeRequest:
    """What a person did to one video."""

    changes: Annotated[list[Change], Field(min_length=1, max_length=MOST_CHANGES)]
    version: Annotated[int, Field(ge=0, lt=2**53)]
    author: Author = ""


@dataclass(frozen=True)
class UndoRequest:
    """Whose last change, and of which video; None for any."""

    author: Author = ""
    video: VideoName | None = field(default=None)


async def get_project(request: Request) -> Response:
    """The list."""
    return json_answer(await in_thread(app_of(request).overview.json))


async def get_video(request: Request) -> Response:
    """One video."""
    content = await in_thread(video_json, app_of(request), request.path_params["name"])
    return json_answer(content)


async def post_changes(request: Request) -> Response:
    """Changes it; the answer comes when they are on the disk."""
    wanted = await body(request, ChangeRequest)
    return await in_thread(_change, app_of(request), request.path_params["name"], wanted)


def _change(app: App, name: str, wanted: ChangeRequest) -> Response:
    author = author_of(app, wanted.author)
    status, error = 200, b""
    number = app.store.number
    try:
        scene = scene_of(app, name)
        app.store.change(name, wanted.changes, author, seen=wanted.version, scene=scene)
        number = app.store.number
    except ConflictError as conflict:
        status, error = 409, b'"error": ' + json.dumps(str(conflict)).encode() + b", "
    document = app.store.document(name)
    head = f'"version": {document.version}, "number": {number}, "video": '.encode()
    return json_answer(b"{" + error + head + video_json(app, name) + b"}", status)


def scene_of(app: App, name: str) -> Scene:
    """What changes of a video have to know."""
    video = app.project.video(name)

    def origins(origin: Origin) -> Sequence[Event]:
        if origin == "prediction":
            return app.predictions.events(name)
        return app.pseudo.of(app.store.known(name), video).segments

    return Scene(app.media.frame_times(video), app.media.seconds(video), origins)


async def post_undo(request: Request) -> Response:
    """Takes the author's last change back."""
    return await _undo_or_redo(request, undo=True)


async def post_redo(request: Request) -> Response:
    """Makes it again."""
    return await _undo_or_redo(request, undo=False)


async def _undo_or_redo(request: Request, *, undo: bool) -> Response:
    app, wanted = app_of(request), await body(request, UndoRequest)
    call = app.store.undo if undo else app.store.redo
    entry = await in_thread(call, author_of(app, wanted.author), wanted.video)
    versions = {name: app.store.document(name).version for name in entry.videos}
    return JSONResponse(
        {"number": app.store.number, "of": entry.number, "kind": entry.kind, "videos": versions}
    )


async def get_events(request: Request) -> Response:
    """News."""
    return app_of(request).news.stream()


def author_of(app: App, given: str) -> str:
    """Who did it, on one line."""
    return one_line(given) or app.author


def app_of(request: Request) -> App:
    """The app that a request is for."""
    app: App = request.app.state.uvast
    return app


routes = [
    Route("/api/project", get_project),
    Route("/api/events", get_events),
    Route("/api/videos/{name}", get_video),
    Route("/api/videos/{name}/changes", post_changes, methods=["POST"]),
    Route("/api/undo", post_undo, methods=["POST"]),
    Route("/api/redo", post_redo, methods=["POST"]),
]
