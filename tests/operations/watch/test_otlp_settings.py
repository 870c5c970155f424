"""The settings of --otlp: addresses, the environment variables of OpenTelemetry, TLS. No message shows a secret."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.errors import InputError, RailweaveError
from railweave.operations.watch.otlp import settings
from railweave.operations.watch.otlp.settings import announced, otlp_of
from tests.conftest import EXAMPLES

URL = "http://127.0.0.1:4318"


@pytest.fixture(autouse=True)
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are read without the library, except by the tests of its absence."""
    if "library" not in request.node.name:
        monkeypatch.setattr(settings, "_check_library", lambda: None)


def refused(url: str = URL, authorities: Path | None = None, **environment: str) -> str:
    """The text of the refusal."""
    with pytest.raises(InputError) as caught:
        otlp_of(url, authorities, environment)
    return str(caught.value)


def test_both_signals_go_below_the_base_address() -> None:
    receivers = otlp_of(f"{URL}/api/v1/otlp/", None, {}).receivers
    assert receivers["metrics"].url == f"{URL}/api/v1/otlp/v1/metrics"
    assert receivers["logs"].url == f"{URL}/api/v1/otlp/v1/logs"
    assert (receivers["logs"].timeout_s, receivers["logs"].gzip, dict(receivers["logs"].headers)) == (10, False, {})


def test_variables_of_a_signal_precede_the_general_ones() -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://ignored:1",
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://127.0.0.1:3100/otlp/v1/logs?x=1",
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20a%2Cb, X-Scope-OrgID = lab ,",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x-token=7",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
        "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION": "gzip",
        "OTEL_EXPORTER_OTLP_PROTOCOL": " ",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=prod,service.name=x",
        "OTEL_SERVICE_NAME": "fabric-watch",
    }
    made = otlp_of(URL, None, environment)
    metrics, logs = made.receivers["metrics"], made.receivers["logs"]
    assert metrics.url == f"{URL}/v1/metrics"
    assert logs.url == "http://127.0.0.1:3100/otlp/v1/logs?x=1"
    assert dict(logs.headers) == {"authorization": "Bearer a,b", "x-scope-orgid": "lab"}
    assert dict(metrics.headers) == {"x-token": "7"}
    assert (metrics.timeout_s, metrics.gzip, logs.gzip) == (2.5, False, True)
    assert dict(made.attributes) == {"deployment.environment.name": "prod", "service.name": "fabric-watch"}
    assert "Bearer" not in repr(made)
    assert not any("x=1" in line for line in announced(made.receivers.values()))


def test_a_signal_can_be_left_out() -> None:
    assert list(otlp_of(URL, None, {"OTEL_LOGS_EXPORTER": "none"}).receivers) == ["metrics"]
    assert "nothing would be sent" in refused(OTEL_LOGS_EXPORTER="none", OTEL_METRICS_EXPORTER="none")


@pytest.mark.parametrize(
    ("url", "environment", "text"),
    [
        ("127.0.0.1:4318", {}, "--otlp 127.0.0.1:4318: it is not a URL"),
        ("http://[::1", {}, "it is not a URL"),
        ("grpc://127.0.0.1:4317", {}, "it is not a URL"),
        ("http://xn--.com:4318", {}, "it is not a URL"),
        ("http://host\x7f:4318", {}, "it is not a URL"),
        (" http://127.0.0.1", {}, "it is not a URL"),
        ("http://host:99999", {}, "it is not a URL"),
        (f"{URL}?token=1", {}, "a query or a fragment"),
        (URL, {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "host:1"}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT host:1"),
        (URL, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL grpc: this protocol is not spoken"),
        (URL, {"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, "write gzip or none"),
        (URL, {"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "it is not a time in milliseconds"),
        (URL, {"OTEL_EXPORTER_OTLP_TIMEOUT": "0"}, "it is not a time in milliseconds"),
        (URL, {"OTEL_EXPORTER_OTLP_TIMEOUT": "9" * 5000}, "it is not a time in milliseconds"),
        (URL, {"OTEL_METRICS_EXPORTER": "prometheus"}, "there is no such exporter"),
        (URL, {"OTEL_RESOURCE_ATTRIBUTES": "a=b,c"}, "entry 2 does not have the form NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_named(url: str, environment: Mapping[str, str], text: str) -> None:
    assert text in refused(url, **environment)


@pytest.mark.parametrize("listed", ["geheim", "=geheim", "a b=geheim", "x=geheim%0d%0ay: z", "x=geheim\u00e9"])
def test_a_wrong_header_is_named_without_its_value(listed: str) -> None:
    text = refused(OTEL_EXPORTER_OTLP_HEADERS=listed)
    assert "OTEL_EXPORTER_OTLP_HEADERS: entry 1" in text
    assert "geheim" not in text


@pytest.mark.parametrize(
    "url",
    [
        "http://user:geheim@127.0.0.1:4318",
        "ftp://user:geheim@127.0.0.1",
        "http://user:geheim@[::1",
        "http://user:ge/geheim@127.0.0.1",
        "http://user:geheim@127.0.0.1:99999",
        "http://user:geheim@xn--.com",
        "user:geheim@127.0.0.1:4318",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_shown(url: str) -> None:
    text = refused(url)
    assert "a user name or password is in the URL" in text
    assert "geheim" not in text
    assert "geheim" not in refused(OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=url)
    assert "geheim" not in refused(url, OTEL_LOGS_EXPORTER="none", OTEL_METRICS_EXPORTER="none")


@pytest.mark.parametrize(
    "url", ["http://host?geheim", "http://user:?geheim@127.0.0.1", "http://host#geheim", "ftp://host?geheim@"]
)
def test_a_query_is_not_shown(url: str) -> None:
    assert "geheim" not in refused(url)
    if url.startswith("http"):
        made = otlp_of(URL, None, {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": url})
        assert "geheim" not in "".join(announced(made.receivers.values()))


def test_a_query_of_an_endpoint_may_hold_an_at_sign() -> None:
    made = otlp_of(URL, None, {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": f"{URL}/v1/logs?to=a@b"})
    assert made.receivers["logs"].url == f"{URL}/v1/logs?to=a@b"


def test_the_scheme_may_have_capital_letters() -> None:
    assert otlp_of("HTTPS://receiver", None, {}).receivers["logs"].tls is not None


def test_tls_verifies_the_receiver(tmp_path: Path) -> None:
    context = otlp_of("https://receiver", None, {}).receivers["logs"].tls
    assert context is not None
    assert context.check_hostname
    broken = tmp_path / "ca.pem"
    broken.write_text("no certificate")
    assert f"--otlp-ca {broken}: no certificates can be read there" in refused("https://receiver", broken)
    named = refused("https://receiver", None, OTEL_EXPORTER_OTLP_CERTIFICATE=str(tmp_path / "none.pem"))
    assert "OTEL_EXPORTER_OTLP_CERTIFICATE" in named
    assert "No such file" in named
    named = refused("https://receiver", None, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=str(broken))
    assert "the client certificate and its key cannot be used" in named
    assert "sent without TLS" in refused(URL, broken)


@pytest.mark.parametrize("url", ["http://192.0.2.1:4318", "HTTP://collector", "http://localhost.example:1"])
def test_secrets_are_not_sent_to_another_machine_without_tls(url: str) -> None:
    text = refused(url, OTEL_EXPORTER_OTLP_HEADERS="authorization=geheim,x-scope-orgid=lab")
    assert f"OTEL_EXPORTER_OTLP_HEADERS: {url}/v1/metrics has no TLS" in text
    assert f"{url}/v1/logs has no TLS" in text
    assert "write https://" in text
    assert "geheim" not in text


def test_secrets_are_judged_by_the_address_of_their_signal() -> None:
    logs = "http://192.0.2.1/logs?x=geheim"
    text = refused(OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=logs, OTEL_EXPORTER_OTLP_LOGS_HEADERS="x-token=geheim")
    assert text.startswith("OTEL_EXPORTER_OTLP_LOGS_HEADERS: http://192.0.2.1/logs has no TLS")
    assert "metrics" not in text
    assert "geheim" not in text
    environment = {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": logs, "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x-token=7"}
    made = otlp_of(URL, None, environment)
    assert dict(made.receivers["metrics"].headers) == {"x-token": "7"}


@pytest.mark.parametrize("url", [URL, "http://localhost:1", "http://[::1]:1", "https://192.0.2.1", "HTTPS://192.0.2.1"])
def test_secrets_are_sent_to_this_machine_or_with_tls(url: str) -> None:
    receivers = otlp_of(url, None, {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=geheim"}).receivers
    assert dict(receivers["logs"].headers) == {"authorization": "geheim"}
    assert announced(receivers.values()) == [f"sending {signal} to {url}/v1/{signal}" for signal in ("metrics", "logs")]


def test_the_name_of_a_tenant_is_no_secret() -> None:
    made = otlp_of("http://192.0.2.1:3100", None, {"OTEL_EXPORTER_OTLP_HEADERS": "X-Scope-OrgID=lab"})
    assert dict(made.receivers["logs"].headers) == {"x-scope-orgid": "lab"}


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(RailweaveError, match=r"railweave\[otlp\]"):
        otlp_of(URL, None, {})


def test_the_verb_refuses_before_it_asks_a_device(tmp_path: Path) -> None:
    fabric = str(EXAMPLES / "h100-rlb.yaml")
    done = CliRunner().invoke(app, ["watch", fabric, "--listen", "none", "--otlp", "nowhere"])
    assert isinstance(done.exception, InputError)
    assert "--otlp nowhere" in str(done.exception)
    done = CliRunner().invoke(app, ["watch", fabric, "--listen", "none", "--otlp-ca", str(tmp_path / "x.pem")])
    assert isinstance(done.exception, InputError)
    assert "nothing is sent without --otlp" in str(done.exception)
