"""What a stage trains, and by which losses; the loop knows nothing else about a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch

from uvast.models.protocols import (
    adaptation_terms,
    as_aligner,
    as_frame_model,
    as_writer,
    gives_fractions,
    has_written_terms,
    own_terms,
    written_terms,
)
from uvast.training.loss_sums import EQUAL, Losses, framewise_losses, stage_one_losses
from uvast.training.losses import alignment_loss, decoder_inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

    from uvast.config import LossConfig
    from uvast.data import Batch, Targets
    from uvast.training.target_weights import TargetWeights
    from uvast.vocabulary import Vocabulary


class Objective(Protocol):
    """A model in training."""

    def parameters(self) -> dict[str, nn.Parameter]:
        """The weights that this stage trains, by name."""
        ...

    def statistics(self) -> dict[str, Tensor]:
        """What the model measures as it trains, by name: a batch norm's running statistics."""
        ...

    def train_mode(self) -> None:
        """Switches dropout on where this stage trains."""
        ...

    def losses(self, batch: Batch) -> Losses:
        """The losses of a batch that holds targets."""
        ...


class StageOne:
    """Trains a model that writes transcripts: on its frames and on what it writes (Eq. 6)."""

    def __init__(
        self,
        model: nn.Module,
        vocabulary: Vocabulary,
        config: LossConfig,
        weights: TargetWeights = EQUAL,
    ) -> None:
        writer = as_writer(model)
        assert writer is not None, "others are frame-wise"
        self._module, self._model = model, writer
        self._vocabulary = vocabulary
        self._config = config
        self._weights = weights
        needs_segments = config.segment or config.group_segment != "off" or config.cross_attention
        has_more = gives_fractions(model) or has_written_terms(model)
        self._needs_decoder = needs_segments or has_more

    def parameters(self) -> dict[str, nn.Parameter]:
        """All except the alignment decoder's."""
        named = self._module.named_parameters()
        return {name: value for name, value in named if not name.startswith("alignment.")}

    def statistics(self) -> dict[str, Tensor]:
        """Those of the whole model."""
        return _statistics(self._module)

    def train_mode(self) -> None:
        """The whole model trains."""
        self._module.train()

    def losses(self, batch: Batch) -> Losses:
        """Uses teacher forcing; the decoder does not run if no term needs it."""
        features, mask, targets = batch.features, batch.mask, _targets(batch)
        encoded = self._model.encode(features, mask)
        decoded, own = None, own_terms(self._module, encoded, features, mask, targets)
        if self._needs_decoder:
            tokens = _tokens(targets, self._vocabulary)
            need_weights = self._config.cross_attention
            decoded = self._model.decode(encoded, mask, tokens, need_weights=need_weights)
            own = {**own, **written_terms(self._module, encoded, decoded, mask, targets)}
        common = stage_one_losses(
            encoded, decoded, targets, self._config, self._weights, features=features
        )
        return Losses({**common.terms, **own})


class StageTwo:
    """Trains the alignment decoder on top of the frozen rest, which is in eval mode (Eq. 7)."""

    def __init__(self, model: nn.Module, vocabulary: Vocabulary) -> None:
        aligner = as_aligner(model)
        assert aligner is not None, "others have no second stage"
        self._module, self._model = model, aligner
        self._vocabulary = vocabulary
        self._alignment = aligner.add_alignment()

    def parameters(self) -> dict[str, nn.Parameter]:
        """The alignment decoder's."""
        return {f"alignment.{n}": p for n, p in self._alignment.named_parameters()}

    def statistics(self) -> dict[str, Tensor]:
        """None: the rest of the model does not change."""
        return {}

    def train_mode(self) -> None:
        """Dropout only in the alignment decoder."""
        self._module.eval()
        self._alignment.train()

    def losses(self, batch: Batch) -> Losses:
        """The loss of assigning frames to the segments of the target transcript."""
        targets = _targets(batch)
        with torch.no_grad():
            encoded = self._model.encode(batch.features, batch.mask)
            tokens = _tokens(targets, self._vocabulary)
            decoded = self._model.decode(encoded, batch.mask, tokens, need_weights=False)
        segment_mask = targets.transcript >= 0
        logits = self._model.align(
            encoded.features, batch.mask, decoded.features[:, :-1], segment_mask
        )
        loss = alignment_loss(logits, targets.segment_of_frame, targets.n_segments)
        return Losses({"alignment": loss})


class FrameWise:
    """Trains a frame-wise baseline: losses are summed over its stages."""

    def __init__(
        self, model: nn.Module, config: LossConfig, weights: TargetWeights = EQUAL
    ) -> None:
        self._module = model
        self._model = as_frame_model(model)
        self._config = config
        self._weights = weights

    def parameters(self) -> dict[str, nn.Parameter]:
        """All of the model's."""
        return dict(self._module.named_parameters())

    def statistics(self) -> dict[str, Tensor]:
        """Those of the whole model."""
        return _statistics(self._module)

    def train_mode(self) -> None:
        """The whole model trains."""
        self._module.train()

    def losses(self, batch: Batch) -> Losses:
        """Every stage against the frame labels, plus the model's own terms.

        For unlabelled videos beside the batch, the model adds terms of its own.
        """
        features, mask, targets = batch.features, batch.mask, _targets(batch)
        encoded = self._model.encode(features, mask)
        common = framewise_losses(encoded, targets, self._config, self._weights, features=features)
        own = own_terms(self._module, encoded, features, mask, targets)
        adapted = adaptation_terms(self._module, encoded, mask, batch.unlabelled)
        return Losses({**common.terms, **own, **adapted})


def stage_one_objective(
    model: nn.Module, vocabulary: Vocabulary, config: LossConfig, weights: TargetWeights = EQUAL
) -> Objective:
    """The first stage of any model."""
    if as_writer(model) is not None:
        return StageOne(model, vocabulary, config, weights)
    return FrameWise(model, config, weights)


def _statistics(model: nn.Module) -> dict[str, Tensor]:
    """A model's floating-point buffers."""
    return {name: one for name, one in model.named_buffers() if one.is_floating_point()}


def _targets(batch: Batch) -> Targets:
    assert batch.targets is not None, "training batches hold targets"
    return batch.targets


def _tokens(targets: Targets, vocabulary: Vocabulary) -> Tensor:
    return decoder_inputs(
        targets.transcript, targets.n_segments, sos=vocabulary.sos, padding=vocabulary.eos
    )
