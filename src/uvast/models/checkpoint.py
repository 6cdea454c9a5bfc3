"""One safetensors file a checkpoint: tensors, and a model card as JSON in its header. No pickle."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from uvast.errors import CheckpointError
from uvast.files import atomic_path, missing, unwritable
from uvast.models.build import rebuild_model
from uvast.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor, nn

FORMAT = "uvast-1"
MODEL_PREFIX = "model."


@dataclass(frozen=True)
class ModelCard:
    """What a checkpoint says of its model.

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
    """

    kind: str
    dimensions: dict[str, Any]
    vocabulary: Vocabulary
    sampling_rate: int = 1
    frames_per_second: float | None = None
    supervision: str = "full"
    stage: int = 1
    epoch: int = 0
    selection: str = "last epoch"
    decoding: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        """The card as one line of JSON."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> ModelCard:
        """Reads what `as_json` wrote."""
        values = json.loads(text)
        names = values.pop("vocabulary")
        vocabulary = Vocabulary(tuple(names["names"]), tuple(names["background"]))
        return cls(vocabulary=vocabulary, **values)


@dataclass(frozen=True)
class TensorFile:
    """The contents of one checkpoint file."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """A model's weights under their checkpoint names."""
    state = model.state_dict()
    return {f"{MODEL_PREFIX}{name}": value.contiguous() for name, value in state.items()}


def write_checkpoint(
    path: Path,
    tensors: Mapping[str, Tensor],
    card: ModelCard,
    extra: Mapping[str, str] | None = None,
) -> None:
    """Writes a checkpoint atomically; `extra` are further entries of the header."""
    metadata = {"format": FORMAT, "card": card.as_json(), **(extra or {})}
    # Names of one storage (shared weights) would be refused: every tensor is written on its own.
    owned = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        try:
            save_file(owned, temporary, metadata=metadata)
        except SafetensorError as error:  # such as a full disk
            raise unwritable(path, error) from error


def read_checkpoint(path: Path, *, prefix: str = "") -> TensorFile:
    """Reads the tensors whose names start with `prefix`, and the header."""
    if not path.is_file():
        raise missing(
            path, remedy="name a run folder or a .safetensors file that uvast train wrote"
        )
    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"cannot be read ({error})", where=path, remedy="train again or restore the file"
        ) from error
    if metadata.get("format") != FORMAT:
        raise CheckpointError(
            "is not a uvast checkpoint", where=path, remedy="name a file that uvast train wrote"
        )
    return TensorFile(tensors, metadata)


def read_card(path: Path, metadata: Mapping[str, str]) -> ModelCard:
    """The model card in a checkpoint's header."""
    try:
        return ModelCard.from_json(metadata["card"])
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"has a model card that cannot be read ({error})",
            where=path,
            remedy="load it with the uvast version that wrote it",
        ) from error


def load_model(path: Path) -> tuple[nn.Module, ModelCard]:
    """The model of a checkpoint, with its weights, in eval mode."""
    contents = read_checkpoint(path, prefix=MODEL_PREFIX)
    card = read_card(path, contents.metadata)
    state = {name[len(MODEL_PREFIX) :]: value for name, value in contents.tensors.items()}
    try:
        model = rebuild_model(card.kind, card.dimensions, where=path)
        if any(name.startswith("alignment.") for name in state):
            model.add_alignment()  # type: ignore[operator]
        model.load_state_dict(state)
    except (AttributeError, RuntimeError, TypeError) as error:
        raise misfit(error, "its own model card", where=path, remedy="train again") from error
    return model.eval(), card


def misfit(error: Exception, what: str, *, where: Path, remedy: str) -> CheckpointError:
    """Weights that do not fit; torch's words are many lines, of which the last one says most."""
    reason = str(error).strip().splitlines()[-1].strip()
    return CheckpointError(f"does not fit {what} ({reason})", where=where, remedy=remedy)
