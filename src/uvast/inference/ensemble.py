"""Combines trained runs into one run folder that is a model like any other.

Its checkpoint holds the weights, the scaling and the card of every member: the folder can be moved,
and the runs it was made from can be deleted.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.config import parse_run_config
from uvast.errors import CheckpointError, ConfigError, command
from uvast.files import temporary_folder
from uvast.models.card_difference import card_difference
from uvast.models.checkpoint import (
    ModelCard,
    load_model,
    model_tensors,
    read_scaling,
    write_checkpoint,
)
from uvast.models.ensemble import Ensemble, members_of, scalings_of, writers
from uvast.models.protocols import gives_boundaries
from uvast.runs import (
    MOST_MEMBERS,
    MemberInfo,
    RunFolder,
    RunInfo,
    checkpoint_hash,
    checkpoint_path,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from uvast.config import Config
    from uvast.data import Scaling

KIND = "ensemble"
FINISHED = {"progress": '{"finished": true}'}
"""Goes into the header of its checkpoint: nothing is left to train."""


@dataclass(frozen=True, eq=False)
class Member:
    """A model that goes into an ensemble.

    Args:
        path: where it was found, for errors.
        info: the record of its run.
        record: what the ensemble keeps of `info`.
        model: the network.
        card: its model card.
        scaling: how its features are scaled; None takes them as they are.
    """

    path: Path
    info: RunInfo
    record: MemberInfo
    model: nn.Module
    card: ModelCard
    scaling: Scaling | None


def make_ensemble(runs: Sequence[Path | str], out: Path | str) -> RunFolder:
    """Makes one run folder from finished runs, whose models then work as one.

    They may be of different kinds, but must agree in their classes, the width of their features,
    their sampling rate and what made the features. An ensemble among them brings its members.

    Args:
        runs: run folders, or checkpoints in them; two or more.
        out: the run folder to make.
    """
    folder = RunFolder(Path(out))
    folder.check_free()
    if len(runs) < 2:
        raise ConfigError("an ensemble needs at least two runs", remedy="name more of them")
    members = [member for run in runs for member in read_members(Path(run))]
    if len(members) > MOST_MEMBERS:
        raise ConfigError(
            f"{len(members)} members are more than {MOST_MEMBERS}", remedy="name fewer runs"
        )
    check_members(members)
    with temporary_folder(folder.path.absolute().parent) as temporary:
        new = RunFolder(temporary / "run")
        new.create(ensemble_config(members), ensemble_info(members))
        write_members(new, members)
        new.path.rename(folder.path)
    return folder


def read_members(run: Path, source: str | None = None) -> list[Member]:
    """The model of a finished run, or all those of an ensemble.

    Args:
        run: a run folder, or a checkpoint in one.
        source: what the ensemble calls it; None for its absolute path.
    """
    checkpoint = checkpoint_path(run)
    folder, _, info = RunFolder.open(checkpoint.parent)
    if not folder.is_finished():
        raise CheckpointError(
            "is not finished",
            where=run,
            remedy=f"go on with {command('train', '--resume', folder.path)}",
        )
    model, card = load_model(checkpoint)
    source = str(run.resolve()) if source is None else source
    if not card.members:
        record = MemberInfo(source, info.seed, checkpoint_hash(checkpoint))
        return [Member(run, info, record, model, card, read_scaling(checkpoint))]
    records = info.members
    if len(records) != len(card.members):
        raise CheckpointError(
            f"has {len(card.members)} members, and its run.json lists {len(records)}",
            where=run,
            remedy="restore its files, or name the runs it was made of",
        )
    own = zip(records, members_of(model), card.members, scalings_of(model), strict=True)
    return [Member(run, info, *one) for one in own]


def check_members(members: Sequence[Member]) -> None:
    """Refuses models that cannot be in one ensemble; the error names both."""
    first = members[0]
    for other in members[1:]:
        difference = card_difference(first.card, other.card)
        if difference is not None:
            raise ConfigError(
                f"cannot be in one ensemble with {first.path}: {difference}",
                where=other.path,
                remedy="name runs of the same classes, features and sampling rate",
            )


def ensemble_config(members: Sequence[Member]) -> Config:
    """The settings for decoding: of the first member that writes transcripts, else of the first.

    Boundaries are left out unless all members have them.
    """
    chosen = next((one for one in members if writers(one.model)), members[0])
    config = parse_run_config(chosen.card.config, where=f"{chosen.path}, model card")
    if all(gives_boundaries(one.model) for one in members):
        return config
    transcript = config.decode.transcript
    return config.replaced(
        **{
            "decode.boundary_weight": 0.0,
            "decode.transcript": "frames" if transcript == "boundaries" else transcript,
        }
    )


def ensemble_info(members: Sequence[Member]) -> RunInfo:
    """One run record for all members: a video that any of them learned from is a training video."""
    infos = [one.info for one in members]
    first = infos[0]
    train = tuple(dict.fromkeys(name for one in infos for name in one.train))
    held_out = dict.fromkeys(name for one in infos for name in one.validation)
    unlabelled = dict.fromkeys(name for one in infos for name in one.unlabelled)
    return dataclasses.replace(
        first,
        split=first.split if len({one.split for one in infos}) == 1 else None,
        train=train,
        validation=tuple(name for name in held_out if name not in train),
        versions=versions(),
        members=tuple(one.record for one in members),
        unlabelled=tuple(name for name in unlabelled if name not in train),
        transductive=any(one.transductive for one in infos),
    )


def write_members(folder: RunFolder, members: Sequence[Member]) -> None:
    """Writes the checkpoint of an ensemble."""
    ensemble = Ensemble(
        [one.model for one in members],
        [one.scaling is not None for one in members],
        [one.card.levels for one in members],
    )
    for index, member in enumerate(members):
        if member.scaling is not None:
            ensemble.set_scaling(index, member.scaling)
    cards = tuple(one.card for one in members)
    rates = {one.frames_per_second for one in cards}
    card = ModelCard(
        kind=KIND,
        dimensions=dataclasses.asdict(ensemble.dimensions),
        vocabulary=cards[0].vocabulary,
        sampling_rate=cards[0].sampling_rate,
        frames_per_second=cards[0].frames_per_second if len(rates) == 1 else None,
        supervision=cards[0].supervision,
        stage=max(one.stage for one in cards),
        selection=f"ensemble of {len(cards)}",
        config=ensemble_config(members).as_dict(),
        extractor=cards[0].extractor,
        members=cards,
    )
    write_checkpoint(folder.best, model_tensors(ensemble), card, extra=FINISHED)
