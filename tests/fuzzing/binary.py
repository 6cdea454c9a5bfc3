"""Pure ways to break arrays, pickles and checkpoints: their headers first of all."""

from __future__ import annotations

import json
import pickle as pickles
import struct
from collections.abc import Callable
from typing import Any

from .hostile import DEEP, LONG

MAGIC = b"\x93NUMPY"

HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 8), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6, True), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 6), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 0), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 1, 1, 1, 1), }",
    f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({2**62}, 8), }}",
    f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**400}, 6), }}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5, 6), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': 'ab', }",
    "{'descr': '<f4', 'fortran_order': 1, 'shape': (6, 8), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<c16', 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '<f2', 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '>f8', 'fortran_order': True, 'shape': (6, 8), }",
    "{'descr': '|b1', 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '<U9', 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '<M8[D]', 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '|V0', 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '<f4' , 'shape': (6, 8), }",
    "{'descr': [('a', '<f4'), ('b', '<i2')], 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': [('a', '<f4', (1000000000,))], 'fortran_order': False, 'shape': (6, 8), }",
    "{'descr': '\\x1b[31m', 'fortran_order': False, 'shape': (6, 8), }",
    f"{{'descr': '{LONG[:9000]}', 'fortran_order': False, 'shape': (6, 8), }}",
    "[" * 9_000 + "]" * 900,
    "-" * 9_000 + "1",
    "(" * 90 + ")" * 90,
    "__import__('os').system('true')",
    "",
    "\x00" * 80,
)

FLOATS = (float("nan"), float("inf"), float("-inf"), 3e38, -3e38, 1e-45, 1e30, 0.0)


def npy_header(content: bytes, place: int, value: int) -> bytes:
    """Another header, or another version, before the same values."""
    n_header = struct.unpack_from("<H", content, 8)[0]
    if place % 4 == 0:
        sizes = (0, 1, n_header - 1, 2**16, 2**31, 2**32 - 1)
        major = 1 + place // 4 % 4
        return (
            MAGIC + bytes([major, 0]) + struct.pack("<I", sizes[value % len(sizes)]) + content[10:]
        )
    return with_npy_header(content, HEADERS[value % len(HEADERS)])


def with_npy_header(content: bytes, header: str) -> bytes:
    """Another header before the same values."""
    n_header = struct.unpack_from("<H", content, 8)[0]
    text = header.encode("latin1") + b"\n"
    return MAGIC + b"\x01\x00" + struct.pack("<H", len(text)) + text + content[10 + n_header :]


def npy_values(content: bytes, place: int, value: int) -> bytes:
    """A value, or from there on all of them, that no feature has."""
    start = 10 + struct.unpack_from("<H", content, 8)[0]
    n_values = (len(content) - start) // 4
    number = struct.pack("<f", FLOATS[value % len(FLOATS)])
    index = place % n_values
    n_changed = n_values - index if value // len(FLOATS) % 2 else 1
    first = start + 4 * index
    return content[:first] + number * n_changed + content[first + 4 * n_changed :]


def pickle(content: bytes, place: int, value: int) -> bytes:
    """Another pickle behind the same header."""
    return with_pickle(content, PICKLES[value % len(PICKLES)])


def with_pickle(content: bytes, program: bytes) -> bytes:
    """Another pickle behind the same header."""
    return content[: 10 + struct.unpack_from("<H", content, 8)[0]] + program


def pair_of_pairs(levels: int) -> bytes:
    """A dict whose key is a tuple of two equal tuples of two equal tuples …: 2 ** levels leaves."""
    program = b"\x80\x04}K\x01K\x02\x86"
    for level in range(levels):
        program += b"q" + bytes([level]) + b"h" + bytes([level]) + b"\x86"
    return program + b"K\x01s."


class _Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, ("true",)


PICKLES = (
    pair_of_pairs(4),
    pair_of_pairs(24),
    pair_of_pairs(40),
    b"\x80\x04K\x01r" + struct.pack("<I", 2**26) + b".",  # a memo of that many places
    b"\x80\x04K\x01r" + struct.pack("<I", 2**31) + b".",
    b"\x80\x04]q\x00h\x00a.",  # a list that holds itself
    b"\x80\x04}q\x00\x8c\x01vh\x00s.",
    b"\x80\x04" + b"]" * DEEP + b"a" * (DEEP - 1) + b".",
    b"\x80\x04" + b"(" * DEEP + b"t" * DEEP + b".",
    b"\x80\x04X\xff\xff\xff\x7fabc.",
    b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
    b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.",
    b"\x80\x04\x8b\xff\xff\xff\x7f\x01.",
    b"I" + b"7" * 40_000 + b"\n.",
    b"\x80\x04cos\nsystem\n\x8c\x04true\x85R.",
    b"\x80\x04c__builtin__\neval\n\x8c\x011\x85R.",
    b"\x80\x04\x82\x01.",
    b"P1\n.",
    b"\x80\x04}\x8c\x01v]\x8c\x01wa\x85s.",
    b".",
    b"0" * 50,
    pickles.dumps(_Harm()),
    *(
        pickles.dumps(table)
        for table in (
            [],
            {},
            {"s01_task2_001": [1.5]},
            {"s01_task2_001": [True]},
            {"s01_task2_001": [-1, 2**70, 10**5000]},
            {"s01_task2_001": [[1], [2]]},
            {"s01_task2_001": "text"},
            {"s01_task2_001": None},
            {1: [1], None: [2], ("a",): [3]},
            {LONG: "x"},
            {"\x1b[31mred": "x"},
            {"a.txt": [1], "a": [2]},
            {"\ud800": [1]},
        )
    ),
)


def header_length(content: bytes, place: int, value: int) -> bytes:
    """A header said to be of another length."""
    own = struct.unpack_from("<Q", content)[0]
    sizes = (0, 1, own - 1, own + 1, len(content), 10**8, 2**40, 2**64 - 1)
    return struct.pack("<Q", sizes[value % len(sizes)]) + content[8:]


def in_header(
    part: str, change: Callable[[str, int, int], str]
) -> Callable[[bytes, int, int], bytes]:
    """Breaks a checkpoint's header, or the JSON that its entry `part` holds as text."""

    def changed(content: bytes, place: int, value: int) -> bytes:
        return with_header(content, part, lambda text: change(text, place, value))

    return changed


def with_header(content: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """A checkpoint whose header, or whose header's entry `part`, is another text."""
    n_header = struct.unpack_from("<Q", content)[0]
    text, body = content[8 : 8 + n_header].decode("utf-8"), content[8 + n_header :]
    if part == "header":
        text = change(text)
    else:
        header = json.loads(text)
        header["__metadata__"][part] = change(header["__metadata__"][part])
        text = json.dumps(header)
    header_bytes = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(header_bytes)) + header_bytes + body


def with_tensor(content: bytes, name: str, value: bytes) -> bytes:
    """A checkpoint in which the first bytes of a tensor are others."""
    n_header = struct.unpack_from("<Q", content)[0]
    begin = 8 + n_header + json.loads(content[8 : 8 + n_header])[name]["data_offsets"][0]
    return content[:begin] + value + content[begin + len(value) :]
