"""Settings compared with a base by cross-validation inside training sides.

A training side is cut into folds; every variant is trained on all but one of them and scored on
that one, for every fold and seed. The test side is never opened. Variants that differ in decoding
alone share their runs, and so do comparisons with equal settings in one folder.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.benchmark.cell import Cell, CellFold, with_decodings
from uvast.benchmark.matrix import OWN_OPTIONS, check_once
from uvast.benchmark.tables import settings_digest
from uvast.config import load_config, parse_setting
from uvast.data import Dataset
from uvast.data.folds import inner_folds, known_subjects
from uvast.errors import ConfigError, InputError, LabelError
from uvast.inference.named_decodings import named_decodings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uvast.benchmark.matrix import Matrix
    from uvast.config import Config
    from uvast.data.folds import Fold

BASE = "base"
N_FOLDS = 3

LEFT_OUT = ("transcript", "fifa", "frames + fifa")
"""Decodings that are compared only if they are asked for: the first has no Acc and no F1, the
others take as long as a short training."""

NAMING = ("transcript", "durations")
"""Settings that decide which decoding it is."""


@dataclass(frozen=True)
class Change:
    """Settings that differ from the base.

    Args:
        text: its name in tables.
        settings: name to value.
    """

    text: str
    settings: Mapping[str, object]

    def apply(self, config: Config) -> tuple[Config, dict[str, Any]]:
        """The training settings, and the changes to the `decode` section, without a prefix.

        Decoding is part of training if a validation part chooses the epoch with it.
        """
        whole = config.replaced(**self.settings)
        if whole.train.validation not in ("auto", 0.0):
            return whole, {}
        decode = {
            name.removeprefix("decode."): value
            for name, value in self.settings.items()
            if name.startswith("decode.")
        }
        others = {name: self.settings[name] for name in self.settings if name[:7] != "decode."}
        return config.replaced(**others), decode


@dataclass(frozen=True)
class Variant:
    """The base or a change on one dataset.

    Args:
        dataset, supervision, model: what it is a variant of.
        change: `base`, or the settings that differ.
        decodings: a decoding's name to what the cells call it.
        cells: its runs, one per split, fold and seed.
    """

    dataset: str
    supervision: str
    model: str
    change: str
    decodings: Mapping[str, str]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Args:
        matrix: the base: datasets, models, supervision, splits, seeds, settings, decodings.
        changes: each a text of one or more settings, `train.feature_noise=0.5 train.epochs=50`.
        n_folds: the folds that each training side is cut into.
    """

    matrix: Matrix
    changes: Sequence[str]
    n_folds: int = N_FOLDS

    def cells(self) -> tuple[Cell, ...]:
        """The cells to train, each once, with the decodings of all its variants."""
        found: dict[str, Cell] = {}
        for variant in self.variants:
            for cell in variant.cells:
                found[cell.key] = with_decodings(cell, found.get(cell.key, cell))
        return tuple(found.values())

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """For each dataset, supervision and model, the base and then the changes."""
        changes = (Change(BASE, {}), *map(parse_change, self.changes))
        check_once("changes", [one.text for one in changes])
        bases: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
        for cell in self.matrix.cells():
            bases[cell.data, cell.config.supervision.kind, cell.model].append(cell)
        return tuple(self._variant(group, change) for group in bases.values() for change in changes)

    @cached_property
    def folds(self) -> Mapping[tuple[str, int], tuple[Fold, ...]]:
        """Dataset's folder and split to the folds of its training side."""
        found = {}
        for path in self.matrix.datasets:
            dataset = Dataset.open(path)
            for split in self.matrix.splits or dataset.splits:
                found[str(path.resolve()), split] = training_folds(dataset, split, self.n_folds)
        return found

    def notes(self) -> Iterator[str]:
        """How each dataset's folds are cut."""
        for (path, split), folds in self.folds.items():
            n_videos = sum(len(fold.held_out) for fold in folds)
            by = "whole subjects" if folds[0].whole_subjects else "single videos, not subjects,"
            yield (
                f"{Path(path).name}, split {split}: {n_videos} training videos in {len(folds)} "
                f"folds of {by} held out in turn; the test side is not opened"
            )

    def _variant(self, base: Sequence[Cell], change: Change) -> Variant:
        config, decode = change.apply(base[0].config)
        plain = self._decodings(config)
        suffix = "".join(f", {name}={value}" for name, value in decode.items())
        changes = {f"{name}{suffix}": {**one, **decode} for name, one in plain.items()}
        first = base[0]
        return Variant(
            dataset=first.data,
            supervision=first.config.supervision.kind,
            model=first.model,
            change=change.text,
            decodings={name: f"{name}{suffix}" for name in plain},
            cells=tuple(
                replace(
                    cell,
                    model=f"{cell.model}-{settings_digest(config)}",
                    config=config,
                    decodings=changes,
                    fold=CellFold(fold.number, self.n_folds, fold.train, fold.held_out),
                )
                for cell in base
                for fold in self.folds[cell.dataset, cell.split]
            ),
        )

    def _decodings(self, config: Config) -> dict[str, Mapping[str, Any]]:
        found = self.matrix.decodings_for(config)
        if self.matrix.decodings is None:
            return named_decodings(name for name in found if name not in LEFT_OUT)
        return found


def parse_change(text: str) -> Change:
    """`train.feature_noise=0.5 train.epochs=50` -> the settings it names, each checked alone."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _wrong(f"{text!r} cannot be read ({error})") from None
    if not words:
        raise _wrong("a change without settings")
    for word in words:
        name, equals, _ = word.partition("=")
        if not equals or name.count(".") != 1:
            raise _wrong(f"{word!r} is not of the form section.name=value")
    try:
        settings = dict(map(parse_setting, words))
        load_config(settings=words)
    except ConfigError as error:  # it names --set
        raise ConfigError(error.what, where="--change", remedy=error.remedy) from None
    if len(settings) < len(words):
        raise _wrong(f"{text!r} names a setting twice")
    for name in settings:
        if name in OWN_OPTIONS:
            raise ConfigError(
                f"{name} is not a change to compare",
                where="--change",
                remedy=f"pass {OWN_OPTIONS[name]} instead",
            )
        if name.removeprefix("decode.") in NAMING:
            raise ConfigError(
                f"{name} selects another decoding, and the table shows all decodings anyway",
                where="--change",
                remedy="choose some of them with --decodings",
            )
    return Change(" ".join(words), settings)


def training_folds(dataset: Dataset, split: int, n_folds: int) -> tuple[Fold, ...]:
    """The labelled videos of a split's training side, cut into folds; no label is read."""
    side = [name for name in dataset.side(split, "train") if dataset.has_labels(name)]
    if not side:
        raise LabelError(
            f"has no labels for any video on the training side of split {split}",
            where=dataset.path,
            remedy="label some of them: scores need labels, even with timestamps",
        )
    try:
        subjects = known_subjects(side, dataset.spec.group_by, dataset.splits)
        return inner_folds(side, n_folds, subjects)
    except InputError as error:
        where = f"{dataset.path}, split {split}"
        raise InputError(error.what, where=where, remedy=error.remedy) from None


def _wrong(what: str) -> ConfigError:
    return ConfigError(
        what, where="--change", remedy="write for example --change train.feature_noise=0.5"
    )
