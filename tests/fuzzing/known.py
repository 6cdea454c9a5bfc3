"""Broken files that once were a traceback, a hang or a flood of memory."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .binary import pair_of_pairs, with_header, with_npy_header, with_pickle, with_tensor
from .ground import LONG_NAME, VIDEO
from .hostile import DEEP, LONG, MANY
from .mutations import Trail, json_put, toml_put
from .targets import CELL, TRIAL

SPEC, SETTINGS = "data/dataset.toml", "settings.toml"
LABELS, FEATURES = f"data/groundTruth/{VIDEO}.txt", f"data/features/{VIDEO}.npy"
FEATURE_CARD = f"data/features/{VIDEO}.json"
DIGITS = "7" * 5_000
RED = "\x1b[31mred"


@dataclass(frozen=True)
class Known:
    """A file and how it is broken.

    Args:
        name: in words.
        file: its path, as in `targets`.
        change: its content to the broken one.
    """

    name: str
    file: str
    change: Callable[[bytes], bytes]


def _trail(text: str) -> Trail:
    return tuple(int(part) if part.isdigit() else part for part in text.split(".") if part)


def _put(file: str, trail: str, value: str, name: str = "") -> Known:
    put = toml_put if file.endswith(".toml") else json_put

    def change(content: bytes) -> bytes:
        return put(content.decode(), _trail(trail), value).encode("utf-8", "surrogatepass")

    return Known(f"{file}: {trail} = {name or value}", file, change)


def _card(trail: str, value: str, *, file: str = "run/best.safetensors") -> Known:
    def change(content: bytes) -> bytes:
        return with_header(content, "card", lambda text: json_put(text, _trail(trail), value))

    return Known(f"{file}: {trail} = {value[:20]}", file, change)


def _progress(trail: str, value: str) -> Known:
    def change(content: bytes) -> bytes:
        return with_header(content, "progress", lambda text: json_put(text, _trail(trail), value))

    file = "begun/last.safetensors"
    return Known(f"{file}: progress {trail} = {value[:20]}", file, change)


def _scaling(name: str, value: float, *, file: str = "run/best.safetensors") -> Known:
    """The scaling's first number is another one."""
    return Known(
        f"{file}: scaling.{name} = {value}",
        file,
        partial(with_tensor, name=f"scaling.{name}", value=struct.pack("<d", value)),
    )


def _shape(shape: str, dtype: str = "<f4") -> Known:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    return Known(
        f"features of shape {shape[:20]} and type {dtype}",
        FEATURES,
        partial(with_npy_header, header=header),
    )


def _pickle(name: str, program: bytes) -> Known:
    return Known(name, "clicks.npy", partial(with_pickle, program=program))


def _whole(file: str, name: str, text: str) -> Known:
    return Known(f"{file}: {name}", file, lambda _: text.encode("utf-8", "surrogatepass"))


def _first_line(file: str, name: str, line: str) -> Known:
    def change(content: bytes) -> bytes:
        return line.encode("utf-8", "surrogatepass") + b"\n" + content.partition(b"\n")[2]

    return Known(f"{file}: {name} as the first line", file, change)


KNOWN = (
    _put(SPEC, "sampling_rate", str(2**63)),
    _put(SPEC, "sampling_rate", "true"),
    _put(SPEC, "sampling_rate", DIGITS, "5,000 digits"),
    _put(SPEC, "frames_per_second", "1" + "0" * 400, "10^400"),
    _put(SPEC, "frames_per_second", "1e400"),
    _put(SPEC, "frames_per_second", "nan"),
    _put(SPEC, "tolerance", "nan"),
    _put(SPEC, "background", f'["{LONG}"]', "a long name"),
    _put(SPEC, "background", '["\\u001b[31mred"]'),
    _put(SPEC, "feature_axis", "[" * DEEP + "]" * DEEP, "deep"),
    _put(SPEC, "group_by", "'('"),
    _put(SPEC, "group_by", r"'^(s\d+)_(?:(?:a+)+!|task)'"),
    _put(SPEC, "group_by", f"'{'(' * 1_000}{')' * 1_000}'", "1,000 groups"),
    _put(SPEC, "symmetry.columns.0", str(2**63)),
    _put(SPEC, "symmetry.columns.0", "1_000_000"),
    _put(SPEC, "symmetry.offsets.0", "1e400"),
    _put(SPEC, "symmetry.classes", f"{{background = '{LONG}'}}", "a long name"),
    _whole(SPEC, "digits", "9" * MANY),
    _whole(SPEC, "keys", "".join(f"k{index} = 1\n" for index in range(MANY))),
    _first_line("data/mapping.txt", "digits", "7" * MANY),
    _first_line("data/mapping.txt", "a long number", f"{DIGITS} take"),
    _first_line("data/mapping.txt", "control characters", f"0 {RED}"),
    _first_line("data/splits/test.split1.bundle", "a long name", LONG),
    _first_line("data/splits/test.split1.bundle", "control characters", RED),
    _first_line("data/splits/test.split1.bundle", "NUL", "a\x00b"),
    _first_line("data/splits/test.split1.bundle", "a path", "../../features/x.txt"),
    _first_line(LABELS, "a long name", LONG),
    _first_line(LABELS, "control characters", RED),
    _shape("(True, 8)"),
    _shape("(6, True)"),
    _shape(f"({2**62}, 8)"),
    _shape("(-6, 8)"),
    _shape("(6, 8)", "|O"),
    _put(FEATURE_CARD, "times.3", "1e999"),
    _put(FEATURE_CARD, "times.3", "-1"),
    _put(FEATURE_CARD, "seconds", "null"),
    _put(FEATURE_CARD, "n_frames", "1"),
    _put(FEATURE_CARD, "frames_per_second", "0"),
    _put(FEATURE_CARD, "model", f'"{LONG}"', "a long name"),
    Known("a header of brackets", FEATURES, partial(with_npy_header, header="[" * 9_000)),
    _whole(
        "data/timestamps.json", "a key many times", '{"a": [],' + '"k": [],' * MANY + '"z": []}'
    ),
    _whole("data/timestamps.json", "deep", "[" * DEEP),
    _put("data/timestamps.json", f"{VIDEO}.0.frame", DIGITS, "5,000 digits"),
    _put("data/timestamps.json", f"{VIDEO}.0.frame", str(2**63)),
    _put("data/timestamps.json", f"{VIDEO}.0.label", '"\\ud800"'),
    _put("data/timestamps.json", f"{LONG_NAME}.0", "[" * 900 + "]" * 900, "nested"),
    _put("data/labelled.json", f"{VIDEO}.0.1", DIGITS, "5,000 digits"),
    _put("data/labelled.json", f"{VIDEO}.0.0", str(2**63)),
    _put("data/labelled.json", f"{LONG_NAME}.1", "[" * 900 + "]" * 900, "nested"),
    _first_line("clicks.csv", "a long cell", f"{LONG},frame,label"),
    _whole("clicks.csv", "a long cell", f"video,frame,label\n{VIDEO},1,{LONG}\n"),
    _whole("clicks.csv", "digits", f"video,frame,label\n{VIDEO},{DIGITS},take\n"),
    _whole("clicks.csv", "time 10^400", f"video,time,label\n{VIDEO},1e400,take\n"),
    _pickle("tuples of tuples as a key", pair_of_pairs(40)),
    _pickle("a memo of 2^26 places", b"\x80\x04K\x01r" + struct.pack("<I", 2**26) + b"."),
    _pickle("a list in itself", b"\x80\x04]q\x00h\x00a."),
    _put(SETTINGS, "model", "true"),
    _put(SETTINGS, "model.width", "200000"),
    _put(SETTINGS, "model.n_encoder_layers", "70"),
    _put(SETTINGS, "model.width", DIGITS, "5,000 digits"),
    _put(SETTINGS, "train.epochs", "[" * DEEP + "]" * DEEP, "deep"),
    _whole(SETTINGS, "an unknown long key", f"{LONG} = 1"),
    _put("run/run.json", "", "null"),
    _put("run/run.json", "train", "null"),
    _put("run/run.json", "train.0", "{}"),
    _put("run/run.json", "dataset", "3"),
    _put("run/run.json", "dataset", '"\\u0000"'),
    _put("run/run.json", "dataset", '"\\ud800"'),
    _put("run/run.json", "split", '"1"'),
    _put("begun/run.json", "", "[]"),
    _put("begun/run.json", "timestamps", "3"),
    _put("begun/run.json", "versions", "null"),
    _whole("run/log.csv", "no header", "1,2,3\n"),
    _whole("run/log.csv", "not finite", "stage,epoch,loss\nnan,inf,1e400\n"),
    _whole("run/log.csv", "half a header", "stage,loss\n1,2\n"),
    _whole("begun/log.csv", "not whole", "stage,epoch,loss\n1.5,1e400,2\n"),
    _card("dimensions.width", "60000000"),
    _card("dimensions.n_encoder_layers", "100000"),
    _card("dimensions.n_heads", "0"),
    _card("dimensions.n_features", "true"),
    _card("sampling_rate", "0"),
    _card("sampling_rate", str(2**63)),
    _card("frames_per_second", '"fast"'),
    _card("vocabulary", "null"),
    _card("vocabulary.names", "[1, 2, 3, 4]"),
    _card("vocabulary.names.0", '"\\ud800"'),
    _card("kind", "[]"),
    _card("config", "null"),
    _card("config.decode.beam_width", "100000"),
    _card("extractor", "{}"),
    _card("extractor", "7"),
    _card("decoding", "[]"),
    _card("decoding.poisson.means", "[]"),
    _card("decoding.transitions.bigram", "[[1]]"),
    _card("config.train", "{}"),
    _card("config.train", "[true]"),
    _card("", "[" * DEEP + "]" * DEEP),
    _scaling("mean", math.nan),
    _scaling("mean", math.inf),
    _scaling("mean", 1e300),
    _scaling("deviation", math.nan),
    _scaling("deviation", 0.0),
    _scaling("deviation", -1.0),
    _scaling("deviation", 1e-300),
    _scaling("deviation", 0.0, file="begun/last.safetensors"),
    _progress("", "null"),
    _progress("stage", "3"),
    _progress("stage", '"1"'),
    _progress("epoch", "-1"),
    _put(f"{CELL}/scores.json", "", "[]"),
    _put(f"{CELL}/scores.json", "cell", "null"),
    _put(f"{CELL}/scores.json", "cell.decodings", "[]"),
    _put(f"{CELL}/scores.json", "scores.frames.acc", DIGITS, "5,000 digits"),
    _put(f"{CELL}/scores.json", "scores.frames", "null"),
    _put("bench/results.json", "", "{}"),
    _put("bench/results.json", "0.splits", "1e400"),
    _put("bench/results.json", "0.acc", '"high"'),
    _put("bench/results.json", "0.acc", "NaN"),
    _put("bench/results.json", "0.dataset", '"\\ud800"'),
    _whole("sweep/study.log", "half a line", '{"op_code": 0, "wor'),
    _whole("sweep/study.log", "another document", "[]\n"),
    _whole(f"{TRIAL}/log.csv", "not numbers", "stage,validation_score\na,b\n"),
)
