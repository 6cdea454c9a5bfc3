"""Several processes over the videos: `torchrun … -m uvast train …`."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import distributed

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
        """The first process's value: what it alone has computed, all decide by."""
        return self.gather(value)[0]

    def sum_gradients(self, parameters: Sequence[nn.Parameter], weight: float) -> float:
        """Averages gradients over the processes, each weighted by its number of videos.

        A process with nothing to do takes part with weight 0. One message carries all gradients.

        Returns:
            The sum of the weights; not finite if any process's weight was not.
        """
        if self.count == 1:
            return weight
        device = parameters[0].device
        pieces = [
            torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() * weight
            for p in parameters
        ]
        message = torch.cat([*pieces, torch.tensor([weight], device=device)])
        distributed.all_reduce(message)
        total = float(message[-1])
        start = 0
        for parameter in parameters:
            piece = message[start : start + parameter.numel()]
            parameter.grad = (piece / total).view_as(parameter)
            start += parameter.numel()
        return total

    def average_statistics(self, statistics: Sequence[Tensor], weight: float) -> None:
        """Averages, in place, what models measure as they train, weighted by numbers of videos.

        So every process goes on with the same running statistics, and they are the ones that the
        first process writes. One message carries all of them.
        """
        if self.count == 1 or not statistics:
            return
        device = statistics[0].device
        pieces = [one.flatten() * weight for one in statistics]
        message = torch.cat([*pieces, torch.tensor([weight], device=device)])
        distributed.all_reduce(message)
        start = 0
        for one in statistics:
            piece = message[start : start + one.numel()]
            one.copy_((piece / message[-1]).view_as(one))
            start += one.numel()


def own_device(device: torch.device) -> torch.device:
    """Of several processes on a machine, each takes a GPU of its own."""
    local_rank = os.environ.get("LOCAL_RANK")
    if str(device) == "cuda" and local_rank is not None:
        return torch.device("cuda", int(local_rank))
    return device


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """Joins the group that torchrun started this process in, if it did."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
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
