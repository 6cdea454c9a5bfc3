"""The checkpoints of a run: the model to use, and the newest state."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uvast.errors import CheckpointError
from uvast.inference.priors import Priors
from uvast.models.checkpoint import (
    ALIGNMENT_PREFIX,
    MODEL_PREFIX,
    ModelCard,
    check_weights,
    model_tensors,
    read_checkpoint,
    scaling_tensors,
    write_checkpoint,
)
from uvast.models.protocols import as_aligner, as_frame_model, has_alignment
from uvast.training.resuming import AGAIN, State, read_state, read_targets, target_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

    from uvast.config import Config
    from uvast.data import Dataset, Scaling
    from uvast.models.checkpoint import TensorFile
    from uvast.runs import RunFolder, RunInfo
    from uvast.training.distributed import Processes
    from uvast.training.loop import Loop


@dataclass(eq=False)
class Checkpoints:
    """Reads and writes a run's checkpoints; only the first of several processes writes."""

    _folder: RunFolder
    _config: Config
    _info: RunInfo
    _dataset: Dataset
    _model: nn.Module
    _processes: Processes
    _scaling: Scaling | None = None
    _saved_at: float = field(default_factory=time.monotonic, init=False)

    @property
    def seconds_since_last(self) -> float:
        """Seconds of training that would be lost if the process were killed now."""
        return time.monotonic() - self._saved_at

    def read_last(self, state: State) -> tuple[State, dict[str, Tensor]]:
        """Loads the newest weights; returns the state and the loop's tensors.

        Without a checkpoint the state stays as it was. Rows of the log after the state are dropped.
        """
        tensors: dict[str, Tensor] = {}
        if self._folder.last.exists():
            progress, contents = read_state(self._folder.last)
            tensors = contents.tensors
            self._load_weights(contents)
            n_classes = len(self._dataset.vocabulary)
            targets = read_targets(contents, state.targets, n_classes)
            priors = Priors.from_dict(contents.card.decoding, n_classes, where=contents.path)
            state = State(progress, priors, targets)
        if self._processes.is_first:
            self._folder.truncate_log(state.progress.stage, state.progress.epoch)
        return state, tensors

    def load_loop(self, loop: Loop, tensors: Mapping[str, Tensor]) -> None:
        """Loads the tensors of `read_last` into the loop."""
        try:
            loop.load(tensors)
        except (KeyError, RuntimeError, ValueError) as error:
            raise CheckpointError(
                f"cannot be resumed: its optimiser belongs to another run ({error})",
                where=self._folder.last,
                remedy=AGAIN,
            ) from error

    def load_best(self) -> None:
        """Loads the weights of the model to use."""
        self._load_weights(read_checkpoint(self._folder.best, prefix=MODEL_PREFIX))

    def write_best(self, state: State) -> None:
        """Writes the model to use."""
        if self._processes.is_first:
            write_checkpoint(self._folder.best, self._model_tensors(), self._card(state))
        self._processes.wait()  # the others may read it next

    def write_last(self, state: State, loop: Mapping[str, Tensor]) -> None:
        """Writes everything a resumed run needs; `loop` is empty between two stages."""
        self._saved_at = time.monotonic()
        if not self._processes.is_first:
            return
        tensors = {**self._model_tensors(), **loop}
        if self._config.supervision.refresh_every:
            tensors |= target_tensors(state.targets)
        progress = state.progress
        card = self._card(state)
        if not progress.finished:
            card = dataclasses.replace(card, epoch=progress.epoch, selection="newest")
        write_checkpoint(self._folder.last, tensors, card, extra={"progress": progress.as_json()})

    def _model_tensors(self) -> dict[str, Tensor]:
        return {**model_tensors(self._model), **scaling_tensors(self._scaling)}

    def _card(self, state: State) -> ModelCard:
        """The card of the model to use: of the epoch that validation chose, or of the last one."""
        config, spec, progress = self._config, self._dataset.spec, state.progress
        n_chosen_on = len(self._info.validation)
        chosen = f"epoch {progress.best_epoch}, chosen on {n_chosen_on} validation videos"
        return ModelCard(
            kind=config.model.kind,
            dimensions=dataclasses.asdict(as_frame_model(self._model).dimensions),
            vocabulary=self._dataset.vocabulary,
            sampling_rate=self._dataset.sampling_rate,
            frames_per_second=spec.frames_per_second,
            supervision=config.supervision.kind,
            stage=2 if has_alignment(self._model) else 1,
            epoch=progress.best_epoch or progress.epoch,
            selection=chosen if progress.best_epoch else "last epoch",
            decoding=state.priors.as_dict(),
            config=config.as_dict(),
            extractor=self._info.extractor,
            levels=self._scaling is not None and self._scaling.levels,
        )

    def _load_weights(self, contents: TensorFile) -> None:
        weights = contents.weights
        aligner = as_aligner(self._model)
        if aligner is not None and any(name.startswith(ALIGNMENT_PREFIX) for name in weights):
            aligner.add_alignment()
        check_weights(
            self._model,
            weights,
            "the dataset",
            where=contents.path,
            remedy="if its features or classes have changed, start a new run",
        )
        self._model.load_state_dict(weights)
