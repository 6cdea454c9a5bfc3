"""A table of the paper: rows that are configurations, and the published numbers beside them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from uvast.benchmark.published import PublishedTable, published_tables
from uvast.config import Config
from uvast.presets import read_preset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uvast.supervision import PseudoLabelOptions

FURTHER = ("peers-", "later-")
"""Published tables with these prefixes hold further rows of the table whose name follows: systems
of the paper's time, and later ones."""

UVAST: Mapping[str, object] = MappingProxyType({"model.kind": "uvast", "supervision.kind": "full"})
"""What a row is unless it says otherwise, whatever preset it builds on."""

RowKind = Literal["model", "pseudo-labels", "published"]


@dataclass(frozen=True)
class Row:
    """One row: a configuration, or a method with only published numbers.

    Rows that differ in `decode` alone share one trained model.

    Args:
        name: unique in its table; the paper's name for the row if the paper has it.
        kind: what makes its numbers here: a trained model, pseudo-labels of the training side, or
            nothing.
        settings: what defines the row: `{"loss.frame": False}`.
        defaults: what it adds and a user may change: a baseline's published training.
        decode: changes to the `decode` section: `{"durations": "fifa"}`.
        pseudo_labels: how pseudo-labels are made, for a row of them.
        published: dataset to column to number; empty if there are none.
        mark: printed beside published numbers; empty if there are none.
        remark: what a reader of published numbers must know; usually empty.
        in_paper: whether the paper's own table has this row.
    """

    name: str
    kind: RowKind = "model"
    settings: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    decode: Mapping[str, Any] = field(default_factory=dict)
    pseudo_labels: PseudoLabelOptions | None = None
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    mark: str = ""
    remark: str = ""
    in_paper: bool = False

    def config(self, base: Config) -> Config:
        """The row's training settings on `base`, usually a dataset's preset; without `decode`."""
        return base.replaced(**{**UVAST, **self.defaults, **self.settings})

    @property
    def fixed(self) -> frozenset[str]:
        """The settings that define this row."""
        labels = {} if self.pseudo_labels is None else asdict(self.pseudo_labels)
        sections = {"decode": self.decode, "supervision": labels}
        return frozenset((*UVAST, *self.settings, *_flat(sections)))


@dataclass(frozen=True)
class Table:
    """A table as `uvast reproduce` knows it.

    Args:
        name: its name on the command line.
        caption: what it compares.
        rows: in the paper's order, then our own.
        columns: the scores that the paper's table shows, in its order.
        split: the one split it covers; None for the mean over all.
        source: where published numbers come from.
    """

    name: str
    caption: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    split: int | None
    source: str

    @property
    def runnable(self) -> tuple[Row, ...]:
        """The rows that can be computed here."""
        return tuple(one for one in self.rows if one.kind != "published")


def make_table(name: str, caption: str, rows: Iterable[Row], *, split: int | None = None) -> Table:
    """Combines the rows and published numbers of one table.

    Published rows come first, in their order, whether or not a configuration exists for them; then
    the configurations that no paper reports.
    """
    paper = published_tables()[name]
    ours = {one.name: one for one in rows}
    merged = [_published(paper, one, ours, in_paper=True) for one in paper.rows]
    source = paper.source
    for prefix in FURTHER:
        further = published_tables().get(prefix + name)
        if further is not None:
            source += f"; {', '.join(further.rows)}: {further.source}"
            merged += [_published(further, one, ours, in_paper=False) for one in further.rows]
    merged += ours.values()
    return Table(name, caption, tuple(merged), paper.columns, split, source)


def _published(source: PublishedTable, name: str, ours: dict[str, Row], *, in_paper: bool) -> Row:
    """The row of this name with its numbers; taken out of `ours` if it is there."""
    row = ours.pop(name, Row(name, "published"))
    return replace(
        row,
        published=source.rows[name],
        mark=source.mark,
        remark=source.remarks.get(name, ""),
        in_paper=in_paper,
    )


def preset_settings(preset: str) -> dict[str, object]:
    """What a preset's file sets, as single settings: `{"train.epochs": 50, …}`.

    Values equal to the defaults count, too: they override another preset's.
    """
    return _flat(read_preset(preset))


def changed_settings(config: Config) -> dict[str, object]:
    """Where a config differs from the defaults, as single settings."""
    defaults, values = single_settings(Config()), single_settings(config)
    return {name: value for name, value in values.items() if value != defaults[name]}


def settings_digest(config: Config) -> str:
    """A short name for settings; those equal to the defaults do not count."""
    text = json.dumps(changed_settings(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def single_settings(config: Config) -> dict[str, object]:
    """All settings of a config: `{"train.epochs": 50, …}`."""
    return _flat(config.as_dict())


def _flat(sections: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    return {
        f"{section}.{name}": value
        for section, values in sections.items()
        for name, value in values.items()
    }
