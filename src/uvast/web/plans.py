"""Turns what a person asks for into a command, and says first what it will do."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from uvast.errors import ConfigError, InputError, counted
from uvast.presets import presets
from uvast.projects import LabelledVideos
from uvast.projects.supervising import Supervision  # noqa: TC001 (pydantic reads it)
from uvast.web.own_words import NEW_RUN, Plan, with_own_words
from uvast.web.views import lost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from uvast.web.app import App
    from uvast.web.jobs import Job

Extractor = Literal["pixels", "appearance", "i3d", "appearance,i3d"]


MOST_NAMED = 3
"""Videos that a sentence names."""


@dataclass(frozen=True)
class JobRequest:
    """What a person asks for.

    Args:
        kind: the command, or `proxy`.
        author: who asks.
        video: for a proxy.
        extractor: for `extract`; None lets it choose.
        frames_per_second: for `extract`.
        preset: for `train`; None lets it choose.
        epochs: for `train`.
        supervision: for `train`; None for what most videos have.
        run: for `segment` and `report`, such as `runs/3`; None for the newest finished one.
        device: where to compute.
    """

    kind: Literal["extract", "train", "segment", "report", "proxy"]
    author: Annotated[str, Field(max_length=100)] = ""
    video: Annotated[str, Field(max_length=1000)] | None = None
    extractor: Extractor | None = None
    frames_per_second: Annotated[float, Field(gt=0, le=1000)] | None = None
    preset: Annotated[str, Field(max_length=100)] | None = None
    epochs: Annotated[int, Field(ge=1, le=100_000)] | None = None
    supervision: Supervision | None = None
    run: Annotated[str, Field(pattern="^runs/[0-9]{1,9}$")] | None = None
    device: Annotated[str, Field(pattern="^(auto|cpu|mps|cuda(:[0-9]{1,2})?)$")] = "auto"


def make_plan(app: App, wanted: JobRequest) -> Plan:
    """What a job would do; nothing is started or written."""
    match wanted.kind:
        case "proxy":
            return _proxy(app, wanted)
        case "extract":
            return _extract(app, wanted)
        case "train":
            return with_own_words(app, _train(app, wanted))
        case "segment" | "report":
            return _with_model(app, wanted)


def start_job(app: App, plan: Plan, author: str) -> Job:
    """Queues a planned job; saves the labels first, and gives a new run its folder."""
    if (same := app.jobs.open(plan.kind, plan.command, plan.video)) is not None:
        return same
    app.store.save()
    command, output = plan.command, plan.output
    if NEW_RUN in command:
        run = app.project.next_run()
        command = tuple(str(run) if word == NEW_RUN else word for word in command)
        output = f"runs/{run.name}"
    return app.jobs.add(
        plan.kind,
        command,
        plan=plan.sentences,
        author=author,
        output=output,
        video=plan.video,
        asked=plan.command,
    )


def _uvast(*words: object) -> tuple[str, ...]:
    return (sys.executable, "-m", "uvast", *map(str, words))


def _proxy(app: App, wanted: JobRequest) -> Plan:
    if wanted.video is None:
        raise InputError("a proxy of which video?", remedy="name it")
    video = app.project.video(wanted.video)
    source = app.project.source(video.name)
    proxy = app.media.proxy(video)
    command = (sys.executable, "-m", "uvast.web.proxies", str(source), str(proxy))
    sentence = f"Makes a copy of {video.name} that browsers play; the original stays as it is."
    return Plan("proxy", command, (sentence,), proxy.name, video.name)


def _extract(app: App, wanted: JobRequest) -> Plan:
    options: list[object] = [f"--device={wanted.device}"]
    if wanted.extractor is not None:
        options.append(f"--model={wanted.extractor}")
    if wanted.frames_per_second is not None:
        options.append(f"--fps={wanted.frames_per_second:g}")
    names = [one.name for one in app.project.videos if one.is_video]
    if not names:
        raise InputError("there are no video files to compute features of", remedy="add some first")
    bare = [name for name in names if not app.project.features_path(name).is_file()]
    gone = [name for name in bare if lost(app, app.project.video(name)) is not None]
    sentence = f"Computes features of {counted(len(bare) - len(gone), 'video')}."
    if len(bare) < len(names):
        sentence = f"{len(names) - len(bare)} of {counted(len(names), 'video')} done. {sentence}"
    sentences = [sentence]
    if gone:
        more = f" and {len(gone) - MOST_NAMED} more" if len(gone) > MOST_NAMED else ""
        sentences.append(f"Leaves out missing files: {', '.join(gone[:MOST_NAMED])}{more}.")
    command = _uvast("extract", app.project.path, *options)
    return Plan("extract", command, tuple(sentences), "features")


def _train(app: App, wanted: JobRequest) -> Plan:
    options: list[object] = [f"--device={wanted.device}", "--out", NEW_RUN]
    if wanted.preset is not None:
        if wanted.preset not in presets():
            raise ConfigError(
                f"no preset {wanted.preset!r}", remedy=f"choose from {', '.join(presets())}"
            )
        options.append(f"--preset={wanted.preset}")
    if wanted.epochs is not None:
        options.append(f"--epochs={wanted.epochs}")
    documents = app.store.documents.values()
    ready = [one for one in documents if app.project.features_path(one.video).is_file()]
    found = LabelledVideos(
        full=sum(bool(one.segments) for one in ready),
        clicked=sum(bool(one.clicks) and not one.segments for one in ready),
    )
    if not any(found):
        raise InputError(
            "no video has both labels and features yet",
            remedy="click some actions, and extract the features",
        )
    supervision = wanted.supervision or found.supervision
    options.append(f"--supervision={supervision}")
    sentences = [*_learned(supervision, found)]
    sentences.append("Goes to a new run folder; earlier models stay.")
    return Plan("train", _uvast("train", app.project.path, *options), tuple(sentences))


def _learned(supervision: Supervision, found: LabelledVideos) -> Iterator[str]:
    """What is learned from."""
    if supervision == "full":
        if not found.full:
            raise InputError("no video has segments yet", remedy="learn from clicks")
        yield f"Learns from the segments of {counted(found.full, 'video')}."
        if found.clicked:
            stays = "stays" if found.clicked == 1 else "stay"
            yield f"{counted(found.clicked, 'video')} with clicks alone {stays} out."
    else:
        yield f"Learns from the clicks of {counted(sum(found), 'video')}."
        if found.full:
            yield "The middle of a labelled segment counts as a click."


def _with_model(app: App, wanted: JobRequest) -> Plan:
    run = app.project.newest_run() if wanted.run is None else app.project.path / wanted.run
    name = f"runs/{run.name}"
    if wanted.kind == "segment":
        out = app.project.path / "predictions"
        command = _uvast(
            *("segment", run, app.project.path, "--out", out, "--format=json", "--overwrite"),
            f"--device={wanted.device}",
        )
        n_videos = sum(app.project.features_path(one).is_file() for one in app.project.names)
        sentence = f"Segments {counted(n_videos, 'video')} with the model of {name}."
        return Plan("segment", command, (sentence,), "predictions")
    page = _report_path(app, run.name)
    command = _uvast(*("report", run, "--out", page, "--overwrite"), f"--device={wanted.device}")
    return Plan("report", command, (f"Writes a page about {name}.",), run.name)


def _report_path(app: App, run: str) -> Path:
    return app.project.path / "app" / "cache" / "reports" / f"{run}.html"
