"""The paper's algorithm 1 written down line by line, with loops: slow, and easy to believe."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def distance(first, second, metric):
    if metric == "euclidean":
        return float(np.sqrt(((first - second) ** 2).sum()))
    norm = np.linalg.norm(first) * np.linalg.norm(second)
    return 1 - float(first @ second) / norm if norm else 1.0


def first_least(costs):
    """The first key of the least cost; costs that differ by rounding errors are equal."""
    least = min(costs.values())
    return next(key for key, cost in costs.items() if cost <= least + 1e-9)


def cut_between(table, left, medoids, timestamps, prior):
    start, end = timestamps[left], timestamps[left + 1]
    gap = end - start
    unit = sum(abs(table[left][j] - table[left + 1][j]) for j in range(start, end)) / gap
    unit = unit if unit > 1e-9 else 1.0
    costs = {}
    for cut in range(start + 1, end + 1):
        if medoids[left] < cut <= medoids[left + 1]:
            before = sum(table[left][j] for j in range(start, cut))
            after = sum(table[left + 1][j] for j in range(cut, end))
            pull = 4 * prior * gap * ((cut - (start + end + 1) / 2) / gap) ** 2
            costs[cut] = before + after + unit * pull
    return first_least(costs)


def plain_k_medoids(features, timestamps, metric="euclidean", prior=0.0, max_iterations=300):
    features = np.asarray(features, dtype=np.float64)
    n_frames, n_segments = len(features), len(timestamps)
    between = [[distance(x, y, metric) for y in features] for x in features]
    medoids = list(timestamps)
    for n_iterations in range(1, max_iterations + 1):
        table = [between[medoid] for medoid in medoids]
        inner = [cut_between(table, i, medoids, timestamps, prior) for i in range(n_segments - 1)]
        cuts = [0, *inner, n_frames]
        old = medoids
        medoids = []
        for start, end in pairwise(cuts):
            totals = {i: sum(between[i][j] for j in range(start, end)) for i in range(start, end)}
            medoids.append(first_least(totals))
        iterations = n_iterations
        if medoids == old:
            break
    cost = sum(
        between[medoid][j]
        for medoid, start, end in zip(medoids, cuts[:-1], cuts[1:], strict=True)
        for j in range(start, end)
    )
    return np.diff(cuts).tolist(), medoids, iterations, cost
