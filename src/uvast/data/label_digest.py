"""A digest of some videos' labels, to see whether they have changed since."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.files import is_present, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uvast.data.dataset import Dataset

_VERSION = "2-"
"""How digests are made; those of another version cannot be compared."""


def label_digest(
    dataset: Dataset,
    names: Iterable[str],
    *,
    by_clicks: bool = False,
    timestamps: Path | str | None = None,
) -> str:
    """The digest of these videos' labels, or with `by_clicks` of their timestamps.

    Other videos may change. `timestamps` is a file; None is the dataset's own.
    """
    digest = hashlib.sha256()
    own = sorted(names)
    pieces = _clicks(dataset, own, timestamps) if by_clicks else _labels(dataset, own)
    for name, piece in zip(own, pieces, strict=True):
        stretches = dataset.labelled.of(name)
        spans = None if stretches is None else [(one.start, one.end) for one in stretches]
        digest.update(json.dumps([name, spans]).encode())
        digest.update(hashlib.sha256(piece).digest())
    return f"{_VERSION}{digest.hexdigest()}"


def has_changed(
    digest: str,
    dataset: Dataset,
    names: Iterable[str],
    *,
    by_clicks: bool = False,
    timestamps: Path | str | None = None,
) -> bool:
    """Whether labels are known to have changed since a digest, see `label_digest`."""
    if not digest.startswith(_VERSION):
        return False
    return digest != label_digest(dataset, names, by_clicks=by_clicks, timestamps=timestamps)


def _labels(dataset: Dataset, names: Iterable[str]) -> Iterator[bytes]:
    for name in names:
        path = dataset.labels_path(name)
        yield read_bytes(path) if is_present(path) else b""


def _clicks(
    dataset: Dataset, names: Iterable[str], timestamps: Path | str | None
) -> Iterator[bytes]:
    path = dataset.timestamps_path if timestamps is None else Path(timestamps)
    found = dataset.annotations(path)
    for name in names:
        own = found.get(name, ())
        piece = json.dumps([astuple(one) for one in own]).encode()
        # published files have no labels: those are in the ground truth
        bare = any(one.label is None for one in own)
        yield piece + b"".join(_labels(dataset, [name])) if bare else piece
