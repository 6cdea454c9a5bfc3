"""One broken file and who reads it: drawn by hypothesis, run in a sandbox, kept as JSON."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from .mutations import BREAKS, Mutation, mutated
from .places import PLACES
from .sandbox import Outcome, Sandbox
from .targets import TARGETS, Target
from .verdict import Fault

HERE = b"@CASE@"
"""Stands for the case's folder in a kept file."""

_NUMBERS = st.integers(0, 9_999)


@dataclass(frozen=True)
class Case:
    """A target and what happens to its file.

    Args:
        target: who reads it.
        mutations: of its content, one after the other.
        place: what stands in its place or beside it; empty for the broken file itself.
        encoding: of the terminal.
    """

    target: Target
    mutations: tuple[Mutation, ...] = ()
    place: str = ""
    encoding: str = "utf-8"

    def __str__(self) -> str:
        how = [f"{one.kind} {one.place} {one.value}" for one in self.mutations]
        return f"{self.target.name}: {'; '.join([*how, *filter(None, [self.place])])}"


def broken_files(target: Target) -> st.SearchStrategy[Case]:
    """Cases that break the content of a target's file, most of them in one way."""
    kinds = sorted(BREAKS[target.kind])
    # structure first: it breaks what no flipped byte reaches
    weighted = [kind for kind in kinds for _ in range(1 if kind in _PLAIN else 4)]
    mutation = st.builds(Mutation, st.sampled_from(weighted), _NUMBERS, _NUMBERS)
    return st.builds(
        Case,
        st.just(target),
        st.one_of(*[st.tuples(mutation)] * 4, st.tuples(mutation, mutation)),
        encoding=st.sampled_from(["utf-8"] * 7 + ["ascii"]),
    )


_PLAIN = ("flip", "truncate", "double", "insert")


def any_case(targets: Sequence[Target] = TARGETS) -> st.SearchStrategy[Case]:
    """Broken content and odd places, of every target."""
    places = st.builds(Case, st.sampled_from(targets), place=st.sampled_from(sorted(PLACES)))
    broken = st.sampled_from(targets).flatmap(broken_files)
    return st.one_of(*[broken] * 9, places)


def run_case(case: Case, sandbox: Sandbox, content: bytes | None = None) -> Outcome:
    """Breaks the file and lets the target read it; `content` is taken as it is."""
    file = sandbox.fresh() / case.target.file
    if content is None:
        content = file.read_bytes()
        for one in case.mutations:
            content = mutated(content, case.target.kind, one)
    if case.mutations:
        file.write_bytes(content)
    if case.place:
        PLACES[case.place](file)
    return sandbox.run(case.target.words, encoding=case.encoding)


def keep(case: Case, path: Path, sandbox: Sandbox, fault: Fault) -> None:
    """Writes a case after it ran: its numbers, and the bytes they gave."""
    values: dict[str, Any] = {**asdict(case), "fault": str(fault), "detail": fault.detail[-4_000:]}
    if case.mutations:
        file = sandbox.fresh() / case.target.file
        content = file.read_bytes()
        for one in case.mutations:
            content = mutated(content, case.target.kind, one)
        content = content.replace(bytes(sandbox.case), HERE)
        values["content"] = base64.b64encode(zlib.compress(content, 9)).decode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, indent=1) + "\n")


def read_case(path: Path, sandbox: Sandbox) -> tuple[Case, bytes | None]:
    """What `keep` wrote: the case, and the bytes of its file if they are broken."""
    values = json.loads(path.read_text())
    target = Target(**{**values["target"], "writes": tuple(values["target"]["writes"])})
    mutations = tuple(Mutation(**one) for one in values["mutations"])
    case = Case(target, mutations, values["place"], values["encoding"])
    if "content" not in values:
        return case, None
    content = zlib.decompress(base64.b64decode(values["content"]))
    return case, content.replace(HERE, bytes(sandbox.case))
