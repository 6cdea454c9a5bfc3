"""What two checkpoints are compared by."""

from __future__ import annotations

from pathlib import Path

from safetensors import safe_open


def contents(path: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """Header and bytes of each tensor; the order of a file's header changes from time to time."""
    with safe_open(path, framework="np") as file:
        names = file.keys()
        return dict(file.metadata()), {name: file.get_tensor(name).tobytes() for name in names}
