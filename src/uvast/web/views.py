"""What the page sees of a project and of a video."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from uvast.web.job_views import job_view, run_views
from uvast.web.predictions import timed

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.projects import ProjectVideo
    from uvast.web.app import App
    from uvast.web.documents import Document

N_JOBS = 50
"""Jobs in the list; older ones are of no interest."""


def video_json(app: App, name: str) -> bytes:
    """The state of one video."""
    video = app.project.video(name)
    document = app.store.document(name)
    head = json.dumps(_about(app, video, document), ensure_ascii=False).encode()
    events = b", ".join(item.json for item in document.ordered)
    return b'{"events": [' + events + b"], " + head[1:]


def _about(app: App, video: ProjectVideo, document: Document) -> dict[str, object]:
    """All but the events."""
    pseudo = app.pseudo.of(document, video)
    playable = app.media.playable(video.name)
    return {
        "name": video.name,
        "version": document.version,
        "seconds": video.seconds,
        "frames_per_second": video.frames_per_second,
        "n_frames": video.n_frames,
        "width": video.width,
        "height": video.height,
        "observed": None if document.observed is None else list(document.observed),
        "reviewed": document.reviewed,
        "pseudo": [
            {"label": one.label, "start": one.start, "end": one.end} for one in pseudo.segments
        ],
        "pseudo_by": pseudo.by,
        "prediction": _prediction(app, video.name),
        "playable": playable is not None,
        "proxy": _proxy(app, video.name),
        "media": None if playable is None else _address(playable, video),
        "has_features": app.project.features_path(video.name).is_file(),
        "has_video": video.is_video and video.path.is_file(),
    }


def _address(playable: Path, video: ProjectVideo) -> str:
    """Where the player gets it; another one once there is a proxy."""
    kind = "o" if playable == video.path else "p"
    return f"/media/{quote(video.name, safe='')}?v={video.fingerprint[:16]}{kind}"


def _proxy(app: App, name: str) -> dict[str, object] | None:
    """The job that makes the video playable, if there is one."""
    jobs = [job for job in app.jobs.all if job.kind == "proxy" and job.video == name]
    if not jobs:
        return None
    return {"job": jobs[0].number, "state": jobs[0].state, "error": jobs[0].error}


def _prediction(app: App, name: str) -> dict[str, object] | None:
    found = app.predictions.of(name)
    if found is None:
        return None
    segments = [
        {
            "label": one.label,
            "start": one.start_seconds,
            "end": one.end_seconds,
            "confidence": one.confidence,
            "uncertainty": one.uncertainty,
        }
        for one in timed(found)
    ]
    band = found.band and {"step": found.band.step, "probability": found.band.probability}
    return {"segments": segments, "band": band, "run": found.run}


def project_view(app: App) -> dict[str, object]:
    """Everything the list of videos shows."""
    documents = app.store.documents
    videos = [_row(app, one, documents.get(one.name)) for one in app.project.videos]
    return {
        "name": app.project.path.resolve().name,
        "path": str(app.project.path.resolve()),
        "classes": [vars(one) for one in app.store.classes],
        "videos": videos,
        "jobs": [job_view(app, job) for job in app.jobs.all[:N_JOBS]],
        "runs": run_views(app.project.path),
        "author": app.author,
        "version": app.store.number,
        "next": None,
    }


def _row(app: App, video: ProjectVideo, document: Document | None) -> dict[str, object]:
    n_clicks = 0 if document is None else len(document.clicks)
    n_segments = 0 if document is None else len(document.segments)
    predicted = app.predictions.of(video.name)
    fault = app.store.fault(video.name)
    if document is not None and document.reviewed:
        state = "reviewed"
    elif n_segments or n_clicks:
        state = "labelled" if n_segments else "clicks"
    else:
        state = "new" if predicted is None else "predicted"
    return {
        "name": video.name,
        "state": state,
        "n_clicks": n_clicks,
        "n_segments": n_segments,
        "seconds": video.seconds,
        "uncertainty": None
        if predicted is None or not predicted.segments
        else sum(one.uncertainty for one in predicted.segments) / len(predicted.segments),
        "has_features": app.project.features_path(video.name).is_file(),
        "has_video": video.is_video,
        "playable": app.media.may_play(video),
        "error": None if fault is None else str(fault),
    }
