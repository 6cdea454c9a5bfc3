"""Label next: does a model learn sooner from the answers it asks for?

    OMP_NUM_THREADS=1 python benchmarks/label_next.py DATA [--splits 1,2] [--rounds 5]
        [--clicks-a-round 30] [--seeds 0,1,2] [--sampling-rate 1] [--out FILE.json]
        [--plot FILE.png]

A person has clicked every action of two videos of a split's training side. In each round more
clicks are made, a model learns from all there are, and it is scored on the test side. Who says
where to click:

- `label next`: the app's rule, `uvast.proposals`. The person names what happens in the middle of a
  predicted segment; its middle half becomes a labelled segment, as in the app.
- `random moment`: the same answer for the segment at a random moment.
- `least sure`: the same answer for the segment with the most doubt, the app's rule before.
- `random video`: a random video, one click in each of its actions.

The person is the ground truth and never errs; an answer costs one click. What training makes of
answers and clicks is the app's way, too: `label_video`, then pseudo-labels inside labelled
stretches. The model is small, so that hundreds of rounds take minutes: softmax regression of moving
averages of the features, decoded by the semi-Markov search with lengths and transitions of the
labels so far. Finished rounds are kept in FILE.json, and a second call goes on from there.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from label_next_curves import (
    RANDOM,
    SCORES,
    STRATEGIES,
    draw,
    mean_curves,
    print_differences,
    print_table,
)
from uvast.data import Dataset, Timestamps
from uvast.durations import LengthModel, Transitions, semi_markov
from uvast.evaluation import score
from uvast.exchange import ConstantRate, Event, VideoAnnotations
from uvast.files import write_json
from uvast.inference.doubts import Doubts
from uvast.projects.labels import label_video
from uvast.proposals import Candidates, is_known, middle_half, propose, segment_looks
from uvast.segments import Segmentation
from uvast.supervision import class_model_durations
from uvast.supervision.moving_average import moving_average
from uvast.training.samples import LEAST_FRAMES, uncut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from label_next_curves import Round, Table

    Said = dict[str, tuple[Event, ...]]
    """The clicks and labelled segments of each video; the frame is the unit of time."""

N_FIRST_VIDEOS = 2
SECONDS = (0.3, 1.5, 5.0)
"""Of the moving averages."""
ALPHA = 0.5
PENALTY = 3e-3
N_STEPS = 40


class World:
    """A split of a dataset at the model's rate: features, truth, and inputs of the regression."""

    def __init__(self, path: Path, split: int, rate: int) -> None:
        dataset = Dataset.open(path).at_rate(rate)
        self.vocabulary = dataset.vocabulary
        self.train, self.test = dataset.side(split, "train"), dataset.side(split, "test")
        self.frames_per_second = (dataset.spec.frames_per_second or 15.0) / rate
        names = (*self.train, *self.test)
        raw = {name: dataset.video(name, labels=False).features for name in names}
        pooled = np.concatenate([raw[name] for name in self.train]).astype(np.float64)
        mean, deviation = pooled.mean(axis=0), pooled.std(axis=0) + 1e-6
        self.features = {name: (raw[name] - mean) / deviation for name in names}
        self.truth = {
            name: Segmentation.from_labels(dataset.source_labels(name)[::rate]) for name in names
        }
        self.inputs = {name: self.averaged(self.features[name]) for name in names}

    def averaged(self, features: np.ndarray) -> np.ndarray:
        """Features `(T, F)` averaged over three widths, and a constant `(T, 3 F + 1)`."""
        widths = [1 + 2 * round(seconds * self.frames_per_second / 2) for seconds in SECONDS]
        rows = np.ascontiguousarray(features)
        parts = [moving_average(rows, min(width, len(rows))) for width in widths]
        return np.concatenate([*parts, np.ones((len(rows), 1))], axis=1)

    def label_at(self, name: str, frame: int) -> str:
        """What happens there."""
        return self.vocabulary.names[self.truth[name].labels[frame]]


@dataclass(frozen=True, eq=False)
class Model:
    """Weights `(3 F + 1, C)`, and what decoding knows of lengths and order."""

    weights: np.ndarray
    lengths: LengthModel
    transitions: Transitions

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, Segmentation]:
        """Log-probabilities `(T, C)` and segments."""
        logits = inputs @ self.weights
        logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return logs, semi_markov(logs, self.lengths, self.transitions, alpha=ALPHA)


def learn(world: World, said: Said) -> Model:
    """A model of everything that was said."""
    samples = _samples(world, said)

    def read(key: str) -> np.ndarray:
        name, start, end, _ = samples[key]
        return world.features[name][start:end]

    durations = class_model_durations(read, {key: one[3] for key, one in samples.items()})
    targets = {
        key: Segmentation(one[3].transcript, durations[key]).merged()
        for key, one in samples.items()
    }
    inputs = np.concatenate([world.averaged(read(key)) for key in targets])
    labels = np.concatenate([one.labels for one in targets.values()])
    n_classes = len(world.vocabulary)
    return Model(
        _regression(inputs, labels, n_classes),
        LengthModel.fit(uncut(targets), n_classes, "gamma"),
        Transitions.fit(uncut(targets), n_classes),
    )


def _samples(world: World, said: Said) -> dict[str, tuple[str, int, int, Timestamps]]:
    """The stretches that training would see, each with its timestamps, as a project makes them."""
    found = {}
    for name, events in said.items():
        n_frames = len(world.features[name])
        labels = label_video(
            VideoAnnotations(name, events, observed=_observed(events)),
            ConstantRate(Fraction(1), n_frames),
            world.vocabulary.names[0],
        )
        for start, end in labels.stretches or ((0, n_frames),):
            inside = [one for one in labels.timestamps if start <= one.frame < end]
            if not inside or (labels.stretches and end - start < LEAST_FRAMES):
                continue
            ids = world.vocabulary.encode([one.label for one in inside])
            clicks = Timestamps(np.array([one.frame - start for one in inside]), ids)
            key = f"{name}/{start}:{end}" if labels.stretches else name
            found[key] = name, start, end, clicks
    return found


def _observed(events: tuple[Event, ...]) -> tuple[tuple[float, float], ...] | None:
    """Segments speak for themselves, clicks for the whole video, as in the app."""
    spans = tuple((one.start, one.end) for one in events if one.end is not None)
    return spans or None


def _regression(inputs: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Softmax regression with a small penalty on all weights but the constant's."""
    rows, ids = torch.tensor(inputs, dtype=torch.float32), torch.tensor(labels)
    weights = torch.zeros(rows.shape[1], n_classes, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=N_STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = torch.nn.functional.cross_entropy(rows @ weights, ids)
        value = value + PENALTY / 2 * (weights[:-1] ** 2).sum()
        value.backward()
        return value

    optimiser.step(loss)
    return weights.detach().numpy().astype(np.float64)


def scores_of(world: World, model: Model) -> dict[str, float]:
    """On the test side."""
    pairs = [(model.predict(world.inputs[name])[1], world.truth[name]) for name in world.test]
    found = score(pairs, world.vocabulary)
    return dict(zip(SCORES, (found.acc, found.edit, found.f1[50]), strict=True))


@dataclass(frozen=True, eq=False)
class Predicted:
    """The segments of all training videos, and what the rule knows of them."""

    places: list[tuple[str, int, int]]
    candidates: Candidates


def predicted(world: World, model: Model, said: Said) -> Predicted:
    """What the app would have after segmenting all videos."""
    places: list[tuple[str, int, int]] = []
    looks, doubts, known = [], [], []
    for name in world.train:
        logs, segmentation = model.predict(world.inputs[name])
        one = Doubts.of(logs.astype(np.float32), segmentation)
        sums = np.add.reduceat(world.features[name], segmentation.starts)
        looks.append(segment_looks(sums / segmentation.durations[:, None]))
        doubts.append((one.entropies + 1 - one.agreements) / 2)
        edges = [(segment.start, segment.end) for segment in segmentation.segments]
        places += [(name, *pair) for pair in edges]
        known.append(is_known(edges, _labelled(world, name, said)))
    lengths = np.array([end - start for _, start, end in places], float)
    return Predicted(
        places,
        Candidates(np.concatenate(looks), np.concatenate(doubts), lengths, np.concatenate(known)),
    )


def _labelled(world: World, name: str, said: Said) -> tuple[tuple[float, float], ...]:
    events = said.get(name, ())
    return (_observed(events) or ((0.0, len(world.features[name])),)) if events else ()


def ask(
    world: World, model: Model, said: Said, strategy: str, n: int, rng: np.random.Generator
) -> list[tuple[str, Event]]:
    """The answers of one round, about `n` clicks."""
    if strategy == "random video":
        left = [name for name in world.train if name not in said]
        found: list[tuple[str, Event]] = []
        for name in rng.permutation(left).tolist():
            if len(found) < n:
                found += [(name, one) for one in clicks(world, name, rng)]
        return found
    now = predicted(world, model, said)
    one = now.candidates
    if strategy == "label next":
        chosen = propose(one, n)
    else:
        keys = one.doubts * np.sqrt(one.lengths)
        if strategy == RANDOM:  # longer ones hold more moments
            keys = rng.random(len(keys)) ** (1 / one.lengths)
        chosen = [place for place in np.argsort(-keys).tolist() if not one.known[place]][:n]
    answers = [_answer(world, *now.places[place], said) for place in chosen]
    return [answer for answer in answers if answer is not None]


def clicks(world: World, name: str, rng: np.random.Generator) -> list[Event]:
    """One in each action of a video, anywhere in it."""
    return [
        Event(world.vocabulary.names[action], int(rng.integers(start, end)) + 0.5)
        for action, start, end in world.truth[name].segments
    ]


def _answer(world: World, name: str, start: int, end: int, said: Said) -> tuple[str, Event] | None:
    """A person names what happens at the moment; what was labelled before stays as it is."""
    first, moment, last = middle_half(start, end)
    for one in said.get(name, ()):
        if one.end is not None and one.end <= moment:
            first = max(first, one.end)
        elif one.start > moment:
            last = min(last, one.start)
    return name, Event(world.label_at(name, int(moment)), first, last)


def simulate(
    world: World, strategy: str, seed: int, rounds: list[Round], *, n_rounds: int, n_clicks: int
) -> Iterator[None]:
    """Adds the rounds that are missing, one at a time; `rounds` holds the finished ones."""
    said: Said = {}
    model: Model | None = None
    for number in range(n_rounds + 1):
        rng = np.random.default_rng([seed, number])
        if number < len(rounds):
            answers = [(name, Event(*rest)) for name, *rest in rounds[number]["answers"]]
        elif number == 0:
            first = rng.permutation(world.train)[:N_FIRST_VIDEOS].tolist()
            answers = [(name, one) for name in first for one in clicks(world, name, rng)]
        else:
            model = model or learn(world, said)
            answers = ask(world, model, said, strategy, n_clicks, rng)
        for name, event in answers:
            said[name] = tuple(sorted((*said.get(name, ()), event), key=lambda one: one.start))
        if number >= len(rounds):
            model = learn(world, said)
            written = [(name, one.label, one.start, one.end) for name, one in answers]
            n_so_far = sum(map(len, said.values()))
            found = scores_of(world, model)
            rounds.append({"clicks": n_so_far, **found, "answers": written})
            yield


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Simulates what is missing, prints the table, draws the curves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=_numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clicks-a-round", type=int, default=30)
    parser.add_argument("--seeds", type=_numbers, default=[0, 1, 2])
    parser.add_argument("--sampling-rate", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    table: Table = {}
    if options.out and options.out.is_file():
        table = json.loads(options.out.read_text())
    for split in options.splits:
        world = World(options.data, split, options.sampling_rate)
        for seed in options.seeds:
            for strategy in STRATEGIES:
                rounds = table.setdefault(f"{split}/{seed}/{strategy}", [])
                for _ in simulate(
                    world,
                    strategy,
                    seed,
                    rounds,
                    n_rounds=options.rounds,
                    n_clicks=options.clicks_a_round,
                ):
                    if options.out:
                        write_json(options.out, table)
    curves = mean_curves(table)
    print_table(curves)
    print_differences(curves)
    if options.plot:
        draw(curves, options.data.name, options.plot)


if __name__ == "__main__":
    main()
