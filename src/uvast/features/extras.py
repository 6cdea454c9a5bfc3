"""Packages that come with an extra, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from uvast.errors import ConfigError

_EXTRAS = {
    "av": ("reading videos", "video"),
    "PIL.Image": ("drawing on videos", "video"),
    "onnxruntime": ("--model onnx", "onnx"),
    "h5py": ("reading .h5 files", "poses"),
    "pyarrow.parquet": ("reading .parquet files", "poses"),
}


def extra(module: str) -> Any:
    """The module, or an error that says how to install it."""
    what, name = _EXTRAS[module]
    try:
        return import_module(module)
    except ImportError:
        package = "pillow" if module.startswith("PIL") else module.partition(".")[0]
        raise ConfigError(
            f"needs the package {package}",
            where=what,
            remedy=f"install it with: pip install '.[{name}]' in uvast's folder",
        ) from None
