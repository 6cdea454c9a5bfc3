"""`NAME.json` beside `NAME.npy`: where features come from, and the time of each frame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pydantic
from pydantic import Field

from uvast.errors import OutputError
from uvast.files import read_record, write_text
from uvast.files.reading import MEGABYTE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_Text = Annotated[str, Field(min_length=1, max_length=1000)]
_Path = Annotated[str, Field(max_length=10_000)]
_Width = Annotated[int, Field(ge=1, le=10**6)]

Model = _Text
Version = Annotated[tuple[_Text, ...], Field(min_length=1, max_length=100)]
Widths = Annotated[tuple[_Width, ...], Field(min_length=1, max_length=100)]
Rate = Annotated[float, Field(gt=0, le=10**6, allow_inf_nan=False)]
Files = Annotated[tuple[_Path, ...], Field(max_length=100)]


LARGEST_CARD = 256 * MEGABYTE
"""About 12 million frames: four days of video at 30 frames per second."""


class FeatureCard(pydantic.BaseModel):
    """What is known about a feature file `(T, F)`.

    Attributes:
        model: as in `--model`, several separated by commas.
        version: of each model; it changes whenever the numbers do.
        widths: the features of each model, in the order of the columns.
        source: the path of the video or table.
        source_bytes: its size.
        fingerprint: of its content.
        frames_per_second: of the features; None means the source's own frames.
        seconds: the length of the source, None if its rate is unknown.
        n_frames: T.
        n_features: F.
        times: of the frames in seconds, empty if the source's rate is unknown.
        source_frames: the frame of the source that each of them shows.
        rows_per_second: of a table, if known.
        files: the absolute path of each model's file, empty for a model without one.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    model: Model
    version: Version
    widths: Widths
    source: str
    source_bytes: int
    fingerprint: str
    frames_per_second: Rate | None
    seconds: float | None
    n_frames: int = Field(ge=1)
    n_features: int = Field(ge=1)
    times: tuple[float, ...]
    source_frames: tuple[int, ...]
    rows_per_second: Rate | None = None
    files: Files = ()

    @pydantic.model_validator(mode="after")
    def _lengths_agree(self) -> FeatureCard:
        if len(self.times) not in (0, self.n_frames) or len(self.source_frames) != self.n_frames:
            raise ValueError(f"not every one of the {self.n_frames} frames has a time")
        if sum(self.widths) != self.n_features:
            raise ValueError(f"the models have {sum(self.widths)} features, not {self.n_features}")
        end = () if self.seconds is None else (self.seconds,)
        if (np.diff([*self.times, *end]) < 0).any():
            raise ValueError("the times of the frames do not increase")
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """T and F."""
        return self.n_frames, self.n_features

    @property
    def edges(self) -> NDArray[np.float64] | None:
        """When each frame starts and the last one ends, in seconds `(T + 1,)`; None if unknown."""
        if not self.times or self.seconds is None:
            return None
        return np.array([*self.times, self.seconds])

    @property
    def mean_rate(self) -> float | None:
        """Frames per second, the mean if the rate varies; None if unknown."""
        if self.frames_per_second is not None or not self.seconds:
            return self.frames_per_second
        return round(self.n_frames / self.seconds, 3)

    @property
    def key(self) -> CardKey:
        """What has to be equal for features to be the same."""
        return CardKey(
            model=self.model,
            version=self.version,
            fingerprint=self.fingerprint,
            frames_per_second=self.frames_per_second,
        )


class CardKey(pydantic.BaseModel):
    """What identifies features; see `FeatureCard`."""

    model_config = pydantic.ConfigDict(frozen=True)

    model: str
    version: tuple[str, ...]
    fingerprint: str
    frames_per_second: float | None


def card_path(features: Path) -> Path:
    """`NAME.npy` -> `NAME.json`; names with dots keep them."""
    return features.with_name(features.name.removesuffix(".npy") + ".json")


def read_card(path: Path) -> FeatureCard:
    """Reads and checks a card."""
    return read_record(
        path,
        FeatureCard,
        largest=LARGEST_CARD,
        remedy="extract the features of this video again with --overwrite",
    )


def write_card(path: Path, card: FeatureCard) -> None:
    """Writes a card, one line per field; raises if it would be too large to read back."""
    lines = (f'  "{key}": {json.dumps(value)}' for key, value in card.model_dump().items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if len(text) > LARGEST_CARD:  # ASCII, so characters are bytes
        raise OutputError(
            f"would be larger than {LARGEST_CARD // MEGABYTE} MB ({card.n_frames} frames)",
            where=path,
            remedy="cut the video, or extract fewer features per second with --fps",
        )
    write_text(path, text)
