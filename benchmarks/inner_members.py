"""Do inner runs, which are trained in any case, improve the model as members of an ensemble?

    uvast compare DATA --set train.alignment_epochs=0 --seeds 0,1,2 --decodings best --out inner
    python benchmarks/inner_members.py inner/DATA/small-*-full/split1-fold*

Runs that learned from the same videos are scored on the rest of their training side: each alone
(mean), each with its own inner runs (mean), all together, and all together with the inner runs of
the first, as `uvast train --members` has it. Acc, Edit and F1@50 of `best`, and the expected
calibration error of the frames, in percent. `--test` opens the test side instead.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

import uvast
from uvast.data import Dataset
from uvast.evaluation import expected_calibration_error
from uvast.evaluation.scoring import score
from uvast.inference.ensemble import make_ensemble
from uvast.runs import RunFolder, checkpoint_path


def judged(model_path: Path, dataset: Dataset, names: list[str]) -> np.ndarray:
    """Acc, Edit, F1@50 and calibration error `(4,)` of a model on some videos."""
    model = uvast.load(model_path)
    at_rate = dataset.at_rate(model.sampling_rate)
    pairs, sure, right = [], [], []
    for name in names:
        video = at_rate.video(name)
        assert video.labels is not None, "the videos to score have labels"
        encoded = model.encode_batch([video])
        n_frames = min(len(video.labels), video.n_frames)
        shown = np.exp(model.tempered(encoded.frames[0]))[:n_frames]
        sure.append(shown.max(1).clip(0, 1))
        right.append(shown.argmax(1) == video.labels[:n_frames])
        (found,) = model.decode_batch(encoded, model.options(transcript="best"))
        assert found.segmentation is not None, "`best` finds durations"
        pairs.append((found.segmentation, at_rate.source_segmentation(name)))
    scores = score(pairs, dataset.vocabulary)
    error = 100 * expected_calibration_error(np.concatenate(sure), np.concatenate(right))
    return np.array([scores.acc, scores.edit, scores.f1[50], error])


def compared(runs: list[Path], *, test: bool) -> dict[str, np.ndarray]:
    """The rows of runs that learned from the same videos."""
    info = RunFolder.open(runs[0]).info
    dataset = Dataset.open(info.dataset)
    train = dataset.side(info.split, "train")
    names = [name for name in train if name not in info.train]
    if test:
        names = list(dataset.side(info.split, "test"))
    plain = [checkpoint_path(run) for run in runs]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ensembles = {"all together": plain, "all, and inner runs": [runs[0], *plain[1:]]}
        rows = {"alone": np.mean([judged(one, dataset, names) for one in plain], axis=0)}
        with_inner = [run for run in runs if RunFolder(run).inner()]
        for index, run in enumerate(with_inner):
            ensembles[f"with its inner runs {index}"] = [run]
        for name, members in ensembles.items():
            if len(members) > 1 or members[0].is_dir():
                rows[name] = judged(make_ensemble(members, place / name).path, dataset, names)
    own = [rows.pop(name) for name in tuple(rows) if name.startswith("with its")]
    return rows | ({"with its inner runs": np.mean(own, axis=0)} if own else {})


def main() -> None:
    """Prints one table for each part that was held out, and their mean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--test", action="store_true", help="score on the test side")
    arguments = parser.parse_args()
    groups: dict[tuple[object, ...], list[Path]] = defaultdict(list)
    for run in sorted(arguments.runs):
        info = RunFolder.open(run).info
        groups[info.dataset, info.split, info.train].append(run)
    every = defaultdict(list)
    for runs in groups.values():
        print(f"{runs[0]}{f' and {len(runs) - 1} more' if runs[1:] else ''}: Acc, Edit, F1@50, ECE")
        for name, values in compared(runs, test=arguments.test).items():
            every[name].append(values)
            _print_row(name, values)
    print("mean")
    for name, rows in every.items():
        _print_row(name, np.mean(rows, axis=0))


def _print_row(name: str, values: np.ndarray) -> None:
    print(f"  {name:22}", *(f"{value:6.1f}" for value in values), flush=True)


if __name__ == "__main__":
    main()
