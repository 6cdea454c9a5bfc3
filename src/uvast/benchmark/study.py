"""The journal of a sweep, kept by optuna: values that were tried, and their scores."""

from __future__ import annotations

import os
from collections.abc import Mapping  # noqa: TC003 - a record's field types are read
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from uvast.errors import ConfigError, CorruptFileError, OutputError
from uvast.files import checked, is_present, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from uvast.benchmark.ranges import Range

STUDY_FILE = "study.log"
LARGEST_STUDY = 256 * 10**6
_REMEDY = "restore it, or choose another --out"
_CUT_OFF = "was stopped while its values were drawn"


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
    values: Mapping[str, bool | int | float | str]
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None
    error: str | None = None


class Study:
    """The trials in a sweep's folder.

    Args:
        out: the sweep's folder, made if missing.
        described: the sweep as plain values; a study of another one is an error.
        ranges: what is varied.
        seed: the seed for drawing values.
    """

    def __init__(
        self, out: Path, described: Mapping[str, Any], ranges: Sequence[Range], *, seed: int
    ) -> None:
        optuna = _import_optuna()
        self._path = out / STUDY_FILE
        self._states = optuna.trial.TrialState
        self._distributions = {one.name: _distribution(optuna, one) for one in ranges}
        self._study = self._opened(optuna)
        with self._reading():
            known = self._study.user_attrs.get("sweep", described)
        if what := _difference(known, described):
            raise OutputError(f"holds a sweep {what}", where=out, remedy="choose another --out")
        with self._reading():
            self._study.set_user_attr("sweep", described)
            n_trials = len(self._study.get_trials(deepcopy=False))
        # the seed moves on, or a resumed sweep would draw the first values again
        self._study.sampler = optuna.samplers.TPESampler(seed=(seed + n_trials) % 2**32)

    def _opened(self, optuna: Any) -> Any:
        if is_present(self._path):
            with open_file(self._path) as file:
                n_bytes = file.seek(0, os.SEEK_END)
            if n_bytes > LARGEST_STUDY:
                raise CorruptFileError(
                    f"is larger than {LARGEST_STUDY // 10**6} MB",
                    where=self._path,
                    remedy=_REMEDY,
                )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._reading():
            backend = optuna.storages.journal.JournalFileBackend(str(self._path))
            return optuna.create_study(
                storage=optuna.storages.JournalStorage(backend),
                study_name="sweep",
                direction="maximize",
                load_if_exists=True,
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Blames any error in optuna on the file, since optuna indexes it unchecked."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise CorruptFileError(
                f"cannot be read as the journal of a sweep ({type(error).__name__}: {error})",
                where=self._path,
                remedy=_REMEDY,
            ) from error

    def draw(self) -> Trial:
        """New values to try."""
        with self._reading():
            asked = self._study.ask(fixed_distributions=self._distributions)
        return Trial(asked.number, asked.params)

    def unfinished(self) -> list[Trial]:
        """The trials that a stopped sweep left; one without all its values counts as failed."""
        found = []
        for trial in self._trials(self._states.RUNNING):
            if set(trial.values) == set(self._distributions):
                found.append(trial)
            else:
                self.keep(replace(trial, error=_CUT_OFF))
        return found

    def keep(self, trial: Trial) -> None:
        """Records how a trial did."""
        with self._reading():
            if trial.score is None:
                self._study.set_user_attr(_error_of(trial.number), trial.error)
                self._study.tell(trial.number, state=self._states.FAIL)
            else:
                self._study.tell(trial.number, trial.score)

    def finished(self) -> tuple[Trial, ...]:
        """Finished trials, the best first, failed ones last."""
        scored = self._trials(self._states.COMPLETE)
        failed = self._trials(self._states.FAIL)
        return (*sorted(scored, key=lambda one: one.score or 0.0, reverse=True), *failed)

    def n_scored(self) -> int:
        """How many trials have a score."""
        return sum(trial.score is not None for trial in self.finished())

    def _trials(self, state: Any) -> list[Trial]:
        # a trial stopped amid `keep` has an error while it runs, and may still get a score
        with self._reading():
            errors = self._study.user_attrs if state == self._states.FAIL else {}
            trials = [
                {
                    "number": one.number,
                    "values": one.params,
                    "score": one.value,
                    "error": errors.get(_error_of(one.number)),
                }
                for one in self._study.get_trials(deepcopy=False, states=(state,))
            ]
        return [checked(one, Trial, where=self._path, remedy=_REMEDY) for one in trials]


def _error_of(number: int) -> str:
    return f"error of trial {number}"


def _distribution(optuna: Any, values: Range) -> Any:
    kinds = optuna.distributions
    if values.choices:
        return kinds.CategoricalDistribution(values.choices)
    kind = kinds.IntDistribution if values.is_whole else kinds.FloatDistribution
    return kind(values.low, values.high, log=values.log)


def _difference(known: object, described: Mapping[str, Any]) -> str:
    """How a recorded sweep differs from the one described; empty if it does not.

    Earlier versions did not record its videos and their labels.
    """
    later = {"videos": "of other videos", "labels": "of labels that have changed since"}
    if not isinstance(known, dict) or not described.keys() - later <= known.keys():
        return "with other settings"
    other = [name for name in described if known.get(name, described[name]) != described[name]]
    return later.get(other[0], "with other settings") if other else ""


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
