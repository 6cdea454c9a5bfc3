"""Label next: does a model learn faster from the videos that it asks for?

    OMP_NUM_THREADS=1 python benchmarks/label_next.py DATA [--splits 3,4] [--rounds 6]
        [--seeds 0,1,2] [--sampling-rate 1] [--out FILE.json] [--plot FILE.png]

At first, a person has clicked every action of two videos of a split's training side. Each round
adds clicks, trains a model on all of them, and scores it on the test side. Who chooses what to
click:

- `label next`: the app's rule, `uvast.proposals`: every action of one more video.
- `random video`: every action of one more video, a random one.
- `random moment`: as many clicks as a video has on average. Each names what happens in the middle
  of the predicted segment at a random moment; its middle half becomes a labelled stretch.

The person is the ground truth and never errs. A video gets the same clicks, whoever chose it.
Training uses them as the app does: `label_video`, then pseudo-labels inside labelled stretches. The
model is small, so that hundreds of rounds take minutes: softmax regression on moving averages of
the features, decoded by the semi-Markov search with lengths and transitions of the labels so far.
Finished runs are kept in FILE.json, and a second call goes on from there.
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

from label_next_curves import SCORES, STRATEGIES, curves, draw, print_differences, print_table
from uvast.data import Dataset, Timestamps
from uvast.durations import CutEnds, LengthModel, Transitions, semi_markov
from uvast.evaluation import score
from uvast.exchange import ConstantRate, Event, Span, VideoAnnotations
from uvast.files import write_json
from uvast.inference.doubts import Doubts
from uvast.projects.labels import label_video
from uvast.proposals import Predicted, is_known, middle_half, propose, segment_looks
from uvast.segments import Segmentation
from uvast.supervision import fit_class_model
from uvast.supervision.moving_average import moving_average
from uvast.training.samples import LEAST_FRAMES

if TYPE_CHECKING:
    from label_next_curves import Round, Table

    Said = dict[str, tuple[Event, ...]]
    """The clicks and labelled segments of each video; the frame is the unit of time."""

N_FIRST_VIDEOS = 2
SECONDS = (0.3, 1.5, 5.0)
"""The widths of the moving averages."""
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
        """The true label of a frame."""
        return self.vocabulary.names[self.truth[name].labels[frame]]


@dataclass(frozen=True, eq=False)
class Model:
    """Weights `(3 F + 1, C)`, and what decoding knows about lengths and order."""

    weights: np.ndarray
    lengths: LengthModel
    transitions: Transitions

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, Segmentation]:
        """Log-probabilities `(T, C)` and segments."""
        logits = inputs @ self.weights
        logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return logs, semi_markov(logs, self.lengths, self.transitions, alpha=ALPHA)


def learn(world: World, said: Said) -> Model:
    """A model trained on everything said so far."""
    samples = _samples(world, said)

    def read(key: str) -> np.ndarray:
        name, start, end, _ = samples[key]
        return world.features[name][start:end]

    durations = fit_class_model(read, {key: one[3] for key, one in samples.items()})[0]
    targets = {
        key: Segmentation(one[3].transcript, durations[key]).merged()
        for key, one in samples.items()
    }
    inputs = np.concatenate([world.averaged(read(key)) for key in targets])
    labels = np.concatenate([one.labels for one in targets.values()])
    cuts = [
        CutEnds(start > 0, end < len(world.features[name]))
        for name, start, end, _ in samples.values()
    ]
    whole = [cut.inside(one) for cut, one in zip(cuts, targets.values(), strict=True)]
    seen = [one for one in whole if len(one)] or list(targets.values())
    n_classes = len(world.vocabulary)
    return Model(
        _regression(inputs, labels, n_classes),
        LengthModel.fit(seen, n_classes, "gamma"),
        Transitions.fit(targets.values(), n_classes, cuts=cuts),
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
            inside = [
                (one.frame - start, one.label)
                for one in labels.timestamps
                if one.label is not None and one.frame is not None and start <= one.frame < end
            ]
            if not inside or (labels.stretches and end - start < LEAST_FRAMES):
                continue
            frames, names = zip(*inside, strict=True)
            clicks = Timestamps(np.array(frames), world.vocabulary.encode(names))
            key = f"{name}/{start}:{end}" if labels.stretches else name
            found[key] = name, start, end, clicks
    return found


def _observed(events: tuple[Event, ...]) -> tuple[Span, ...] | None:
    """Segments speak for themselves, clicks for the whole video, as in the app."""
    spans = tuple(Span(one.start, one.end) for one in events if one.end is not None)
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
    """Scores on the test side."""
    pairs = [(model.predict(world.inputs[name])[1], world.truth[name]) for name in world.test]
    found = score(pairs, world.vocabulary)
    return dict(zip(SCORES, (found.acc, found.edit, found.f1[50]), strict=True))


def predicted(world: World, model: Model, name: str, said: Said) -> tuple[Predicted, Segmentation]:
    """What the app would know about a video after segmenting it, and its segments."""
    logs, segmentation = model.predict(world.inputs[name])
    doubts = Doubts.of(logs.astype(np.float32), segmentation)
    sums = np.add.reduceat(world.features[name], segmentation.starts)
    edges = [(one.start, one.end) for one in segmentation.segments]
    one = Predicted(
        segment_looks(sums / segmentation.durations[:, None]),
        (doubts.entropies + 1 - doubts.agreements) / 2,
        segmentation.durations.astype(np.float64),
        is_known(edges, _labelled(world, name, said)),
    )
    return one, segmentation


def _labelled(world: World, name: str, said: Said) -> tuple[tuple[float, float], ...]:
    events = said.get(name, ())
    return (_observed(events) or ((0.0, len(world.features[name])),)) if events else ()


def ask(world: World, model: Model, said: Said, strategy: str, seeds: tuple[int, int]) -> Said:
    """What is said in one round; `seeds` are those of the run and of the round."""
    rng = np.random.default_rng(seeds)
    if strategy == "random video":
        left = [name for name in world.train if name not in said]
        return clicks(world, rng.permutation(left)[:1].tolist(), seeds[0])
    now = {name: predicted(world, model, name, said) for name in world.train}
    if strategy == "label next":
        found = propose({name: one for name, (one, _) in now.items()})
        return {} if found is None else clicks(world, [found.video], seeds[0])
    unknown = [
        (name, start, end)
        for name, (one, segmentation) in now.items()
        for (_, start, end), known in zip(segmentation.segments, one.known, strict=True)
        if not known
    ]
    lengths = np.array([end - start for _, start, end in unknown])
    order = np.argsort(rng.random(len(unknown)) ** (1 / lengths))[
        ::-1
    ]  # long ones hold more moments
    n_clicks = round(np.mean([len(world.truth[name]) for name in world.train]))
    answers: Said = {}
    for place in order[:n_clicks].tolist():
        name, start, end = unknown[place]
        answers[name] = (*answers.get(name, ()), _answer(world, name, start, end, said))
    return answers


def clicks(world: World, names: list[str], seed: int) -> Said:
    """One click anywhere in each action of the videos."""
    found: Said = {}
    for name in names:
        rng = np.random.default_rng([seed, world.train.index(name)])
        found[name] = tuple(
            Event(world.vocabulary.names[action], int(rng.integers(start, end)) + 0.5)
            for action, start, end in world.truth[name].segments
        )
    return found


def _answer(world: World, name: str, start: int, end: int, said: Said) -> Event:
    """A person names what happens at the moment; what was labelled before stays as it is."""
    first, moment, last = middle_half(start, end)
    for one in said.get(name, ()):
        if one.end is not None and one.end <= moment:
            first = max(first, one.end)
        elif one.start > moment:
            last = min(last, one.start)
    return Event(world.label_at(name, int(moment)), first, last)


def simulate(world: World, strategy: str, seed: int, n_rounds: int) -> list[Round]:
    """The clicks and scores of the start and of each round."""
    first = np.random.default_rng([seed, 0]).permutation(world.train)[:N_FIRST_VIDEOS]
    said = clicks(world, first.tolist(), seed)
    model = learn(world, said)
    rounds = [{"clicks": sum(map(len, said.values())), **scores_of(world, model)}]
    for number in range(1, n_rounds + 1):
        for name, events in ask(world, model, said, strategy, (seed, number)).items():
            said[name] = tuple(sorted((*said.get(name, ()), *events), key=lambda one: one.start))
        model = learn(world, said)
        rounds.append({"clicks": sum(map(len, said.values())), **scores_of(world, model)})
    return rounds


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Simulates what is missing, prints the table, draws the curves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=_numbers, default=[3, 4])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seeds", type=_numbers, default=[0, 1, 2])
    parser.add_argument("--sampling-rate", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    table: Table = {}
    if options.out and options.out.is_file():
        table = json.loads(options.out.read_text())
    worlds = {split: World(options.data, split, options.sampling_rate) for split in options.splits}
    for seed in options.seeds:
        for split, world in worlds.items():
            for strategy in STRATEGIES:
                key = f"{split}/{seed}/{strategy}"
                if key not in table:
                    table[key] = simulate(world, strategy, seed, options.rounds)
                    if options.out:
                        write_json(options.out, table)
    found = curves(table)
    print_table(found)
    print_differences(found)
    if options.plot:
        draw(found, options.data.name, options.plot)


if __name__ == "__main__":
    main()
