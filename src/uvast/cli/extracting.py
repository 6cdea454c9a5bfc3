"""Extraction with a progress bar, on this machine or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.cli.console import note, progress_bar
from uvast.errors import UvastError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.features import Order, Outcome
    from uvast.inference.cluster import Cluster


def extract_with_bar(
    orders: Sequence[Order], title: str, *, processes: int = 1, cluster: Cluster | None = None
) -> tuple[Outcome, ...]:
    """Extracts all orders; returns their outcomes sorted by name, and notes their remarks.

    Args:
        orders: what to extract.
        title: the text of the bar.
        processes: how many run at the same time on this machine.
        cluster: where they run instead.
    """
    from uvast.features.many import extract_all

    shares: dict[str, float] = {}
    outcomes: list[Outcome] = []
    with progress_bar() as progress:
        task = progress.add_task(title, total=len(orders))

        def tell(name: str, share: float) -> None:
            shares[name] = share
            progress.update(task, completed=len(outcomes) + sum(shares.values()))

        if cluster is not None:
            found = _on_cluster(orders, cluster)
        else:
            devices = _devices({order.device for order in orders}, processes)
            found = extract_all(orders, n_processes=processes, devices=devices, on_progress=tell)
        for outcome in found:
            outcomes.append(outcome)
            shares.pop(outcome.name, None)
            progress.update(task, completed=len(outcomes) + sum(shares.values()))
    outcomes.sort(key=lambda one: one.name)
    for one in outcomes:
        if one.remark is not None:
            note(f"{one.name}: {one.remark}")
    return tuple(outcomes)


def _devices(chosen: set[str], processes: int) -> tuple[str, ...]:
    """All GPUs if several processes may use any of them, else none: the orders' own count."""
    if processes == 1 or not chosen & {"auto", "cuda"}:
        return ()
    import torch

    return tuple(f"cuda:{index}" for index in range(torch.cuda.device_count()))


def _on_cluster(orders: Sequence[Order], cluster: Cluster) -> Iterator[Outcome]:
    from uvast.features.extraction import Outcome
    from uvast.features.many import attempt

    for order, outcome in cluster.run(attempt, orders):
        if isinstance(outcome, str):
            error = UvastError(outcome, where=order.source)
            yield Outcome(order.name, "failed", error=error)
        else:
            yield outcome
