"""The table of extractors, and how `--model appearance,i3d` is read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import ConfigError

if TYPE_CHECKING:
    from uvast.features.extractor import Extractor, Request

EXTRACTORS = {
    "pixels": "uvast.features.pixels",
    "appearance": "uvast.features.appearance",
    "i3d": "uvast.features.i3d",
    "onnx": "uvast.features.onnx_model",
}
"""Models that look at videos; each module has a function `make`."""

TABLES = ("poses", "table")
"""Models that read a file of numbers instead of a video."""


@dataclass(frozen=True)
class ModelName:
    """The parts of `onnx:dino.onnx`."""

    kind: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.argument}" if self.argument else self.kind

    def absolute(self) -> ModelName:
        """The same with the absolute path of its file, for another process or machine."""
        return ModelName(self.kind, self.argument and str(Path(self.argument).absolute()))

    def make(self, request: Request) -> Extractor:
        """The extractor."""
        module = import_module(EXTRACTORS[self.kind])
        extractor: Extractor = module.make(request)
        return extractor


def parse_models(text: str) -> tuple[ModelName, ...]:
    """`appearance,onnx:FILE.onnx` -> the models, checked."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    models = tuple(ModelName(*name.split(":", 1)) for name in names)
    known = (*EXTRACTORS, *TABLES)
    for model in models:
        if model.kind not in known:
            raise _wrong(f"no model {str(model)!r}", f"choose from {', '.join(known)}")
        if (model.kind == "onnx") != bool(model.argument):
            raise _wrong(f"{str(model)!r}", "write onnx:FILE.onnx, and other models by their name")
    if not models:
        raise _wrong("no model is named", f"choose from {', '.join(known)}")
    if len(set(models)) < len(models):
        raise _wrong(f"{text!r} names a model twice", "name each once")
    if len(models) > 1 and any(model.kind in TABLES for model in models):
        raise _wrong(
            f"{text!r} combines a table with other models", "extract them into different folders"
        )
    return models


def _wrong(what: str, remedy: str) -> ConfigError:
    return ConfigError(what, where="--model", remedy=remedy)
