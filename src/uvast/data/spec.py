"""`dataset.toml`: what the layout of a dataset cannot say by itself."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tomli_w

from uvast.data.faults import raise_fault
from uvast.errors import ConfigError
from uvast.files import read_text, write_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from uvast.data.faults import OnFault

FeatureAxis = Literal["time-first", "features-first"]
TimestampsRate = Literal["source", "sampled"]

SPEC_FILE = "dataset.toml"


@dataclass(frozen=True)
class DatasetSpec:
    """The settings of a dataset, read from the `dataset.toml` beside the data.

    Args:
        frames_per_second: rate of the source frames; needed only for times in seconds.
        sampling_rate: the model sees every `sampling_rate`-th source frame.
        background: classes that Edit and F1 leave out; None is a class called `background`, if
            there is one, and `()` is none at all; a list becomes a tuple.
        feature_axis: `time-first` is `[T x F]`, `features-first` is `[F x T]`; None finds out.
        timestamps_rate: what timestamps count: `source` frames, or frames after sub-sampling.
        tolerance: the largest difference in length of a video's labels and features that is
            trimmed away, as a fraction of the longer one.
        group_by: a regular expression with one group, the part of a video's name that tells the
            subject; a subject never sits on both sides of a split.
    """

    frames_per_second: float | None = None
    sampling_rate: int = 1
    background: tuple[str, ...] | None = None
    feature_axis: FeatureAxis | None = None
    timestamps_rate: TimestampsRate = "source"
    tolerance: float = 0.02
    group_by: str | None = None

    def __post_init__(self) -> None:
        """Checks each setting."""
        for key in _RULES:
            fault = _fault(key, getattr(self, key))
            if fault is not None:
                raise fault
        if self.background is not None:
            object.__setattr__(self, "background", tuple(self.background))


def read_spec(dataset_path: str | Path, on_fault: OnFault = raise_fault) -> DatasetSpec:
    """The spec of the dataset in a folder; every setting has its default if there is no file.

    Args:
        dataset_path: the dataset's folder.
        on_fault: if it does not raise, a faulty setting keeps its default.
    """
    path = Path(dataset_path) / SPEC_FILE
    if not path.is_file():
        return DatasetSpec()
    try:
        settings = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        on_fault(ConfigError(f"is not valid TOML ({error})", where=path, remedy="correct it"))
        return DatasetSpec()
    right: dict[str, Any] = {}
    for key, value in settings.items():
        fault = _fault(key, value, path)
        if fault is None:
            right[key] = value
        else:
            on_fault(fault)
    return DatasetSpec(**right)


def write_spec(dataset_path: str | Path, spec: DatasetSpec) -> None:
    """Writes the settings that differ from their defaults."""
    settings = asdict(spec)
    defaults = asdict(DatasetSpec())
    changed = {key: value for key, value in settings.items() if value != defaults[key]}
    write_text(Path(dataset_path) / SPEC_FILE, tomli_w.dumps(changed))


def is_grouping(pattern: str) -> bool:
    """Whether a pattern is a regular expression with exactly one group."""
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False


def _fault(key: str, value: Any, where: Path | None = None) -> ConfigError | None:
    if key not in _RULES:
        return ConfigError(
            f"unknown setting {key!r}", where=where, remedy=f"choose from {', '.join(_RULES)}"
        )
    is_right, wanted = _RULES[key]
    if is_right(value):
        return None
    shown = list(value) if isinstance(value, tuple) else value
    return ConfigError(f"{key} is {shown!r}, not {wanted}", where=where, remedy=f"correct {key}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_RULES: dict[str, tuple[Any, str]] = {
    "frames_per_second": (
        lambda value: value is None or (_is_number(value) and 0 < value < float("inf")),
        "a positive number",
    ),
    "sampling_rate": (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1,
        "a whole number of at least 1",
    ),
    "background": (
        lambda value: (
            value is None
            or (isinstance(value, list | tuple) and all(isinstance(name, str) for name in value))
        ),
        "a list of class names",
    ),
    "feature_axis": (
        lambda value: value in (None, "time-first", "features-first"),
        '"time-first" or "features-first"',
    ),
    "timestamps_rate": (
        lambda value: value in ("source", "sampled"),
        '"source" or "sampled"',
    ),
    "tolerance": (
        lambda value: _is_number(value) and 0 <= value < 1,
        "a fraction of at least 0 and below 1",
    ),
    "group_by": (
        lambda value: value is None or (isinstance(value, str) and is_grouping(value)),
        "a regular expression with one group",
    ),
}
