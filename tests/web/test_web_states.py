"""Deltas lead where the whole state is; who has it already gets nothing."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from web_project import N_FRAMES, Client, opened, write_features

from uvast.exchange import Event, VideoAnnotations
from uvast.projects import Project
from uvast.web.documents import Document, Edit, ItemEdit
from uvast.web.items import Arranged, Item
from uvast.web.rules import check

State = dict[str, Any]


def click(start: float, label: str = "reach") -> dict[str, object]:
    return {"do": "add", "kind": "click", "label": label, "start": start}


def advanced(state: State, deltas: list[State]) -> State:
    """As `deltas.js` does."""
    state = copy.deepcopy(state)
    for delta in deltas:
        assert delta["from"] == state["stamp"]
        gone = {*delta["gone"], *(one["id"] for one in delta["set"])}
        events = [one for one in state["events"] if one["id"] not in gone] + delta["set"]
        state["events"] = sorted(events, key=lambda one: (one["start"], one["end"] or one["start"]))
        if "pseudo" in delta:
            at, n_gone = delta["pseudo"]["at"], delta["pseudo"]["gone"]
            state["pseudo"][at : at + n_gone] = delta["pseudo"]["new"]
        state |= {**delta["about"], "stamp": delta["stamp"]}
    return state


def heard(client: Client) -> list[State]:
    """What listeners are told, from now on."""
    told: list[State] = []
    client.app.news.tell = lambda item: told.append(json.loads(item))  # type: ignore[method-assign]
    return told


def test_deltas_lead_to_the_whole_state(client: Client) -> None:
    mine = client.video("cup")
    client.get("/api/project")
    listener, told = copy.deepcopy(mine), heard(client)
    steps: list[list[dict[str, object]]] = [
        [click(1.0), click(4.0, "pour")],
        [{"do": "move", "id": "e1", "start": 2.0}],
        [{"do": "add", "kind": "segment", "label": "x", "start": 4.5, "end": 5.0}],
        [{"do": "split", "id": "e3", "at": 4.7}, {"do": "delete", "id": "e2"}],
        [{"do": "observed", "spans": None}, {"do": "reviewed", "value": True}],
        [{"do": "reviewed", "value": True}],
        [{"do": "clear"}],
    ]
    ids = [["e1", "e2"], [], ["e3"], ["e4"], [], [], []]
    for changes, given_ids in zip(steps, ids, strict=True):
        answer = client.change("cup", *changes, stamp=mine["stamp"]).json()
        assert "video" not in answer
        assert answer["ids"] == given_ids
        mine = advanced(mine, answer["deltas"])
        assert mine == client.video("cup")
    listener = advanced(listener, [one["delta"] for one in told if "delta" in one])
    assert listener == mine
    rows = [one["row"] for one in told if "row" in one]
    assert [(row["n_clicks"], row["n_segments"]) for row in rows[:4]] == [
        (2, 0), (2, 0), (2, 1), (1, 2),
    ]  # fmt: skip


def test_who_lags_behind_gets_every_step_or_the_whole(client: Client) -> None:
    first = client.video("cup")
    for number in range(5):
        client.change("cup", click(0.5 + number))
    since = client.get(f"/api/videos/cup?since={first['stamp']}").json()
    assert len(since["deltas"]) == 5
    now = advanced(first, since["deltas"])
    assert client.get(f"/api/videos/cup?since={now['stamp']}").json() == {"deltas": []}
    assert client.get("/api/videos/cup?since=7").json() == now
    conflict = client.change(
        "cup", {"do": "delete", "id": "e1"}, author="ben", version=0, stamp=first["stamp"]
    )
    assert conflict.status_code == 409
    assert advanced(first, conflict.json()["deltas"]) == now


def test_undo_and_other_programs_are_told_step_by_step(client: Client, project: Project) -> None:
    state = client.video("cup")
    client.change("cup", click(1.0))
    client.app.store.save()
    client.post("/api/undo", {"author": "anna"})
    client.app.store.save()
    project.write_annotations(VideoAnnotations("cup", (Event("drink", 2.0),)))
    answer = client.get(f"/api/videos/cup?since={state['stamp']}").json()
    assert advanced(state, answer["deltas"]) == client.video("cup")
    assert len(answer["deltas"]) == 3


def predict(project: Project, label: str, number: int) -> None:
    """A prediction of cup, which differs from others of another number."""
    path = project.path / "predictions" / "cup.json"
    path.parent.mkdir(exist_ok=True)
    segment = {"label": label, "start": 0, "end": 60}
    path.write_text(json.dumps({"segments": [segment], "frames_per_second": 10.0}))
    os.utime(path, ns=(number, number))


def test_a_new_prediction_is_told_as_a_whole(client: Client, project: Project) -> None:
    state, told = client.video("cup"), heard(client)
    predict(project, "reach", 1)
    client.app.states.refresh()
    assert ["delta" in one for one in told] == [False]
    assert told[0]["stamp"] > state["stamp"]
    whole = client.get(f"/api/videos/cup?since={state['stamp']}").json()
    assert whole["prediction"]["segments"][0]["end"] == 6.0


@pytest.mark.parametrize("change", ["accept", "clicks_from"])
def test_only_the_prediction_that_is_shown_is_accepted(
    client: Client, project: Project, change: str
) -> None:
    def accept(stamp: object) -> Any:
        return client.change("cup", {"do": change, "from": "prediction"}, stamp=stamp)

    predict(project, "reach", 1)
    stamp = client.video("cup")["stamp"]
    predict(project, "pour", 2)
    for told in (False, True):
        if told:
            client.app.states.refresh()
        refused = accept(stamp)
        assert refused.status_code == 409
        assert refused.json()["error"] == ("cup: the model's segments are new; look at them first")
        assert client.video("cup")["events"] == []
    shown = refused.json()["video"]
    assert shown["prediction"]["segments"][0]["label"] == "pour"
    client.change("cup", {"do": "observed", "spans": [[0, 1]]})  # leads on from what is shown
    assert accept(shown["stamp"]).status_code == 200
    assert [one["label"] for one in client.video("cup")["events"]] == ["pour"]


def test_after_a_restart_a_prediction_is_accepted_at_the_second_try(
    client: Client, project: Project, static: Path
) -> None:
    predict(project, "reach", 1)
    stamp = client.video("cup")["stamp"]
    accept = {"do": "accept", "from": "prediction"}
    client.app.end()
    with opened(project, static) as again:
        refused = again.change("cup", accept, stamp=stamp)
        assert refused.status_code == 409
        answer = again.change("cup", accept, stamp=refused.json()["video"]["stamp"])
        assert answer.status_code == 200


def test_what_the_client_has_is_not_sent_again(client: Client) -> None:
    for path in ("/api/videos/cup", "/api/project"):
        first = client.get(path)
        mark = {"if-none-match": first.headers["etag"]}
        again = client.get(path, headers=mark)
        assert (again.status_code, again.content) == (304, b"")
        assert first.headers["cache-control"] == "private, no-cache"
        client.change("cup", click(1.0 if "videos" in path else 2.0))
        assert client.get(path, headers=mark).status_code == 200


def test_a_video_with_a_fault_says_so_and_the_list_comes(client: Client, project: Project) -> None:
    write_features(project, "cup", np.zeros((N_FRAMES, 4)))
    project.features_path("cup").with_suffix(".json").write_text("{")
    video = project.path / "videos.json"
    video.write_text(video.read_text().replace('"seconds": 6.0', '"seconds": 0.0'))
    client.app.overview.refresh()
    rows = {one["name"]: one for one in client.get("/api/project").json()["videos"]}
    assert "cup.json" in rows["cup"]["error"]
    assert rows["tea"]["error"] is None
    assert client.get("/api/videos/cup").status_code == 422
    assert client.get("/api/videos/tea").status_code == 200


times = st.integers(0, 60).map(lambda tenth: tenth / 10)
events = st.one_of(
    st.builds(lambda start: Event("click", start), times),
    st.builds(
        lambda start, length, tier: Event("segment", start, start + length, tier=tier),
        times,
        st.integers(1, 40).map(lambda tenth: tenth / 10),
        st.sampled_from(["", "other"]),
    ),
)


def breaks_the_rules(document: Document, moved: frozenset[str]) -> bool:
    """By a look at all pairs."""
    items = document.items.values()
    for one in (one for one in items if one.id in moved):
        for other in (other.event for other in items if other is not one):
            if one.event.is_point and other.is_point and one.event.start == other.start:
                return True
            both_last = one.event.end is not None and other.end is not None
            same_tier = one.event.tier == other.tier
            apart = one.event.stop <= other.start or other.stop <= one.event.start
            if both_last and same_tier and not apart:
                return True
    return False


@given(st.lists(events, max_size=12), st.data())
def test_looking_near_finds_what_a_look_at_all_finds(before: list[Event], data: Any) -> None:
    items = {f"e{number}": Item(f"e{number}", one) for number, one in enumerate(before, 1)}
    document = Document("cup", items, n_ids=len(items))
    touched = data.draw(st.lists(st.sampled_from([*items, "e90", "e91"]), unique=True))
    edits = [
        ItemEdit(id_, items[id_].event if id_ in items else None, data.draw(events))
        for id_ in touched
    ]
    gone = data.draw(st.lists(st.sampled_from([*items]), unique=True)) if items else []
    edits += [ItemEdit(id_, items[id_].event, None) for id_ in gone if id_ not in touched]
    edit = Edit(tuple(one for one in edits if one.before != one.after))
    after = document.edited(edit, "anna")
    fresh = Arranged.of(after.items.values())
    assert after.arranged.all == fresh.all
    assert (after.clicks, after.segments) == (fresh.clicks, fresh.segments)
    assert after.arranged.n_events == fresh.n_events
    assert after.arranged.longest >= fresh.longest
    if breaks_the_rules(after, edit.moved):
        with pytest.raises(Exception, match=r"same frame|overlap"):
            check(after, edit.moved, None)
    else:
        check(after, edit.moved, None)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    since=st.text(max_size=8) | st.integers(-5, 2**70).map(str),
    mark=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12),
    stamp=st.none() | st.integers(-5, 2**70) | st.text(max_size=5) | st.floats(),
)
@example(since="", mark="", stamp=float("inf"))
def test_bad_stamps_are_never_a_500(client: Client, since: str, mark: str, stamp: object) -> None:
    assert client.get("/api/videos/cup", params={"since": since}).status_code in (200, 422)
    for path in ("/api/project", "/api/videos/cup"):
        assert client.get(path, headers={"if-none-match": mark}).status_code in (200, 304)
    value = {"version": 0, "stamp": stamp, "changes": [{"do": "clear"}]}
    answer = client.send(  # httpx itself would refuse to send Infinity
        "POST",
        "/api/videos/cup/changes",
        content=json.dumps(value).encode(),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code in (200, 400, 422), answer.text
