"""A client of a running watch: it reads anomalies and silences, and changes them."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, OutputError, Problem
from railweave.live.reach.failure import ReachError
from railweave.live.reach.target import password_of
from railweave.operations.watch.silences import TOKEN
from railweave.reading import parse_json
from railweave.secret_url import http_url, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE_S = 10.0
MOST_ANSWER = 64 << 20
"""The largest answer that is read, in bytes."""


class WatchClient:
    """A client of the watch whose console is at the URL ``at``, or at the URL that ``env:NAME`` or ``file:PATH`` hold.

    ``password`` and ``token`` name their sources, as ``env:NAME`` or ``file:PATH``; None means that none is sent. Raises ``InputError`` if a
    source or the URL is wrong.
    """

    def __init__(self, at: str, password: str | None = None, token: str | None = None) -> None:
        self._url = http_url("--at", at).rstrip("/")
        self._password = None if password is None else password_of(password)
        try:
            self._token = None if token is None else password_of(token, "--token")
        except ReachError as error:
            fix = "give the token of --write-token"
            raise InputError([Problem(Option("--token", token or ""), str(error), fix)]) from None

    def read(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON value at a path. Raises ``OutputError`` if the watch does not answer, or refuses."""
        return self._asked("GET", path, None)

    def change(self, path: str, fields: Mapping[str, str], by: str) -> Any:  # noqa: ANN401 - JSON
        """Send fields to a path in the name of ``by`` (empty: the user of this machine), and return the answer.

        Raises ``OutputError`` if the watch does not answer, or refuses.
        """
        given = {key: value for key, value in fields.items() if value}
        return self._asked("POST", path, {**given, "by": by or _user()})

    def _asked(self, method: str, path: str, body: dict[str, str] | None) -> Any:  # noqa: ANN401 - JSON
        import httpx

        headers = {} if body is None or self._token is None else {TOKEN: self._token}
        auth = None if self._password is None else ("railweave", self._password)
        name = shown(self._url)
        try:
            with httpx.Client(timeout=PATIENCE_S, trust_env=False) as client:
                answer = client.request(method, f"{self._url}{path}", json=body, headers=headers, auth=auth)
        except httpx.HTTPError as error:
            raise OutputError(
                f"{name} does not answer: {error or type(error).__name__}; does `railweave watch` run there?"
            ) from None
        try:
            value: Any = parse_json(answer.content[:MOST_ANSWER])
            message = "" if answer.is_success else str(value["error"])
        except (ValueError, KeyError, TypeError):
            value = message = None
        if answer.is_success and message is not None:
            return value
        raise OutputError(f"{name} refuses: {message or answer.text.strip()[:300] or answer.status_code}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "command line"
