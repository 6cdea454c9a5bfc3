"""A search over settings, judged on the validation part.

Each trial is a run folder beside the journal of the sweep: a sweep that was stopped resumes the
trial it was in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.benchmark.cell import Cell
from uvast.benchmark.engine import run_cells
from uvast.benchmark.matrix import check_once, resolved
from uvast.benchmark.ranges import setting_values
from uvast.benchmark.study import STUDY_FILE, Study, Trial
from uvast.data import Dataset, validation_part
from uvast.data.label_digest import label_digest
from uvast.errors import ConfigError, TrainingError, UvastError
from uvast.files import is_present, write_text
from uvast.runs import RunFolder
from uvast.training.samples import samples_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from uvast.benchmark.engine import Engine
    from uvast.benchmark.ranges import Range
    from uvast.config import Config

BEST_FILE = "best.toml"
VALIDATION = 0.2


@dataclass(frozen=True)
class Sweep:
    """What is searched.

    Args:
        dataset: the dataset's folder.
        split: the split whose training side is used; its test side is never seen.
        config: all settings; those of `ranges` are replaced.
        ranges: what to vary.
        timestamps: the timestamps file; None finds the dataset's own.
        validation: the share of the training side that trials are judged on; the best settings
            keep the config's own.
    """

    dataset: Path
    split: int
    config: Config
    ranges: Sequence[Range]
    timestamps: Path | None = None
    validation: float = VALIDATION

    def run(self, out: Path, engine: Engine, *, n_trials: int, jobs: int = 1) -> Iterator[Trial]:
        """Runs the trials still missing from `n_trials` scored ones, earlier calls included.

        A failed trial is not replaced in the same call: all might fail. `jobs` trials are chosen
        at a time, to run side by side.
        """
        self._check()
        study = self._study(out)
        trials = study.unfinished()
        n_missing = n_trials - study.n_scored() - len(trials)
        while trials or n_missing > 0:
            for _ in range(min(jobs - len(trials), n_missing)):
                trials.append(study.draw())
                n_missing -= 1
            for trial in self._run_trials(trials, out, engine):
                study.keep(trial)
                yield trial
            trials = []
        best = study.finished()[:1]
        if best and best[0].score is not None:
            chosen = setting_values(best[0].values)
            write_text(out / BEST_FILE, self.config.replaced(**chosen).as_toml())

    def n_scored(self, out: Path) -> int:
        """How many trials of earlier calls have a score."""
        return self._study(out).n_scored() if is_present(out / STUDY_FILE) else 0

    def trials(self, out: Path) -> tuple[Trial, ...]:
        """All trials so far, the best first, failed ones last."""
        return self._study(out).finished()

    def trial_config(self, values: Mapping[str, object]) -> Config:
        """A trial's settings. Stage 2 is trained only if its durations are judged."""
        changes = {"train.validation": self.validation, **setting_values(values)}
        config = self.config.replaced(**changes)
        if config.train.unlabelled == "test":
            raise ConfigError(
                'is "test", and a sweep never opens the test side',
                where="train.unlabelled",
                remedy="set it to rest or none",
            )
        if config.decode.durations == "alignment":
            return config
        return config.replaced(**{"train.alignment_epochs": 0})

    def _check(self) -> None:
        if not self.validation:
            raise ConfigError(
                "a sweep needs a validation part",
                where="--validation",
                remedy=f"give a share of the videos such as {VALIDATION}",
            )
        names = [one.name for one in self.ranges]
        lists = {one.setting for one in self.ranges if one.setting != one.name}
        check_once("settings of --set-range", (*names, *lists))
        if "train.validation" in names:
            raise ConfigError(
                "train.validation cannot vary: scores on different videos cannot be compared",
                where="--set-range",
                remedy="leave it out, and pass one share as --validation",
            )
        self._check_truth(names)
        for one in self.ranges:
            whole = {each.name: each.ends[0] for each in self.ranges if each.setting == one.setting}
            for value in one.ends:
                try:
                    config = self.trial_config({**whole, one.name: value})
                except ConfigError as error:
                    if not error.what.startswith(one.setting):
                        raise
                    what, remedy = error.what, error.remedy
                    raise ConfigError(what, where="--set-range", remedy=remedy) from None
                if "train.alignment_epochs" in names and config.decode.durations != "alignment":
                    raise ConfigError(
                        "train.alignment_epochs changes nothing where decode.durations is "
                        f"{config.decode.durations!r}: stage 2 is not trained there",
                        where="--set-range",
                        remedy="leave it out, or pass --set decode.durations=alignment",
                    )
        data = Dataset.open(self.dataset)
        side = data.side(self.split, "train")
        found = samples_of(data, self.config, side, self.timestamps).videos
        validation_part(found, self.validation, group_by=data.spec.group_by)

    def _check_truth(self, names: Sequence[str]) -> None:
        """Refuses to vary what makes the validation part's truth: its rate, and pseudo-labels."""
        truth = {"train.sampling_rate", "supervision.kind"}
        if self.config.supervision.kind == "timestamps":
            truth |= {f"supervision.{name}" for name in ("method", "metric", "prior", "offsets")}
        for name in names:
            if name in truth:
                raise ConfigError(
                    f"{name} cannot vary: a sweep would judge each value by a truth of its own",
                    where="--set-range",
                    remedy="leave it out; uvast compare, which judges by full labels, compares it",
                )

    def _study(self, out: Path) -> Study:
        data = Dataset.open(self.dataset)
        videos = samples_of(
            data, self.config, data.side(self.split, "train"), self.timestamps
        ).videos
        by_clicks = self.config.supervision.kind == "timestamps"
        described = {
            "dataset": str(self.dataset.resolve()),
            "split": self.split,
            "config": self.config.as_dict(),
            "ranges": [one.as_text() for one in self.ranges],
            "timestamps": resolved(self.timestamps),
            "validation": self.validation,
            "videos": list(videos),
            "labels": label_digest(data, videos, by_clicks=by_clicks, timestamps=self.timestamps),
        }
        return Study(out, described, self.ranges, seed=self.config.train.seed)

    def _run_trials(self, trials: Sequence[Trial], out: Path, engine: Engine) -> Iterator[Trial]:
        asked: dict[str, Trial] = {}
        cells = []
        for trial in trials:
            try:
                cells.append(self._cell(trial))
            except UvastError as reason:  # such as an even number between two odd ends
                yield replace(trial, error=str(reason))
            else:
                asked[cells[-1].key] = trial
        for outcome in run_cells(cells, out, engine):
            key, score, error = outcome.cell.key, None, outcome.error
            if error is None:
                try:
                    score = validation_score(out / key)
                except UvastError as reason:  # such as a trial without epochs
                    error = str(reason)
            yield replace(asked[key], score=score, error=error)

    def _cell(self, trial: Trial) -> Cell:
        config = self.trial_config(trial.values)
        return Cell(
            model=f"trial{trial.number:04d}",
            dataset=str(self.dataset.resolve()),
            split=self.split,
            seed=config.train.seed,
            config=config,
            decodings={},
            timestamps=resolved(self.timestamps),
        )


def validation_score(run: Path) -> float:
    """The validation score of the epoch that the run's last stage chose."""
    rows = [row for row in RunFolder(run).read_log() if "validation_score" in row]
    if not rows:
        raise TrainingError(
            "has no validation scores", where=run, remedy="set train.validation and train.epochs"
        )
    stage = [row for row in rows if row["stage"] == rows[-1]["stage"]]
    chosen = max(stage, key=lambda row: row.get("validation_selection", row["validation_score"]))
    return chosen["validation_score"]
