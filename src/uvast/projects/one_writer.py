"""One process at a time changes a project's annotations: an import, or the app that saves."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock

from uvast.files import recover, unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.projects.project import Project

ANNOTATIONS = "annotations"


@contextmanager
def one_writer(project: Project) -> Iterator[None]:
    """Waits until no other process writes annotations; first repairs a swap that was killed.

    Whoever reads annotations to write them again does both inside, so that nothing is overwritten
    that was saved in between.
    """
    try:
        with FileLock(project.path / ".imports.lock"):
            recover(project.path / ANNOTATIONS)
            yield
    except OSError as error:
        raise unwritable(project.path, error) from error
