"""Files: atomic writes, and bounded, typed readers whose every failure is one clear sentence.

Anything that needs pydantic is imported on first use, so that `--help` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from uvast.files.reading import is_present, missing, open_file, read_bytes, read_text, unreadable
from uvast.files.writing import (
    atomic_path,
    check_absent,
    recover,
    swap,
    temporary_folder,
    unwritable,
    write_bytes,
    write_json,
    write_text,
)

if TYPE_CHECKING:
    from uvast.files.records import (
        checked,
        first_fault,
        parse_json,
        read_json,
        read_record,
        read_rows,
        read_toml,
        shown,
    )

__all__ = [
    "atomic_path",
    "check_absent",
    "checked",
    "first_fault",
    "is_present",
    "missing",
    "open_file",
    "parse_json",
    "read_bytes",
    "read_json",
    "read_record",
    "read_rows",
    "read_text",
    "read_toml",
    "recover",
    "shown",
    "swap",
    "temporary_folder",
    "unreadable",
    "unwritable",
    "write_bytes",
    "write_json",
    "write_text",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("uvast.files.records"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
