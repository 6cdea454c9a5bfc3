"""Untrusted XML: a plain tree with line numbers, without entities, DTDs or external files.

The standard library's expat parses it; `xml.etree` expands entities and keeps no line numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

from uvast.errors import CorruptFileError
from uvast.exchange.source import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.exchange.source import Source

MAX_DEPTH = 50


@dataclass(slots=True)
class Element:
    """One element: its name, attributes, own text, children and line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """The children of that name."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first child of that name."""
        return next(self.all(tag), None)

    def get(self, name: str, default: str = "") -> str:
        """An attribute."""
        return self.attributes.get(name, default)

    def walk(self) -> Iterator[Element]:
        """This element and all inside it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()


def parse_xml(source: Source) -> Element:
    """Parses a file and returns the root of its tree."""
    return _Builder(source).parse()


class _Builder:
    """Expat's handlers, which build the tree."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._stack: list[Element] = []
        self._texts: list[list[str]] = []
        self._root: Element | None = None
        content = source.content
        if content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:2]:
            content = decoded(content, source.place).encode()
            self._parser = expat.ParserCreate("utf-8")  # whatever the declaration says
        else:
            self._parser = expat.ParserCreate()
        self._content = content
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.ExternalEntityRefHandler = self._refuse

    def parse(self) -> Element:
        try:
            self._parser.Parse(self._content, True)
        except expat.ExpatError as error:
            raise CorruptFileError(
                f"is not valid XML (line {error.lineno}: {expat.ErrorString(error.code)})",
                where=self._source.place,
                remedy="save it again with the program that made it",
            ) from None
        except (LookupError, ValueError):  # an unknown encoding
            raise CorruptFileError(
                "is XML in an unknown encoding",
                where=self._source.place,
                remedy="save it as UTF-8",
            ) from None
        assert self._root is not None, "expat insists on a root"
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        if len(self._stack) >= MAX_DEPTH:
            raise self._source.fault(
                f"is nested more than {MAX_DEPTH} deep", f"line {line}", "restore the file"
            )
        element = Element(tag, attributes, line)
        if self._stack:
            self._stack[-1].children.append(element)
        else:
            self._root = element
        self._stack.append(element)
        self._texts.append([])

    def _end(self, _tag: str) -> None:
        self._stack.pop().text = "".join(self._texts.pop()).strip()

    def _characters(self, text: str) -> None:
        self._texts[-1].append(text)

    def _refuse(self, *_declaration: object) -> NoReturn:
        raise self._source.fault(
            "declares a document type or entities, which can hide harmful content",
            f"line {self._parser.CurrentLineNumber}",
            "remove the <!DOCTYPE …> part; annotation programs write none",
        )
