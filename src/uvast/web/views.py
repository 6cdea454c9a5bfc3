"""What the page sees of a project and of a video."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from uvast.web.predictions import timed

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.projects import ProjectVideo
    from uvast.web.app import App
    from uvast.web.documents import Document


def video_json(app: App, name: str) -> bytes:
    """The state of one video."""
    video = app.project.video(name)
    document = app.store.document(name)
    head = json.dumps(_about(app, video, document), ensure_ascii=False).encode()
    events = b", ".join([item.json for item in document.ordered])
    return b'{"events": [' + events + b"], " + head[1:]


def _about(app: App, video: ProjectVideo, document: Document) -> dict[str, object]:
    """All but the events."""
    pseudo = app.pseudo.of(document, video)
    playable = app.media.playable(video.name)
    return {
        "name": video.name,
        "version": document.version,
        "seconds": app.media.seconds(video),
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
