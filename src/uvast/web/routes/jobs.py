"""Work in the background: plans, jobs, reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Route

from uvast.errors import InputError
from uvast.files import missing
from uvast.web.answers import body, in_thread
from uvast.web.job_views import job_view
from uvast.web.plans import JobRequest, make_plan, start_job
from uvast.web.routes.videos import app_of, author_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
"""A report is one page with its scripts inside: it may run them, but reach nothing else."""


async def get_jobs(request: Request) -> Response:
    """All jobs, newest first."""
    app = app_of(request)
    return JSONResponse(await in_thread(lambda: [job_view(app, job) for job in app.jobs.all]))


async def get_job(request: Request) -> Response:
    """One job, with log and curves."""
    app, number = app_of(request), _number(request)
    return JSONResponse(await in_thread(lambda: job_view(app, app.jobs.job(number), whole=True)))


async def post_job(request: Request) -> Response:
    """Queues a job."""
    app, wanted = app_of(request), await body(request, JobRequest)

    def start() -> dict[str, object]:
        job = start_job(app, make_plan(app, wanted), author_of(app, wanted.author))
        return job_view(app, job, whole=True)

    return JSONResponse(await in_thread(start))


async def post_plan(request: Request) -> Response:
    """What a job would do."""
    app, wanted = app_of(request), await body(request, JobRequest)
    plan = await in_thread(make_plan, app, wanted)
    return JSONResponse({"kind": plan.kind, "plan": plan.sentences})


async def post_cancel(request: Request) -> Response:
    """Cancels a job."""
    app, number = app_of(request), _number(request)
    return JSONResponse(await in_thread(lambda: job_view(app, app.jobs.cancel(number))))


async def get_report(request: Request) -> Response:
    """The page about a run, once a job has written it."""
    app, number = app_of(request), _number(request)
    path = app.project.path / "app" / "cache" / "reports" / f"{number}.html"
    if not path.is_file():
        raise missing(path, remedy="write the report first")
    headers = {"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
    return FileResponse(path, media_type="text/html", headers=headers)


def _number(request: Request) -> int:
    text = request.path_params["number"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InputError(f"{text!r} is not a number", remedy="reload the page")
    return int(text)


routes = [
    Route("/api/jobs", get_jobs),
    Route("/api/jobs", post_job, methods=["POST"]),
    Route("/api/plan", post_plan, methods=["POST"]),
    Route("/api/jobs/{number}", get_job),
    Route("/api/jobs/{number}/cancel", post_cancel, methods=["POST"]),
    Route("/report/{number}", get_report),
]
