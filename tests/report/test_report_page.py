"""The page as a parser reads it: complete, self-contained, and deaf to evil names."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import numpy as np
from page_reader import PageReader
from planted_report import CLASSES, EVIL, EVIL_VIDEO, PREDICTIONS, TRUTHS, tracks

from uvast.report import Report, write_page
from uvast.report.compare import compare
from uvast.report.content import SCORE_NAMES, Chart
from uvast.report.errors_section import errors_section
from uvast.report.fragments import chart
from uvast.report.page import page
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary


def test_errors_are_counted_for_each_decoding(planted: Report) -> None:
    assert planted.comparison is not None
    section = errors_section(planted.comparison, CLASSES)
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', section)
    counts = {name: list(map(int, re.findall(r">(\d+)</td>", cells))) for name, cells in rows}
    assert counts == {"frames": [4, 4, 1, 0, 2, 0], "viterbi &lt;b&gt;": [4, 3, 0, 1, 0, 0]}
    assert EVIL not in section


def test_every_section_is_there_once_and_linked(planted: Report) -> None:
    found = PageReader(page(planted))
    sections = [one["id"] for one in found.tags("section")]
    assert sections == [
        "scores",
        "videos",
        "times",
        "errors",
        "classes",
        "confusion",
        "reliability",
        "attention",
        "pseudo-labels",
        "training",
        "configuration",
    ]
    links = [one["href"] for one in found.tags("a")]
    assert links == ["#content", *(f"#{key}" for key in sections)]
    assert len(found.ids) == len(set(found.ids))
    referred = [one["aria-labelledby"] for one in found.tags("section")]
    assert set(referred) <= set(found.ids)
    assert len(found.tags("svg")) == 3
    assert all(one.get("aria-label") for one in found.tags("svg"))


def test_names_are_text_and_never_elements(planted: Report) -> None:
    text = page(planted)
    found = PageReader(text)
    assert len(found.tags("script")) == 2
    assert not found.tags("img")
    assert not found.tags("i")
    assert EVIL not in text
    assert 'onerror="' not in text
    assert found.texts["h1"] == [EVIL]
    assert found.data["classes"][1]["name"] == EVIL
    assert [video["name"] for video in found.data["comparison"]["videos"]] == [EVIL_VIDEO, "good"]


def test_nothing_is_loaded_from_elsewhere(planted: Report) -> None:
    text = page(planted)
    found = PageReader(text)
    assert not [one for _, one in found.elements if "src" in one]
    assert not found.tags("link")
    assert not re.search(r"https?://|@import|url\(", text)
    policy = next(
        one["content"] or ""
        for one in found.tags("meta")
        if one.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_segmentations_survive_their_packing(planted: Report) -> None:
    data = PageReader(page(planted)).data
    for video in data["comparison"]["videos"]:
        name = video["name"]
        expected = [TRUTHS[name], *(found[name] for found in PREDICTIONS.values())]
        unpacked = [
            Segmentation(np.array(track[::2]), np.array(track[1::2]))
            for track in (video["truth"], *video["tracks"])
        ]
        assert unpacked == expected
        assert video["frames"] == expected[0].n_frames
    evil, good = data["comparison"]["videos"]
    assert (evil["sure"], good["sure"]) == ([[], [25, 75]], [[], [100, 50]])
    assert good["inTraining"] is True
    assert "inTraining" not in evil
    assert data["pseudoLabels"]["videos"][0]["clicks"] == [0, 5, 1, 20, 2, 60, 0, 90]
    assert "clicks" not in data["pseudoLabels"]["videos"][1]
    (one,) = data["attention"]["maps"]
    levels = np.frombuffer(base64.b64decode(one["levels"]), np.uint8).reshape(4, one["columns"])
    assert levels.argmax(0).tolist() == TRUTHS[EVIL_VIDEO].segment_of_frame.tolist()


def test_scores_classes_and_order_are_in_the_data(planted: Report) -> None:
    data = PageReader(page(planted)).data
    comparison = data["comparison"]
    assert data["scoreNames"] == list(SCORE_NAMES)
    assert comparison["main"] == 1
    assert [one["name"] for one in comparison["decodings"]] == list(PREDICTIONS)
    assert comparison["decodings"][0]["order"] == [0, 1]  # the perfect video is last
    assert comparison["videos"][1]["scores"] == [[100.0] * 5] * 2
    assert [row[0] for row in comparison["scores"][0]["classes"]] == [1, 2, 3]
    assert comparison["scores"][1]["confusion"][1][0] == 30
    assert comparison["scores"][1]["classes"][2][1:4] == [100.0, 100.0, 100.0]


def test_without_truth_there_are_timelines_and_times_alone(unscored: Report) -> None:
    found = PageReader(page(unscored))
    assert [one["id"] for one in found.tags("section")] == ["videos", "times"]
    for video in found.data["comparison"]["videos"]:
        assert not {"truth", "scores"} & set(video)
    assert found.data["comparison"]["scores"] == []


def test_the_best_of_each_column_is_bold(benchmark_report: Report) -> None:
    assert PageReader(page(benchmark_report)).texts["strong"] == [
        *("90.0", "85.0", "70.0", "75.0", "82.0")
    ]
    alone = compare({"one": tracks(PREDICTIONS["frames"])}, TRUTHS, CLASSES)
    text = page(Report("t", {}, vocabulary=CLASSES, comparison=alone))
    assert "strong" not in PageReader(text).texts


def test_a_benchmark_is_a_table(benchmark_report: Report) -> None:
    found = PageReader(page(benchmark_report))
    assert [one["id"] for one in found.tags("section")] == ["benchmark"]
    assert found.texts["td"].count("–") == 4
    assert " ± 1.2" in found.texts["td"]
    assert EVIL in found.texts["td"]


def test_thousands_of_videos_stay_small(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    classes = Vocabulary(tuple(f"class {i}" for i in range(48)))

    def drawn(n_segments: int) -> Segmentation:
        transcript = np.cumsum(generator.integers(1, 48, n_segments)) % 48
        ends = np.sort(generator.choice(np.arange(1, 2100), n_segments - 1, replace=False))
        return Segmentation(transcript, np.diff(ends, prepend=0, append=2100))

    names = [f"P{i:02d}_cam01_{i:04d}" for i in range(1712)]
    truths = {name: drawn(7) for name in names}
    decodings = {"frames": {name: drawn(100) for name in names}}
    decodings["viterbi"] = {name: drawn(8) for name in names}
    compared = compare({d: tracks(found) for d, found in decodings.items()}, truths, classes)
    write_page(
        Report("Breakfast", {}, vocabulary=classes, comparison=compared), tmp_path / "r.html"
    )
    assert (tmp_path / "r.html").stat().st_size < 3_000_000


def test_a_single_epoch_is_a_dot_with_one_label_an_axis() -> None:
    text = chart(Chart("Stage 1: loss", (1.0,), {"loss": (3.5,)}))
    assert "<polyline" not in text
    assert text.count("<circle") == 1
    assert re.findall(r"<text[^>]*>([^<]*)</text>", text) == ["3.5", "epoch 1"]
    longer = chart(Chart("Stage 1: loss", (1.0, 2.0), {"loss": (3.5, 2.5)}))
    assert "<circle" not in longer
    assert re.findall(r"<text[^>]*>([^<]*)</text>", longer) == ["3.5", "2.5", "epoch 1", "2"]


def test_curves_of_other_members_are_thin_and_within_the_axes():
    others = (
        Chart("", (1.0, 2.0, 3.0), {"loss": (9.5, 2.5, 1.5)}),
        Chart("", (1.0,), {"loss": (4.0,)}),
    )
    text = chart(Chart("Stage 1: loss", (1.0, 2.0), {"loss": (3.5, 2.5)}, others))
    assert text.count('<polyline class="curve-0 thin"') == 1
    assert text.count('<circle class="curve-0 thin"') == 1
    assert text.count('<polyline class="curve-0"') == 1
    assert ">9.5<" in text
    assert ">1.5<" in text
    assert ">3<" in text, "the longest member's last epoch"
    assert "(thin: the 2 other members)" in text


def test_unlabelled_frames_are_a_lane_of_their_own() -> None:
    truth = Segmentation([1, -1, 2], [20, 50, 30])
    found = Segmentation([1, 0, 2], [25, 45, 30])
    made = compare({"frames": tracks({"v": found})}, {"v": truth}, CLASSES)
    read = PageReader(page(Report("t", {}, vocabulary=CLASSES, comparison=made))).data
    assert read["comparison"]["videos"][0]["truth"] == [1, 20, -1, 50, 2, 30]
    assert made.scores[0].acc == 100  # the frames between are not looked at
    assert made.scores[0].confusion is not None
    assert made.scores[0].confusion.sum() == 50
