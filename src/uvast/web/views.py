"""A video as the page sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from uvast.errors import MissingFileError
from uvast.web.predictions import timed

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.projects import ProjectVideo
    from uvast.web.app import App
    from uvast.web.documents import Document
    from uvast.web.predictions import PredictionFile
    from uvast.web.pseudo import Pseudo


def about(app: App, video: ProjectVideo, document: Document, pseudo: Pseudo) -> dict[str, object]:
    """Everything about a video except long lists."""
    playable = app.media.playable(video.name)
    looked_at, fault = document.looked_at, lost(app, video)
    return {
        "name": video.name,
        "v": mark_of(video),
        "version": document.version,
        "seconds": app.media.seconds(video),
        "frames_per_second": video.frames_per_second,
        "n_frames": video.n_frames,
        "width": video.width,
        "height": video.height,
        "looked_at": None if looked_at is None else list(looked_at),
        "reviewed": document.reviewed,
        "pseudo_by": pseudo.by,
        "playable": playable is not None,
        "proxy": _proxy(app, video.name),
        "media": None if playable is None else _address(playable, video),
        "has_features": app.project.features_path(video.name).is_file(),
        "has_video": video.is_video and fault is None,
        "fault": fault,
    }


def lost(app: App, video: ProjectVideo) -> str | None:
    """Why a video's file cannot be shown; None if it can, or if there has never been one."""
    if video.is_video:
        try:
            app.project.source(video.name)
        except MissingFileError as error:
            return str(error)
    return None


def mark_of(video: ProjectVideo) -> str:
    """Part of the addresses of a video's pictures: browsers cache these across projects."""
    return video.fingerprint[:16]


def prediction_view(found: PredictionFile) -> dict[str, object]:
    """A prediction as the page sees it."""
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


def _address(playable: Path, video: ProjectVideo) -> str:
    """Where the player gets the video; the address changes once there is a proxy."""
    kind = "o" if playable == video.path else "p"
    return f"/media/{quote(video.name, safe='')}?v={mark_of(video)}{kind}"


def _proxy(app: App, name: str) -> dict[str, object] | None:
    """The job that makes the video playable, if there is one."""
    jobs = [job for job in app.jobs.all if job.kind == "proxy" and job.video == name]
    if not jobs:
        return None
    return {"job": jobs[0].number, "state": jobs[0].state, "error": jobs[0].error}
