"""Who may come in, and what nobody can reach; bad requests are never a 500."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from web_project import HOST, Client, opened

from uvast.projects import Project
from uvast.web.security import Door
from uvast.web.server import make_asgi

GETS = (
    "/", "/static/index.html", "/api/project", "/api/videos/cup", "/api/videos/cup/features",
    "/api/review", "/api/next", "/api/curve", "/api/jobs", "/api/jobs/1", "/api/formats",
    "/api/exports/x",
    "/media/cup", "/frame/cup?index=1", "/strip/cup", "/times/cup", "/report/1", "/api/events",
)  # fmt: skip
POSTS = (
    "/api/videos/cup/changes", "/api/undo", "/api/redo", "/api/classes", "/api/videos",
    "/api/import", "/api/export", "/api/jobs", "/api/plan", "/api/jobs/1/cancel",
)  # fmt: skip


WITH_QUERY = (
    "/", "/api/review", "/api/next", "/api/videos/cup/features", "/media/cup", "/frame/cup",
    "/strip/cup",
)  # fmt: skip


def test_the_lists_above_hold_every_address(client: Client) -> None:
    known = {path.partition("?")[0].replace("cup", "{name}") for path in GETS + POSTS}
    known = {path.replace("/1", "/{number}").replace("/x", "/{id}") for path in known}
    paths = {getattr(route, "path", "") for route in client.asgi.routes}
    assert paths - {"/static"} == known - {"/static/index.html"}


@pytest.mark.parametrize("path", GETS)
def test_nothing_is_read_without_the_token(client: Client, path: str) -> None:
    for headers in ({"x-uvast-token": ""}, {"x-uvast-token": "wrong"}):
        answer = client.get(path, headers=headers)
        assert answer.status_code == 403
        assert "the token is missing or wrong" in answer.json()["error"]


def test_people_without_the_token_get_a_page_to_read(client: Client) -> None:
    headers = {"x-uvast-token": "", "accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = client.get("/", headers=headers)
    assert (answer.status_code, answer.headers["content-type"][:9]) == (403, "text/html")
    assert "the token is missing or wrong; open the address that uvast app printed." in answer.text
    answer = client.get("/", headers={**headers, "host": "<b>evil"})
    assert "<b>" not in answer.text
    assert "&lt;b&gt;evil" in answer.text


@pytest.mark.parametrize("path", POSTS)
def test_nothing_is_changed_without_the_token(client: Client, path: str) -> None:
    assert client.post(path, headers={"x-uvast-token": ""}).status_code == 403
    cookie = {"x-uvast-token": "", "cookie": f"{client.app.door.cookie}=secret"}
    assert client.post(path, headers=cookie).status_code == 403  # a form of another site
    other = {**cookie, "origin": "http://evil.example"}
    assert client.post(path, headers=other).status_code == 403
    own = {**cookie, "origin": f"http://{HOST}"}
    assert client.post(path, headers=own).status_code != 403
    form = {"content-type": "text/plain"}
    assert client.send("POST", path, content=b"{}", headers=form).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example:8470", "127.0.0.1:8471", "127.0.0.1", "127.0.0.1.evil.example:8470", "x"]
)
def test_another_host_is_refused(client: Client, host: str) -> None:
    answer = client.get("/api/project", headers={"host": host})
    assert answer.status_code == 403
    assert "is not called" in answer.json()["error"]


@pytest.mark.parametrize("host", ["localhost:8470", "127.0.0.1:8470", "[::1]:8470"])
def test_own_names_are_known(client: Client, host: str) -> None:
    assert client.get("/api/project", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8471"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=["origin", "null", "port", "cross-site", "same-site"],
)
def test_other_sites_are_refused(client: Client, headers: dict[str, str]) -> None:
    assert client.get("/api/project", headers=headers).status_code == 403
    assert client.post("/api/undo", headers=headers).status_code == 403


def test_the_opened_address_leaves_a_cookie(client: Client) -> None:
    answer = client.get("/?token=secret", headers={"x-uvast-token": "", "sec-fetch-site": "none"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    given = {"x-uvast-token": "", "cookie": cookie.partition(";")[0]}
    assert client.get("/", headers=given).status_code == 200
    wrong = client.get("/?token=wrong", headers={"x-uvast-token": ""})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (403, False)
    assert client.get("/api/project?token=secret", headers={"x-uvast-token": ""}).status_code == 403


def test_an_open_address_takes_numbers_and_no_names() -> None:
    door = Door("secret", "0.0.0.0", 80)
    headers = {"x-uvast-token": "secret"}
    assert door.refusal("GET", httpx_headers({**headers, "host": "192.168.0.7"})) is None
    assert door.refusal("GET", httpx_headers({**headers, "host": "evil.example"}))
    assert Door.new("::1", 80).address == "http://[::1]:80"
    assert len(Door.new("::1", 80).token) >= 32


def httpx_headers(values: dict[str, str]) -> Any:
    from starlette.datastructures import Headers

    return Headers(values)


@pytest.mark.parametrize("path", [*GETS[:-1], "/nothing"])
def test_strict_headers_with_every_answer(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_a_report_runs_its_scripts_and_reaches_nothing(client: Client, project: Project) -> None:
    page = project.path / "app" / "cache" / "reports" / "1.html"
    page.parent.mkdir(parents=True)
    page.write_text("<script>1</script>")
    policy = client.get("/report/1").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in policy


OUTSIDE = (
    "../secret", "..%2fsecret", "%2e%2e%2fsecret", "..\\secret", "%5c..%5csecret", "/etc/passwd",
    "%2fetc%2fpasswd", "C:%5cWindows%5cwin.ini", "cup/../../secret", "cup%00", "....//secret",
    "link", "%252e%252e%252fsecret",
)  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_path_outside_of_the_project(client: Client, project: Project, name: str) -> None:
    (project.path.parent / "secret").write_text("secret words")
    (project.path.parent / "secret.json").write_text('{"words": "secret words"}')
    (project.path / "link").symlink_to(project.path.parent / "secret")
    for form in ("/api/videos/{}", "/media/{}", "/frame/{}?index=0", "/times/{}", "/strip/{}",
                 "/static/{}", "/api/exports/{}", "/report/{}", "/api/jobs/{}"):  # fmt: skip
        answer = client.get(form.format(name))
        assert answer.status_code in (404, 405, 422), (form, answer.text)
        assert "secret words" not in answer.text
    change = {"version": 0, "changes": [{"do": "clear"}]}
    assert client.post(f"/api/videos/{name}/changes", change).status_code in (404, 405)


def test_a_static_link_to_the_outside_is_not_followed(project: Project, tmp_path: Path) -> None:
    static = tmp_path / "own static"
    static.mkdir()
    (static / "index.html").write_text("page")
    (tmp_path / "secret").write_text("secret words")
    (static / "link").symlink_to(tmp_path / "secret")
    with opened(project, static) as client:
        assert client.get("/static/link").status_code == 404


def test_an_upload_does_not_follow_a_link(client: Client, project: Project) -> None:
    outside = project.path.parent / "outside.mp4"
    outside.write_text("mine")
    (project.path / "videos").mkdir()
    (project.path / "videos" / "a.mp4").symlink_to(outside)
    headers = {"content-type": "application/octet-stream", "x-name": "a.mp4"}
    assert client.send("POST", "/api/videos", content=b"x", headers=headers).status_code == 409
    assert outside.read_text() == "mine"


def fingerprint(folder: Path) -> dict[str, str]:
    """Everything but caches, which may be made by looking."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "cache" not in path.parts
    }


def test_looking_changes_nothing(client: Client, project: Project) -> None:
    client.change("cup", {"do": "add", "kind": "click", "label": "reach", "start": 1.0})
    client.app.store.save()
    before = fingerprint(project.path)
    for path in GETS[:-1]:
        client.get(path)
        client.send("HEAD", path)
    for path in POSTS[:2]:
        assert client.get(path).status_code == 405
    assert fingerprint(project.path) == before


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["e1", "cup", "click", "segment", "add", "move", "prediction", "\ud7ff"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
words = st.sampled_from(
    [
        *("do", "kind", "id", "ids", "label", "start", "end", "at", "spans", "value", "from"),
        *("name", "to", "author", "video", "changes", "version", "format", "what", "videos"),
        *("extractor", "preset", "epochs", "run", "device", "frames_per_second"),
    ]
)
almost = st.dictionaries(words, values, max_size=6)
bodies = st.one_of(
    almost,
    values,
    st.builds(
        lambda changes, version: {"version": version, "changes": changes},
        st.lists(almost, max_size=3),
        st.integers(-1, 5),
    ),
)
ATTEMPTS = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
KINDS_THAT_START = ("proxy", "extract", "train", "segment", "report")


@pytest.mark.parametrize("path", POSTS)
def test_bad_bodies_are_never_a_500(client: Client, path: str) -> None:
    @ATTEMPTS
    @given(bodies)
    def attempt(value: Any) -> None:
        if isinstance(value, dict) and value.get("kind") in KINDS_THAT_START:
            return
        answer = client.post(path, value)
        assert answer.status_code < 500, answer.text
        assert answer.status_code < 400 or answer.json()["error"]

    @ATTEMPTS
    @given(
        st.binary(max_size=60), st.sampled_from(["application/json", "application/octet-stream"])
    )
    def raw(content: bytes, kind: str) -> None:
        headers = {"content-type": kind, "x-name": "%ff%00a.csv"}
        answer = client.send("POST", path, content=content, headers=headers)
        assert answer.status_code < 500, answer.text

    attempt()
    raw()


@pytest.mark.parametrize("path", WITH_QUERY)
def test_bad_queries_are_never_a_500(client: Client, path: str) -> None:
    known = ("index", "seconds", "width", "start", "end", "n", "order", "token", "leaving", "since")
    names = st.sampled_from(known)
    numbers = st.floats().map(str) | st.integers().map(str) | st.text(max_size=8)

    @ATTEMPTS
    @given(st.dictionaries(names, numbers, max_size=4), st.text(max_size=20))
    def attempt(query: dict[str, str], span: str) -> None:
        address = path.partition("?")[0]
        header = span.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " ")
        header = "".join(one for one in header if one.isprintable())
        answer = client.get(address, params=query, headers={"range": f"bytes={header}".strip()})
        assert answer.status_code < 500, answer.text

    attempt()


@ATTEMPTS
@given(name=st.text(min_size=1, max_size=30))
def test_bad_names_are_never_a_500(client: Client, name: str) -> None:
    for form in ("/api/videos/{}", "/media/{}", "/report/{}", "/api/jobs/{}", "/api/exports/{}"):
        try:
            address = httpx.URL(form.format(name.replace("?", "%3f").replace("#", "%23")))
        except httpx.InvalidURL:
            return
        assert client.get(str(address)).status_code in (200, 404, 405, 422)


def test_large_and_deep_bodies_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b'{"changes": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    headers = {"content-type": "application/json"}
    for content in (deep, b"9" * 5000, b'{"a": 1, "a": 2}', b'"\\ud800"'):
        answer = client.send("POST", "/api/undo", content=content, headers=headers)
        assert answer.status_code == 422, answer.text
    monkeypatch.setattr("uvast.web.answers.LARGEST_BODY", 10)
    large = client.send("POST", "/api/undo", content=b" " * 20, headers=headers)
    assert large.status_code == 413


def test_files_of_the_app_are_not_world_writable(client: Client, project: Project) -> None:
    client.change("cup", {"do": "add", "kind": "click", "label": "reach", "start": 1.0})
    for path in (project.path / "app").rglob("*"):
        assert not path.stat().st_mode & 0o002, path
    assert os.access(project.path / "app", os.W_OK)


def test_the_app_is_made_twice_from_one_project(project: Project, static: Path) -> None:
    with opened(project, static) as one:
        assert make_asgi(one.app, static)
