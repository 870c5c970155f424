"""URLs with secrets are never shown, and refused where others can read them; a variable or a file may hold one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from railweave.errors import InputError, OutputError, SpecError
from railweave.operations.store.store import is_database, opened
from railweave.operations.watch.notify import Notifier
from railweave.operations.watch.starting import urls_of
from railweave.secret_url import holds_secret, http_url, shown

SECRET = "geheim-81"  # noqa: S105 - of no account
HOLDING = [
    f"https://u:{SECRET}@h/x",
    f"https://{SECRET}@h/x",
    f"https://u:{SECRET}/y@h/x",
    f"https://h/x?token={SECRET}",
    f"https://h/x?a=b&api_key={SECRET}",
    f"https://u:{SECRET}@[/x",
    f"u:{SECRET}@h",
]


@pytest.mark.parametrize("url", HOLDING)
def test_a_url_with_a_secret_is_refused_and_not_shown(url: str) -> None:
    assert holds_secret(url)
    assert SECRET not in shown(url)
    with pytest.raises(InputError) as caught:
        urls_of({"--webhook": url, "--alertmanager": None})
    assert SECRET not in str(caught.value)
    assert "env:NAME or file:PATH" in str(caught.value)


@pytest.mark.parametrize(
    "url", [f"ftp://h/{SECRET}/a", f"https:///{SECRET}/a", f"https://h:99999/{SECRET}/a", f"a/{SECRET}"]
)
def test_a_wrong_url_is_not_shown(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", url)
    for given in (url, "env:HOOK"):
        with pytest.raises(InputError, match="not a URL to send to") as caught:
            http_url("--webhook", given)
        assert SECRET not in str(caught.value)


def test_a_variable_or_a_file_may_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", HOLDING[0])
    file = tmp_path / "hook"
    file.write_text(HOLDING[3] + "\n")
    file.chmod(0o600)
    given: dict[str, str | None] = {"--webhook": "env:HOOK", "--alertmanager": f"file:{file}"}
    assert urls_of(given) == [HOLDING[0], HOLDING[3]]
    file.chmod(0o644)
    monkeypatch.delenv("HOOK")
    with pytest.raises(InputError) as caught:
        urls_of(given)
    assert [str(problem.place) for problem in caught.value.problems] == ["--alertmanager", "--webhook"]


def test_a_receiver_that_fails_is_shown_by_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    notifier = Notifier(HOLDING[0], None, said.append)

    class Client:
        async def post(self, where: str, json: object) -> object:
            raise errors.pop()

    errors = [RecursionError(), httpx.ConnectError(f"no way to {HOLDING[0]}")]
    for _ in range(2):
        assert not asyncio.run(notifier._sent(Client(), HOLDING[0], [{}]))
    assert said == [
        "https://h does not take anomalies: no way to https://h",
        "https://h does not take anomalies: RecursionError",
    ]


def test_a_database_with_a_password_is_refused_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"postgresql://u:{SECRET}@h@127.0.0.1:1x/db"
    assert is_database(url)
    with pytest.raises(InputError) as caught, opened(url):
        pass
    assert SECRET not in str(caught.value)
    monkeypatch.setenv("STORE", url)
    with pytest.raises(OutputError, match="env:STORE") as failed, opened("env:STORE"):
        pass
    assert SECRET not in str(failed.value)
    monkeypatch.setenv("STORE", f"mysql://{SECRET}")
    with pytest.raises(SpecError, match="env:STORE: it does not name a database") as wrong, opened("env:STORE"):
        pass
    assert SECRET not in str(wrong.value)
    with pytest.raises(OutputError), opened("postgresql://reader@127.0.0.1:1/db"):
        pass
