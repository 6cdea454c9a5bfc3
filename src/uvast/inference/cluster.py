"""Work spread over a Ray cluster; a lost worker or node costs time, not results.

Ray comes with the extra `cluster`. All machines see the same folders under the same paths, and
all have uvast installed (docs/cluster.md).
"""

from __future__ import annotations

import socket
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from uvast.errors import ConfigError, UvastError
from uvast.inference.pipeline import Outcome, segment_all
from uvast.inference.segmenter import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from uvast.config import DecodeConfig
    from uvast.inference.inputs import Source

Argument = TypeVar("Argument")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Cluster:
    """Where tasks run and what each needs.

    Args:
        address: `auto` for the cluster that this machine is part of, `local` for this machine
            alone, or a head node's `host:port`.
        cpus: cores per task.
        gpus: GPUs per task; fractions are allowed.
        retries: how often a task is started again after its worker or node is lost.
    """

    address: str = "auto"
    cpus: float = 1
    gpus: float = 0
    retries: int = 5

    def run(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> Iterator[tuple[Argument, Result | str]]:
        """Yields each argument and its result, or a sentence on why there is none, in any order.

        Each argument is a task. The workers must be able to import the function, and it may run
        more than once.
        """
        with self._joined() as ray:
            self._check_resources(ray)
            remote = ray.remote(num_cpus=self.cpus, num_gpus=self.gpus, max_retries=self.retries)
            task = remote(function)
            pending = {task.remote(argument): argument for argument in arguments}
            try:
                while pending:
                    (ready,), _ = ray.wait(list(pending), num_returns=1)
                    yield pending.pop(ready), _result(ray, ready)
            finally:
                for reference in pending:
                    ray.cancel(reference, force=True)

    @contextmanager
    def _joined(self) -> Iterator[Any]:
        """Ray, connected; an existing connection is kept."""
        ray = _import_ray()
        if ray.is_initialized():
            yield ray
            return
        options = {"include_dashboard": False} if self.address == "local" else {}
        try:
            _check_reachable(self.address)
            ray.init(self.address, log_to_driver=False, logging_level="ERROR", **options)
        except (OSError, RuntimeError, ValueError) as error:
            raise ConfigError(
                f"no Ray cluster at {self.address!r} ({_first_line(error)})",
                where="--address",
                remedy="start one with 'ray start --head', or pass --address local",
            ) from error
        try:
            yield ray
        finally:
            ray.shutdown()

    def _check_resources(self, ray: Any) -> None:
        """Refuses tasks that no node can take: they would wait forever."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(n.get("CPU", 0) >= self.cpus and n.get("GPU", 0) >= self.gpus for n in nodes):
            raise ConfigError(
                f"no node of the cluster has {self.cpus:g} CPUs and {self.gpus:g} GPUs",
                where="--cpus, --gpus",
                remedy="ask for less, or add a node with 'ray start --address …'",
            )


@dataclass(frozen=True)
class _Order:
    """The videos of one task."""

    model: Path
    device: str
    sources: tuple[Source, ...]
    options: DecodeConfig


def segment_on_cluster(
    model: Path,
    sources: Sequence[Source],
    options: DecodeConfig,
    *,
    cluster: Cluster,
    batch_size: int,
    device: str,
) -> Iterator[Outcome]:
    """Like `segment_all`, with the batches spread over a cluster.

    Every node must be able to read the model (a run folder or checkpoint) and the absolute paths
    of the sources. Each worker loads the model once. The device `auto` is a GPU if a task has one.
    """
    orders = [
        _Order(model.resolve(), device, tuple(sources[start : start + batch_size]), options)
        for start in range(0, len(sources), batch_size)
    ]
    for order, outcomes in cluster.run(_segment_order, orders):
        if isinstance(outcomes, str):
            for source in order.sources:
                yield Outcome(source.name, error=UvastError(outcomes, where=source.name))
        else:
            yield from outcomes


def _segment_order(order: _Order) -> list[Outcome]:
    segmenter = _load_once(order.model, device=order.device)
    return list(segment_all(segmenter, order.sources, order.options, batch_size=len(order.sources)))


_load_once = lru_cache(maxsize=1)(load)
"""A worker lives for one command, so a model is loaded once for all its tasks."""


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return _first_line(error.cause)
    except ray.exceptions.RayError as error:
        return f"lost by the cluster ({_first_line(error)})"


def _import_ray() -> Any:
    try:
        return import_module("ray")
    except ImportError:
        raise ConfigError(
            "needs the package ray",
            where="--engine ray",
            remedy="install it with: pip install '.[cluster]' in uvast's folder",
        ) from None


def _check_reachable(address: str) -> None:
    """Raises OSError if nothing listens at `host:port`; Ray itself would wait for minutes."""
    host, separator, port = address.rpartition(":")
    if separator and "://" not in address:
        socket.create_connection((host, int(port)), timeout=10).close()


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
