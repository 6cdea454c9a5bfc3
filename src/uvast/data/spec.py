"""`dataset.toml`: what the layout of a dataset cannot say by itself."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import tomli_w
from pydantic import AfterValidator, Field

from uvast.data.faults import raise_fault
from uvast.data.symmetry import SymmetrySpec
from uvast.errors import ConfigError
from uvast.files import checked, is_present, read_toml, write_text

if TYPE_CHECKING:
    from uvast.data.faults import OnFault

SPEC_FILE = "dataset.toml"
LARGEST_TOLERANCE = 0.1
"""Labels and features that differ by more belong to two videos, or have two rates."""

FeatureAxis = Literal["time-first", "features-first"]
TimestampsRate = Literal["source", "sampled"]


def _grouping(pattern: str) -> str:
    try:
        n_groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError):
        n_groups = 0
    if n_groups != 1:
        raise ValueError(r"not a regular expression with one group, as in '^(P\d+)_'")
    return pattern


Grouping = Annotated[str, Field(max_length=200), AfterValidator(_grouping)]


@dataclass(frozen=True)
class DatasetSpec:
    """The settings of a dataset, read from the `dataset.toml` beside the data.

    Args:
        frames_per_second: rate of the source frames; needed only for times in seconds.
        sampling_rate: the model sees every `sampling_rate`-th source frame.
        background: classes that Edit and F1 leave out; None means a class called `background`, if
            there is one, and `()` none at all; a list becomes a tuple.
        feature_axis: `time-first` is `[T x F]`, `features-first` is `[F x T]`; None detects it
            from the files.
        timestamps_rate: what timestamps count: `source` frames, or frames after sub-sampling.
        tolerance: the largest difference in length between a video's labels and features that is
            trimmed away, as a fraction of the longer one.
        group_by: a regular expression with one group, the part of a video's name that identifies
            the subject; a subject is never on both sides of a split.
        symmetry: of the features, for training; see `uvast.data.symmetry`.
    """

    frames_per_second: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = None
    sampling_rate: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    background: tuple[str, ...] | None = None
    feature_axis: FeatureAxis | None = None
    timestamps_rate: TimestampsRate = "source"
    tolerance: Annotated[float, Field(ge=0, le=LARGEST_TOLERANCE)] = 0.02
    group_by: Grouping | None = None
    symmetry: SymmetrySpec | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, _checked(name, value))


def read_spec(dataset_path: str | Path, on_fault: OnFault = raise_fault) -> DatasetSpec:
    """The spec of the dataset in a folder; all defaults if there is no file.

    If `on_fault` does not raise, a faulty setting keeps its default.
    """
    path = Path(dataset_path) / SPEC_FILE
    if not is_present(path):
        return DatasetSpec()
    right: dict[str, Any] = {}
    for name, value in read_toml(path, error=ConfigError, remedy="correct it").items():
        try:
            right[name] = _checked(name, value, path)
        except ConfigError as fault:
            on_fault(fault)
    return DatasetSpec(**right)


def write_spec(dataset_path: str | Path, spec: DatasetSpec) -> None:
    """Writes the settings that differ from their defaults."""
    defaults = vars(DatasetSpec())
    changed = {n: _plain(value) for n, value in vars(spec).items() if value != defaults[n]}
    write_text(Path(dataset_path) / SPEC_FILE, tomli_w.dumps(changed))


@cache
def _kinds() -> dict[str, Any]:
    return get_type_hints(DatasetSpec, include_extras=True)


def _checked(name: str, value: object, where: Path | None = None) -> Any:
    if name not in _kinds():
        remedy = f"choose from {', '.join(_kinds())}"
        raise ConfigError(f"unknown setting {name!r}", where=where, remedy=remedy)
    value = _plain(value)
    return checked(
        value, _kinds()[name], name=name, where=where, error=ConfigError, remedy=f"correct {name}"
    )


def _plain(value: object) -> object:
    """A value as TOML has it: a symmetry becomes a table without its empty entries."""
    if not isinstance(value, SymmetrySpec):
        return value
    return {name: entry for name, entry in asdict(value).items() if entry}
