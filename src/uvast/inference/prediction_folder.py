"""A folder that `uvast segment` fills with predictions, at once or with interruptions."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import ConfigError, InputError, OutputError, UvastError
from uvast.files import check_absent, read_record, write_json
from uvast.files.names import GROUND_TRUTH, MANIFEST, RUN_FILE
from uvast.inference.inputs import DatasetVideo
from uvast.inference.output import Manifest, output_path, read_manifest, write_prediction
from uvast.inference.pipeline import Outcome
from uvast.runs import RunInfo, checkpoint_hash, checkpoint_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uvast.config import DecodeConfig
    from uvast.inference.inputs import Source
    from uvast.inference.prediction import Prediction


def make_manifest(
    model: Path,
    sources: Sequence[Source],
    options: DecodeConfig,
    formats: tuple[str, ...],
    *,
    split: int | None = None,
) -> Manifest:
    """The manifest of what will be written; training videos come from the model's run folder."""
    checkpoint = checkpoint_path(model)
    info = None
    with suppress(UvastError):  # a checkpoint alone is enough to segment
        info = read_record(checkpoint.parent / RUN_FILE, RunInfo)
    datasets = {
        _text(one.dataset.path) if isinstance(one, DatasetVideo) else None for one in sources
    }
    return Manifest(
        model=_text(model),
        checkpoint=checkpoint_hash(checkpoint),
        options=asdict(options),
        formats=formats,
        videos={source.name: _text(source.path) for source in sources},
        dataset=datasets.pop() if len(datasets) == 1 else None,
        split=split,
        train=() if info is None else info.train,
        validation=() if info is None else info.validation,
        unlabelled=() if info is None else info.unlabelled,
    )


class PredictionFolder:
    """A folder of predictions that a command fills, at once or with interruptions.

    At any moment, every prediction in its manifest was made as the manifest says, or is still
    missing.

    Args:
        path: the folder.
        manifest: the manifest for all videos to segment.
        overwrite: whether existing predictions are replaced.
    """

    def __init__(self, path: Path, manifest: Manifest, *, overwrite: bool = False) -> None:
        self.path = path
        self.manifest = manifest
        self._overwrite = overwrite
        self._begun = False

    def left(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """The videos to segment: all, or those that an interrupted command has left.

        A prediction that is older than its features is made again. Predictions that are in the
        way are an error.
        """
        if self._overwrite:
            return tuple(sources)
        ours, before = self.manifest, read_manifest(self.path)
        if before is None:
            check_absent(*self._files(ours.videos))
            return tuple(sources)
        difference = ours.difference(before)
        if difference is not None:
            raise OutputError(
                f"holds predictions made differently ({difference})",
                where=self.path,
                remedy="choose another --out, or replace them with --overwrite",
            )
        moved = [name for name, file in ours.videos.items() if before.videos.get(name) != file]
        added = set(ours.formats) - set(before.formats)
        check_absent(*self._files(ours.videos, added), *self._files(moved))
        return tuple(one for one in sources if not self._is_done(one))

    def write(self, name: str, prediction: Prediction) -> None:
        """Writes a video's prediction; the manifest comes before the first one."""
        if not self._begun:
            self._list(
                one
                for one in self.manifest.videos
                if not self._overwrite or not any(map(Path.exists, self._files([one])))
            )
            self._begun = True
        write_prediction(self.path, name, prediction, self.manifest.formats)

    def finish(self, names: Iterable[str], unfamiliar: Iterable[str] = ()) -> None:
        """Lists all videos that were written (`names`) in the manifest, even replaced ones.

        The features of `unfamiliar` ones are not of the kind that the model was trained on.
        """
        if self._begun:
            self._list(names, unfamiliar)

    def _list(self, names: Iterable[str], unfamiliar: Iterable[str] | None = None) -> None:
        """Adds videos to the manifest; None leaves its list of unfamiliar ones as it is."""
        ours, before = self.manifest, read_manifest(self.path)
        videos = {name: ours.videos[name] for name in sorted(names)}
        strange = set(unfamiliar or ())
        merged = replace(ours, videos=videos, unfamiliar=tuple(sorted(strange)))
        if before is not None and ours.difference(before) is None:
            judged = () if unfamiliar is None else videos
            earlier = [name for name in before.unfamiliar if name not in judged]
            merged = replace(
                ours,
                formats=tuple(dict.fromkeys((*before.formats, *ours.formats))),
                videos={**before.videos, **videos},
                dataset=ours.dataset if ours.dataset == before.dataset else None,
                split=ours.split if ours.split == before.split else None,
                unfamiliar=tuple(sorted(strange | set(earlier))),
            )
        write_json(self.path / MANIFEST, asdict(merged))

    def _files(self, names: Iterable[str], formats: Iterable[str] | None = None) -> list[Path]:
        suffixes = self.manifest.formats if formats is None else tuple(formats)
        return [output_path(self.path, name, one) for name in names for one in suffixes]

    def _is_done(self, source: Source) -> bool:
        files = self._files([source.name])
        with suppress(OSError):  # absent; unreadable features are reported in their turn
            made_from = source.path.stat().st_mtime_ns
            return all(path.stat().st_mtime_ns >= made_from for path in files)
        return False


def check_place(folder: Path, sources: Iterable[Source], formats: Sequence[str]) -> None:
    """Refuses a folder that belongs to the dataset, even if it is reached through links."""
    place = folder.resolve()
    datasets = {one.path.parent.parent for one in sources if one.path.parent.name == "features"}
    around = {path for path in place.parents if (path / "features").is_dir()}
    for dataset in sorted(datasets | around):
        for own in ("features", GROUND_TRUTH, "splits"):
            if place.is_relative_to((dataset / own).resolve()):
                raise OutputError(
                    f"is part of the dataset {dataset}",
                    where=folder,
                    remedy="choose another --out",
                )
    if "json" in formats and any(source.name == Path(MANIFEST).stem for source in sources):
        raise ConfigError(
            f"a video named {Path(MANIFEST).stem} would replace {MANIFEST}",
            remedy="rename its file, or leave json out of --format",
        )


def named(sources: Iterable[Source]) -> tuple[tuple[Source, ...], tuple[Outcome, ...]]:
    """The sources whose names are valid text, and errors for the others: no file could be named."""
    good, bad = [], []
    for source in sources:
        if _text(source.path.name) == source.path.name:
            good.append(source)
        else:
            error = InputError(
                "has a name that is not UTF-8", where=source.path, remedy="rename it"
            )
            bad.append(Outcome(source.name, error=error))
    return tuple(good), tuple(bad)


def _text(path: Path | str) -> str:
    """An absolute path, or a name, as text that can be written to a file, whatever its bytes."""
    whole = path if isinstance(path, str) else path.resolve()
    return os.fsencode(whole).decode(errors="backslashreplace")
