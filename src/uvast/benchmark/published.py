"""The published numbers, shipped as data (`published.toml`). Nothing here was computed by us."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pydantic

from uvast.files import read_record

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper.

    Args:
        mark: printed beside every number from this table.
        source: the paper, the table in it, and the splits that its numbers cover.
        columns: `f1@10`, `f1@25`, `f1@50`, `edit`, `acc`, or some of them, in the paper's order.
        rows: row to dataset to column to number, in the paper's order; dashes are left out.
        remarks: row to what a reader of its numbers must know; most rows have none.
    """

    mark: str
    source: str
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Mapping[str, float]]]
    remarks: Mapping[str, str]


class _Table(pydantic.BaseModel):
    """A table as the file has it; a number that the paper leaves out is `nan`."""

    mark: str = ""
    source: str
    columns: tuple[str, ...]
    rows: dict[str, dict[str, tuple[float, ...]]]
    remarks: dict[str, str] = {}


class _File(pydantic.BaseModel, extra="allow"):
    mark: str
    paper: str
    __pydantic_extra__: dict[str, _Table]


@lru_cache(maxsize=1)
def published_tables() -> Mapping[str, PublishedTable]:
    """All shipped tables by name."""
    with resources.as_file(resources.files("uvast") / "benchmark" / "published.toml") as path:
        file = read_record(Path(path), _File)
    tables = file.__pydantic_extra__
    return MappingProxyType({name: _published(file.mark, one) for name, one in tables.items()})


def _published(mark: str, table: _Table) -> PublishedTable:
    rows = {
        row: {
            dataset: {
                column: number
                for column, number in zip(table.columns, numbers, strict=True)
                if not math.isnan(number)
            }
            for dataset, numbers in datasets.items()
        }
        for row, datasets in table.rows.items()
    }
    return PublishedTable(table.mark or mark, table.source, table.columns, rows, table.remarks)
