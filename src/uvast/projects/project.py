"""`Project`: what the commands and the app share."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from uvast.data.dataset import Dataset
from uvast.data.labelled import LABELLED_FILE
from uvast.data.spec import read_spec
from uvast.data.timestamp_files import read_timestamps
from uvast.data.video_names import VideoNames, listed_stems
from uvast.errors import (
    CorruptFileError,
    InputError,
    MissingFileError,
    OutputError,
    UvastError,
    command,
)
from uvast.exchange import native
from uvast.exchange.frame_times import ConstantRate, PresentationTimes, exact_rate
from uvast.exchange.source import Source, Target
from uvast.features.card import card_path, read_card, write_card
from uvast.files import is_present, missing, read_bytes, unwritable, write_bytes
from uvast.files.names import GROUND_TRUTH
from uvast.projects.derived import foreign
from uvast.projects.labels import MAPPING, TIMESTAMPS
from uvast.projects.linking import Linked, link, read_sources
from uvast.projects.materialising import materialise
from uvast.projects.numbered_runs import newest_run, next_run
from uvast.projects.supervising import LabelledVideos
from uvast.projects.videos import VIDEOS_FILE, ProjectVideo, read_videos, write_videos

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.records import VideoAnnotations
    from uvast.features.card import FeatureCard

    OnProgress = Callable[[int, int], None]


def is_project(path: Path) -> bool:
    """Whether a folder is a project."""
    return is_present(path / VIDEOS_FILE)


class Project:
    """A folder of videos, features, annotations and runs; also a dataset.

    Every call reads the files as they are now: the app and commands may share a project.

    Args:
        path: the folder; see `open` and `create`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[tuple[int, ...], tuple[ProjectVideo, ...]] | None = None

    def __repr__(self) -> str:
        return f"Project({str(self.path)!r})"

    @classmethod
    def open(cls, path: str | Path) -> Project:
        """Opens an existing project."""
        project = cls(Path(path))
        if not is_project(project.path):
            raise missing(
                project.path / VIDEOS_FILE,
                remedy=f"make a project with {command('init', path, '--videos', 'DIR')}",
            )
        _ = project.videos
        return project

    @classmethod
    def create(
        cls, path: str | Path, sources: Sequence[Path], on_progress: OnProgress | None = None
    ) -> tuple[Project, tuple[UvastError, ...]]:
        """Makes a new project of videos; features already in its folder count as videos.

        Args:
            path: a folder that is not a project yet; it may exist.
            sources: video files or tables of poses, and folders of them.
            on_progress: called with the number of files read, and the total.

        Returns:
            The project, and an error for each video that cannot be read. If that is all of them,
            nothing is made and the first error is raised.
        """
        project = cls(Path(path))
        if is_project(project.path):
            raise OutputError("is already a project", where=project.path, remedy="open it")
        for name in (GROUND_TRUTH, MAPPING, TIMESTAMPS, LABELLED_FILE):
            if is_present(project.path / name):
                raise foreign(project.path / name)
        found, errors = read_sources(sources, project.path, on_progress)
        if errors and not found:
            raise errors[0]
        linked = project._link(found)
        for folder in ("annotations", "features"):
            (project.path / folder).mkdir(exist_ok=True)
        return project, (*errors, *linked.errors)

    def add_videos(
        self, sources: Sequence[Path], on_progress: OnProgress | None = None
    ) -> tuple[tuple[str, ...], tuple[UvastError, ...]]:
        """Adds the videos whose content is new; one that has moved is linked again.

        What is known about the others, such as their length, is renewed.

        Args:
            sources: as in `create`; if empty, the project's own videos, where they are still there.
            on_progress: called with the number of files read, and the total.

        Returns:
            The names added, and an error for each video that cannot be read.
        """
        own = [video.path for video in self.videos if video.is_video and video.path.is_file()]
        found, errors = read_sources(sources or own, self.path, on_progress)
        linked = self._link(found)
        return linked.added, (*errors, *linked.errors)

    @property
    def videos(self) -> tuple[ProjectVideo, ...]:
        """All videos, in the order they were added."""
        path = self.path / VIDEOS_FILE
        try:
            now = path.stat()
        except OSError as error:
            raise missing(path, remedy=f"run {command('init', self.path)} again") from error
        state = (now.st_mtime_ns, now.st_size, now.st_ino)
        if self._read is None or self._read[0] != state:
            self._read = state, read_videos(self.path)
        return self._read[1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all videos."""
        return tuple(video.name for video in self.videos)

    def video(self, name: str) -> ProjectVideo:
        """One video."""
        for video in self.videos:
            if video.name == name:
                return video
        raise MissingFileError(
            f"has no video {name}",
            where=self.path,
            remedy=VideoNames(self.names).remedy(name, "check the name of the video"),
        )

    def source(self, name: str) -> Path:
        """The file of a video, which may have moved since it was added."""
        path = self.video(name).path
        if not path.is_file():
            raise MissingFileError(
                f"video {name} is no longer there",
                where=path,
                remedy="if it has moved, say where to: "
                + command("init", self.path, "--videos", "DIR"),
            )
        return path

    def features_path(self, name: str) -> Path:
        """Where a video's features are, or will be."""
        return self.path / "features" / f"{name}.npy"

    def card(self, name: str) -> FeatureCard | None:
        """Where a video's features come from; None before extraction, and for another tool's."""
        features = self.features_path(name)
        path = card_path(features)
        return read_card(path) if features.is_file() and is_present(path) else None

    def annotations(self, name: str) -> VideoAnnotations | None:
        """What people said about a video; None if nothing yet."""
        path = self._annotations_path(name)
        if not is_present(path):
            return None
        videos = native.read(Source(read_bytes(path), str(path))).videos
        if len(videos) != 1:
            raise CorruptFileError(
                f"holds annotations of {len(videos)} videos, not of one",
                where=path,
                remedy="restore it or import the labels again",
            )
        return replace(videos[0], video=name)

    def write_annotations(self, annotations: VideoAnnotations) -> None:
        """Replaces one video's annotations, atomically."""
        path = self._annotations_path(annotations.video)
        write_bytes(path, native.write((annotations,), Target(str(path))).content)

    def remove_annotations(self, name: str) -> None:
        """Removes what people said about a video."""
        path = self._annotations_path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(path, error) from error

    def frame_times(self, name: str) -> FrameTimes | None:
        """The times of a video's feature frames; None before extraction.

        Features without times, such as those of another tool, use the rate in `dataset.toml`;
        None without one.
        """
        self.video(name)
        if not self.features_path(name).is_file():
            return None
        card = self.card(name)
        if card is not None and card.times:
            try:
                return PresentationTimes(card.times)
            except InputError as error:
                raise CorruptFileError(
                    error.what,
                    where=card_path(self.features_path(name)),
                    remedy="extract this video again with --overwrite",
                ) from None
        rate = read_spec(self.path).frames_per_second
        if rate is None:
            return None
        n_frames = Dataset.open(self.path).source_frames_of_features(name)
        return ConstantRate(exact_rate(rate), n_frames)

    def materialise(self, *, run_follows: bool = False) -> tuple[str, ...]:
        """Makes the dataset's label files from the annotations, and sets the features' rate.

        Writes groundTruth/, timestamps.json, labelled.json, mapping.txt and dataset.toml, each
        atomically and only if it differs.

        Args:
            run_follows: whether a run comes next, which says itself what videos it leaves out.

        Returns:
            A note for everything left out, and why.
        """
        return materialise(self, run_follows=run_follows)

    @property
    def has_labels(self) -> bool:
        """Whether there was anything to learn from when last materialised."""
        return (self.path / MAPPING).is_file()

    @property
    def labelled(self) -> LabelledVideos:
        """How many videos had segments, and how many clicks alone, when last materialised."""
        if not self.has_labels:
            return LabelledVideos(full=0, clicked=0)
        full, _ = listed_stems(self.path / GROUND_TRUTH, ".txt")
        clicked = read_timestamps(self.path / TIMESTAMPS).keys() - set(full)
        return LabelledVideos(len(full), len(clicked))

    def next_run(self) -> Path:
        """Makes an empty folder for a new run, `runs/1`, `runs/2` and so on."""
        return next_run(self.path)

    def newest_run(self) -> Path:
        """The newest finished run."""
        return newest_run(self.path)

    def _annotations_path(self, name: str) -> Path:
        return self.path / "annotations" / f"{self.video(name).name}.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path / ".videos.lock"):
                yield
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _link(self, found: Sequence[ProjectVideo]) -> Linked:
        """Brings videos.json up to date."""
        with self._locked():
            before = self.videos if is_project(self.path) else ()
            linked = link(before, found, self.path / "features")
            if linked.videos != before or not is_project(self.path):
                write_videos(self.path, linked.videos)
                self._follow(before)
        return linked

    def _follow(self, before: Sequence[ProjectVideo]) -> None:
        """Points the features of moved videos to the new place: pictures are read from there."""
        old = {video.name: video.path for video in before}
        for video in self.videos:
            if video.name in old and video.path != old[video.name]:
                card = self.card(video.name)
                if card is not None and card.fingerprint == video.fingerprint:
                    path = card_path(self.features_path(video.name))
                    write_card(path, card.model_copy(update={"source": str(video.path)}))
