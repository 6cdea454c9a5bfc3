import math
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.data import (
    Annotation,
    Dataset,
    DatasetSpec,
    Timestamps,
    annotate,
    read_timestamps,
    write_timestamps,
)
from uvast.data.timestamps import resolve_timestamps
from uvast.errors import DataError, MissingFileError, TimestampError
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

VOCABULARY = Vocabulary(("a", "b", "SIL"))
SHAPE = '; write timestamps as in {"video": [{"frame": 12, "label": "a"}]}'
LINES = "; begin with a row 'video,frame,label' or 'video,time,label', then one row per click"


def _resolve(
    *annotations: Annotation, n_frames: int = 20, truth: str | None = None, **spec: object
) -> Timestamps:
    def labels() -> np.ndarray:
        if truth is None:
            raise MissingFileError("does not exist")
        return VOCABULARY.encode(list(truth))

    (found,) = resolve_timestamps(
        "v1",
        annotations,
        spec=DatasetSpec(**spec),
        sampling_rate=DatasetSpec(**spec).sampling_rate,
        vocabulary=VOCABULARY,
        source_frames=n_frames,
        source_labels=labels,
        where=Path("t.json"),
    )
    return found


def _frames(*frames: int, label: str | None = "a") -> list[Annotation]:
    return [Annotation(frame=frame, label=label) for frame in frames]


labels = st.none() | st.text("aäß ,\"'\n;", min_size=1).filter(lambda text: text == text.strip())
by_frame = st.builds(Annotation, frame=st.integers(0, 10**6), label=labels)
by_time = st.builds(
    Annotation, time=st.floats(0, 1e6, allow_nan=False), label=labels.filter(lambda x: x != "")
)


names = st.text("vw_-é", min_size=1)


def _ordered(annotations: list[Annotation]) -> list[Annotation]:
    return sorted(annotations, key=lambda entry: (entry.frame or 0, entry.time or 0.0))


@settings(max_examples=30)
@given(st.dictionaries(names, st.lists(by_frame | by_time)))
def test_json_round_trip(tmp_path_factory: pytest.TempPathFactory, table: dict) -> None:
    path = tmp_path_factory.getbasetemp() / "round.json"
    write_timestamps(path, table)
    assert read_timestamps(path) == {name: tuple(entries) for name, entries in table.items()}


@settings(max_examples=30)
@given(
    st.dictionaries(names, st.lists(by_frame, min_size=1).map(_ordered))
    | st.dictionaries(names, st.lists(by_time, min_size=1).map(_ordered))
)
def test_csv_round_trip(tmp_path_factory: pytest.TempPathFactory, table: dict) -> None:
    path = tmp_path_factory.getbasetemp() / "round.csv"
    write_timestamps(path, table)
    assert read_timestamps(path) == {name: tuple(entries) for name, entries in table.items()}


def test_files_are_made_for_a_reader(tmp_path: Path) -> None:
    table = {"v1": [Annotation(frame=3, label="pour")], "v2": []}
    write_timestamps(tmp_path / "t.json", table)
    assert (tmp_path / "t.json").read_text() == (
        '{\n  "v1": [\n    {"frame": 3, "label": "pour"}\n  ],\n  "v2": []\n}\n'
    )
    write_timestamps(tmp_path / "t.csv", table)
    assert (tmp_path / "t.csv").read_text() == "video,frame,label\nv1,3,pour\n"


def test_files_by_hand(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfvideo, time, label\r\nv1.txt, 0.5 , a\r\n\r\n")
    assert read_timestamps(tmp_path / "t.csv") == {"v1": (Annotation(time=0.5, label="a"),)}
    (tmp_path / "t.csv").write_text("video;time;label\nv1;0,5;a\n")
    assert read_timestamps(tmp_path / "t.csv") == {"v1": (Annotation(time=0.5, label="a"),)}
    (tmp_path / "t.json").write_text('{"v1.txt": [{"frame": 3}]}')
    assert read_timestamps(tmp_path / "t.json") == {"v1": (Annotation(frame=3),)}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "t.txt",
            "",
            ": is not a known kind of timestamps file; use .json, .csv, .tsv, .xlsx or .npy",
        ),
        (
            "t.json",
            "{",
            ": is not valid JSON (line 1: Expecting property name enclosed in double quotes); "
            "restore it or write it again",
        ),
        ("t.json", "[]", f": is not a JSON object of videos{SHAPE}"),
        ("t.json", '{"v": 3}', f", video v: has no list of timestamps{SHAPE}"),
        ("t.json", '{"v": [3]}', f", video v: timestamp is 3, not a table of values{SHAPE}"),
        ("t.json", '{"v": [{}]}', f", video v: {{}} needs either a frame or a time{SHAPE}"),
        (
            "t.json",
            '{"v": [{"frame": 1, "time": 2}]}',
            f', video v: {{"frame": 1, "time": 2}} needs either a frame or a time{SHAPE}',
        ),
        (
            "t.json",
            '{"v": [{"frame": true}]}',
            f", video v: timestamp.frame is True, not a whole number{SHAPE}",
        ),
        (
            "t.csv",
            "v,1,a\n",
            f": begins with the columns 'v, 1, a'{LINES}",
        ),
        (
            "t.csv",
            'video,frame,label\n"v,1',
            f": is not a valid table (unexpected end of data){LINES}",
        ),
        ("t.csv", "", f": is empty{LINES}"),
        (
            "t.json",
            f'{{"v": [{{"frame": {"9" * 5000}}}]}}',
            ": has a number with 5000 digits; restore it or write it again",
        ),
        (
            "t.json",
            '{"v": [{"frame": 1}], "v": [{"frame": 2}]}',
            ": key 'v' appears more than once; restore it or write it again",
        ),
        (
            "t.json",
            '{"v.txt": [{"frame": 1}], "v": [{"frame": 2}]}',
            ": names video v twice, with and without .txt; write its timestamps in one list",
        ),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(TimestampError) as caught:
        read_timestamps(path)
    assert str(caught.value) == f"{path}{sentence}"


def test_a_lenient_reader_leaves_faulty_videos_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("video,frame,label\nv,x,a\nw,1,a\nv,2,a\nu,y,a\n")
    faults: list[Exception] = []
    assert list(read_timestamps(tmp_path / "t.csv", faults.append)) == ["w"]
    assert len(faults) == 2


def test_what_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    with pytest.raises(TimestampError) as caught:
        write_timestamps(path, {})
    assert str(caught.value) == (
        f"{path}: is not a kind of timestamps file that can be written; use .json or .csv"
    )
    path = tmp_path / "t.csv"
    with pytest.raises(TimestampError) as caught:
        write_timestamps(path, {"v": [Annotation(frame=1), Annotation(time=1.0)]})
    assert str(caught.value) == f"{path}: frames and times cannot share one CSV file; write .json"


def test_several_in_a_segment_missing_segments_and_gaps_are_kept_as_given() -> None:
    # truth: aaaaa SIL SIL bbbbb aaaaa; the first run has three, the gap and the last run none
    found = _resolve(*_frames(0, 2, 4), Annotation(frame=9, label="b"))
    np.testing.assert_array_equal(found.frames, [0, 2, 4, 9])
    np.testing.assert_array_equal(found.transcript, [0, 0, 0, 1])
    assert len(found) == 4


def test_labels_come_from_the_ground_truth_where_a_file_has_none() -> None:
    found = _resolve(Annotation(frame=1), Annotation(frame=3, label="a"), truth="aabb", n_frames=4)
    np.testing.assert_array_equal(found.transcript, [0, 0])


def test_times_become_frames() -> None:
    entries = [Annotation(time=time, label="a") for time in (0, 0.1, 0.2999, 0.6)]
    found = _resolve(*entries, frames_per_second=30)
    np.testing.assert_array_equal(found.frames, [0, 3, 8, 18])


def test_rates() -> None:
    source = _resolve(*_frames(0, 3, 8), sampling_rate=2)
    np.testing.assert_array_equal(source.frames, [0, 1, 4])
    sampled = _resolve(*_frames(0, 3, 8), sampling_rate=2, timestamps_rate="sampled")
    np.testing.assert_array_equal(sampled.frames, [0, 3, 8])
    entries = (Annotation(frame=1), Annotation(frame=2))
    found = _resolve(*entries, truth="aabbaa", sampling_rate=2, timestamps_rate="sampled")
    np.testing.assert_array_equal(found.transcript, [1, 0])


@given(st.integers(2, 9), st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(1, 12))
def test_clicks_that_are_far_enough_apart_have_frames_of_their_own(
    rate: int, extra: list[int], rest: int
) -> None:
    clicks = np.cumsum([extra[0], *(rate + gap for gap in extra[1:])])
    entries = [
        Annotation(frame=int(frame), label="ab"[place % 2]) for place, frame in enumerate(clicks)
    ]
    found = _resolve(*entries, n_frames=int(clicks[-1]) + rest, sampling_rate=rate)
    assert len(found) == len(clicks)
    assert (abs(found.frames * rate - clicks) < rate).all()


def test_a_click_goes_to_the_nearest_frame_that_the_model_sees() -> None:
    alone = _resolve(*_frames(3), n_frames=8, sampling_rate=4)
    np.testing.assert_array_equal(alone.frames, [1])
    both = _resolve(*_frames(3), *_frames(7, label="b"), n_frames=8, sampling_rate=4)
    np.testing.assert_array_equal(both.frames, [0, 1])


@given(st.lists(st.integers(0, 39), min_size=1, max_size=8, unique=True), st.data())
def test_clicks_stay_in_order_at_every_rate(clicks: list[int], data: st.DataObject) -> None:
    rate = data.draw(st.integers(1, 9))
    entries = [
        Annotation(frame=frame, label=data.draw(st.sampled_from("ab"))) for frame in sorted(clicks)
    ]
    try:
        found = _resolve(*entries, n_frames=40, sampling_rate=rate)
    except TimestampError:  # different labels on one frame
        return
    assert (np.diff(found.frames) > 0).all()
    kept = [label for label, _ in groupby(one.label for one in entries)]
    assert [label for label, _ in groupby(VOCABULARY.decode(found.transcript.tolist()))] == kept


def test_a_click_that_steps_back_takes_those_before_it_along() -> None:
    found = _resolve(*_frames(4, 5), *_frames(7, label="b"), n_frames=14, sampling_rate=7)
    np.testing.assert_array_equal(found.frames, [0, 1])
    np.testing.assert_array_equal(found.transcript, [0, 1])
    with pytest.raises(TimestampError, match="timestamps 4 and 5 have different labels"):
        _resolve(*_frames(4), *_frames(5, label="b"), *_frames(7), n_frames=14, sampling_rate=7)


def test_two_on_one_frame_of_the_models_rate() -> None:
    once = _resolve(*_frames(2, 3, 8), sampling_rate=2)
    np.testing.assert_array_equal(once.frames, [1, 4])
    with pytest.raises(TimestampError) as caught:
        _resolve(*_frames(2), *_frames(3, label="b"), sampling_rate=2)
    assert str(caught.value) == (
        "t.json, video v1: timestamps 2 and 3 have different labels but fall on the same frame at "
        "sampling rate 2; remove one of them or choose a lower sampling rate"
    )


@pytest.mark.parametrize(
    ("annotations", "sentence"),
    [
        ([], "no timestamps; annotate at least one frame"),
        (_frames(5, 3), "timestamp 3 comes after 5; order the timestamps, one frame each"),
        (_frames(5, 5), "timestamp 5 comes after 5; order the timestamps, one frame each"),
        (
            _frames(5, 20),
            "timestamp 20 is outside of the video's 20 frames; timestamps count frames from 0",
        ),
        (
            _frames(-1, 5),
            "timestamp -1 is outside of the video's 20 frames; timestamps count frames from 0",
        ),
        (
            _frames(10**30),
            "timestamp 1.00e+30 is not a frame of any video; timestamps count frames from 0",
        ),
        (
            [Annotation(time=1.0, label="a")],
            "gives a time in seconds, but the frame rate is unknown; "
            "set frames_per_second in dataset.toml",
        ),
        (
            [Annotation(time=math.inf, label="a")],
            "time Infinity is not a time; give seconds from the start",
        ),
        (
            _frames(3, label="x"),
            "unknown label 'x'; "
            "correct it or add it to a mapping.txt of all classes (known: a, b, SIL)",
        ),
        (
            _frames(3, label=None),
            "has timestamps without labels, and no ground truth to take them from; "
            "add labels to the timestamps",
        ),
    ],
)
def test_faulty_timestamps_name_the_video(annotations: list[Annotation], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        _resolve(*annotations)
    assert str(caught.value) == f"t.json, video v1: {sentence}"


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (Annotation(time=1e308), "time 1.00e+308 is not a time; give seconds from the start"),
        (Annotation(time=-(10**400)), "time -1.00e+400 is not a time; give seconds from the start"),
        (Annotation(time=math.nan), "time NaN is not a time; give seconds from the start"),
        (
            Annotation(time=1e14),
            "timestamp 3.00e+15 is not a frame of any video; timestamps count frames from 0",
        ),
        (
            Annotation(frame=10**5000),
            "timestamp 1.00e+5000 is not a frame of any video; timestamps count frames from 0",
        ),
    ],
)
def test_numbers_of_any_size_are_one_sentence(entry: Annotation, sentence: str) -> None:
    with pytest.raises(TimestampError) as caught:
        _resolve(entry, frames_per_second=30.0)
    assert str(caught.value) == f"t.json, video v1: {sentence}"


@pytest.mark.parametrize("timestamps_rate", ["source", "sampled"])
def test_times_are_finer_than_sub_sampled_frames(timestamps_rate: str) -> None:
    def at(*times: float) -> Timestamps:
        clicks = [Annotation(time=time, label="a") for time in times]
        rates = {"sampling_rate": 2, "timestamps_rate": timestamps_rate}
        return _resolve(*clicks, n_frames=7, frames_per_second=10, **rates)

    np.testing.assert_array_equal(at(0.0, 0.4, 0.5).frames, [0, 2])
    with pytest.raises(TimestampError, match=r"time 0.4 s \(frame 4\) comes after time 0.4 s"):
        at(0.4, 0.4)
    with pytest.raises(TimestampError, match=r"time 0.7 s \(frame 7\) is outside of .* 7 frames"):
        at(0.7)


def test_annotate_is_the_way_back() -> None:
    found = _resolve(*_frames(0, 4, 9), *_frames(12, label="b"), sampling_rate=2)
    annotations = annotate(found, VOCABULARY, sampling_rate=2)
    assert [entry.frame for entry in annotations] == [0, 4, 8, 12]
    assert _resolve(*annotations, sampling_rate=2) == found


def test_equal_timestamps_are_equal_and_hash_alike() -> None:
    first, second = (Timestamps(np.array([1, 2]), np.array([0, 1])) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != Timestamps(np.array([1, 3]), np.array([0, 1]))
    assert first != "timestamps"


def test_a_generated_dataset_has_one_timestamp_a_segment(generated: Path) -> None:
    dataset = Dataset.open(generated)
    timestamps = dataset.timestamps()
    assert tuple(timestamps) == dataset.names
    for name, found in timestamps.items():
        truth = Segmentation.from_labels(dataset.source_labels(name))
        np.testing.assert_array_equal(truth.segment_of_frame[found.frames], np.arange(len(truth)))
        np.testing.assert_array_equal(found.transcript, truth.transcript)


def test_timestamps_of_a_video_that_is_not_there(generated_copy: Path) -> None:
    path = generated_copy / "timestamps.json"
    path.write_text('{"nobody": [{"frame": 1, "label": "take"}]}')
    with pytest.raises(TimestampError) as caught:
        Dataset.open(generated_copy).timestamps()
    assert str(caught.value) == (
        f"{path}: names video nobody, which does not exist; add its files or remove its timestamps"
    )


def test_labelled_timestamps_never_open_a_label_file(generated_copy: Path) -> None:
    expected = Dataset.open(generated_copy).timestamps()
    for path in (generated_copy / "groundTruth").iterdir():
        path.unlink()
    assert Dataset.open(generated_copy).timestamps() == expected


def test_no_timestamps(make_dataset) -> None:
    path = make_dataset({"v": "aab"})
    with pytest.raises(MissingFileError) as caught:
        Dataset.open(path).timestamps()
    assert str(caught.value) == (
        f"{path}: has no timestamps; add timestamps.json or timestamps.csv"
    )
