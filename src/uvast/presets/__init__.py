"""The shipped presets, and presets of one's own."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import Any

from uvast.errors import ConfigError
from uvast.files import read_text, read_toml

FOLDER = Path(__file__).parent
AUTO = "auto"
"""The preset that has no file: it looks at the data first (`uvast.config.auto`)."""
AUTO_SUMMARY = "Looks at the data, then starts from small: what uvast train takes if none is named."
TOML_REMEDY = "correct the file"


def presets() -> tuple[str, ...]:
    """The names of the shipped presets."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def read_preset(name: str) -> dict[str, Any]:
    """What a preset sets, section by section: a shipped one, or a path that ends in `.toml`."""
    path = Path(name) if name.endswith(".toml") else _shipped(name)
    return read_toml(path, error=ConfigError, remedy=TOML_REMEDY)


def preset_summary(name: str) -> str:
    """The first sentence of the comment above a preset."""
    lines = takewhile(lambda line: line.startswith("#"), read_text(_shipped(name)).splitlines())
    comment = " ".join(line.lstrip("# ") for line in lines)
    return re.split(r"(?<=\.) (?=[A-Z])", comment)[0]


def _shipped(name: str) -> Path:
    if name == AUTO:
        raise ConfigError(
            "preset 'auto' looks at the data, so it needs a dataset",
            remedy="see what it chooses with uvast train DATASET --plan, or name another preset",
        )
    if name not in presets():
        raise ConfigError(
            f"no preset {name!r}",
            remedy=f"choose from {', '.join(presets())}, or name a .toml file",
        )
    return FOLDER / f"{name}.toml"
