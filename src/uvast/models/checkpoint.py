"""A checkpoint is one safetensors file: tensors, and a model card as JSON in the header; no pickle.

A file is checked before anything is built from it: its header has a sane size, the card's values
have the right types and are within limits, and every weight has the shape the card asks for.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import pydantic
import torch
from pydantic import Field
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from uvast.data.scaling import Scaling
from uvast.errors import CheckpointError, InputError, UvastError
from uvast.features.record import ExtractorRecord  # noqa: TC001 (pydantic reads it)
from uvast.files import atomic_path, first_fault, open_file, unwritable
from uvast.files.records import adapter
from uvast.models.build import MASK_NAME, OWN_KINDS, add_mask_token, rebuild_model
from uvast.models.card_difference import card_difference
from uvast.models.ensemble import Ensemble, scalings_of
from uvast.models.protocols import as_aligner
from uvast.vocabulary import Vocabulary  # noqa: TC001 (pydantic reads it)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor, nn

Record = TypeVar("Record")

FORMAT = "uvast-1"
MODEL_PREFIX = "model."
ALIGNMENT_PREFIX = "alignment."
SCALING_PREFIX = "scaling."
_SCALING = (f"{SCALING_PREFIX}mean", f"{SCALING_PREFIX}deviation")
_AGAIN = "train again or restore the file"
LARGEST_HEADER = 64 * 2**20
"""Bytes; most of a header is the card's table of transitions, which grows with C * C."""

Text = Annotated[str, Field(max_length=1000)]


@dataclass(frozen=True)
class ModelCard:
    """What a checkpoint says about its model.

    Args:
        kind: the model's name in the builder.
        dimensions: the fields of its dimensions.
        vocabulary: its classes.
        sampling_rate: source frames per frame.
        frames_per_second: of the source, if known.
        supervision: `full` or `timestamps`.
        stage: 1, or 2 with an alignment decoder.
        epoch: finished epochs of that stage.
        selection: how this epoch was chosen; never on the test side.
        decoding: length models, transitions and weights, as `uvast.inference` reads them.
        config: the run's whole config, as plain values.
        extractor: what made the features it was trained on, if known.
        levels: whether the model sees every video at its own scale (`Scaling.levels`).
        members: for an ensemble, the cards of its members.
    """

    kind: Text
    dimensions: dict[str, Any]
    vocabulary: Vocabulary
    sampling_rate: Annotated[int, Field(ge=1, le=10**6)] = 1
    frames_per_second: Annotated[float, Field(gt=0, le=10**6)] | None = None
    supervision: Literal["full", "timestamps"] = "full"
    stage: Literal[1, 2] = 1
    epoch: Annotated[int, Field(ge=0, le=10**9)] = 0
    selection: Text = "last epoch"
    decoding: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    extractor: ExtractorRecord | None = None
    levels: bool = False
    members: tuple[ModelCard, ...] = ()

    @property
    def is_scaled(self) -> bool:
        """Whether its config says that features are scaled; old runs do not say."""
        settings = self.config.get("train")
        return isinstance(settings, dict) and bool(settings.get("scaling"))

    def as_json(self) -> str:
        """The card as one line of JSON."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False)


@dataclass(frozen=True)
class TensorFile:
    """The contents of one checkpoint file."""

    path: Path
    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    @property
    def card(self) -> ModelCard:
        """The model card in its header."""
        remedy = "load it with the uvast version that wrote it"
        return self.header("card", ModelCard, what="model card", remedy=remedy)

    @property
    def weights(self) -> dict[str, Tensor]:
        """The model's weights, under their names in the model."""
        start = len(MODEL_PREFIX)
        return {n[start:]: v for n, v in self.tensors.items() if n.startswith(MODEL_PREFIX)}

    @property
    def scaling(self) -> Scaling | None:
        """How the model's features are scaled; None if it takes them as they are."""
        card = self.card
        found = {n: v for n, v in self.tensors.items() if n.startswith(SCALING_PREFIX)}
        if card.members or (not found and not card.is_scaled):  # members scale for themselves
            return None
        wanted = dict.fromkeys(_SCALING, f"float64 ({card.dimensions.get('n_features')},)")
        for name in (*wanted, *found):
            ours, theirs = wanted.get(name, "absent"), _described(found.get(name))
            if ours != theirs:
                what = f"has a scaling that does not fit ({name} is {theirs}, not {ours})"
                raise CheckpointError(what, where=self.path, remedy=_AGAIN)
        try:
            mean, deviation = (found[name].numpy().copy() for name in _SCALING)
            return Scaling(mean, deviation, card.levels)
        except InputError as error:
            what = f"has a scaling that cannot be used ({error})"
            raise CheckpointError(what, where=self.path, remedy=_AGAIN) from error

    def header(self, key: str, record: type[Record], *, what: str, remedy: str) -> Record:
        """An entry of the header as a typed record; `what` names it in the error."""
        try:
            return adapter(record).validate_json(self.metadata.get(key, ""), strict=True)
        except pydantic.ValidationError as error:
            fault = first_fault(error) if key in self.metadata else "it is missing"
            raise CheckpointError(
                f"has a {what} that cannot be read ({fault})", where=self.path, remedy=remedy
            ) from None


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """A model's weights under their checkpoint names."""
    state = model.state_dict()
    return {f"{MODEL_PREFIX}{name}": value.contiguous() for name, value in state.items()}


def scaling_tensors(scaling: Scaling | None) -> dict[str, Tensor]:
    """A scaling under its checkpoint names; empty without one."""
    if scaling is None:
        return {}
    values = (scaling.mean, scaling.deviation)
    return {name: torch.tensor(one) for name, one in zip(_SCALING, values, strict=True)}


def write_checkpoint(
    path: Path,
    tensors: Mapping[str, Tensor],
    card: ModelCard,
    extra: Mapping[str, str] | None = None,
) -> None:
    """Writes a checkpoint atomically; `extra` are further entries of the header."""
    metadata = {"format": FORMAT, "card": card.as_json(), **(extra or {})}
    # Tensors that share storage (shared weights) would be refused: each one is written on its own.
    owned = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        try:
            save_file(owned, temporary, metadata=metadata)
        except SafetensorError as error:  # such as a full disk
            raise unwritable(path, error) from error


def read_checkpoint(path: Path, *, prefix: str | None = "") -> TensorFile:
    """Reads the tensors whose names start with `prefix`, and the header; None reads no tensor."""
    _check_header_size(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            all_names = () if prefix is None else file.keys()
            names = [name for name in all_names if name.startswith(prefix or "")]
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, RuntimeError, TypeError) as error:
        raise _unreadable(path, str(error)) from error
    if metadata.get("format") != FORMAT:
        raise CheckpointError(
            "is not a uvast checkpoint", where=path, remedy="name a file that uvast train wrote"
        )
    return TensorFile(path, tensors, metadata)


def read_scaling(path: Path) -> Scaling | None:
    """How a checkpoint's model wants its features scaled; None if not at all."""
    return read_checkpoint(path, prefix=SCALING_PREFIX).scaling


def load_model(path: Path) -> tuple[nn.Module, ModelCard]:
    """The model of a checkpoint, with its weights, in eval mode."""
    contents = read_checkpoint(path, prefix=MODEL_PREFIX)
    card, weights = contents.card, contents.weights
    with torch.device("meta"):  # shapes without memory: a card may ask for anything
        model = _untrained(card, weights, path)
    check_weights(model, weights, "its own model card", where=path, remedy="train again")
    kinds = {one.kind for one in card.members or (card,)}
    if kinds - OWN_KINDS:  # another package's model may keep more than weights
        model = _untrained(card, weights, path)
    owned = {name: value.clone() for name, value in weights.items()}  # the file may change
    model.load_state_dict(owned, assign=True)
    _check_scalings(model, path)
    return model.eval(), card


def check_weights(
    model: nn.Module, weights: Mapping[str, Tensor], what: str, *, where: Path, remedy: str
) -> None:
    """Refuses weights whose names, shapes or types are not those of a model.

    The error says that the file `where` does not fit `what`.
    """
    wanted = model.state_dict()
    for name in (*wanted, *weights):
        ours, theirs = (_described(one.get(name)) for one in (wanted, weights))
        if ours != theirs:
            raise CheckpointError(
                f"does not fit {what} ({name} is {theirs}, not {ours})", where=where, remedy=remedy
            )


def _described(tensor: Tensor | None) -> str:
    if tensor is None:
        return "absent"
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


def _untrained(card: ModelCard, weights: Mapping[str, Tensor], path: Path) -> nn.Module:
    """The model that a card describes."""
    if card.members:
        return _untrained_ensemble(card, weights, path)
    n_classes = card.dimensions.get("n_classes")
    try:
        if n_classes != len(card.vocabulary):
            raise ValueError(f"{n_classes} classes with {len(card.vocabulary)} names")
        model = rebuild_model(card.kind, card.dimensions, where=path)
        if MASK_NAME in weights:
            add_mask_token(model, card.dimensions.get("n_features", 0))
    except CheckpointError:
        raise
    except (ArithmeticError, RuntimeError, TypeError, UvastError, ValueError) as error:
        raise CheckpointError(
            f"has a model card that makes no model ({error})", where=path, remedy="train again"
        ) from error
    aligner = as_aligner(model)
    if aligner is not None and any(name.startswith(ALIGNMENT_PREFIX) for name in weights):
        aligner.add_alignment()
    return model


def _untrained_ensemble(card: ModelCard, weights: Mapping[str, Tensor], path: Path) -> Ensemble:
    members, scaled = [], []
    for index, one in enumerate(card.members):
        difference = card_difference(card.members[0], one)
        if one.members or difference:
            what = difference or "one is an ensemble itself"
            raise CheckpointError(
                f"has members that do not fit together ({what})", where=path, remedy=_AGAIN
            )
        start = f"members.{index}."
        own = {n.removeprefix(start): v for n, v in weights.items() if n.startswith(start)}
        members.append(_untrained(one, own, path))
        scaled.append(one.is_scaled or f"scalers.{index}.mean" in weights)
    return Ensemble(members, scaled, [one.levels for one in card.members])


def _check_scalings(model: nn.Module, path: Path) -> None:
    try:
        scalings_of(model)
    except InputError as error:
        what = f"has a scaling that cannot be used ({error})"
        raise CheckpointError(what, where=path, remedy=_AGAIN) from error


def _check_header_size(path: Path) -> None:
    remedy = "name a run folder or a .safetensors file that uvast train wrote"
    with open_file(path, remedy=remedy) as file:
        n_bytes = int.from_bytes(file.read(8), "little")
    if n_bytes > LARGEST_HEADER:
        raise _unreadable(path, f"a header of {n_bytes} bytes")


def _unreadable(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(f"cannot be read ({reason})", where=path, remedy=_AGAIN)
