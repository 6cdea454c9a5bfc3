"""Requests become typed records; errors become one sentence with a status, never a traceback."""

from __future__ import annotations

import functools
import sys
import traceback
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pydantic
from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from uvast.errors import InputError, MissingFileError, OutputError, UvastError
from uvast.files import checked, first_fault, parse_json
from uvast.files.records import adapter
from uvast.web.documents import ConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

LARGEST_BODY = 16 * 2**20
Record = TypeVar("Record")
P = ParamSpec("P")
T = TypeVar("T")


class TooLargeError(UvastError):
    """More than the server accepts."""


async def body(request: Request, record: type[Record]) -> Record:
    """The JSON of a request as a record."""
    content = await read_body(request, LARGEST_BODY)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError("the request is not UTF-8 text") from None
    value = parse_json(text or "{}", "the request", error=InputError, remedy="reload the page")
    return checked(value, record, error=InputError, remedy="reload the page")


def query(request: Request, record: type[Record]) -> Record:
    """The query of a request as a record."""
    try:
        return adapter(record).validate_strings(dict(request.query_params))
    except pydantic.ValidationError as fault:
        raise InputError(first_fault(fault), remedy="reload the page") from None


async def read_body(request: Request, largest: int) -> bytes:
    """All bytes of a request, which may not be more than `largest`."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > largest:
            raise TooLargeError(f"the request is larger than {largest // 2**20} MB")
    return bytes(content)


async def in_thread(call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Runs what reads files or computes in a thread, off the event loop."""
    return await to_thread.run_sync(functools.partial(call, *arguments, **options))


def json_answer(content: bytes, status: int = 200) -> Response:
    """An answer of JSON that is already encoded."""
    return Response(content, status, media_type="application/json")


def json_if_new(request: Request, content: Callable[[], bytes], mark: int) -> Response:
    """JSON, unless the client has it already.

    Args:
        request: may name the mark of what the client has.
        content: returns encoded JSON; called only if it is sent.
        mark: changes with the content.
    """
    tag = f'"{mark}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content(), media_type="application/json", headers=headers)


def error_status(error: UvastError) -> int:
    """The HTTP status for an error.

    What cannot be written now may be written later, whatever the reason: the page retries a 507.
    """
    if isinstance(error, OutputError):
        return 507 if isinstance(error.__cause__, OSError) else 409
    kinds = ((ConflictError, 409), (MissingFileError, 404), (TooLargeError, 413), (InputError, 422))
    return next((status for kind, status in kinds if isinstance(error, kind)), 422)


async def on_error(_request: Request, error: Exception) -> Response:
    """Answers with an error that the user can do something about."""
    assert isinstance(error, UvastError), "registered for these"
    return JSONResponse({"error": str(error)}, error_status(error))


async def on_bug(_request: Request, error: Exception) -> Response:
    """Answers an unexpected error: the terminal gets the traceback, the page one sentence."""
    traceback.print_exception(error, file=sys.stderr)
    return JSONResponse({"error": "the app made a mistake; its terminal says more"}, 500)


async def on_http_error(_request: Request, error: Exception) -> Response:
    """Answers a request with an unknown address or method."""
    assert isinstance(error, HTTPException), "registered for these"
    return JSONResponse({"error": f"{error.detail}".lower()}, error.status_code)
