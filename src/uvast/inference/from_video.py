"""Videos as inputs: their features are extracted just as those of the training videos were."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import InputError, OutputError, UvastError
from uvast.features.card import CardKey, card_path, read_card
from uvast.features.extraction import Order, extract
from uvast.features.sources import find_sources as find_recordings
from uvast.features.tables import TABLE_SUFFIXES
from uvast.features.video_file import fingerprint
from uvast.files import is_present
from uvast.files.kinds import VIDEO_SUFFIXES
from uvast.files.names import GROUND_TRUTH
from uvast.inference.inputs import find_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.features import ExtractorRecord
    from uvast.inference.inputs import Source

_SUFFIXES = (*VIDEO_SUFFIXES, *TABLE_SUFFIXES)
_OF_A_DATASET = (GROUND_TRUTH, "splits", "mapping.txt", "dataset.toml", "videos.json")
"""What tells a dataset or project from a folder of predictions."""


@dataclass(frozen=True)
class Extraction:
    """How recordings (videos, or files of poses or tables if the model uses these) become features.

    Args:
        extractor: what made the features of the model's training videos, if known.
        out: the folder for the features.
        device: where networks run.
        n_threads: threads of the video decoder.
        overwrite: whether features that differ are replaced; equal ones are always kept.
    """

    extractor: ExtractorRecord | None
    out: Path
    device: str = "auto"
    n_threads: int = 1
    overwrite: bool = False

    def orders(self, recordings: Sequence[Path]) -> tuple[Order, ...]:
        """What to extract from files, or from folders of them."""
        if not recordings:
            return ()
        known = self.extractor
        if known is None:
            raise InputError(
                "is not a feature file, and the model does not know how the features it was "
                "trained on were made",
                where=recordings[0],
                remedy="extract its features in the same way with uvast extract and segment those, "
                "or train on features that uvast extract made",
            )
        _check_place(self.out)
        models = known.models()
        plain = [
            Order(
                source=source.absolute(),
                out=self.out.absolute(),
                models=models,
                rate=known.frames_per_second,
                rows_per_second=known.rows_per_second,
                device=self.device,
                n_threads=self.n_threads,
                version=known.version,
            )
            for source in find_recordings(recordings, models)
        ]
        if not self.overwrite:
            return tuple(plain)
        return tuple(replace(one, overwrite=not _is_there(one, known)) for one in plain)


@dataclass(frozen=True)
class Inputs:
    """What to segment.

    Args:
        sources: all videos; the features of some are still to be extracted.
        orders: how to extract those.
    """

    sources: tuple[Source, ...]
    orders: tuple[Order, ...]


def find_inputs(
    paths: Sequence[Path],
    extraction: Extraction,
    *,
    n_features: int,
    sampling_rate: int,
    split: int | None,
) -> Inputs:
    """Like `uvast.inference.inputs.find_sources`, but paths may also be recordings."""
    orders = extraction.orders([path for path in paths if is_recording(path)])
    sources = find_sources(
        [path for path in paths if not is_recording(path)],
        n_features=n_features,
        sampling_rate=sampling_rate,
        split=split,
        to_come=[order.features for order in orders],
    )
    return Inputs(sources, orders)


@contextmanager
def extracted(path: Path, extractor: ExtractorRecord | None, *, device: str) -> Iterator[Path]:
    """The features of a recording, while the block lasts; a path to features stays as it is."""
    if not is_recording(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="uvast.") as folder:
        orders = Extraction(extractor, Path(folder) / "features", device).orders([path])
        if len(orders) != 1:
            raise InputError(
                f"holds {len(orders)} videos, not one",
                where=path,
                remedy="segment several videos with uvast.segment(model, folder)",
            )
        extract(orders[0])
        yield orders[0].features


def is_recording(path: Path) -> bool:
    """Whether features have to be extracted from a file, or from the files in a folder."""
    if path.is_file():
        return path.suffix.lower() in _SUFFIXES
    if not path.is_dir() or (path / "features").is_dir():
        return False
    suffixes = {one.suffix.lower() for one in path.iterdir() if not one.name.startswith(".")}
    return ".npy" not in suffixes and not suffixes.isdisjoint(_SUFFIXES)


def _is_there(order: Order, extractor: ExtractorRecord) -> bool:
    """Whether the folder already has these very features."""
    wanted = CardKey(
        model=extractor.model,
        version=extractor.version,
        fingerprint=fingerprint(order.source),
        frames_per_second=extractor.frames_per_second,
    )
    with suppress(UvastError):  # absent or broken
        return order.features.is_file() and read_card(card_path(order.features)).key == wanted
    return False


def _check_place(features: Path) -> None:
    """Refuses a place where features of new videos would land among those of a dataset."""
    for name in _OF_A_DATASET:
        if is_present(features.parent / name):
            raise OutputError(
                "is a dataset, and features of other videos would land among its own",
                where=features.parent,
                remedy="choose another --out",
            )
