"""The published timestamp files `*_annotation_all.npy`: pickled dicts, read without running them.

A pickle is a program for a stack machine. This reader is a machine of its own that knows only
what NumPy writes for dicts, lists, numbers and arrays: it calls nothing that a file names, and
its work is bounded by the length of the file.
"""

from __future__ import annotations

import io
import pickletools
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy_format

from uvast.data.faults import raise_fault
from uvast.errors import TimestampError
from uvast.files import read_bytes

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeGuard

    from uvast.data.faults import OnFault

_REMEDY = "restore the file or write timestamps.json"
_LARGEST = 2**26
_MOST_STEPS = 2_000_000
"""Ten times what 1,700 videos with NumPy integers need."""


def read_pickled(path: Path, on_fault: OnFault = raise_fault) -> dict[str, list[int]]:
    """`video -> frame indices` from a published file.

    If `on_fault` does not raise, videos without a list of numbers are left out.
    """
    stream = io.BytesIO(read_bytes(path, largest=_LARGEST))
    try:
        npy_format.read_magic(stream)
        npy_format.read_array_header_1_0(stream)
        table = _plain(_Machine().run(stream))
    except _RefusedError as error:
        raise TimestampError(
            f"refused: its pickle asks for {error}",
            where=path,
            remedy="get the file from a source you trust or write timestamps.json",
        ) from None
    except Exception as error:  # a broken pickle may raise anything
        raise _no_timestamps(path, type(error).__name__) from error
    if not isinstance(table, dict):
        raise _no_timestamps(path, "not a dict of videos")
    found: dict[str, list[int]] = {}
    for key, value in table.items():
        name, frames = key.removesuffix(".txt"), _plain(value)
        if not _are_frames(frames):
            what = f"the timestamps of video {key} are not a list of frame numbers"
            on_fault(TimestampError(what, where=path, remedy=_REMEDY))
        elif name in found:
            what = f"names video {name} twice, with and without .txt"
            on_fault(TimestampError(what, where=path, remedy="write its timestamps in one list"))
        else:
            found[name] = list(frames)
    return found


class _RefusedError(Exception):
    """A pickle asks for something that timestamps do not need."""


@dataclass(frozen=True, eq=False)
class _Name:
    """A function or class that a pickle names; it is never looked up."""

    name: str


@dataclass(eq=False)
class _Array:
    """An array that NumPy's `_reconstruct` begins and BUILD fills."""

    values: Any = None


@dataclass(eq=False)
class _Dtype:
    """A NumPy type: its code and byte order."""

    code: str
    order: str = "<"


_MARK = object()
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_ADMITTED = {
    "numpy": ("ndarray", "dtype"),
    "_codecs": ("encode",),
    "numpy.core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
}
_NUMBERS = frozenset(("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))


@dataclass(eq=False)
class _Machine:
    """The stack and the memo of a pickle that is being read."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def run(self, stream: io.BytesIO) -> Any:
        """What the pickle leaves on the stack."""
        for opcode, argument, _ in islice(pickletools.genops(stream), _MOST_STEPS):
            if opcode.name == "STOP":
                return self.stack.pop()
            self._step(opcode.name, argument)
        raise _RefusedError(f"more than {_MOST_STEPS:,} steps")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        match name:
            case "PROTO" | "FRAME":
                pass
            case "MARK":
                stack.append(_MARK)
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append(_CONSTANTS[name])
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self.memo[argument] = stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = stack[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                stack.append(self.memo[argument])
            case "GLOBAL":
                stack.append(_admitted(*argument.split(" ", 1)))
            case "STACK_GLOBAL":
                attribute, module = stack.pop(), stack.pop()
                stack.append(_admitted(_text(module), _text(attribute)))
            case "REDUCE":
                arguments, called = stack.pop(), stack.pop()
                stack.append(_made(called, arguments))
            case "BUILD":
                _fill(stack[-2], stack.pop())
            case _:
                self._collect(name, argument)

    def _collect(self, name: str, argument: Any) -> None:
        """Containers, and the many spellings of numbers and text."""
        stack = self.stack
        match name:
            case "EMPTY_DICT" | "EMPTY_LIST" | "EMPTY_TUPLE":
                stack.append({"D": dict, "L": list, "T": tuple}[name[6]]())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack[-int(name[5]) :] = [tuple(stack[-int(name[5]) :])]
            case "TUPLE":
                stack.append(tuple(self._above_mark()))
            case "LIST":
                stack.append(self._above_mark())
            case "DICT":
                stack.append(_pairs(self._above_mark()))
            case "APPEND" | "APPENDS":
                values = [stack.pop()] if name == "APPEND" else self._above_mark()
                list.extend(stack[-1], values)
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                dict.update(stack[-1], _pairs([key, value]))
            case "SETITEMS":
                values = self._above_mark()
                dict.update(stack[-1], _pairs(values))
            case _ if isinstance(argument, int | float | str | bytes):
                stack.append(argument)
            case _:
                raise _RefusedError(f"the step {name}")

    def _above_mark(self) -> list[Any]:
        """Takes what lies above the last mark, and the mark, from the stack."""
        place = next(i for i in range(len(self.stack) - 1, -1, -1) if self.stack[i] is _MARK)
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values


def _text(value: object, what: str = "a name that is not text") -> str:
    # only text is hashed or shown: either may take for ever with a nested tuple
    if type(value) is not str:
        raise _RefusedError(what)
    return value


def _pairs(values: list[Any]) -> dict[str, Any]:
    keys = [_text(key, "a key that is not the name of a video") for key in values[::2]]
    return dict(zip(keys, values[1::2], strict=True))


def _admitted(module: str, attribute: str) -> _Name:
    if attribute not in _ADMITTED.get(module, ()):
        raise _RefusedError(f"{module}.{attribute}")
    return _Name(attribute)


def _made(called: _Name, arguments: tuple[Any, ...]) -> Any:
    match called.name:
        case "dtype":
            return _Dtype(_text(arguments[0]))
        case "encode":  # how Python 2 and old protocols spell bytes
            return arguments[0].encode("latin1")
        case "scalar":
            return _numbers(*arguments)[0]
        case _:
            return _Array()


def _fill(made: _Array | _Dtype, state: tuple[Any, ...]) -> None:
    if isinstance(made, _Dtype):
        made.order = ">" if state[1] == ">" else "<"
    elif isinstance(made, _Array):
        _, shape, dtype, _, data = state
        values = list(data) if isinstance(data, list) else _numbers(dtype, data)
        made.values = values if shape else values[0]
    else:
        raise _RefusedError("a change of a plain value")


def _numbers(dtype: _Dtype, data: bytes | str) -> list[Any]:
    if dtype.code not in _NUMBERS:
        raise _RefusedError(f"values of type {dtype.code!r}")
    content = data.encode("latin1") if isinstance(data, str) else data
    values: list[Any] = np.frombuffer(content, dtype=dtype.order + dtype.code).tolist()
    return values


def _plain(value: object) -> object:
    return value.values if isinstance(value, _Array) else value


def _are_frames(value: object) -> TypeGuard[list[int] | tuple[int, ...]]:
    return isinstance(value, list | tuple) and all(type(frame) is int for frame in value)


def _no_timestamps(path: Path, reason: str) -> TimestampError:
    what = f"cannot be read as published timestamps ({reason})"
    return TimestampError(what, where=path, remedy=_REMEDY)
