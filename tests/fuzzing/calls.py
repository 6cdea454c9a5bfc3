"""Calls of the Python API that read files; they may raise a `UvastError` and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import uvast
from uvast.projects import Project
from uvast.web.app import App
from uvast.web.review import doubtful
from uvast.web.round_scores import curve
from uvast.web.security import Door


def _dataset(path: str) -> None:
    data = uvast.Dataset.open(path)
    _ = data.vocabulary, data.splits, data.n_features
    for split in (None, *data.splits):
        data.side(split, "train")
    for name in data.names:
        data.video(name)


def _timestamps(path: str, file: str | None = None) -> None:
    uvast.Dataset.open(path).timestamps(file)


def _config(file: str) -> None:
    uvast.load_config(file=file)


def _load(path: str) -> None:
    uvast.load(path, device="cpu")


def _segment(run: str, path: str) -> None:
    uvast.segment(uvast.load(run, device="cpu"), path)


def _resume(run: str) -> None:
    uvast.resume(run, device="cpu")


def _evaluate(folder: str, path: str) -> None:
    uvast.evaluate(folder, path, split=1)


def _app(path: str) -> None:
    """The browser app as it starts, and its first answers."""
    project = Project.open(path)
    app = App(project, Door("secret", "127.0.0.1", 1), "somebody")
    try:
        app.overview.json()
        app.jobs.step()
        for name in project.names:
            if app.store.fault(name) is None:
                assert app.states.now(name).json
        doubtful(app)
        curve(app)
    finally:
        app.end()


CALLS: dict[str, Callable[..., None]] = {
    "app": _app,
    "config": _config,
    "dataset": _dataset,
    "evaluate": _evaluate,
    "load": _load,
    "resume": _resume,
    "segment": _segment,
    "timestamps": _timestamps,
}
