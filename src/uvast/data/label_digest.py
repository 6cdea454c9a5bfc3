"""A digest of the labels of some videos: has anybody changed them since?"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data.labelled import LABELLED_FILE
from uvast.files import is_present, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.data.dataset import Dataset


def label_digest(
    dataset: Dataset,
    names: Iterable[str],
    *,
    by_clicks: bool = False,
    timestamps: Path | str | None = None,
) -> str:
    """Of the label files of these videos, or `by_clicks` of the timestamps file.

    None is the dataset's own timestamps file.
    """
    if by_clicks:
        paths = [dataset.timestamps_path if timestamps is None else Path(timestamps)]
    else:
        paths = [dataset.labels_path(name) for name in sorted(names)]
    digest = hashlib.sha256()
    for path in (*paths, dataset.path / LABELLED_FILE):
        if is_present(path):
            digest.update(f"{path.name}\n".encode(errors="surrogateescape"))
            digest.update(hashlib.sha256(read_bytes(path)).digest())
    return digest.hexdigest()
