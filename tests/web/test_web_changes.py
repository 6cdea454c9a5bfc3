"""Changes of a document: planted answers, and what holds whatever people do."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.errors import InputError, UvastError
from uvast.exchange import ConstantRate, Event, Span
from uvast.web.changes import Change
from uvast.web.documents import ConflictError, Document, Edit, from_annotations
from uvast.web.drafts import apply, repeat
from uvast.web.scenes import Scene

CHANGES = pydantic.TypeAdapter(list[Change])
SECONDS = 20.0
RATE = ConstantRate(Fraction(5), 100)
PREDICTION = (Event("reach", 0.0, 8.0), Event("pour", 8.0, 14.0), Event("drink", 14.0, 20.0))
SCENE = Scene(RATE, SECONDS, {"prediction": PREDICTION, "pseudo": ()}.__getitem__)


def made(document: Document, *changes: dict[str, object], author: str = "anna") -> Document:
    return apply(document, CHANGES.validate_python(changes), author, scene=SCENE)[0]


def click(start: float, label: str = "reach") -> dict[str, object]:
    return {"do": "add", "kind": "click", "label": label, "start": start}


def segment(start: float, end: float, label: str = "reach") -> dict[str, object]:
    return {"do": "add", "kind": "segment", "label": label, "start": start, "end": end}


def told(document: Document) -> list[tuple[str, float, float | None]]:
    return [(one.event.label, one.event.start, one.event.end) for one in document.ordered]


EMPTY = Document("clip")


def test_ids_stay_while_events_move() -> None:
    before = made(EMPTY, click(3.0), segment(5.0, 6.0, "pour"))
    after = made(
        before,
        {"do": "move", "id": "e1", "start": 4.0},
        {"do": "relabel", "id": "e2", "label": "  drink \n up "},
    )
    assert told(after) == [("reach", 4.0, None), ("drink up", 5.0, 6.0)]
    assert [one.id for one in after.ordered] == ["e1", "e2"]
    assert after.version == before.version + 1


def test_split_and_merge() -> None:
    parted = made(made(EMPTY, segment(2.0, 6.0)), {"do": "split", "id": "e1", "at": 3.5})
    assert told(parted) == [("reach", 2.0, 3.5), ("reach", 3.5, 6.0)]
    whole = made(parted, {"do": "merge", "ids": ["e2", "e1"]})
    assert told(whole) == [("reach", 2.0, 6.0)]


def test_a_segment_keeps_its_length_when_moved() -> None:
    moved = made(made(EMPTY, segment(2.0, 5.0)), {"do": "move", "id": "e1", "start": 7.0})
    assert told(moved) == [("reach", 7.0, 10.0)]


def test_accepted_predictions_take_the_place_of_segments() -> None:
    before = made(EMPTY, segment(1.0, 19.0, "old"), click(2.0))
    change = {"do": "accept", "from": "prediction", "spans": [[6.0, 10.0]]}
    assert told(made(before, change)) == [
        ("old", 1.0, 6.0),
        ("reach", 2.0, None),
        ("reach", 6.0, 8.0),
        ("pour", 8.0, 10.0),
        ("old", 10.0, 19.0),
    ]


def test_clicks_from_a_prediction_only_where_none_is() -> None:
    after = made(made(EMPTY, click(9.0, "mine")), {"do": "clicks_from", "from": "prediction"})
    assert told(after) == [("reach", 4.0, None), ("mine", 9.0, None), ("drink", 17.0, None)]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ([click(3.01)], "same frame"),
        ([segment(5.5, 7.0)], "would overlap"),
        ([segment(7.0, 7.0)], "end it after its start"),
        ([segment(7.0, 30.0)], "after the end of the video"),
        ([click(25.0)], "after the end of the video"),
        ([{**click(1.0), "end": 2.0}], "a click has one time"),
        ([{"do": "move", "id": "e99", "start": 1.0}], "no event e99"),
        ([{"do": "split", "id": "e1", "at": 3.0}], "is a click, not a segment"),
        ([{"do": "split", "id": "e2", "at": 6.0}], "is not inside"),
        ([{"do": "merge", "ids": ["e2", "e2"]}], "one segment to merge"),
        ([{"do": "accept", "from": "pseudo"}], "has no pseudo-segmentation"),
        ([{"do": "relabel", "id": "e1", "label": "\x00"}], "without a name"),
        ([{"do": "observed", "spans": [[3.0, 2.0]]}], "a span from 3 to 2"),
    ],
)
def test_what_cannot_be_is_one_sentence(changes: list[dict[str, object]], sentence: str) -> None:
    document = made(EMPTY, click(3.0), segment(5.0, 6.0))
    with pytest.raises(UvastError, match=sentence):
        made(document, *changes)


def test_all_changes_or_none() -> None:
    document = made(EMPTY, segment(5.0, 6.0))
    with pytest.raises(InputError):
        made(document, click(1.0), segment(5.5, 7.0))
    # neighbours move together: in between they would overlap
    both = [
        {"do": "move", "id": "e2", "start": 6.0, "end": 7.0},
        {"do": "move", "id": "e1", "start": 4.0, "end": 6.0},
    ]
    tiled = made(document, segment(6.5, 7.0))
    assert told(made(tiled, *both)) == [("reach", 4.0, 6.0), ("reach", 6.0, 7.0)]


def test_what_others_changed_is_a_conflict_but_ones_own_is_not() -> None:
    first = made(EMPTY, click(3.0))
    second = made(first, {"do": "move", "id": "e1", "start": 4.0}, author="ben")
    move = CHANGES.validate_python([{"do": "move", "id": "e1", "start": 5.0}])
    with pytest.raises(ConflictError, match="was changed by ben in the meantime"):
        apply(second, move, "anna", seen=first.version, scene=SCENE)
    assert apply(second, move, "anna", seen=second.version, scene=SCENE)[0]
    assert apply(second, move, "ben", seen=first.version, scene=SCENE)[0]
    gone = made(second, {"do": "delete", "id": "e1"}, author="ben")
    with pytest.raises(ConflictError, match="deleted in the meantime"):
        apply(gone, move, "anna", seen=first.version, scene=SCENE)


def test_what_others_looked_at_is_not_forgotten_unseen() -> None:
    first = made(EMPTY, click(3.0))
    second = made(first, {"do": "observed", "spans": [[0.0, 4.0]]}, author="ben")
    third = made(second, click(9.0), author="ben")
    mine = CHANGES.validate_python([{"do": "observed", "spans": [[6.0, 8.0]]}])
    with pytest.raises(ConflictError, match="looked at was changed by ben in the meantime"):
        apply(third, mine, "anna", seen=first.version, scene=SCENE)
    for author, seen in (("anna", second.version), ("ben", first.version)):
        after = apply(third, mine, author, seen=seen, scene=SCENE).document
        assert after.looked_at == (Span(6.0, 8.0),)
    same = CHANGES.validate_python([{"do": "observed", "spans": [[0.0, 4.0]]}])
    assert apply(third, same, "anna", seen=first.version, scene=SCENE).document is third


def test_clearing_leaves_what_was_not_seen() -> None:
    first = made(EMPTY, click(3.0))
    second = made(first, click(9.0, "pour"), author="ben")
    clear = CHANGES.validate_python([click(5.0), {"do": "clear"}])
    with pytest.raises(ConflictError, match=r"'pour' at .* was changed by ben"):
        apply(second, clear, "anna", seen=first.version, scene=SCENE)
    assert apply(second, clear, "anna", seen=second.version, scene=SCENE).document.items == {}


def test_unlabelled_is_not_background() -> None:
    assert made(EMPTY, click(3.0)).observed is None
    parts = made(EMPTY, segment(2.0, 3.0), segment(3.0, 4.0), segment(8.0, 9.0))
    assert parts.observed == (Span(2.0, 4.0), Span(8.0, 9.0))
    assert made(parts, {"do": "delete", "id": "e3"}).observed == (Span(2.0, 4.0),)
    more = made(parts, {"do": "observed", "spans": [[0.0, 5.0]]})
    assert more.observed == (Span(0.0, 5.0), Span(8.0, 9.0))
    assert made(parts, {"do": "observed", "spans": None}).observed is None


def test_a_file_of_another_program_keeps_the_ids_of_equal_events() -> None:
    document = made(EMPTY, click(3.0), click(5.0, "pour"), segment(8.0, 9.0))
    other = made(document, {"do": "relabel", "id": "e2", "label": "drink"}).annotations
    edit = from_annotations(other, document)
    after = document.edited(edit, "")
    assert after.annotations.events == other.events
    assert {"e1", "e3"} <= after.items.keys()
    assert "e2" not in after.items
    assert not from_annotations(after.annotations, after)


times = st.integers(0, 100).map(lambda frame: frame / 5)
labels = st.sampled_from(["reach", "pour", "drink"])
ids = st.integers(1, 8).map(lambda number: f"e{number}")
spans = st.lists(st.tuples(times, times), max_size=3)
one_change = st.one_of(
    st.builds(click, times, labels),
    st.builds(segment, times, times, labels),
    st.fixed_dictionaries({"do": st.just("move"), "id": ids, "start": times}),
    st.fixed_dictionaries({"do": st.just("move"), "id": ids, "start": times, "end": times}),
    st.fixed_dictionaries({"do": st.just("relabel"), "id": ids, "label": labels}),
    st.fixed_dictionaries({"do": st.just("delete"), "id": ids}),
    st.fixed_dictionaries({"do": st.just("split"), "id": ids, "at": times}),
    st.fixed_dictionaries({"do": st.just("merge"), "ids": st.lists(ids, min_size=2, max_size=3)}),
    st.fixed_dictionaries({"do": st.just("observed"), "spans": st.none() | spans}),
    st.fixed_dictionaries({"do": st.just("reviewed"), "value": st.booleans()}),
    st.fixed_dictionaries(
        {"do": st.just("accept"), "from": st.just("prediction"), "spans": st.none() | spans}
    ),
    st.fixed_dictionaries({"do": st.just("clicks_from"), "from": st.just("prediction")}),
    st.just({"do": "clear"}),
)
steps = st.lists(
    st.tuples(st.sampled_from(["anna", "ben"]), st.lists(one_change, min_size=1, max_size=3)),
    max_size=12,
)


def same(one: Document, other: Document) -> bool:
    mine, theirs = (
        ({id_: item.event for id_, item in doc.items.items()}, doc.looked_at, doc.reviewed)
        for doc in (one, other)
    )
    return mine == theirs


def check_rules(document: Document) -> None:
    frames = RATE.frames_at([one.event.start for one in document.clicks]).tolist()
    assert len(set(frames)) == len(frames)
    for one, other in combinations(document.segments, 2):
        assert one.event.end is not None
        assert one.event.end <= other.event.start or (other.event.end or 0) <= one.event.start
    if document.observed is not None:
        assert all(one.end < other.start for one, other in pairwise(document.observed))


@given(steps)
def test_edits_lead_back_and_rules_hold(
    work: Sequence[tuple[str, list[dict[str, object]]]],
) -> None:
    document = EMPTY
    done: list[tuple[Document, Edit, str]] = []
    for author, changes in work:
        try:
            after, edit, _ = apply(document, CHANGES.validate_python(changes), author, scene=SCENE)
        except UvastError:
            continue
        check_rules(after)
        if edit:
            assert same(after.edited(edit.inverse, author), document)
            assert same(document.edited(edit, author), after)
            done.append((document, edit, author))
        document = after
    for before, edit, author in reversed(done):
        document = document.edited(edit.inverse, author)
        assert same(document, before)
    assert same(document, EMPTY)


@given(steps)
def test_an_undo_amid_the_work_of_others(
    work: Sequence[tuple[str, list[dict[str, object]]]],
) -> None:
    """An undo is a conflict or leaves all that others did, and the rules hold either way."""
    document = EMPTY
    edits: list[tuple[Edit, str]] = []
    for author, changes in work:
        try:
            document, edit, _ = apply(
                document, CHANGES.validate_python(changes), author, scene=SCENE
            )
        except UvastError:
            continue
        edits.append((edit, author))
    for edit, author in edits:
        touched = {one.id for one in edit.items}
        try:
            undone = repeat(document, edit.inverse, author, RATE)
        except ConflictError:
            continue
        others = {id_: item for id_, item in document.items.items() if id_ not in touched}
        check_rules(undone)
        assert {k: v for k, v in undone.items.items() if k not in touched} == others
