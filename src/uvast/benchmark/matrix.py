"""The matrix of a benchmark: datasets × models × supervision × splits × seeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.benchmark.cell import Cell
from uvast.config import load_config
from uvast.data import Dataset
from uvast.errors import ConfigError, SplitError
from uvast.inference.named_decodings import decodings_of, fitting_decodings, named_decodings
from uvast.models.build import described_model
from uvast.models.protocols import as_aligner, gives_boundaries, gives_fractions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from uvast.config import Config
    from uvast.evaluation.scores import ScoreProtocol

AUTO = "auto"
"""As a base: the preset with the dataset's name, if there is one."""

DATASET_PRESETS = ("50salads", "breakfast", "gtea")
"""Presets with the settings of a dataset; the others are for a model or a purpose."""

SUPERVISION = ("full", "timestamps")

OWN_OPTIONS = {"supervision.kind": "--supervision", "train.seed": "--seeds"}
"""Setting that the matrix itself varies to its option."""


@dataclass(frozen=True)
class Matrix:
    """What a benchmark compares.

    Args:
        datasets: folders.
        presets: one per model, a shipped preset or a .toml file; tables name the model after it.
        base: the preset that every model's preset builds on: `gtea` below `asformer`; `auto`
            takes the one with the dataset's name, if there is one.
        supervision: `full`, `timestamps` or both.
        decodings: names of `DECODINGS`, or `none`; None takes all that fit the model.
        splits: split numbers; None takes all of a dataset.
        seeds: training seeds.
        epochs: epochs per stage; None takes each preset's own.
        settings: further settings of every cell, `train.epochs=50`, or of one model's cells,
            `asformer:train.epochs=50`.
        timestamps: the timestamps file; None finds each dataset's own.
        protocol: how the test sides are scored.
    """

    datasets: Sequence[Path]
    presets: Sequence[str]
    base: str | None = None
    supervision: Sequence[str] = ("full",)
    decodings: Sequence[str] | None = None
    splits: Sequence[int] | None = None
    seeds: Sequence[int] = (0,)
    epochs: int | None = None
    settings: Sequence[str] = ()
    timestamps: Path | None = None
    protocol: ScoreProtocol = "standard"

    def cells(self) -> tuple[Cell, ...]:
        """Every cell, the splits of one model together."""
        for name in ("datasets", "presets", "supervision", "seeds", "decodings"):
            if getattr(self, name) is not None:
                check_once(name, getattr(self, name))
        for one in self.supervision:
            if one not in SUPERVISION:
                raise ConfigError(
                    f"unknown supervision {one!r}",
                    where="--supervision",
                    remedy=f"choose from {', '.join(SUPERVISION)}",
                )
        cells = tuple(self._cells())
        check_places(cells)
        return cells

    def _cells(self) -> Iterator[Cell]:
        for folder in self.datasets:
            dataset = Dataset.open(folder)
            splits = chosen_splits(dataset, self.splits)
            if self.timestamps is not None and "timestamps" in self.supervision:
                sides = {name for split in splits for name in dataset.side(split, "train")}
                dataset.timestamps(self.timestamps, names=sides)  # fails now, not in each run
            for supervision, preset in product(self.supervision, self.presets):
                config = self._config(dataset, preset, supervision)
                decodings = self.decodings_for(config)
                for seed, split in product(self.seeds, splits):
                    yield Cell(
                        model=model_name(preset),
                        dataset=str(folder.resolve()),
                        split=split,
                        seed=seed,
                        config=config,
                        decodings=decodings,
                        timestamps=resolved(self.timestamps),
                        protocol=self.protocol,
                    )

    def _config(self, dataset: Dataset, preset: str, supervision: str) -> Config:
        base = preset_of(dataset.name) if self.base == AUTO else self.base
        layers = (preset,) if base is None or base == preset else (base, preset)
        mine = [text for model, text in self._addressed() if model in ("", model_name(preset))]
        short = epoch_settings(load_config(layers), self.epochs, self.settings)
        return load_config(layers, settings=[*short, *mine, f"supervision.kind={supervision}"])

    def _addressed(self) -> list[tuple[str, str]]:
        """Model and setting in pairs; settings for all models, whose name is empty, come first."""
        models = [model_name(preset) for preset in self.presets]
        found = []
        for one in self.settings:
            address, equals, value = one.partition("=")
            model, _, name = address.rpartition(":")
            if name in OWN_OPTIONS:
                raise ConfigError(
                    f"--set {name} would change what the benchmark compares",
                    remedy=f"pass {OWN_OPTIONS[name]} instead",
                )
            if model and model not in models:
                raise ConfigError(
                    f"--set {model}:{name} names a model that is not compared here",
                    remedy=f"choose from {', '.join(models)}",
                )
            found.append((model, f"{name}{equals}{value}"))
        return sorted(found, key=lambda one: bool(one[0]))

    def decodings_for(self, config: Config) -> dict[str, Mapping[str, Any]]:
        """The decodings of a model, by name."""
        kind, model = config.model.kind, described_model(config.model)
        given = {
            "alignment": config.train.alignment_epochs > 0 and as_aligner(model) is not None,
            "explicit": gives_fractions(model),
            "boundaries": gives_boundaries(model),
        }
        known = decodings_of(kind, **given)
        if self.decodings is None:
            return named_decodings(known)
        names = fitting_decodings(self.decodings, kind, **given)
        if not names:
            raise ConfigError(
                f"none of {', '.join(self.decodings)} fits the model {kind}",
                where="--decodings",
                remedy=f"add one of {', '.join(known)}",
            )
        return named_decodings(names)


def epoch_settings(config: Config, epochs: int | None, settings: Sequence[str]) -> list[str]:
    """`--epochs N` as settings, for both stages if the config has a second one."""
    if epochs is None:
        return []
    if any(one.partition("=")[0].strip() == "train.epochs" for one in settings):
        raise ConfigError(
            "train.epochs is set twice", where="--set", remedy="leave out this or --epochs"
        )
    names = ["train.epochs", *["train.alignment_epochs"] * (config.train.alignment_epochs > 0)]
    return [f"{name}={epochs}" for name in names]


def model_name(preset: str) -> str:
    """What a preset is called in tables and folders: `presets/toy.toml` is `toy`."""
    return Path(preset).stem if preset.endswith(".toml") else preset


def preset_of(dataset: str) -> str | None:
    """The preset made for a dataset of this name, if there is one: 50salads for `50Salads`."""
    return dataset.lower() if dataset.lower() in DATASET_PRESETS else None


def chosen_splits(dataset: Dataset, splits: Sequence[int] | None) -> tuple[int, ...]:
    """The splits asked for, or all; each is checked."""
    if not dataset.splits:
        raise SplitError(
            "has no splits", where=dataset.path, remedy="make them with 'uvast data split'"
        )
    chosen = tuple(dataset.splits) if splits is None else tuple(splits)
    check_once("splits", chosen)
    for split in chosen:
        dataset.side(split, "test")
    return chosen


def check_places(cells: Sequence[Cell]) -> None:
    """Refuses two cells in one folder, such as those of two datasets with the same name."""
    places = Counter(cell.key for cell in cells)
    twice = next((key for key, count in places.items() if count > 1), None)
    if twice is not None:
        raise ConfigError(
            f"two runs would share the folder {twice}",
            remedy="give datasets, and presets of your own, different names",
        )


def resolved(path: Path | None) -> str | None:
    """An absolute path as text."""
    return None if path is None else str(path.resolve())


def check_once(name: str, values: Sequence[object]) -> None:
    """Refuses an empty list, and a value that appears twice."""
    if not values:
        raise ConfigError(f"no {name} given", remedy="give at least one")
    twice = next((value for value in values if list(values).count(value) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice} is given twice among the {name}", remedy="give each once")
