"""Files: atomic writes, and bounded, typed readers whose every failure is one clear sentence."""

from __future__ import annotations

from uvast.files.reading import (
    is_present,
    missing,
    open_file,
    read_bytes,
    read_text,
    unreadable,
)
from uvast.files.records import (
    checked,
    first_fault,
    read_json,
    read_numbers,
    read_record,
    read_rows,
    read_toml,
    shown,
)
from uvast.files.writing import (
    atomic_path,
    check_absent,
    recover,
    swap,
    temporary_folder,
    unwritable,
    write_json,
    write_text,
)

__all__ = [
    "atomic_path",
    "check_absent",
    "checked",
    "first_fault",
    "is_present",
    "missing",
    "open_file",
    "read_bytes",
    "read_json",
    "read_numbers",
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
    "write_json",
    "write_text",
]
