"""Settings in TOML: the shipped presets, and files of one's own."""

from __future__ import annotations

import re
import sys
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import Any

from uvast.errors import ConfigError
from uvast.files import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def presets() -> tuple[str, ...]:
    """The names of the shipped presets."""
    folder = resources.files("uvast") / "presets"
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml")))


def read_preset(name: str) -> dict[str, Any]:
    """What a preset sets, section by section: a shipped one, or a path that ends in `.toml`."""
    if name.endswith(".toml"):
        return read_toml(Path(name))
    return _parsed(_preset_text(name), where=f"preset {name}")


def preset_summary(name: str) -> str:
    """The first sentence of the comment above a preset."""
    lines = takewhile(lambda line: line.startswith("#"), _preset_text(name).splitlines())
    comment = " ".join(line.lstrip("# ") for line in lines)
    return re.split(r"(?<=\.) (?=[A-Z])", comment)[0]


def read_toml(path: Path) -> dict[str, Any]:
    """What a file sets, section by section."""
    return _parsed(read_text(path), where=str(path))


def _preset_text(name: str) -> str:
    if name not in presets():
        raise ConfigError(
            f"no preset {name!r}",
            remedy=f"choose from {', '.join(presets())}, or name a .toml file",
        )
    return (resources.files("uvast") / "presets" / f"{name}.toml").read_text("utf-8")


def _parsed(text: str, *, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"is not valid TOML ({error})", where=where, remedy="correct this line"
        ) from None
