"""What to look at next, how scores grew, and features as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from starlette.responses import JSONResponse
from starlette.routing import Route

from uvast.web.answers import in_thread, query
from uvast.web.heat_map import heat_map
from uvast.web.review import MOST_SHOWN, doubtful
from uvast.web.routes.videos import VideoName, app_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


@dataclass(frozen=True)
class ReviewQuery:
    """The order of the segments."""

    order: Literal["unsure"] = "unsure"


@dataclass(frozen=True)
class NextQuery:
    """The video that the person is done with; None for none."""

    leaving: VideoName | None = None


@dataclass(frozen=True)
class HeatMapQuery:
    """Which part of the video, and how wide a picture."""

    width: Annotated[int, Field(ge=1, le=4000)] = 600
    start: Annotated[float, Field(ge=0, le=1e7)] = 0.0
    end: Annotated[float, Field(ge=0, le=1e7)] | None = None


async def get_review(request: Request) -> Response:
    """Predicted segments that nobody has looked at, the least sure first."""
    query(request, ReviewQuery)
    found = await in_thread(doubtful, app_of(request))
    return JSONResponse([one.view for one in found[:MOST_SHOWN]])


async def get_next(request: Request) -> Response:
    """Where a click would teach most, as things are now; null if there is nothing to do."""
    wanted, app = query(request, NextQuery), app_of(request)
    return JSONResponse(await in_thread(app.label_next.find, wanted.leaving))


async def get_curve(request: Request) -> Response:
    """The score of each round against what was reviewed."""
    from uvast.web.round_scores import curve  # compiles its loops: not while the app starts

    return JSONResponse(await in_thread(curve, app_of(request)))


async def get_features(request: Request) -> Response:
    """Features as rows of bytes."""
    wanted = query(request, HeatMapQuery)
    app, name = app_of(request), request.path_params["name"]
    found = await in_thread(heat_map, app, name, wanted.width, wanted.start, wanted.end)
    return JSONResponse(found)


routes = [
    Route("/api/review", get_review),
    Route("/api/next", get_next),
    Route("/api/curve", get_curve),
    Route("/api/videos/{name}/features", get_features),
]
