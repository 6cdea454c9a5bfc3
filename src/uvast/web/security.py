"""Who may come in: the right host, the right origin and the token, on every request.

A page of another site can make a browser send requests here. It cannot read the token, its
requests carry its own origin, and a host name that it points here is not one of ours.
"""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-uvast-token"  # noqa: S105 (its name, not its value)
READING = ("GET", "HEAD")
BODIES = ("application/json", "application/octet-stream")

_REFUSAL = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>uvast</title>
<h1>This address does not open the app</h1>
<p>Reason: {}.</p>
<p>Each start of the app makes a new address, which its terminal shows.</p>
</html>
"""
"""Plain, because style sheets need the token too."""

POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Door:
    """Which requests are let in.

    Args:
        token: the secret that every client has to know.
        host: the address the server listens on.
        port: its port.
    """

    token: str
    host: str
    port: int

    @classmethod
    def new(cls, host: str, port: int) -> Door:
        """A door with a random token."""
        return cls(secrets.token_urlsafe(24), host, port)

    @property
    def cookie(self) -> str:
        """The cookie's name, with the port: ports share cookies, and two projects may be open."""
        return f"uvast_{self.port}"

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the server."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def link(self) -> str:
        """The address with the token, to open."""
        return f"{self.address}/?token={quote(self.token)}"

    def refusal(self, method: str, headers: Headers, *, known: bool = False) -> str | None:
        """Why a request is refused, whatever it asks for; None if it is let in.

        Args:
            method: of the request.
            headers: of the request.
            known: whether its address holds the token.
        """
        host = headers.get("host", "")
        if not self._is_ours(host):
            return f"this server is not called {host[:200]!r}"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}" and origin != f"https://{host}":
            return "requests from other sites are refused"
        is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        site = headers.get("sec-fetch-site", "none")
        if not is_link and site not in ("none", "same-origin"):
            return "requests from other sites are refused"
        by_header = known or self._is_token(headers.get(TOKEN_HEADER))
        if not by_header and not self._is_token(_cookie(headers, self.cookie)):
            return "the token is missing or wrong; open the address that uvast app printed"
        if method not in READING:
            if not by_header and origin is None:
                return "a change has to name its origin or carry the token in a header"
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in BODIES:
                return "changes are sent as application/json"
        return None

    def admits(self, query: bytes) -> bool:
        """Whether the address of a page holds the token."""
        given = parse_qs(query.decode("latin-1")).get("token", [""])
        return self._is_token(given[0])

    def _is_token(self, given: str | None) -> bool:
        return given is not None and secrets.compare_digest(given.encode(), self.token.encode())

    def _is_ours(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        if not name:
            name, port = host, "80"
        name = name.strip("[]").lower()
        if port != str(self.port):
            return False
        if name in ("localhost", self.host.lower()) or _is_loopback(name):
            return True
        # anybody can point a name here, but not an IP address
        return self.host in ("0.0.0.0", "::") and _is_number(name)  # noqa: S104


class Guard:
    """Lets requests in through the door, and sends strict headers with every answer."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._answer(scope)
        sender = _with_headers(send)
        if answer is not None:
            await answer(scope, receive, sender)
        else:
            await self._app(scope, receive, sender)

    def _answer(self, scope: Scope) -> Response | None:
        """A refusal, or a cookie for a client that brings the token; None for the app's answer."""
        method, query = scope["method"], scope["query_string"]
        known = method == "GET" and scope["path"] == "/" and self._door.admits(query)
        headers = Headers(scope=scope)
        refusal = self._door.refusal(method, headers, known=known)
        if refusal is not None:
            return refused(refusal, in_words="text/html" in headers.get("accept", ""))
        return self._welcome(query) if known else None

    def _welcome(self, query: bytes) -> Response:
        """Keeps the token in a cookie and takes it out of the address bar."""
        rest = {k: v for k, v in parse_qs(query.decode("latin-1")).items() if k != "token"}
        where = "/" + (f"?{urlencode(rest, doseq=True)}" if rest else "")
        answer = RedirectResponse(where, status_code=303)
        answer.set_cookie(self._door.cookie, self._door.token, httponly=True, samesite="lax")
        return answer


def refused(sentence: str, *, in_words: bool) -> Response:
    """The answer to a request that is not let in; people who open a page get one to read."""
    if in_words:
        return HTMLResponse(_REFUSAL.format(escape(sentence)), status_code=403)
    return JSONResponse({"error": sentence}, status_code=403)


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sender


def _cookie(headers: Headers, name: str) -> str | None:
    try:
        cookie = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return None
    return cookie[name].value if name in cookie else None


def _is_loopback(name: str) -> bool:
    return _is_number(name) and ipaddress.ip_address(name).is_loopback


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
