"""What made the features of a model's training videos, so that a new video gets the same ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import ConfigError, UvastError
from uvast.features.card import Files, Model, Rate, Version, Widths, card_path, read_card
from uvast.features.models import EXTRACTORS, TABLES, ModelName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.features.card import FeatureCard


@dataclass(frozen=True)
class ExtractorRecord:
    """An extractor, or several that are joined; see `FeatureCard`.

    Args:
        model: as in `--model`, several separated by commas.
        version: of each model.
        widths: the features of each model, in the order of the columns.
        frames_per_second: of the features; None means the source's own frames.
        rows_per_second: of poses and tables, if known.
        files: the absolute path of each model's file, empty for a model without one.
    """

    model: Model
    version: Version
    widths: Widths
    frames_per_second: Rate | None
    rows_per_second: Rate | None = None
    files: Files = ()

    def models(self) -> tuple[ModelName, ...]:
        """The same models by name; raises if one of their files is gone."""
        kinds = [name.partition(":")[0] for name in self.model.split(",")]
        files = self.files or ("",) * len(kinds)
        if len(files) != len(kinds) or not {*kinds} <= {*EXTRACTORS, *TABLES}:
            raise ConfigError(
                f"this version of uvast has no extractor {self.model!r}",
                remedy="use the version that trained the model, or train again",
            )
        for kind, file in zip(kinds, files, strict=True):
            if kind == "onnx" and not Path(file).is_file():
                raise ConfigError(
                    "does not exist, but made the features that the model was trained on",
                    where=file or self.model,
                    remedy="put it back there, with its .toml beside it",
                )
        return tuple(map(ModelName, kinds, files))


def common_extractor(features: Iterable[Path]) -> ExtractorRecord | None:
    """What made all of these feature files; None if a card is missing or they differ."""
    found: ExtractorRecord | None = None
    for path in features:
        try:
            record = _record(read_card(card_path(path)))
        except UvastError:
            return None
        # where a model's file lay does not matter: its hash is a part of the version
        if found is not None and replace(record, files=found.files) != found:
            return None
        found = found or record
    return found


def _record(card: FeatureCard) -> ExtractorRecord:
    return ExtractorRecord(
        model=card.model,
        version=card.version,
        widths=card.widths,
        frames_per_second=card.frames_per_second,
        rows_per_second=card.rows_per_second,
        files=card.files,
    )
