"""A search over settings, judged on the validation part. optuna is an extra, `sweep`.

The study is a journal in the sweep's folder, each trial a run folder beside it: a sweep that was
stopped goes on with the trial it was in.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from uvast.benchmark.cell import Cell
from uvast.benchmark.engine import run_cells
from uvast.benchmark.matrix import check_once, resolved
from uvast.config import parse_setting
from uvast.data import Dataset, validation_part
from uvast.errors import ConfigError, OutputError, TrainingError
from uvast.files import write_text
from uvast.runs import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from uvast.benchmark.engine import Engine
    from uvast.config import Config

STUDY_FILE = "study.log"
BEST_FILE = "best.toml"
VALIDATION = 0.2
_BOUNDS = re.compile(r"(?P<low>[^.]\S*?)\.\.(?P<high>\S+?)(?P<log>:log)?")


@dataclass(frozen=True)
class Range:
    """The values of one setting that a sweep may choose.

    Args:
        name: the setting: `train.learning_rate`.
        choices: single values; empty if there are bounds.
        low: the least value.
        high: the largest one.
        log: whether values are spread by their logarithm.
    """

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0
    high: float = 0
    log: bool = False

    def as_text(self) -> str:
        """As on the command line."""
        if self.choices:
            return f"{self.name}={','.join(map(str, self.choices))}"
        return f"{self.name}={self.low}..{self.high}{':log' * self.log}"


def parse_range(text: str) -> Range:
    """`train.learning_rate=1e-4..1e-2:log`, `train.epochs=20..60` or `loss.frame=true,false`."""
    name, _, values = text.partition("=")
    bounds = _BOUNDS.fullmatch(values.strip())
    if bounds is None:
        choices = tuple(parse_setting(f"{name}={part}")[1] for part in values.split(","))
        if len(set(map(str, choices))) < max(2, len(choices)):
            raise _wrong_range(text, "gives no choice")
        return Range(name.strip(), choices)
    low, high = (parse_setting(f"{name}={bounds[end]}")[1] for end in ("low", "high"))
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)):
        raise _wrong_range(text, "has bounds that are no numbers")
    assert isinstance(low, int | float), "just checked"
    assert isinstance(high, int | float), "just checked"
    log = bounds["log"] is not None
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or (log and low <= 0):
        raise _wrong_range(text, "has bounds that span nothing")
    return Range(name.strip(), low=low, high=high, log=log)


def _wrong_range(text: str, what: str) -> ConfigError:
    return ConfigError(
        f"{text!r} {what}",
        where="--set-range",
        remedy="write for example train.learning_rate=1e-4..1e-2:log or model.width=32,64",
    )


@dataclass(frozen=True)
class Trial:
    """One set of values, and how well it did.

    Args:
        number: counted from 0.
        values: setting to value.
        score: the best validation score: the mean of Acc, Edit and F1@50; None if it failed.
        error: why it failed.
    """

    number: int
    values: Mapping[str, Any]
    score: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class Sweep:
    """What is searched.

    Args:
        dataset: the dataset's folder.
        split: whose training side is used; its test side is never seen.
        config: all settings; those of `ranges` are replaced.
        ranges: what to vary.
        timestamps: the timestamps file; None finds the dataset's own.
        validation: the share of the training side that judges trials; the best settings keep the
            config's own.
    """

    dataset: Path
    split: int
    config: Config
    ranges: Sequence[Range]
    timestamps: Path | None = None
    validation: float = VALIDATION

    def run(self, out: Path, engine: Engine, *, n_trials: int, jobs: int = 1) -> Iterator[Trial]:
        """Runs as many trials as are missing to `n_trials` with a score, earlier calls included.

        A trial that fails is not made up for in the same call: all might fail.

        Args:
            out: the sweep's folder.
            engine: where trials run.
            n_trials: how many have a score in the end, if none fails.
            jobs: trials chosen at a time, to run side by side.
        """
        self._check()
        optuna = _import_optuna()
        states = optuna.trial.TrialState
        study = self._study(optuna, out)
        distributions = {one.name: _distribution(optuna, one) for one in self.ranges}
        orders = {}
        for one in study.get_trials(deepcopy=False, states=(states.RUNNING,)):
            if set(one.params) == set(distributions):
                orders[one.number] = one.params
            else:
                _tell_failure(study, one.number, "was stopped while its values were drawn", states)
        n_scored = len(study.get_trials(deepcopy=False, states=(states.COMPLETE,)))
        n_missing = n_trials - n_scored - len(orders)
        while orders or n_missing > 0:
            for _ in range(min(jobs - len(orders), n_missing)):
                asked = study.ask(fixed_distributions=distributions)
                orders[asked.number] = asked.params
                n_missing -= 1
            for trial in self._run_trials(orders, out, engine):
                if trial.score is None:
                    _tell_failure(study, trial.number, trial.error, states)
                else:
                    study.tell(trial.number, trial.score)
                yield trial
            orders = {}
        self._write_best(study, optuna, out)

    def n_scored(self, out: Path) -> int:
        """How many trials of earlier calls have a score."""
        earlier = self.trials(out) if (out / STUDY_FILE).exists() else ()
        return sum(trial.score is not None for trial in earlier)

    def trials(self, out: Path) -> tuple[Trial, ...]:
        """All trials so far, the best first, failed ones last."""
        study = self._study(_import_optuna(), out)
        found = [
            Trial(one.number, one.params, one.value)
            if one.values
            else Trial(one.number, one.params, error=study.user_attrs.get(_error_of(one.number)))
            for one in study.get_trials(deepcopy=False)
            if one.state.is_finished()
        ]
        return tuple(
            sorted(found, key=lambda t: -math.inf if t.score is None else t.score, reverse=True)
        )

    def _check(self) -> None:
        if not self.validation:
            raise ConfigError(
                "a sweep needs a validation part",
                where="--validation",
                remedy=f"give a share of the videos such as {VALIDATION}",
            )
        check_once("settings of --set-range", [one.name for one in self.ranges])
        for one in self.ranges:
            for value in one.choices or (one.low, one.high):
                self._trial_config({one.name: value})
        data = Dataset.open(self.dataset)
        names = data.side(self.split, "train")
        validation_part(names, self.validation, group_by=data.spec.group_by)
        if self.config.supervision.kind == "timestamps":
            data.timestamps(self.timestamps)

    def _study(self, optuna: Any, out: Path) -> Any:
        out.mkdir(parents=True, exist_ok=True)
        backend = optuna.storages.journal.JournalFileBackend(str(out / STUDY_FILE))
        study = optuna.create_study(
            storage=optuna.storages.JournalStorage(backend),
            study_name="sweep",
            direction="maximize",
            load_if_exists=True,
        )
        described = {
            "dataset": str(self.dataset.resolve()),
            "split": self.split,
            "config": self.config.as_dict(),
            "ranges": [one.as_text() for one in self.ranges],
            "timestamps": resolved(self.timestamps),
            "validation": self.validation,
        }
        before = study.user_attrs.get("sweep", described)
        if before != described:
            raise OutputError(
                "holds a sweep of other settings", where=out, remedy="choose another --out"
            )
        study.set_user_attr("sweep", described)
        # a seed that moves on, or a resumed sweep would draw the first values again
        study.sampler = optuna.samplers.TPESampler(
            seed=self.config.train.seed + len(study.get_trials(deepcopy=False))
        )
        return study

    def _run_trials(
        self, orders: Mapping[int, Mapping[str, Any]], out: Path, engine: Engine
    ) -> Iterator[Trial]:
        cells = {self._cell(number, values).key: number for number, values in orders.items()}
        every = [self._cell(number, values) for number, values in orders.items()]
        for outcome in run_cells(every, out, engine):
            number = cells[outcome.cell.key]
            score, error = None, outcome.error
            if error is None:
                try:
                    score = validation_score(out / outcome.cell.key)
                except TrainingError as reason:  # such as a trial of no epochs
                    error = str(reason)
            yield Trial(number, orders[number], score, error)

    def _cell(self, number: int, values: Mapping[str, Any]) -> Cell:
        config = self._trial_config(values)
        return Cell(
            model=f"trial{number:04d}",
            dataset=str(self.dataset.resolve()),
            split=self.split,
            seed=config.train.seed,
            config=config,
            decodings={},
            timestamps=resolved(self.timestamps),
        )

    def _trial_config(self, values: Mapping[str, Any]) -> Config:
        """Stage 2 is trained only where its durations are what is judged."""
        config = self.config.replaced(**{"train.validation": self.validation, **values})
        if config.decode.durations == "alignment":
            return config
        return config.replaced(**{"train.alignment_epochs": 0})

    def _write_best(self, study: Any, optuna: Any, out: Path) -> None:
        done = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        if done:
            write_text(out / BEST_FILE, self.config.replaced(**study.best_params).as_toml())


def validation_score(run: Path) -> float:
    """The score on the validation part of the epoch that the run's last stage ends with."""
    rows = [row for row in RunFolder(run).read_log() if "validation_score" in row]
    if not rows:
        raise TrainingError(
            "has no validation scores", where=run, remedy="set train.validation and train.epochs"
        )
    stage = [row for row in rows if row["stage"] == rows[-1]["stage"]]
    chosen = max(stage, key=lambda row: row.get("validation_selection", row["validation_score"]))
    return chosen["validation_score"]


def _tell_failure(study: Any, number: int, error: str | None, states: Any) -> None:
    study.set_user_attr(_error_of(number), error)
    study.tell(number, state=states.FAIL)


def _error_of(number: int) -> str:
    return f"error of trial {number}"


def _distribution(optuna: Any, values: Range) -> Any:
    kinds = optuna.distributions
    if values.choices:
        return kinds.CategoricalDistribution(values.choices)
    whole = isinstance(values.low, int) and isinstance(values.high, int)
    kind = kinds.IntDistribution if whole else kinds.FloatDistribution
    return kind(values.low, values.high, log=values.log)


def _import_optuna() -> Any:
    try:
        optuna = import_module("optuna")
    except ImportError:
        raise ConfigError(
            "needs the package optuna",
            where="uvast sweep",
            remedy="install it with: pip install '.[sweep]' in uvast's folder",
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
