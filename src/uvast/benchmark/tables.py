"""A table of the paper: rows that are configurations, and the published numbers beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from uvast.benchmark.published import PublishedTable, published_tables
from uvast.config import Config, read_preset
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uvast.supervision import PseudoLabelOptions

PEERS = "peers-"
"""Published tables of this prefix hold further rows of the table whose name follows."""

NOTHING: Mapping[str, object] = MappingProxyType({})
RowKind = Literal["model", "pseudo-labels", "published"]


@dataclass(frozen=True)
class Row:
    """One row: a configuration, or a method of which only published numbers exist.

    Rows of equal `settings` share one trained model; they differ in `decode` alone.

    Args:
        name: unique in its table; the paper's name of the row where it is in the paper.
        kind: what makes its numbers: a trained model, pseudo-labels of the training side, or no one
            here.
        settings: changes of model, loss, training and supervision: `{"loss.frame": False}`.
        decode: changes of the decoding: `{"decode.durations": "fifa"}`.
        pseudo_labels: of a row of pseudo-labels, how they are made.
        published: dataset to column to number, empty if there are none.
        in_paper: whether the paper's own table has this row.
    """

    name: str
    kind: RowKind = "model"
    settings: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    decode: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    pseudo_labels: PseudoLabelOptions | None = None
    published: Mapping[str, Mapping[str, float]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    in_paper: bool = False

    @property
    def slug(self) -> str:
        """The name for folders: lower case, words joined by hyphens, `+` spelled `plus`."""
        words = re.findall(r"[a-z0-9.]+", self.name.lower().replace("+", " plus "))
        return "-".join(words)

    def config(self, base: Config) -> Config:
        """`base`, usually a dataset's preset, with this row's changes."""
        return base.replaced(**self.settings, **self.decode)


@dataclass(frozen=True)
class Table:
    """A table as `uvast reproduce` knows it.

    Args:
        name: as on the command line.
        caption: what it compares.
        rows: in the paper's order, then those that are ours.
        columns: the scores that the paper's table shows, in its order.
        datasets: those of the paper's table; any other works as well.
        split: the one split it is about, None for the mean over all.
        mark: what is printed beside published numbers.
        source: where these are from.
    """

    name: str
    caption: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    datasets: tuple[str, ...]
    split: int | None
    mark: str
    source: str

    def row(self, name: str) -> Row:
        """The row of this name or slug."""
        for one in self.rows:
            if name in (one.name, one.slug):
                return one
        known = ", ".join(repr(one.name) for one in self.rows)
        raise ConfigError(f"table {self.name} has no row {name!r}", remedy=f"choose from {known}")

    @property
    def runnable(self) -> tuple[Row, ...]:
        """The rows that can be computed here."""
        return tuple(one for one in self.rows if one.kind != "published")


def make_table(name: str, caption: str, rows: Iterable[Row], *, split: int | None = None) -> Table:
    """Puts rows and published numbers of one table together.

    Published rows come first, in their order, whether or not a configuration exists for them; then
    the configurations that no paper reports.
    """
    paper = published_tables()[name]
    peers = published_tables().get(PEERS + name)
    ours = {one.name: one for one in rows}
    merged = [_published(paper, one, ours, in_paper=True) for one in paper.rows]
    source = paper.source
    if peers is not None:
        source += f"; {', '.join(peers.rows)}: {peers.source}"
        merged += [_published(peers, one, ours, in_paper=False) for one in peers.rows]
    merged += ours.values()
    return Table(
        name=name,
        caption=caption,
        rows=tuple(merged),
        columns=paper.columns,
        datasets=paper.datasets,
        split=split,
        mark=paper.mark,
        source=source,
    )


def _published(source: PublishedTable, name: str, ours: dict[str, Row], *, in_paper: bool) -> Row:
    """The row of this name with its numbers; taken out of `ours` if it is there."""
    row = ours.pop(name, Row(name, "published"))
    return Row(
        name,
        row.kind,
        row.settings,
        row.decode,
        row.pseudo_labels,
        published=source.rows[name],
        in_paper=in_paper,
    )


def preset_settings(preset: str) -> dict[str, object]:
    """What a preset's file sets, as single settings: `{"train.epochs": 50, …}`.

    Values that are the defaults count, too: they win over those of another preset below.
    """
    return _single_settings(read_preset(preset))


def changed_settings(config: Config) -> dict[str, object]:
    """Where a config differs from the defaults, as single settings."""
    defaults = _single_settings(Config().as_dict())
    settings = _single_settings(config.as_dict())
    return {name: value for name, value in settings.items() if value != defaults[name]}


def _single_settings(sections: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    return {
        f"{section}.{name}": value
        for section, values in sections.items()
        for name, value in values.items()
    }
