"""URLs that may hold a password or a token. Only the scheme and the host of such a URL are ever shown.

Others can read the command line of a process (``ps``). So a URL with a password is refused there, and is given as a reference
instead: ``env:NAME`` or ``file:PATH``.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from railweave.errors import InputError, Option, Place, Problem, RailweaveError
from railweave.reading import readable_by_others

_REFERENCE = re.compile(r"(env|file):(?!//)(.+)", re.DOTALL)
_SECRET = re.compile(r"(?i)[?&;#][^=&;#]*(?:token|secret|passw|key|auth|signature|\bsig)[^=&;#]*=")
_HOST = re.compile(r"[\w.-]+(?::\d+)?|\[[\da-fA-F:.]+\](?::\d+)?")
_WORD = re.compile(r"[\w.-]{1,32}")


class SecretError(RailweaveError):
    """The error for a secret that cannot be read. ``what`` describes the error, ``fix`` the remedy."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message, fix)
        self.what = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what


def secret(kind: str, name: str) -> str:
    """Return the text of an environment variable (``kind`` is ``env``), or of a file that only its owner can read (``file``).

    Raises ``SecretError`` if the text is missing or empty, or if other users can read the file.
    """
    if kind == "env":
        if (text := os.environ.get(name)) is None:
            raise SecretError(f"the environment has no {name}", f"export {name} first")
        return _not_empty(text, f"{name} is empty in the environment")
    try:
        with open(name, encoding="utf-8") as stream:  # noqa: PTH123 - its mode is that of what was opened
            if mode := readable_by_others(stream.fileno()):
                raise SecretError(f"others may read {name} ({mode})", f"chmod 600 {name}")
            return _not_empty(stream.read().rstrip("\r\n"), f"{name} is empty")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SecretError(f"cannot read {name}: {reason}") from None


def _not_empty(text: str, why: str) -> str:
    if not text.strip():
        raise SecretError(why, "give it the secret that it is to hold: an empty one would let anybody in")
    return text


def has_user(url: str) -> bool:
    """Return True if a URL has a user name or a password.

    An ``@`` in a path counts too, because a slash in a password ends the host's part too early.
    """
    return "@" in url.partition("?")[0].partition("#")[0]


def holds_secret(url: str) -> bool:
    """Return True if a URL has a user name or a password, or a query such as ``token=``."""
    return has_user(url) or _SECRET.search(url) is not None


def shown(url: str) -> str:
    """Return the scheme, host and port of a URL; ``a URL`` if it has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "a URL"
    host = parts.netloc.rpartition("@")[2]
    if not parts.scheme or not _HOST.fullmatch(host) or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "a URL"
    return f"{parts.scheme}://{host}"


def resolved(place: Place, given: str, *, user_is_secret: bool = True) -> str:
    """Return the URL that ``given`` is, or that it names as ``env:NAME`` or ``file:PATH``.

    ``place`` is the place of the value, for errors. If ``user_is_secret`` is False, a user name without a password is allowed.

    Raises ``InputError`` if the URL itself is given and holds a secret, and if the reference leads to no text. No error shows the URL.
    """
    if reference := _REFERENCE.fullmatch(given):
        try:
            return secret(reference[1], reference[2]).strip()
        except SecretError as error:
            raise InputError([Problem(_nameless(place), error.what, error.fix)]) from None
    user = re.match(r"[^/?#]*//[^:@/?#]*@", given)
    rest = given if user is None or user_is_secret else given.replace(user[0], user[0].partition("//")[0] + "//", 1)
    if holds_secret(rest):
        fix = "put the URL into a variable or a file that only you can read, and give env:NAME or file:PATH"
        raise InputError(
            [Problem(_nameless(place), "a password or a token is in the URL, where others can read it", fix)]
        )
    return given


def _nameless(place: Place) -> Place:
    """Return a place without the value that the user gave."""
    return Option(place.name) if isinstance(place, Option) else place


def http_url(option: str, given: str) -> str:
    """Return the HTTP or HTTPS URL of an option, resolved as in ``resolved``. Raises ``InputError`` if it is no URL to send to."""
    import httpx

    url = resolved(Option(option), given)
    try:
        parts, used = urlsplit(url), httpx.URL(url)
        good = used.scheme in {"http", "https"} and bool(used.host) and parts.port != 0
    except (ValueError, httpx.InvalidURL):  # a host name that IDNA does not allow is a ValueError
        good = False
    if not good:
        name = given if _WORD.fullmatch(given) else shown(given)
        place = Option(option, name if url == given and name != "a URL" else "")
        raise InputError([Problem(place, "it is not a URL to send to", "write http://HOST:PORT/PATH")])
    return url
