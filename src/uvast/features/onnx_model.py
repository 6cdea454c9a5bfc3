"""`onnx:FILE.onnx`: any image or clip model, described by `FILE.toml` beside it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pydantic

from uvast.errors import ConfigError, DataError, FeatureError
from uvast.features.extractor import Picture, View
from uvast.features.extras import extra
from uvast.files import missing, read_text, unreadable
from uvast.files.toml import tomllib

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.features.extractor import Features, Pictures, Request

_LOCATION = re.compile(rb"\n\x08location\x12([\x80-\xff]?[\x00-\x7f])", re.DOTALL)
"""Field 1, `location`, and the head of field 2: the file's name, a text of less than 16 KB."""
_CHUNK = 1 << 20
Layout = Literal["NCHW", "NHWC", "NCTHW", "NTCHW", "NTHWC"]
_BLOCK = 64


class OnnxSettings(pydantic.BaseModel):
    """The file beside the model.

    Attributes:
        height: of the input, in pixels.
        width: of the input, in pixels.
        layout: the input's axes: N clips, T frames, C colours, H rows, W columns.
        mean: of red, green and blue, subtracted from values in [0, 1].
        deviation: of red, green and blue, by which they are then divided.
        fit: how a picture is brought to that size, see `Picture`; `crop` scales the short side.
        short_side: of the picture before it is cropped.
        window: frames of a clip; 1 for an image model.
        stride: frames from one clip to the next.
        frames_per_second: that the model wants; by default the rate of the features.
        output: the name of the output; by default the first.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    height: int = pydantic.Field(ge=1, le=4096)
    width: int = pydantic.Field(ge=1, le=4096)
    layout: Layout = "NCHW"
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    deviation: tuple[float, float, float] = (0.229, 0.224, 0.225)
    fit: Literal["squeeze", "crop"] = "squeeze"
    short_side: int = pydantic.Field(default=256, ge=1, le=4096)
    window: int = pydantic.Field(default=1, ge=1, le=1024)
    stride: int = pydantic.Field(default=1, ge=1, le=1024)
    frames_per_second: float | None = pydantic.Field(default=None, gt=0, le=1000)
    output: str | None = None

    @pydantic.model_validator(mode="after")
    def _clips_have_a_time_axis(self) -> OnnxSettings:
        if ("T" in self.layout) != (self.window > 1):
            raise ValueError(f"window {self.window} does not go with layout {self.layout}")
        return self


@dataclass(frozen=True, eq=False)
class OnnxExtractor:
    """A model that the user supplies.

    Args:
        name: `onnx:FILE.onnx`.
        version: a hash of the model and its settings.
        session: of onnxruntime.
        settings: from the file beside it.
        view: what it sees.
        width: of its output.
    """

    name: str
    version: str
    session: Any
    settings: OnnxSettings
    view: View
    width: int
    centre: float = 0.0

    @property
    def stride(self) -> int:
        """Frames from one clip to the next."""
        return self.settings.stride

    @property
    def window(self) -> int:
        """Frames of a block."""
        return max(1, _BLOCK // self.stride) * self.stride

    @property
    def context(self) -> int:
        """Half a clip, in whole strides."""
        return -(-(self.settings.window // 2) // self.stride) * self.stride

    def __call__(self, frames: Pictures) -> Features:
        """Frames `(N, H, W, 3)` to `(ceil(N / stride), F)`; ends are repeated."""
        length = self.settings.window
        offsets = np.arange(length) - length // 2
        rows = [
            _run(self.session, self.settings, frames[np.clip(middle + offsets, 0, len(frames) - 1)])
            for middle in range(0, len(frames), self.stride)
        ]
        return np.concatenate(rows)


def make(request: Request) -> OnnxExtractor:
    """The extractor of the file that the request names; it is tried on a black clip."""
    path = Path(request.argument)
    try:
        settings = read_settings(path.with_suffix(".toml"))
        session, digest = _session(path, request.device)
        black = np.zeros((settings.window, settings.height, settings.width, 3), np.uint8)
        width = _run(session, settings, black).shape[1]
    except DataError as error:  # the same for every video
        raise ConfigError(error.what, where=error.where or path, remedy=error.remedy) from None
    picture = Picture(settings.height, settings.width, settings.fit, settings.short_side)
    rate = request.rate if settings.frames_per_second is None else settings.frames_per_second
    said = hashlib.sha256(settings.model_dump_json().encode()).hexdigest()[:8]
    return OnnxExtractor(
        name=f"onnx:{path.name}",
        version=f"1 {digest[:8]} {said}",
        session=session,
        settings=settings,
        view=View(picture, rate),
        width=width,
    )


def read_settings(path: Path) -> OnnxSettings:
    """Reads the file beside a model."""
    if not path.is_file():
        raise missing(path, remedy="describe the model's input in it, see docs/own-videos.md")
    try:
        return OnnxSettings(**tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is not valid TOML ({error})", where=path, remedy="correct it") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        known = ", ".join(OnnxSettings.model_fields)
        raise ConfigError(
            f"{key}: {first['msg']}" if key else first["msg"].removeprefix("Value error, "),
            where=path,
            remedy=f"correct it; the settings are {known}",
        ) from None


@lru_cache(maxsize=4)
def _session(path: Path, device: str) -> tuple[Any, str]:
    """An onnxruntime session for a model, and the hash of the model with all its weights."""
    onnxruntime = extra("onnxruntime")
    if not path.is_file():
        raise missing(path)
    on_gpu = not device.startswith("cpu") and "CUDAExecutionProvider" in (
        onnxruntime.get_available_providers()
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            str(path),  # not the bytes: large models keep their weights in other files
            options,
            providers=[*(["CUDAExecutionProvider"] if on_gpu else []), "CPUExecutionProvider"],
        )
    except Exception as error:  # onnxruntime's errors have no common base
        raise unreadable(path, error, kind="an ONNX model", remedy="export it again") from error
    return session, _digest(path)


def _digest(path: Path) -> str:
    """The hash of a model and of the files beside it that hold its weights."""
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    for name in sorted(_weight_files(content)):
        file = path.parent / name
        if ".." in Path(name).parts or Path(name).is_absolute() or not file.is_file():
            continue  # onnxruntime would not have read it
        digest.update(name.encode())
        with file.open("rb") as weights:
            while chunk := weights.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def _weight_files(content: bytes) -> set[str]:
    """The files that hold tensors of a model, ONNX's `external_data`.

    Found by the bytes that protobuf writes for such an entry: the package onnx, which could parse
    them, is not needed for anything else.
    """
    names = set()
    for entry in _LOCATION.finditer(content):
        # the length is a varint: seven bits per byte, the lowest first
        length = sum((byte & 127) << (7 * place) for place, byte in enumerate(entry[1]))
        names.add(content[entry.end() : entry.end() + length].decode(errors="replace"))
    return {name for name in names if "\0" not in name}


def _run(session: Any, settings: OnnxSettings, clip: Pictures) -> Features:
    """A clip `(window, H, W, 3)` to one row `(1, F)`."""
    mean, deviation = (
        np.array(colours, np.float32) for colours in (settings.mean, settings.deviation)
    )
    values = (clip.astype(np.float32) / 255 - mean) / deviation
    axes = ["THWC".index(axis) for axis in settings.layout if axis != "N"]
    if "T" in settings.layout:
        values = values.transpose(axes)
    else:
        values = values[0].transpose([axis - 1 for axis in axes])
    try:
        feed = {session.get_inputs()[0].name: np.ascontiguousarray(values[None])}
        (found,) = session.run([settings.output or session.get_outputs()[0].name], feed)
    except Exception as error:  # onnxruntime's errors have no common base
        raise FeatureError(
            f"does not take the input that its .toml describes ({str(error).splitlines()[0]})",
            remedy="correct height, width, layout and window",
        ) from error
    row: NDArray[np.float32] = np.asarray(found, np.float32)
    if row.ndim < 2 or row.shape[0] != 1 or row.size != row.shape[1]:
        raise FeatureError(
            f"gives an array of shape {row.shape}",
            remedy="export a model whose output is (1, F), or name such an output in its .toml",
        )
    return row.reshape(1, -1)
