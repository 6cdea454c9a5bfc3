"""The optimiser, its learning rate over the epochs, and averaged weights."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor, nn

    from uvast.config import OptimiserKind, TrainConfig

OPTIMISER_PREFIX = "optimiser."
AVERAGE_PREFIX = "average."
STEP = "step"
KEPT: Mapping[type[torch.optim.Optimizer], tuple[str, ...]] = MappingProxyType(
    {torch.optim.Adam: (STEP, "exp_avg", "exp_avg_sq"), torch.optim.SGD: ("momentum_buffer",)}
)
"""What each optimiser keeps per weight: tensors of the weight's shape, and the step count."""
MOMENTUM = 0.9


def build_optimiser(
    parameters: Sequence[nn.Parameter],
    *,
    kind: OptimiserKind = "adam",
    learning_rate: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """Adam as in the paper, or gradient descent with momentum; one fused kernel for all."""
    if kind == "sgd":
        return torch.optim.SGD(
            parameters, lr=learning_rate, momentum=MOMENTUM, weight_decay=weight_decay, fused=True
        )
    return torch.optim.Adam(parameters, lr=learning_rate, weight_decay=weight_decay, fused=True)


def learning_rate(config: TrainConfig, epoch: int, epochs: int) -> float:
    """The learning rate of an epoch (counted from 0): linear warm-up, then constant or cosine."""
    if epoch < config.warmup_epochs:
        return config.learning_rate * (epoch + 1) / (config.warmup_epochs + 1)
    if config.schedule == "constant":
        return config.learning_rate
    progress = (epoch - config.warmup_epochs) / max(1, epochs - config.warmup_epochs)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors."""
    return {
        f"{OPTIMISER_PREFIX}{index}.{name}": value
        for index, state in optimiser.state_dict()["state"].items()
        for name, value in state.items()
    }


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Loads what `optimiser_tensors` returned; weights that no loss has reached have no state."""
    contents = optimiser.state_dict()
    parameters = [one for group in optimiser.param_groups for one in group["params"]]
    kept = KEPT[type(optimiser)]
    state: dict[int, dict[str, Tensor]] = {}
    for index, parameter in enumerate(parameters):
        names = {key: f"{OPTIMISER_PREFIX}{index}.{key}" for key in kept}
        if names[kept[0]] in tensors:
            state[index] = {
                key: _fitting(tensors, name, torch.Size() if key == STEP else parameter.shape)
                for key, name in names.items()
            }
    if not state:
        raise KeyError(f"{OPTIMISER_PREFIX}0.{kept[0]}")
    optimiser.load_state_dict({**contents, "state": state})


def _fitting(tensors: Mapping[str, Tensor], name: str, shape: torch.Size) -> Tensor:
    value = tensors[name]
    if value.shape != shape or value.dtype != torch.float32:
        raise ValueError(f"{name} is {value.dtype} of shape {tuple(value.shape)}")
    return value


class WeightAverage:
    """An exponential moving average of the trained weights; `decay` 0 switches it off.

    Early on, the average follows faster, so that it never remembers the random start. Statistics
    that a model measures as it learns, such as those of batch norm, are averaged with the weights
    they were measured with.
    """

    def __init__(self, weights: Mapping[str, Tensor], decay: float) -> None:
        self._weights = weights
        self._decay = decay
        self._n_updates = 0
        self._average = {n: w.detach().clone() for n, w in weights.items()} if decay else {}

    @torch.no_grad()
    def update(self) -> None:
        """Updates the average after an optimiser step."""
        if not self._average:
            return
        self._n_updates += 1
        decay = min(self._decay, self._n_updates / (self._n_updates + 10))
        torch._foreach_lerp_(
            list(self._average.values()),
            [self._weights[name].detach() for name in self._average],
            1 - decay,
        )

    @torch.no_grad()
    def swap(self) -> None:
        """Swaps weights and average, before and again after an evaluation or a save."""
        for name, average in self._average.items():
            weight = self._weights[name]
            kept = weight.detach().clone()
            weight.copy_(average)
            average.copy_(kept)

    def tensors(self) -> dict[str, Tensor]:
        """The state as named tensors."""
        if not self._average:
            return {}
        count = torch.tensor(self._n_updates)
        return {
            f"{AVERAGE_PREFIX}count": count,
            **{f"{AVERAGE_PREFIX}weight.{n}": v for n, v in self._average.items()},
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Loads what `tensors` returned."""
        if not self._average:
            return
        self._n_updates = int(tensors[f"{AVERAGE_PREFIX}count"])
        for name, average in self._average.items():
            average.copy_(_fitting(tensors, f"{AVERAGE_PREFIX}weight.{name}", average.shape))
