"""One video to `NAME.npy` and `NAME.json`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from uvast.errors import ConfigError, OutputError, UvastError
from uvast.features.blocks import Blocks
from uvast.features.card import CardKey, FeatureCard, card_path, read_card, write_card
from uvast.features.extractor import Request
from uvast.features.frames import FrameReader
from uvast.features.models import TABLES, ModelName
from uvast.features.spool import Column, Spool, write_joined
from uvast.features.video_file import video_info
from uvast.files import atomic_path, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from uvast.features.extractor import Extractor
    from uvast.features.frames import Grid
    from uvast.features.video_file import VideoInfo

_SAME_PLACE = 1e-6
"""Places this close to a row count as that row: 0.1 * 30 is not quite 3."""


@dataclass(frozen=True)
class Order:
    """What to extract from a video or table.

    Args:
        source: the file.
        out: the folder for `NAME.npy` and `NAME.json`.
        models: by name.
        rate: of the features in frames per second; None is the source's own.
        rows_per_second: of a table, if known.
        device: where networks run.
        overwrite: whether to replace features that differ.
        n_threads: of the decoder.
        version: the one that the models must have; None for any.
        name: of the features; the source's stem if empty.
    """

    source: Path
    out: Path
    models: tuple[ModelName, ...]
    rate: float | None = 15.0
    rows_per_second: float | None = None
    device: str = "auto"
    overwrite: bool = False
    n_threads: int = 1
    version: tuple[str, ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.source.stem)

    @property
    def features(self) -> Path:
        """Where the features go."""
        return self.out / f"{self.name}.npy"


@dataclass(frozen=True)
class Outcome:
    """What became of a source.

    Args:
        name: of its features.
        state: `made`, `kept` if the same features already existed, or `failed`.
        n_frames: T.
        n_features: F.
        seconds: its length, None if unknown.
        error: why it failed.
        remark: what a user should know though it did not fail.
    """

    name: str
    state: Literal["made", "kept", "failed"]
    n_frames: int = 0
    n_features: int = 0
    seconds: float | None = None
    error: UvastError | None = None
    remark: str | None = None


def extract(order: Order, on_progress: Callable[[float], None] | None = None) -> Outcome:
    """Extracts the features of one source, unless they already exist.

    Args:
        order: what to extract.
        on_progress: called now and then with the share of the video that is done.
    """
    if order.models[0].kind in TABLES:
        from uvast.features.table_extraction import extract_table

        return extract_table(order)
    info = video_info(order.source)
    extractors = [
        model.make(Request(order.rate, info.frames_per_second, order.device, model.argument))
        for model in order.models
    ]
    key = CardKey(
        model=",".join(extractor.name for extractor in extractors),
        version=tuple(extractor.version for extractor in extractors),
        fingerprint=info.fingerprint,
        frames_per_second=order.rate,
    )
    kept = kept_card(order, key)
    if kept is not None:
        return finished(order, kept, "kept")
    return _extract_video(order, info, extractors, key, on_progress or (lambda _: None))


def kept_card(order: Order, key: CardKey) -> FeatureCard | None:
    """The card of existing features that match the order, None if they have to be made.

    Existing features that differ are an error, unless they may be overwritten; so are models of
    another version than the order's.
    """
    if order.version not in (None, key.version):
        raise ConfigError(
            f"the features of {key.model} are version {', '.join(key.version)} here, "
            f"but the model was trained on version {', '.join(order.version or ())}",
            remedy="use the version of uvast, or the model's file, that made those, or extract the "
            "training videos again and train on them",
        )
    path = card_path(order.features)
    if order.overwrite or not order.features.exists():
        return None
    card = read_card(path) if path.exists() else None
    if card is not None and card.key == key and _shape(order.features) == card.shape:
        return card
    raise OutputError(
        f"exists already and holds {'other' if card is None else _described(card, key)} features",
        where=order.features,
        remedy="pass --overwrite to replace it, or choose another --out",
    )


def finished(
    order: Order, card: FeatureCard, state: Literal["made", "kept"], remark: str | None = None
) -> Outcome:
    """The outcome of a source whose features exist."""
    return Outcome(order.name, state, *card.shape, card.seconds, remark=remark)


def write_features(order: Order, columns: Sequence[Column], card: FeatureCard) -> None:
    """Writes features and card; a kill at any time leaves both, or no features.

    Features never lie beside another card: old ones are removed before the new card is written.
    """
    with atomic_path(order.features) as temporary:
        write_joined(temporary, columns)
        order.features.unlink(missing_ok=True)
        write_card(card_path(order.features), card)


def _extract_video(
    order: Order,
    info: VideoInfo,
    extractors: Sequence[Extractor],
    key: CardKey,
    on_progress: Callable[[float], None],
) -> Outcome:
    views = list(dict.fromkeys(extractor.view for extractor in extractors))
    reader = FrameReader(order.source, views, n_threads=order.n_threads)
    with ExitStack() as stack:
        widths = tuple(extractor.width for extractor in extractors)
        spools = open_spools(order.out, widths, stack)
        blocks = [Blocks(extractor) for extractor in extractors]
        seen_by = [[i for i, one in enumerate(extractors) if one.view == view] for view in views]
        for shown in reader:
            for index in seen_by[shown.view]:
                for rows in blocks[index].push(shown.picture, shown.n_ticks):
                    spools[index].add(rows)
                    on_progress(min(1.0, reader.seconds / (info.seconds or 1.0)))
        for block, spool in zip(blocks, spools, strict=True):
            for rows in block.finish():
                spool.add(rows)
        grid = reader.grid(order.rate)
        columns = [
            Column(spool, _places(extractor, reader, grid))
            for extractor, spool in zip(extractors, spools, strict=True)
        ]
        card = FeatureCard(
            **key.model_dump(),
            widths=widths,
            source=str(order.source.absolute()),
            source_bytes=info.n_bytes,
            seconds=reader.seconds,
            n_frames=len(grid.times),
            n_features=sum(widths),
            times=tuple(np.round(grid.times, 6).tolist()),
            source_frames=tuple(grid.source_frames.tolist()),
            files=tuple(model.absolute().argument for model in order.models),
        )
        write_features(order, columns, card)
    return finished(order, card, "made", reader.remark)


def open_spools(out: Path, widths: Sequence[int], stack: ExitStack) -> list[Spool]:
    """Files for rows of each width, in a folder that is removed when the stack is closed."""
    folder = stack.enter_context(temporary_folder(out))
    spools = [Spool(folder / str(index), width) for index, width in enumerate(widths)]
    for spool in spools:
        stack.callback(spool.close)
    return spools


def _places(extractor: Extractor, reader: FrameReader, grid: Grid) -> NDArray[np.float64]:
    """Where each frame of the grid lies among an extractor's rows `(T,)`."""
    rate = extractor.view.rate
    if rate is None:
        frames = np.interp(grid.times, reader.times, np.arange(len(reader.times)))
    else:
        frames = grid.times * rate
    places: NDArray[np.float64] = (frames - extractor.centre) / extractor.stride
    near = np.round(places)
    return np.where(np.abs(places - near) < _SAME_PLACE, near, places)


def _shape(features: Path) -> tuple[int, ...]:
    try:
        shape: tuple[int, ...] = np.load(features, mmap_mode="r").shape
    except (OSError, ValueError, EOFError):
        return ()
    return shape


def _described(card: FeatureCard, key: CardKey) -> str:
    """What is different about existing features."""
    if card.model != key.model:
        return card.model
    if card.fingerprint != key.fingerprint:
        return f"another video's ({card.source})"
    if card.frames_per_second != key.frames_per_second:
        rate = card.frames_per_second
        return "every frame's" if rate is None else f"{rate:g} frames per second of"
    return "an older version's"
