"""Class models of a whole project, fitted in a separate process while the app is idle.

python -m uvast.web.full_pass PROJECT OUT.npz
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from uvast.data import Timestamps
from uvast.errors import CorruptFileError, UvastError
from uvast.files import read_bytes, unreadable, write_bytes
from uvast.projects import Project
from uvast.supervision import ClassModel, fit_class_model

if TYPE_CHECKING:
    from uvast.exchange import VideoAnnotations
    from uvast.supervision.targets import Features

LARGEST_MODEL = 256 * 2**20
MOST_BYTES = 2**30
"""Of features in one pass; a few videos of a large project are enough to learn the classes."""


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A class model with the names of its classes."""

    names: tuple[str, ...]
    model: ClassModel

    def write(self, path: Path) -> None:
        """Writes it atomically."""
        content = io.BytesIO()
        model = self.model
        np.savez(
            content,
            names=np.array(self.names),
            means=model.means,
            variances=model.variances,
            counts=model.counts,
            lengths=model.lengths,
            offsets=model.offsets,
        )
        write_bytes(path, content.getvalue())

    @classmethod
    def read(cls, path: Path) -> NamedModel:
        """Reads what `write` wrote, and nothing else."""
        content = io.BytesIO(read_bytes(path, largest=LARGEST_MODEL))
        try:
            with np.load(content, allow_pickle=False) as arrays:
                names = tuple(map(str, arrays["names"].tolist()))
                parts = [np.asarray(arrays[name], float) for name in ("means", "variances")]
                counts = np.asarray(arrays["counts"], float)
                lengths = np.asarray(arrays["lengths"], float)
                offsets = np.asarray(arrays["offsets"], float)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise unreadable(path, error, kind="class models", remedy="remove it") from error
        shape = parts[0].shape
        per_class = {(len(names),), counts.shape, lengths.shape}
        fits = len(shape) == 2 and parts[1].shape == shape and per_class == {shape[:1]}
        if not fits or offsets.shape != 2 * counts.shape:
            raise CorruptFileError("has arrays of wrong shapes", where=path, remedy="remove it")
        if not np.isfinite(offsets).all():
            raise CorruptFileError(
                "has offsets that are not finite", where=path, remedy="remove it"
            )
        return cls(names, ClassModel(parts[0], parts[1], counts, lengths, offsets))


def fit(project: Project) -> NamedModel | None:
    """The models of all classes that have clicks or segments; None if there are too few."""
    found: dict[str, VideoAnnotations] = {}
    n_bytes, width = 0, 0
    for name in project.names:
        said = project.annotations(name)
        path = project.features_path(name)
        if said is None or not said.events or not path.is_file():
            continue
        size = path.stat().st_size
        shape = np.load(path, mmap_mode="r", allow_pickle=False).shape
        width = width or shape[1]
        if n_bytes + size <= MOST_BYTES and shape[1] == width:
            found[name] = said
            n_bytes += size
    names = tuple(sorted({label for one in found.values() for label in one.labels}))
    clicks = {}
    for name, said in found.items():
        with suppress(UvastError):
            entry = timestamps(project, name, said, names)
            if entry is not None:
                clicks[name] = entry
    if not clicks:
        return None

    def read(name: str) -> Features:
        features: Features = np.load(project.features_path(name), mmap_mode="r", allow_pickle=False)
        return features

    return NamedModel(names, fit_class_model(read, clicks)[1])


def timestamps(
    project: Project, name: str, said: VideoAnnotations, names: tuple[str, ...]
) -> Timestamps | None:
    """A video's clicks, or the middles of its segments, on its frames; None if there are none."""
    times = project.frame_times(name)
    events = said.points or said.intervals
    if times is None or not events:
        return None
    moments = [event.start + event.seconds / 2 for event in events]
    frames = times.frames_at(moments)
    kept, places = np.unique(frames, return_index=True)
    ids = np.array([names.index(event.label) for event in events])
    return Timestamps(kept, ids[places])


def main() -> None:
    """Fits and writes the models; writes nothing for a project without clicks."""
    if hasattr(os, "nice"):
        os.nice(10)
    model = fit(Project.open(sys.argv[1]))
    if model is not None:
        model.write(Path(sys.argv[2]))


if __name__ == "__main__":
    main()
