"""The scores again, independently: plain Python on sets of frames, straight from docs/metrics.md.

Slow and obvious. The videos to compare on are here too.
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from uvast.evaluation.scores import THRESHOLDS


def plain_segments(labels, background, legacy):
    """Class and set of frames of each segment that is no background."""
    segments = []
    for frame, label in enumerate(labels):
        if frame == 0 or label != labels[frame - 1]:
            segments.append((label, set()))
        if not (legacy and frame == len(labels) - 1):
            segments[-1][1].add(frame)
    return [(label, frames) for label, frames in segments if label not in background]


def plain_distance(first, second):
    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        replaced = distance(i - 1, j - 1) + (first[i - 1] != second[j - 1])
        return min(replaced, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(first), len(second))


def plain_f1(videos, background, legacy, percent):
    true_positives = false_positives = false_negatives = 0
    for predicted_labels, true_labels in videos:
        true_segments = plain_segments(true_labels, background, legacy)
        hit = [False] * len(true_segments)
        for action, frames in plain_segments(predicted_labels, background, legacy):
            best, best_overlap = None, -1.0
            for index, (true_action, true_frames) in enumerate(true_segments):
                if true_action != action:
                    continue
                union = len(frames | true_frames)
                overlap = len(frames & true_frames) / union if union else 0.0
                if overlap > best_overlap:
                    best, best_overlap = index, overlap
            if best is not None and best_overlap >= percent / 100 and not hit[best]:
                hit[best] = True
                true_positives += 1
            else:
                false_positives += 1
        false_negatives += hit.count(False)
    whole = 2 * true_positives + false_positives + false_negatives
    return 100 * 2 * true_positives / whole if whole else 100.0


def plain_scores(videos, background, protocol):
    legacy = protocol == "legacy"
    right = [p == t for predicted, true in videos for p, t in zip(predicted, true, strict=True)]
    edits = []
    for predicted, true in videos:
        first, second = (
            [action for action, _ in plain_segments(labels, background, legacy)]
            for labels in (predicted, true)
        )
        longest = max(len(first), len(second))
        edits.append(100 * (1 - plain_distance(first, second) / longest) if longest else 100.0)
    return {
        "acc": 100 * sum(right) / len(right),
        "edit": sum(edits) / len(edits),
        **{f"f1@{k}": plain_f1(videos, background, legacy, k) for k in THRESHOLDS},
    }


@st.composite
def random_videos(draw):
    n_classes = draw(st.integers(1, 5))
    # Runs, not independent frames: otherwise hardly any segment overlaps another by half.
    runs = st.lists(
        st.tuples(st.integers(0, n_classes - 1), st.integers(1, 12)), min_size=1, max_size=8
    )
    videos = []
    for _ in range(draw(st.integers(1, 3))):
        true = [label for label, length in draw(runs) for _ in range(length)]
        predicted = [label for label, length in draw(runs) for _ in range(length)]
        predicted = (predicted * len(true))[: len(true)]
        videos.append((predicted, true))
    background = draw(st.sets(st.integers(0, n_classes - 1), max_size=2))
    return videos, background, n_classes


@st.composite
def blurred_videos(draw):
    """A truth of 4 classes and a prediction near it: moved, with single frames wrong."""
    runs = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 20)), min_size=1, max_size=10))
    true = [label for label, length in runs for _ in range(length)]
    reach = draw(st.integers(-8, 8))
    last = len(true) - 1
    predicted = [true[min(last, max(0, frame + reach))] for frame in range(len(true))]
    wrong = st.lists(st.tuples(st.integers(0, last), st.integers(0, 3)), max_size=4)
    for frame, label in draw(wrong):
        predicted[frame] = label
    return predicted, true
