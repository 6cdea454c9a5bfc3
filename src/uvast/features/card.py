"""`NAME.json` beside `NAME.npy`: where features come from, and when each of their frames is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pydantic

from uvast.files import read_record, write_text

if TYPE_CHECKING:
    from pathlib import Path


class FeatureCard(pydantic.BaseModel):
    """What is known of a feature file `(T, F)`.

    Attributes:
        model: as in `--model`, several by commas.
        version: of each model; it changes whenever the numbers do.
        widths: the features of each model, in the order of the columns.
        source: the path of the video or table.
        source_bytes: its size.
        fingerprint: of its content.
        frames_per_second: of the features; None is the source's own frames.
        seconds: the length of the source, None if its rate is unknown.
        n_frames: T.
        n_features: F.
        times: of the frames in seconds, empty if the source's rate is unknown.
        source_frames: the frame of the source that each of them shows.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    model: str
    version: tuple[str, ...]
    widths: tuple[int, ...]
    source: str
    source_bytes: int
    fingerprint: str
    frames_per_second: float | None
    seconds: float | None
    n_frames: int = pydantic.Field(ge=1)
    n_features: int = pydantic.Field(ge=1)
    times: tuple[float, ...]
    source_frames: tuple[int, ...]

    @pydantic.model_validator(mode="after")
    def _lengths_agree(self) -> FeatureCard:
        if len(self.times) not in (0, self.n_frames) or len(self.source_frames) != self.n_frames:
            raise ValueError(f"not every one of the {self.n_frames} frames has its time")
        if sum(self.widths) != self.n_features:
            raise ValueError(f"the models have {sum(self.widths)} features, not {self.n_features}")
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """T and F."""
        return self.n_frames, self.n_features

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
    """What makes features what they are; see `FeatureCard`."""

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
        path, FeatureCard, remedy="extract the features of this video again with --overwrite"
    )


def write_card(path: Path, card: FeatureCard) -> None:
    """Writes a card; the lists stand on a line each."""
    lines = (f'  "{key}": {json.dumps(value)}' for key, value in card.model_dump().items())
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
