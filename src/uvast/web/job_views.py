"""Jobs and runs as the page sees them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.report.sources import training_charts
from uvast.runs import RunFolder, is_run
from uvast.web.jobs import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.web.app import App
    from uvast.web.jobs import Job

SCORES = ("acc", "edit", "f1@10", "f1@25", "f1@50")


def job_view(app: App, job: Job, *, whole: bool = False) -> dict[str, object]:
    """A job as the page sees it; `whole` adds its log and curves."""
    progress = app.jobs.progress(job.number) if job.state == "running" else Progress()
    share = 1.0 if job.state == "done" else progress.share
    left = progress.seconds_left if job.state == "running" else None
    if left is None and share and job.state == "running" and job.began is not None:
        left = (time.time() - job.began) * (1 - share) / share
    view: dict[str, object] = {
        "number": job.number,
        "kind": job.kind,
        "state": job.state,
        "plan": job.plan,
        "progress": share,
        "doing": progress.what if job.state == "running" else "",
        "seconds_left": left,
        "author": job.author,
        "created": job.created,
        "began": job.began,
        "ended": job.ended,
        "stopping": job.stopped is not None and not job.is_over,
        "video": job.video,
        "output": job.output,
        "error": job.error,
    }
    if whole:
        view |= {"log": app.jobs.log(job.number), "curves": _curves(app, job)}
    return view


def _curves(app: App, job: Job) -> dict[str, list[tuple[float, float]]]:
    """Losses and scores by epoch."""
    if job.kind != "train":
        return {}
    try:
        charts = training_charts(RunFolder(app.project.path / job.output).read_log())
    except UvastError:
        return {}
    return {
        f"{chart.title}: {name}": list(zip(chart.epochs, values, strict=True))
        for chart in charts
        for name, values in chart.curves.items()
    }


def run_views(project: Path) -> list[dict[str, object]]:
    """The project's runs, the newest first, with the scores of their last validation."""
    folder = project / "runs"
    names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
    numbers = sorted((int(name) for name in names if name.isdecimal()), reverse=True)
    return [_run_view(folder / str(number)) for number in numbers if is_run(folder / str(number))]


def _run_view(path: Path) -> dict[str, object]:
    run = RunFolder(path)
    try:
        rows = [row for row in run.read_log() if "validation_acc" in row]
    except UvastError:
        rows = []
    scores = {name: rows[-1].get(f"validation_{name}") for name in SCORES} if rows else None
    return {"name": f"runs/{path.name}", "finished": run.is_finished(), "scores": scores}
