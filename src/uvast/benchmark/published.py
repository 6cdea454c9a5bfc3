"""The published numbers, shipped as data (`published.toml`). Nothing here was computed by us."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper.

    Args:
        mark: what is to be printed beside every number of it.
        source: the paper, the table in it, and the splits that its numbers are of.
        columns: `f1@10`, `f1@25`, `f1@50`, `edit`, `acc`, or some of them, in the paper's order.
        rows: row to dataset to column to number, in the paper's order; dashes are left out.
    """

    mark: str
    source: str
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Mapping[str, float]]]


@lru_cache(maxsize=1)
def published_tables() -> Mapping[str, PublishedTable]:
    """All shipped tables by name."""
    text = (resources.files("uvast") / "benchmark" / "published.toml").read_text("utf-8")
    values = tomllib.loads(text)
    mark, _ = values.pop("mark"), values.pop("paper")
    return MappingProxyType({name: _table(mark, table) for name, table in values.items()})


def _table(mark: str, values: dict[str, Any]) -> PublishedTable:
    columns = tuple(values["columns"])
    rows = {
        row: MappingProxyType(
            {dataset: _named(columns, numbers) for dataset, numbers in datasets.items()}
        )
        for row, datasets in values["rows"].items()
    }
    return PublishedTable(mark, values["source"], columns, MappingProxyType(rows))


def _named(columns: tuple[str, ...], numbers: list[float]) -> Mapping[str, float]:
    pairs = zip(columns, numbers, strict=True)
    return MappingProxyType({column: float(one) for column, one in pairs if not math.isnan(one)})
