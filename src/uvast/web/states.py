"""Each video as the page sees it, and how the page gets from one state to the next.

A state has a stamp, and stamps only grow. A delta leads from one state to the next: a client at
its start applies it, a client further on has it already, and any other client asks for the whole
state. States and deltas are made once for all clients.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from uvast.web.views import about, prediction_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uvast.exchange import Event
    from uvast.web.app import App
    from uvast.web.documents import Document
    from uvast.web.predictions import PredictionFile
    from uvast.web.pseudo import Pseudo

N_KEPT = 64
"""Videos whose states are kept; any other video is sent whole."""

N_DELTAS = 100
"""Steps that a client may lag behind."""


@dataclass(frozen=True)
class State:
    """A video as it is shown.

    Args:
        stamp: unique among all states of this and earlier servers.
        document: what people said.
        pseudo: the segments that their clicks led to.
        prediction: what a model said.
        about: everything else.
    """

    stamp: int
    document: Document
    pseudo: Pseudo
    prediction: PredictionFile | None
    about: Mapping[str, object]

    @cached_property
    def json(self) -> bytes:
        """The whole state."""
        rest = {
            "stamp": self.stamp,
            **self.about,
            "pseudo": [_segment(one) for one in self.pseudo.segments],
            "prediction": None if self.prediction is None else prediction_view(self.prediction),
        }
        return _object(_list("events", [one.json for one in self.document.ordered]), rest)

    def is_like(self, other: State) -> bool:
        """Whether both show the same."""
        same = self.document is other.document and self.prediction is other.prediction
        return same and self.pseudo == other.pseudo and self.about == other.about


class Delta(NamedTuple):
    """The step from one stamp to the next, as JSON."""

    before: int
    json: bytes


@dataclass
class _Kept:
    """The last state of a video, and the deltas that led there.

    Args:
        lock: held while the state is brought up to date.
        state: the last one; None at first.
        predicted: the stamp of the first state that shows the current prediction.
        deltas: newest last.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: State | None = None
    predicted: int = 0
    deltas: deque[Delta] = field(default_factory=lambda: deque(maxlen=N_DELTAS))


class States:
    """The states of the videos that somebody looks at.

    Args:
        app: the project.
        tell: called with every new state except the first, and the delta that leads to it; None
            if clients have to ask for the whole state.
    """

    def __init__(self, app: App, tell: Callable[[State, Delta | None], None]) -> None:
        self._app = app
        self._tell = tell
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._stamps = itertools.count(time.time_ns() // 10**6)

    def now(self, name: str) -> State:
        """The current state of a video; clients hear about anything new."""
        kept = self._keep(name)
        with kept.lock:
            return self._brought_up(name, kept)

    def since(self, name: str, stamp: int | None) -> tuple[State, Sequence[bytes] | None]:
        """The current state of a video, and the deltas from a stamp to it; None if unknown."""
        kept = self._keep(name)
        with kept.lock:
            state = self._brought_up(name, kept)
            if state.stamp == stamp:
                return state, ()
            places = [place for place, one in enumerate(kept.deltas) if one.before == stamp]
            deltas = [one.json for one in kept.deltas]
            return state, deltas[places[0] :] if places else None

    def shows(self, name: str, stamp: int, prediction: PredictionFile | None) -> bool:
        """Whether the state with a stamp shows a prediction; False for an unknown stamp.

        Never waits, so that it may be called while documents are locked.
        """
        with self._lock:
            kept = self._kept.get(name)
        if kept is None or kept.state is None:
            return False
        return kept.state.prediction is prediction and kept.predicted <= stamp

    def refresh(self, names: Sequence[str] | None = None) -> None:
        """Brings videos that somebody looks at up to date: those named, or all of them."""
        known = self._app.project.names
        with self._lock:
            for gone in self._kept.keys() - known:
                del self._kept[gone]
            kept = [name for name in self._kept if names is None or name in names]
        for name in kept:
            self.now(name)

    def _keep(self, name: str) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(name, _Kept())
            self._kept.move_to_end(name)
            while len(self._kept) > N_KEPT:
                self._kept.popitem(last=False)
            return kept

    def _brought_up(self, name: str, kept: _Kept) -> State:
        app = self._app
        video, document = app.project.video(name), app.store.known(name)
        pseudo, prediction = app.pseudo.of(document, video), app.predictions.of(name)
        shown = about(app, video, document, pseudo)
        before = kept.state
        state = State(next(self._stamps), document, pseudo, prediction, shown)
        if before is not None and before.is_like(state):
            return before
        if before is None or before.prediction is not prediction:
            kept.predicted = state.stamp
        kept.state = state
        if before is not None:
            delta = delta_of(before, state)
            if delta is None:
                kept.deltas.clear()
            else:
                kept.deltas.append(delta)
            self._tell(state, delta)
        return state


def delta_of(before: State, after: State) -> Delta | None:
    """What is new in a state; None if it is better to send the whole state."""
    if before.prediction is not after.prediction:
        return None
    changed, gone = after.document.changed_since(before.document)
    if 2 * len(changed) > len(after.document.items) > N_DELTAS:
        return None
    rest: dict[str, object] = {
        "from": before.stamp,
        "stamp": after.stamp,
        "gone": gone,
        "about": {k: v for k, v in after.about.items() if before.about[k] != v},
    }
    if before.pseudo.segments != after.pseudo.segments:
        rest["pseudo"] = _splice(before.pseudo.segments, after.pseudo.segments)
    return Delta(before.stamp, _object(_list("set", [one.json for one in changed]), rest))


def _splice(before: Sequence[Event], after: Sequence[Event]) -> dict[str, object]:
    """Where two lists differ: how many items go at which place, and what replaces them."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    most = shorter - start
    end = next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)
    new = [_segment(one) for one in after[start : len(after) - end]]
    return {"at": start, "gone": len(before) - start - end, "new": new}


def _segment(one: Event) -> dict[str, object]:
    return {"label": one.label, "start": one.start, "end": one.end}


def _list(name: str, items: Sequence[bytes]) -> bytes:
    return b'"' + name.encode() + b'": [' + b", ".join(items) + b"]"


def _object(first: bytes, rest: Mapping[str, object]) -> bytes:
    """An encoded list and the rest as one JSON object."""
    return b"{" + first + b", " + json.dumps(rest, ensure_ascii=False).encode()[1:]
