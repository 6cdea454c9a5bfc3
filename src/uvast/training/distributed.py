"""Several processes that share the videos: `torchrun … -m uvast train …`."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import distributed

from uvast.devices import is_one_of_several

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn

T = TypeVar("T")

LONGEST_WAIT = timedelta(hours=6)
"""While the first process validates, the others wait longer than the minutes torch allows."""


@dataclass(frozen=True)
class Processes:
    """This process among those that train together; alone it is number 0 of 1."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def wait(self) -> None:
        """Waits until every process is here."""
        if self.count > 1:
            distributed.barrier()

    def gather(self, value: T) -> list[T]:
        """Every process's value, in order of rank."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        distributed.all_gather_object(values, value)
        return values

    def from_first(self, value: T) -> T:
        """The first process's value, so that all processes decide by what it alone computed."""
        return self.gather(value)[0]

    def sum_gradients(self, parameters: Sequence[nn.Parameter], weight: float) -> float:
        """Averages gradients over the processes, each weighted by its number of videos.

        A process with nothing to do takes part with weight 0. One message carries all gradients.

        Returns:
            The sum of the weights; not finite if any process's weight was not.
        """
        if self.count == 1:
            return weight
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        means, total = _weighted_means(gradients, weight)
        for parameter, mean in zip(parameters, means, strict=True):
            parameter.grad = mean
        return total

    def average_statistics(self, statistics: Sequence[Tensor], weight: float) -> None:
        """Averages, in place, what models measure as they train, weighted by numbers of videos.

        Every process then continues with the same running statistics, which are the ones that the
        first process writes. One message carries all of them.
        """
        if self.count == 1 or not statistics:
            return
        means, _ = _weighted_means(statistics, weight)
        for one, mean in zip(statistics, means, strict=True):
            one.copy_(mean)


def _weighted_means(tensors: Sequence[Tensor], weight: float) -> tuple[list[Tensor], float]:
    """Means of tensors over the processes, and the sum of their weights: one message for all."""
    pieces = [one.flatten() * weight for one in tensors]
    message = torch.cat([*pieces, torch.tensor([weight], device=tensors[0].device)])
    distributed.all_reduce(message)
    total = float(message[-1])
    means = torch.split(message[:-1] / total, [one.numel() for one in tensors])
    return [mean.view_as(one) for mean, one in zip(means, tensors, strict=True)], total


def own_device(device: torch.device) -> torch.device:
    """Gives each of several processes on a machine a GPU of its own."""
    local_rank = os.environ.get("LOCAL_RANK")
    if str(device) == "cuda" and local_rank is not None:
        return torch.device("cuda", int(local_rank))
    return device


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """Joins torchrun's group of processes, if torchrun started this process."""
    if not is_one_of_several():
        yield Processes()
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, timeout=LONGEST_WAIT)
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()
