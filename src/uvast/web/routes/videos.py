"""One video: its state and its changes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from starlette.responses import JSONResponse
from starlette.routing import Route

from uvast.exchange.records import one_line
from uvast.web.answers import body, in_thread, json_answer, json_if_new, query
from uvast.web.changes import MOST_CHANGES, Change
from uvast.web.documents import ConflictError
from uvast.web.predictions import events_of
from uvast.web.scenes import Scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from uvast.exchange import Event
    from uvast.web.app import App
    from uvast.web.changes import Origin

Author = Annotated[str, Field(max_length=100)]
Stamp = Annotated[int, Field(ge=0, lt=2**53)]
Key = Annotated[str, Field(max_length=100)]
VideoName = Annotated[str, Field(min_length=1, max_length=1000)]


@dataclass(frozen=True)
class ChangeRequest:
    """What a person did to one video.

    Args:
        changes: in order.
        version: the one that the person saw.
        author: who it is.
        stamp: of the state that the client has; the answer continues from there.
        key: a request that comes again with the same key is not done again.
    """

    changes: Annotated[list[Change], Field(min_length=1, max_length=MOST_CHANGES)]
    version: Annotated[int, Field(ge=0, lt=2**53)]
    author: Author = ""
    stamp: Stamp | None = None
    key: Key = ""


@dataclass(frozen=True)
class VideoQuery:
    """The state that the client has; None for none."""

    since: Stamp | None = None


@dataclass(frozen=True)
class UndoRequest:
    """Whose last change, and of which video (None for any); the same key is done only once."""

    author: Author = ""
    video: VideoName | None = field(default=None)
    key: Key = ""


async def get_project(request: Request) -> Response:
    """The list of videos."""
    content, mark = await in_thread(app_of(request).overview.json)
    return json_if_new(request, lambda: content, mark)


async def get_video(request: Request) -> Response:
    """One video, or what is new since a state of it."""
    wanted, app, name = query(request, VideoQuery), app_of(request), request.path_params["name"]
    return await in_thread(_video, app, name, wanted.since, request)


def _video(app: App, name: str, since: int | None, request: Request) -> Response:
    app.store.document(name)  # reads what another program may have written
    state, deltas = app.states.since(name, since)
    if deltas is not None:
        return json_answer(b'{"deltas": [%b]}' % b", ".join(deltas))
    return json_if_new(request, lambda: state.json, state.stamp)


async def post_changes(request: Request) -> Response:
    """Changes a video; the answer comes when the changes are on disk."""
    wanted = await body(request, ChangeRequest)
    return await in_thread(_change, app_of(request), request.path_params["name"], wanted)


def _change(app: App, name: str, wanted: ChangeRequest) -> Response:
    """Answers with the deltas since the client's state, or with the whole state."""
    author = author_of(app, wanted.author)
    status, head = 200, dict[str, object]()
    try:
        scene = scene_of(app, name, wanted.stamp)
        made = app.store.change(
            name, wanted.changes, author, seen=wanted.version, scene=scene, key=wanted.key
        )
        head["ids"] = made.ids
        head["made"] = made.document.version if made.edit else None
    except ConflictError as conflict:
        status, head["error"] = 409, str(conflict)
    state, deltas = app.states.since(name, wanted.stamp)
    head |= {"version": state.document.version, "number": app.store.number}
    rest = b'"video": ' + state.json if deltas is None else b'"deltas": [%b]' % b", ".join(deltas)
    return json_answer(json.dumps(head).encode()[:-1] + b", " + rest + b"}", status)


def scene_of(app: App, name: str, stamp: int | None = None) -> Scene:
    """What changes to a video have to know.

    Args:
        app: the project.
        name: the video.
        stamp: of the state that the person sees, which must show the current prediction; None
            accepts any.
    """
    video = app.project.video(name)

    def origins(origin: Origin) -> Sequence[Event]:
        if origin == "prediction":
            found = app.predictions.of(name)
            if stamp is not None and not app.states.shows(name, stamp, found):
                raise ConflictError(
                    "the model's segments are new", where=name, remedy="look at them first"
                )
            return events_of(found)
        return app.pseudo.of(app.store.known(name), video).segments

    return Scene(app.media.frame_times(video), app.media.seconds(video), origins)


async def post_undo(request: Request) -> Response:
    """Undoes the author's last change."""
    return await _undo_or_redo(request, undo=True)


async def post_redo(request: Request) -> Response:
    """Redoes what the author last undid."""
    return await _undo_or_redo(request, undo=False)


async def _undo_or_redo(request: Request, *, undo: bool) -> Response:
    app, wanted = app_of(request), await body(request, UndoRequest)
    call = app.store.undo if undo else app.store.redo

    def turn() -> dict[str, object]:
        entry = call(author_of(app, wanted.author), wanted.video, key=wanted.key)
        versions = {name: app.store.document(name).version for name in entry.videos}
        number = app.store.number
        return {"number": number, "of": entry.number, "kind": entry.kind, "videos": versions}

    return JSONResponse(await in_thread(turn))


async def get_events(request: Request) -> Response:
    """The stream of live updates."""
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
