"""The client's errors and pages, with a small HTTP server. What NetBox itself does is shown by ``make trial NAME=netbox``."""

from __future__ import annotations

import ipaddress
import json
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from railweave.cli import main
from railweave.errors import InputError
from railweave.operations.exports.inventories import client as module
from railweave.operations.exports.inventories.client import Client, ServerError, token_of
from railweave.operations.exports.inventories.netbox import NETBOX
from railweave.operations.exports.inventories.objects import Item
from railweave.operations.exports.inventories.sync import export_to

TAG = Item("tag", ("railweave",), {"name": "railweave", "slug": "railweave"})
Answer = Callable[[BaseHTTPRequestHandler], "tuple[int, Any] | None"]
"""The server's answer to a request: status and value. None closes the connection."""


@contextmanager
def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server, with ``tls`` by HTTPS; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def _all(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.body = self.rfile.read(length)
            given = answer(self)
            if given is None:
                self.close_connection = True
                self.connection.close()
                return
            status, value = given
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            if status == 301:
                self.send_header("Location", "https://elsewhere.example/api/status/")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_OPTIONS = _all  # noqa: N815 - the names of http.server

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.time, "sleep", lambda _: None)


def test_pages_are_read_until_the_count_is_reached() -> None:
    """A server may send fewer objects than it was asked for."""
    asked: list[dict[str, list[str]]] = []

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, Any]:
        query = parse_qs(urlsplit(request.path).query)
        asked.append(query)
        offset = int(query["offset"][0])
        return 200, {"count": 5, "results": [{"id": number} for number in range(offset, min(offset + 2, 5))]}

    with serving(answer) as url, Client(NETBOX, url, "secret") as client:
        assert [record["id"] for record in client.objects("dcim/devices", {"tag": "a"}, "name", ["x", "y"])] == [
            0,
            1,
            2,
            3,
            4,
        ]
    assert [query["offset"] for query in asked] == [["0"], ["2"], ["4"]]
    assert asked[0]["name"] == ["x", "y"]
    assert asked[0]["tag"] == ["a"]


def test_long_lists_of_names_are_divided() -> None:
    lengths: list[int] = []

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, Any]:
        lengths.append(len(request.path))
        return 200, {"count": 0, "results": []}

    with serving(answer) as url, Client(NETBOX, url, "secret") as client:
        assert (
            list(
                client.objects(
                    "dcim/devices", {}, "name", [f"a-long-name-of-a-device-{number}" for number in range(500)]
                )
            )
            == []
        )
    assert len(lengths) > 5
    assert max(lengths) < 2000


@pytest.mark.parametrize(("token", "header"), [("nbt_key.secret", "Bearer nbt_key.secret"), ("0123", "Token 0123")])
def test_a_token_is_sent_as_its_version_asks(token: str, header: str) -> None:
    seen: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, Any]:
        seen.append(request.headers.get("Authorization"))
        return 200, {"netbox-version": "4.7.3"}

    with serving(answer) as url, Client(NETBOX, f"{url}/api/", token) as client:
        assert client.version() == "4.7.3"
    assert seen == [header]


@pytest.mark.parametrize(
    "errors",
    [
        [{"index": 1, "errors": {"mtu": ["too large"]}}, {"index": 2, "errors": {"__all__": ["already exists"]}}],
        [{"id": 11, "errors": {"mtu": ["too large"]}}, {"id": 12, "errors": {"__all__": ["already exists"]}}],
    ],
)
def test_a_refused_list_of_netbox_4_7_is_told_by_object(errors: list[dict[str, Any]]) -> None:
    """The forms that NetBox 4.7.3 gave, for objects to create and to change."""
    answer = {"detail": "2 of 3 objects could not be created.", "errors": errors}
    bodies = [{"id": 10}, {"id": 11}, {"id": 12}]
    names = ["one", "leaf1 et-0/0/1", "leaf1 et-0/0/2"]
    with (
        serving(lambda _: (400, answer)) as url,
        Client(NETBOX, url, "t") as client,
        pytest.raises(ServerError) as refused,
    ):
        client.send("POST", "dcim/interfaces", bodies, names)
    assert str(refused.value) == (
        f"POST {url}/api/dcim/interfaces/: HTTP 400\n  leaf1 et-0/0/1: mtu: too large\n  leaf1 et-0/0/2: already exists"
    )


def test_a_refused_list_is_told_by_object() -> None:
    with (
        serving(lambda _: (400, [{}, {"mtu": ["too large"]}, {"__all__": ["already exists"]}])) as url,
        Client(NETBOX, url, "t") as client,
        pytest.raises(ServerError) as refused,
    ):
        client.send("POST", "dcim/interfaces", [{}, {}, {}], ["one", "leaf1 et-0/0/1", "leaf1 et-0/0/2"])
    assert str(refused.value) == (
        f"POST {url}/api/dcim/interfaces/: HTTP 400\n  leaf1 et-0/0/1: mtu: too large\n  leaf1 et-0/0/2: already exists"
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((403, {"detail": "Invalid token"}), "HTTP 403: Invalid token (check the token"),
        ((500, b"<html>broken</html>"), "HTTP 500: <html>broken</html>"),
        ((200, b"<html>a login page</html>"), "is not JSON"),
        ((200, {"something": "else"}), "is not that of a NetBox server"),
        ((301, {}), "redirects to https://elsewhere.example/api/status/"),
    ],
)
def test_errors_have_the_url_and_the_message(answer: tuple[int, Any], message: str) -> None:
    with serving(lambda _: answer) as url, Client(NETBOX, url, "t") as client, pytest.raises(ServerError) as error:
        client.version()
    assert message in str(error.value)
    assert url in str(error.value)


def test_a_lost_reading_is_repeated() -> None:
    count: list[str] = []

    def answer(_: BaseHTTPRequestHandler) -> tuple[int, Any] | None:
        count.append("")
        return None if len(count) < 3 else (200, {"netbox-version": "4.7.3"})

    with serving(answer) as url, Client(NETBOX, url, "t") as client:
        assert client.version() == "4.7.3"
    assert len(count) == 3


def test_a_slow_answer_is_awaited_after_the_server_closed_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler of http.server answers by HTTP/1.0, and closes the connection after each answer."""
    monkeypatch.setattr(module, "_CONNECT_S", 0.3)
    count: list[str] = []

    def answer(_: BaseHTTPRequestHandler) -> tuple[int, Any]:
        count.append("")
        if len(count) > 1:
            threading.Event().wait(1)
        return 200, {"netbox-version": "4.7.3"}

    with serving(answer) as url, Client(NETBOX, url, "t") as client:
        assert client.version() == client.version() == "4.7.3"
    assert len(count) == 2


def test_a_lost_change_is_not_repeated() -> None:
    count: list[str] = []
    message = "NetBox may have carried it out"
    with (
        serving(lambda _: count.append("")) as url,
        Client(NETBOX, url, "t") as client,
        pytest.raises(ServerError, match=message),
    ):
        client.send("POST", "dcim/sites", [{}], ["site1"])
    assert len(count) == 1


def test_nothing_listens() -> None:
    with serving(lambda _: (200, {})) as url:
        pass
    with Client(NETBOX, url, "t") as client, pytest.raises(ServerError, match="Connection refused"):
        client.version()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://netbox.example.net", "plain HTTP would expose the token"),
        ("ftp://netbox.example.net", "not the URL of a server"),
        ("https://netbox.example.net:abc", "not the URL of a server"),
        ("https://netbox.example.net:99999", "not the URL of a server"),
        ("https://[::1", "not the URL of a server"),
        ("https://netbox..example.net", "not the URL of a server"),
        ("https://netbox.example.net/geh\N{LATIN SMALL LETTER E WITH ACUTE}im", "not the URL of a server"),
        ("https://netbox\x7f.example.net", "not the URL of a server"),
    ],
)
def test_bad_urls_are_refused(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Client(NETBOX, url, "t")


@pytest.mark.parametrize(
    "url",
    [
        "https://user:geheim@netbox.example.net",
        "https://user:geheim@[::1",
        "ftp://geheim@netbox:abc",
        "user:geheim@netbox",
    ],
)
def test_a_password_in_a_url_is_refused_without_showing_it(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NETBOX_TOKEN", "0123")
    assert called(monkeypatch, "export", "netbox", "examples/h100-rlb.yaml", "--url", url) == 2
    shown = "".join(capsys.readouterr())
    assert "it has a user name or a password" in shown
    assert "geheim" not in shown


def test_a_bad_authority_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(InputError, match="no certificates can be read"):
        Client(NETBOX, "https://netbox.example.net", "t", tmp_path / "ca.pem")


def test_a_private_authority_is_trusted_only_if_it_is_named(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "netbox")])
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=36500))
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.add_extension(address, critical=False).sign(key, hashes.SHA256())
    chain, private = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, private)
    with serving(lambda _: (200, {"netbox-version": "4.7.3"}), context) as url:
        with Client(NETBOX, url, "t") as client, pytest.raises(ServerError, match=r"not trusted.*--ca FILE"):
            client.version()
        with Client(NETBOX, url, "t", chain) as client:
            assert client.version() == "4.7.3"


def test_an_old_release_is_refused() -> None:
    with (
        serving(lambda _: (200, {"netbox-version": "4.1.11"})) as url,
        Client(NETBOX, url, "t") as client,
        pytest.raises(ServerError, match=r"4\.2 or later is needed"),
    ):
        export_to(client, [TAG], apply=False, adopt=False, progress=lambda _: None)


def test_the_token_comes_from_the_environment_or_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NETBOX_TOKEN", raising=False)
    with pytest.raises(
        InputError, match=r"no API token.*\n?.*set NETBOX_TOKEN, or give --token-file FILE \(mode 600\)"
    ):
        token_of(NETBOX, None)
    monkeypatch.setenv("NETBOX_TOKEN", "0123")
    assert token_of(NETBOX, None) == "0123"
    file = tmp_path / "token"
    file.write_text("nbt_1.2\n")
    file.chmod(0o644)
    with pytest.raises(InputError, match="others may read"):
        token_of(NETBOX, file)
    file.chmod(0o600)
    assert token_of(NETBOX, file) == "nbt_1.2"


@pytest.mark.parametrize("text", ["geheim\nsecond line\n", "geheim second", "geheim\x7f", "gehéim", "# geheim"])
def test_a_file_with_more_than_a_token_is_refused_without_showing_it(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    words = ("export", "netbox", "examples/h100-rlb.yaml", "--url", "http://127.0.0.1:9", "--token-file", str(file))
    assert called(monkeypatch, *words) == 2
    shown = "".join(capsys.readouterr())
    assert "the file has more than a token" in shown
    assert "geh" not in shown
    monkeypatch.setenv("NETBOX_TOKEN", text)
    with pytest.raises(InputError, match="NETBOX_TOKEN has more than a token"):
        token_of(NETBOX, None)


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of railweave with these words."""
    monkeypatch.setattr(sys, "argv", ["railweave", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "exactly one of --output and --url is required"),
        (("-o", "out", "--url", "https://netbox.example.net"), "exactly one of --output and --url is required"),
        (("-o", "out", "--apply"), "--apply and --adopt need a server"),
    ],
)
def test_options_that_contradict(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "export", "netbox", "examples/h100-rlb.yaml", *words) == 2
    assert message in capsys.readouterr().err


def test_a_failure_in_the_middle_says_what_was_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tag is created; then the server refuses the site."""

    def answer(request: Any) -> tuple[int, Any]:
        path = urlsplit(request.path).path
        if path == "/api/status/":
            return 200, {"netbox-version": "4.7.3"}
        if request.command == "OPTIONS":
            return 200, {"actions": {"POST": {"name": {}, "slug": {}, "status": {}}}}
        if request.command == "GET":
            return 200, {"count": 0, "results": []}
        if path == "/api/dcim/sites/":
            return 400, [{"slug": ["taken"]}]
        return 201, [{"id": 1, **body} for body in json.loads(request.body)]

    monkeypatch.setenv("NETBOX_TOKEN", "0123")
    with serving(answer) as url:
        assert called(monkeypatch, "export", "netbox", "examples/h100-rlb.yaml", "--url", url, "--apply", "-q") == 2
        shown = capsys.readouterr().err
    assert "site site1: slug: taken" in shown
    assert "until then created or changed: 1 tag; run the command again to continue" in shown
