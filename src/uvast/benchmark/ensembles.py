"""Seeds of one model scored together, as an ensemble, without further training."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.benchmark.cell_scores import is_finished
from uvast.errors import ConfigError, OutputError, UvastError
from uvast.inference.ensemble import make_ensemble
from uvast.runs import RunFolder, checkpoint_hash, checkpoint_path, is_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.benchmark.cell import Cell


@dataclass(frozen=True)
class EnsembleCell:
    """The cell of an ensemble, and the cells of its members."""

    cell: Cell
    members: tuple[Cell, ...]


def ensemble_cells(cells: Sequence[Cell], n_members: int) -> tuple[EnsembleCell, ...]:
    """One ensemble for every `n_members` seeds of a model and split, in order; 1 makes none.

    An ensemble is called `small x 3`, and its seed is that of its first member.
    """
    if n_members == 1:
        return ()
    groups: dict[tuple[str, str, str, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.data, cell.model, cell.config.supervision.kind, cell.split].append(cell)
    if any(len(group) < n_members for group in groups.values()):
        raise ConfigError(
            f"an ensemble of {n_members} needs {n_members} seeds",
            where="--members",
            remedy=f"pass --seeds {','.join(map(str, range(n_members)))}",
        )
    found = []
    for group in groups.values():
        for start in range(0, len(group) - n_members + 1, n_members):
            members = tuple(group[start : start + n_members])
            name = f"{members[0].model} x {n_members}"
            found.append(EnsembleCell(replace(members[0], model=name), members))
    return tuple(found)


def with_shared_folds(cells: Sequence[Cell], groups: Sequence[EnsembleCell]) -> tuple[Cell, ...]:
    """Lets the inner runs of an ensemble's first member choose how the others decode, too.

    As in `uvast train --members`: the others then train a third as long.
    """
    first = {one.key: group.members[0].key for group in groups for one in group.members[1:]}
    return tuple(
        replace(cell, calibrated_by=first[cell.key])
        if cell.key in first and cell.training.train.folds
        else cell
        for cell in cells
    )


def form_ensembles(
    groups: Sequence[EnsembleCell], out: Path
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """Makes the run folders of ensembles.

    Returns:
        The cells that are ready to be scored, and why the others are not, one sentence each.
    """
    ready, faults = [], []
    for group in groups:
        try:
            _form(group, out)
        except UvastError as error:
            faults.append(f"no ensemble {group.cell.key}: {error}")
        else:
            ready.append(group.cell)
    return tuple(ready), tuple(faults)


def _form(group: EnsembleCell, out: Path) -> None:
    folder = out / group.cell.key
    runs = [out / one.key for one in group.members]
    if not is_run(folder):
        if not is_finished(group.cell, out):  # its scores may be all that was kept
            make_ensemble(runs, folder)
        return
    info = RunFolder.open(folder).info
    theirs, ours = ([one.seed for one in part] for part in (info.members, group.members))
    if theirs != ours:
        raise OutputError(
            f"is made of the seeds {_listed(theirs)}, not {_listed(ours)}",
            where=folder,
            remedy="choose another --out, or remove this folder",
        )
    hashes = [checkpoint_hash(checkpoint_path(run)) for run in runs]
    if [one.sha256 for one in info.members] != hashes:
        raise OutputError(
            "was made of runs that have changed since", where=folder, remedy="remove this folder"
        )


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
