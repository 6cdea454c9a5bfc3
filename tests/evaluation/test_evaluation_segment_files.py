"""Tables of segments as `uvast segment` writes them: read back, checked at the door."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.errors import CorruptFileError, LabelError, UvastError
from uvast.evaluation.predictions import find_predictions, read_named_segments, read_prediction
from uvast.evaluation.segment_files import read_segments
from uvast.inference import Prediction
from uvast.inference.output import write_prediction
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

CLASSES = Vocabulary(("background", "cut", "pour milk"))


def prediction(rate: float | None = 30.0) -> Prediction:
    segmentation = Segmentation([0, 2, 1], [30, 100, 77])
    return Prediction(
        segmentation.transcript, segmentation, np.array([0.5, 0.25, 1.0]), 0.6, CLASSES, rate
    )


@pytest.mark.parametrize("suffix", ["json", "csv"])
@pytest.mark.parametrize("rate", [30.0, None])
def test_what_segment_writes_is_read_back(tmp_path: Path, suffix: str, rate: float | None) -> None:
    write_prediction(tmp_path, "v.1", prediction(rate), [suffix])
    found = read_segments(tmp_path / f"v.1.{suffix}")
    assert found.labels == ("background", "pour milk", "cut")
    assert found.durations.tolist() == [30, 100, 77]
    assert found.confidences is not None
    assert found.confidences.tolist() == [0.5, 0.25, 1.0]
    assert found.frames_per_second == rate
    path = find_predictions(tmp_path, ["v.1"])["v.1"]
    assert path is not None
    assert read_prediction(path, CLASSES, n_frames=207).segmentation == prediction().segmentation
    # trimmed as the dataset trims its labels
    trimmed = read_prediction(path, CLASSES, n_frames=200, untrimmed=(207, 200))
    assert trimmed.segmentation.n_frames == 200
    assert trimmed.confidence == pytest.approx((30 * 0.5 + 100 * 0.25 + 70) / 200)
    with pytest.raises(LabelError, match="holds 207 labels, the video has 200 frames"):
        read_prediction(path, CLASSES, n_frames=200)


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_an_unknown_label_is_found_by_the_number_of_its_segment(
    tmp_path: Path, suffix: str
) -> None:
    write_prediction(tmp_path, "v", prediction(), [suffix])
    fewer = Vocabulary(("background", "cut"))
    with pytest.raises(LabelError, match=rf"v\.{suffix}, segment 2: unknown label 'pour milk'"):
        read_prediction(tmp_path / f"v.{suffix}", fewer, n_frames=207)


def test_frame_labels_come_first_and_have_no_confidence(tmp_path: Path) -> None:
    write_prediction(tmp_path, "v", prediction(), ["txt", "csv", "json"])
    assert find_predictions(tmp_path, ["v"]) == {"v": tmp_path / "v.txt"}
    found = read_named_segments(tmp_path / "v.txt")
    assert found.labels == ("background", "pour milk", "cut")
    assert found.durations.tolist() == [30, 100, 77]
    assert found.confidences is None


def test_a_bare_transcript_is_no_timeline(tmp_path: Path) -> None:
    bare = Prediction(np.array([1, 2]), None, np.array([]), None, CLASSES)
    write_prediction(tmp_path, "v", bare, ["json", "csv"])
    with pytest.raises(LabelError, match=r"v\.json: holds no segments.*--durations"):
        read_segments(tmp_path / "v.json")
    with pytest.raises(CorruptFileError, match=r"v\.csv, line 2: start is missing.*--durations"):
        read_segments(tmp_path / "v.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 1}, "segment 1 covers frames 1 to 30, the one before ends at 0"),
        ({"end": 0}, "segment 1 covers frames 0 to 0"),
        ({"end": 10**10}, "segments.0.end is 10000000000, above 1000000000"),
        ({"end": "30"}, "segments.0.end is '30', not a whole number"),
        ({"label": 3}, "segments.0.label is 3, not text"),
        ({"label": "x" * 2000}, "longer than 1000 characters"),
        ({"confidence": 1.5}, "segments.0.confidence is 1.5, above 1"),
    ],
)
def test_broken_segments_are_one_sentence(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    write_prediction(tmp_path, "v", prediction(), ["json"])
    values = json.loads((tmp_path / "v.json").read_text())
    values["segments"][0] |= change
    (tmp_path / "v.json").write_text(json.dumps(values))
    with pytest.raises(CorruptFileError) as caught:
        read_segments(tmp_path / "v.json")
    assert message in str(caught.value)


@settings(max_examples=150)
@given(
    text=st.one_of(
        st.text(max_size=80),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["segments", "label", "start", "end", "frames_per_second"]),
                    inner,
                )
            ),
        ).map(json.dumps),
    ),
    suffix=st.sampled_from([".json", ".csv", ".txt"]),
)
def test_any_content_is_segments_or_one_sentence(tmp_path_factory, text: str, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzzed{suffix}"
    path.write_text(text, "utf-8", errors="replace")
    with suppress(UvastError):
        found = read_named_segments(path)
        assert len(found.labels) == len(found.durations) > 0
