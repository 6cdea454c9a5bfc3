"""Run folders: everything about a training run, on disk, and which checkpoint a path means.

RUN/config.toml          the whole config
RUN/run.json             dataset, split, seed, versions, the videos of each part
RUN/log.csv              one row per epoch
RUN/last.safetensors     the newest state: weights, optimiser, averages, targets
RUN/best.safetensors     the model to use
RUN/run.lock             held by the process that trains
RUN/members/1, 2, …      runs of their own, where one run trains several models

An ensemble's `best` holds all its members: its folder can be moved without them.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import platform
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from filelock import FileLock, Timeout
from pydantic import Field
from safetensors import SafetensorError, safe_open

from uvast._version import __version__
from uvast.config import Config, load_config
from uvast.errors import CheckpointError, CorruptFileError, OutputError, command
from uvast.features.record import ExtractorRecord  # noqa: TC001 (pydantic reads it)
from uvast.files import (
    is_present,
    missing,
    open_file,
    read_record,
    read_text,
    unwritable,
    write_json,
    write_text,
)
from uvast.files.names import RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CONFIG_FILE = "config.toml"

MOST_MEMBERS = 100

LOCK_SECONDS = 10.0
"""How long a run waits for a process that is about to end, such as one on a lost node."""

MEMBERS_FOLDER = "members"

BEGINNINGS = (CONFIG_FILE, "log.csv", "run.lock", "error.txt", MEMBERS_FOLDER)
"""What remains of a run that was killed as it began, or of a benchmark's cell that crashed."""

SCORES = ("acc", "edit", "f1@10", "f1@25", "f1@50", "score", "selection")
LOG_COLUMNS = (
    *("stage", "epoch", "seconds", "learning_rate", "loss"),
    *("frame", "confidence", "segment", "group_frame", "group_segment"),
    *("cross_attention", "durations"),
    *("smoothing", "boundary", "alignment"),
    *("frame_domain", "video_domain", "attentive_entropy"),
    *("swap_detection", "swap_correction", "consistency", "lengths", "other"),
    *(f"validation_{name}" for name in SCORES),
)
"""`other` is the sum of the losses without a column: those of a model from another package."""


@dataclass(frozen=True)
class MemberInfo:
    """A member of an ensemble.

    Args:
        source: its run folder or checkpoint; relative to the ensemble's folder if it lies inside.
        seed: of its training.
        sha256: of its checkpoint; None until it is trained.
    """

    source: Annotated[str, Field(max_length=10_000)]
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    @property
    def is_inside(self) -> bool:
        """Whether the ensemble's own run trains it."""
        return not Path(self.source).is_absolute()


@dataclass(frozen=True)
class RunInfo:
    """What a run was made from.

    `extractor` made its features, if that is known; `members` are those of an ensemble. It learned
    from the `unlabelled` videos without their labels, and is `transductive` if it is to be scored
    on those videos. `jobs` is how many runs at a time shared the cores when it began: resumed on as
    many threads, it gives the same weights. `classes` are those of the dataset, in their order,
    `sampling_rate` is the model's (0 in earlier versions), and `labels` a digest of what it learned
    from (`uvast.data.label_digest`).
    """

    dataset: str
    split: int | None
    seed: int
    supervision: Literal["full", "timestamps"]
    timestamps: str | None
    train: tuple[str, ...]
    validation: tuple[str, ...]
    versions: dict[str, str]
    extractor: ExtractorRecord | None = None
    members: Annotated[tuple[MemberInfo, ...], Field(max_length=MOST_MEMBERS)] = ()
    unlabelled: tuple[str, ...] = ()
    transductive: bool = False
    jobs: Annotated[int, Field(ge=1)] = 1
    classes: tuple[str, ...] = ()
    labels: str = ""
    sampling_rate: Annotated[int, Field(ge=0)] = 0


def is_run(path: Path) -> bool:
    """Whether a folder holds a training run, begun or finished."""
    return (path / RUN_FILE).is_file()


def checkpoint_path(path: Path) -> Path:
    """The checkpoint that a user means by a path: a file, or a run folder's best model."""
    if path.is_file():
        return path
    if not path.exists():
        raise missing(
            path, remedy="name a run folder or a .safetensors file that uvast train wrote"
        )
    run = RunFolder(path)
    for checkpoint in (run.best, run.last):
        if checkpoint.is_file():
            return checkpoint
    if is_run(path):
        raise CheckpointError(
            "has no checkpoint yet",
            where=path,
            remedy=f"finish it with {command('train', '--resume', path)}",
        )
    raise CheckpointError(
        "holds no checkpoint", where=path, remedy="name a run folder that uvast train made"
    )


def checkpoint_hash(path: Path) -> str:
    """The sha256 of a checkpoint's content."""
    digest = hashlib.sha256()
    with open_file(path) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """The versions a run depends on."""
    return {
        "uvast": __version__,
        "torch": version("torch"),
        "python": platform.python_version(),
    }


class OpenedRun(NamedTuple):
    """A run folder, and what its run began with."""

    folder: RunFolder
    config: Config
    info: RunInfo


@dataclass(frozen=True)
class RunFolder:
    """The paths of a run, and its log."""

    path: Path

    @property
    def last(self) -> Path:
        """The newest state."""
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        """The model to use."""
        return self.path / "best.safetensors"

    @property
    def log(self) -> Path:
        """One row per epoch."""
        return self.path / "log.csv"

    def is_finished(self) -> bool:
        """Whether nothing is left to train, by its newest state; an ensemble's is `best`."""
        return any(map(_is_finished, (self.last, self.best)))

    def check_free(self) -> None:
        """Raises unless the folder is new or empty, or holds a run that had hardly begun."""
        if is_run(self.path):
            raise OutputError(
                "already holds a run",
                where=self.path,
                remedy=f"go on with {command('train', '--resume', self.path)}, "
                "or choose another --out",
            )
        names = [one.name for one in self.path.iterdir()] if self.path.is_dir() else []
        others = [one for one in names if not one.startswith(".") and one not in BEGINNINGS]
        if others or self.path.is_file():
            raise OutputError(
                "already exists", where=self.path, remedy="choose a new or empty folder"
            )

    def create(self, config: Config, info: RunInfo) -> None:
        """Begins a new run; run.json is written last and makes the folder a run."""
        self.check_free()
        files = {
            self.path / CONFIG_FILE: config.as_toml(),
            self.log: ",".join(LOG_COLUMNS) + "\n",
        }
        for path, text in files.items():  # equal ones are from this run, killed as it began
            if path.exists() and read_text(path) != text:
                raise OutputError(
                    "already exists and was not written by this run",
                    where=path,
                    remedy="choose another --out",
                )
        for path, text in files.items():
            write_text(path, text)
        write_json(self.path / RUN_FILE, dataclasses.asdict(info))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes from training the same run; a process that dies frees it."""
        lock = FileLock(self.path / "run.lock")
        try:
            lock.acquire(timeout=LOCK_SECONDS)
        except Timeout:
            raise OutputError(
                "is being trained by another process",
                where=self.path,
                remedy="wait until it ends, or stop it",
            ) from None
        try:
            yield
        finally:
            lock.release()

    @classmethod
    def open(cls, path: Path) -> OpenedRun:
        """An existing run."""
        if not is_run(path):
            raise missing(path / RUN_FILE, remedy="name a run folder that uvast train made")
        info = read_record(path / RUN_FILE, RunInfo, error=CheckpointError, remedy="train again")
        return OpenedRun(cls(path), load_config(file=path / CONFIG_FILE, of_run=True), info)

    def texts(self) -> dict[str, str]:
        """The texts of `config.toml` and `run.json`."""
        return {name: read_text(self.path / name) for name in (CONFIG_FILE, RUN_FILE)}

    def read_log(self) -> list[dict[str, float]]:
        """The rows of the log, empty cells left out; none if nothing is logged yet."""
        return [{name: float(cell) for name, cell in row.items()} for row in self._log_rows()]

    def append_log(self, row: dict[str, object]) -> None:
        """Adds an epoch."""
        try:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(_log_lines([row]))
        except OSError as error:
            raise unwritable(self.log, error) from error

    def truncate_log(self, stage: int, epoch: int) -> None:
        """Drops the rows after a checkpoint: a resumed run writes them again.

        Columns that another version of uvast did not know are left empty.
        """
        rows = [
            {name: row.get(name) for name in LOG_COLUMNS}
            for row in self._log_rows()
            if (int(row["stage"]), int(row["epoch"])) <= (stage, epoch)
        ]
        write_text(self.log, _log_lines(rows, header=True))

    def _log_rows(self) -> list[dict[str, str]]:
        """The filled cells of each whole line, all numbers; a kill may cut off the last line."""
        text = read_text(self.log) if is_present(self.log) else ""
        table = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))
        rows = []
        try:
            for row in table:
                filled = {name: cell for name, cell in row.items() if cell}
                _ = int(filled["stage"]), int(filled["epoch"]), [*map(float, filled.values())]
                rows.append(filled)
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise CorruptFileError(
                f"is not a log of epochs ({error})",
                where=f"{self.log}, line {table.line_num}",
                remedy="remove it: training continues from the checkpoint, with a new log",
            ) from error
        return rows


def _is_finished(checkpoint: Path) -> bool:
    if not checkpoint.is_file():  # a pipe in its place would hang
        return False
    try:
        with safe_open(checkpoint, framework="numpy") as file:
            progress = json.loads((file.metadata() or {}).get("progress", "{}"))
    except (OSError, SafetensorError, ValueError):
        return False
    return isinstance(progress, dict) and progress.get("finished") is True


def _log_lines(rows: Iterable[Mapping[str, object]], *, header: bool = False) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, LOG_COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
