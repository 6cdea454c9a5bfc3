"""The published timestamp files `*_annotation_all.npy`: pickled dicts, read without running them.

A pickle is a program. This reader admits the few names that NumPy writes for integers and
arrays, and gives each of them a harmless stand-in of its own; any other name is refused. So
neither a foreign function nor NumPy's own unpickling code ever runs.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib import format as npy_format

from uvast.data.faults import raise_fault
from uvast.errors import TimestampError
from uvast.files import missing, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeGuard

    from uvast.data.faults import OnFault

_Value = TypeVar("_Value")

_KIND = "published timestamps"
_REMEDY = "restore the file or write timestamps.json"


def read_published(path: Path, on_fault: OnFault = raise_fault) -> dict[str, list[int]]:
    """`video -> frame indices` of a published file.

    Args:
        path: the file.
        on_fault: if it does not raise, videos without a list of numbers are left out.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise unreadable(path, error, kind=_KIND, remedy=_REMEDY) from error
    stream = io.BytesIO(content)
    try:
        npy_format.read_magic(stream)
        npy_format.read_array_header_1_0(stream)
        loaded = _RestrictedUnpickler(stream).load()
    except _RefusedError as error:
        raise TimestampError(
            f"refused, its pickle asks for {error}",
            where=path,
            remedy="get the file from a source you trust or write timestamps.json",
        ) from None
    except Exception as error:  # a broken pickle may raise anything
        raise _no_timestamps(path, type(error).__name__) from error
    table = _plain(loaded)
    if not isinstance(table, dict):
        raise _no_timestamps(path, "not a dict of videos")
    found: dict[str, list[int]] = {}
    for key, value in table.items():
        frames = _plain(value)
        if isinstance(key, str) and _are_frames(frames):
            add_video(found, key, list(frames), path, on_fault)
        else:
            on_fault(
                TimestampError(
                    f"the timestamps of video {key} are not a list of frame numbers",
                    where=path,
                    remedy=_REMEDY,
                )
            )
    return found


def add_video(
    found: dict[str, _Value], key: str, value: _Value, path: Path, on_fault: OnFault
) -> None:
    """Files a value under a video's name, which may end with `.txt`; a name twice is a fault."""
    name = key.removesuffix(".txt")
    if name in found:
        what = f"names video {name} twice, with and without .txt"
        on_fault(TimestampError(what, where=path, remedy="write its timestamps in one list"))
    else:
        found[name] = value


class _RefusedError(Exception):
    """A pickle asks for a name that timestamps do not need."""


class _Array:
    """Stands in for `numpy.ndarray`; `values` are Python objects."""

    def __init__(self, *_: object) -> None:
        self.values: Any = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, _, data = state
        values = list(data) if isinstance(data, list) else _numbers(dtype, data)
        self.values = values if shape else values[0]


class _Dtype:
    """Stands in for `numpy.dtype`; only its code and byte order are kept."""

    def __init__(self, code: str, *_: object) -> None:
        self.code = code
        self.order = "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = ">" if state[1] == ">" else "<"


def _scalar(dtype: _Dtype, data: bytes | str) -> int | float:
    number: int | float = _numbers(dtype, data)[0]
    return number


def _numbers(dtype: _Dtype, data: bytes | str) -> list[Any]:
    if dtype.code not in {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}:
        raise _RefusedError(f"values of type {dtype.code!r}")
    content = data.encode("latin1") if isinstance(data, str) else data
    values: list[Any] = np.frombuffer(content, dtype=dtype.order + dtype.code).tolist()
    return values


def _encode(text: str, _encoding: str = "latin1") -> bytes:
    return text.encode("latin1")


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    **{
        (f"numpy.{core}.multiarray", name): stand_in
        for core in ("core", "_core")
        for name, stand_in in (("_reconstruct", _Array), ("scalar", _scalar))
    },
}


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) not in _ADMITTED:
            raise _RefusedError(f"{module}.{name}")
        stand_in = _ADMITTED[module, name]
        # a new function each time: a pickle may set attributes of what it is given
        return lambda *arguments: stand_in(*arguments)


def _plain(value: object) -> object:
    return value.values if isinstance(value, _Array) else value


def _are_frames(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list | tuple) and all(type(frame) is int for frame in value)


def _no_timestamps(path: Path, reason: str) -> TimestampError:
    return TimestampError(f"cannot be read as {_KIND} ({reason})", where=path, remedy=_REMEDY)
