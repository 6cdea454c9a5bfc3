"""`--model poses` and `--model table`: a file of numbers to `NAME.npy` and `NAME.json`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import FeatureError
from uvast.features.card import CardKey, FeatureCard
from uvast.features.extraction import finished, kept_card, open_spools, write_features
from uvast.features.pose_files import read_poses
from uvast.features.poses import VERSION, pose_features
from uvast.features.spool import Column
from uvast.features.tables import read_table
from uvast.features.video_file import fingerprint
from uvast.files import missing

if TYPE_CHECKING:
    from uvast.features.extraction import Order, Outcome
    from uvast.features.tables import FloatArray


def extract_table(order: Order) -> Outcome:
    """Extracts the features of a table, unless they already exist; its rows count as frames.

    If the rate of the rows is known, those nearest to the ticks of the features' rate are taken.
    """
    if not order.source.is_file():
        raise missing(order.source)
    rate = order.rate if order.rows_per_second else None
    known = f"{order.rows_per_second:g} rows per second" if order.rows_per_second else "rows"
    key = CardKey(
        model=order.models[0].kind,
        version=(f"{VERSION}, {known}",),
        fingerprint=fingerprint(order.source),
        frames_per_second=rate,
    )
    kept = kept_card(order, key)
    if kept is not None:
        return finished(order, kept, "kept")
    values = _values(order)
    rows, times = _ticks(len(values), order.rows_per_second, rate)
    card = FeatureCard(
        **key.model_dump(),
        widths=(values.shape[1],),
        source=str(order.source.absolute()),
        source_bytes=order.source.stat().st_size,
        seconds=len(values) / order.rows_per_second if order.rows_per_second else None,
        n_frames=len(rows),
        n_features=values.shape[1],
        times=tuple(np.round(times, 6).tolist()),
        source_frames=tuple(rows.tolist()),
        rows_per_second=order.rows_per_second,
    )
    with ExitStack() as stack:
        (spool,) = open_spools(order.out, [values.shape[1]], stack)
        spool.add(values[rows].astype(np.float32))
        write_features(order, [Column(spool, np.arange(len(rows), dtype=np.float64))], card)
    return finished(order, card, "made")


def _values(order: Order) -> FloatArray:
    if order.models[0].kind == "poses":
        return pose_features(read_poses(order.source), order.rows_per_second)
    table = read_table(order.source)
    empty = np.argwhere(np.isnan(table.values))
    if len(empty):
        row, column = empty[0]
        raise FeatureError(
            f"{len(empty)} empty cells, the first in row {row + 1} of column "
            f"{'.'.join(table.columns[column])}",
            where=order.source,
            remedy="fill them, or pass --model poses, which interpolates points",
        )
    return table.values


def _ticks(
    n_rows: int, rows_per_second: float | None, rate: float | None
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], FloatArray]:
    """The row of each frame `(T,)`, and its time, empty if the rate of the rows is unknown."""
    if rows_per_second is None:
        return np.arange(n_rows), np.empty(0)
    if rate is None:
        return np.arange(n_rows), np.arange(n_rows) / rows_per_second
    times = np.arange(max(1, int(np.ceil(n_rows / rows_per_second * rate - 1e-6)))) / rate
    rows = np.minimum(np.floor(times * rows_per_second + 0.5).astype(np.int64), n_rows - 1)
    return rows, times
