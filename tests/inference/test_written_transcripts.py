"""Which transcripts the decoders of a model, or of an ensemble, hand on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from uvast.config import DecodeConfig
from uvast.inference.writing import Written, written_transcripts
from uvast.models import Encoded
from uvast.models.ensemble import Ensemble
from uvast.models.transcript_decoder import Decoded
from uvast.vocabulary import Vocabulary

AB = Vocabulary(("a", "b"))
LOOP = np.log(np.array([[0.02, 0.88, 0.1], [0.88, 0.02, 0.1], [0.9, 0.05, 0.05]]))
"""After a (row 0), b and SOS: a, b or EOS. The likeliest is a b a b … without end."""


class Chain(nn.Module):
    """A writer that looks at its last token alone."""

    writes_transcripts = True

    def __init__(self, logits: np.ndarray) -> None:
        super().__init__()
        self.dimensions = SimpleNamespace(n_features=1, n_classes=2)
        self.logits = logits

    def start(self, encoded: Encoded, mask: Tensor | None) -> Chain:
        return self

    def step(self, tokens: np.ndarray) -> tuple[np.ndarray, Chain]:
        return self.logits[np.minimum(tokens, 2)], self

    def select(self, origins: np.ndarray) -> Chain:
        return self

    def decode(
        self, encoded: Encoded, mask: Tensor | None, tokens: Tensor, need_weights: bool = False
    ) -> Decoded:
        rows = [2, *tokens[0, 1:].tolist()]
        logits = torch.tensor(self.logits[rows])[None, None]
        return Decoded(logits, torch.zeros(1, len(rows), 1), None, None)


def written(model: nn.Module, n_frames: int, **options: object) -> Written:
    mask = torch.ones(1, n_frames, dtype=torch.bool)
    own = Encoded(torch.zeros(1, n_frames, 1), torch.zeros(1, n_frames, 2))
    n_members = len(model.members) if isinstance(model, Ensemble) else 0
    encoded = Encoded(own.features, own.logits, members=(own,) * n_members)
    (found,) = written_transcripts(
        model,
        encoded,
        mask,
        AB,
        DecodeConfig(**options),  # type: ignore[arg-type]
    )
    return found


@pytest.mark.parametrize("n_frames", [12, 250])
def test_a_loop_is_searched_again_in_videos_of_any_length(n_frames: int) -> None:
    """Whether the cap or the number of frames broke it off, it came to no end."""
    greedy = written(Chain(LOOP), n_frames, beam_width=1)
    assert not greedy.transcripts[0].ended
    assert greedy.complete == (n_frames < 200)
    found = written(Chain(LOOP), n_frames)
    assert found.transcripts[0].ended
    assert found.complete == greedy.complete, "a higher cap would help, or not, as before"


@pytest.mark.parametrize("beam_width", [0, 1, 5])
def test_an_ensemble_of_a_model_with_itself_ranks_as_it_does(beam_width: int) -> None:
    alone = written(Chain(LOOP), 20, beam_width=beam_width, length_power=1.0)
    both = Ensemble([Chain(LOOP), Chain(LOOP)], [False, False], [False, False])
    together = written(both, 20, beam_width=beam_width, length_power=1.0)
    assert together.transcripts[0].tokens.tolist() == alone.transcripts[0].tokens.tolist()
    assert together.complete == alone.complete
