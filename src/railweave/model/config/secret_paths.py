"""Secrets in JSON and XML documents: the keys, tags and attributes whose values are secrets.

A document's names differ by system and release (auth-password, authPassphrase, AUTH_PASSWORD). A name is
therefore split into its words, and the words decide.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HOLDS = re.compile(r"password|passwd|passphrase|passkey|passcode|secret|credential|apikey|authkey|bindpw")
"""A pattern of parts of a name whose value is a secret, in any of the name's words."""
_WORDS = frozenset("pwd psk cak token tokens jwt pat".split())  # noqa: SIM905 - one word a line would hide the rest
"""Words of a name whose value is a secret. As parts of longer words they are harmless."""
_SETTINGS = frozenset(
    """
    type types policy profile file path length minimum maximum min max history lifetime format expiry age chain chains id name names
    enabled enable bucket rate count counter counters algorithm mode encryption encrypted role change changes retries
    reuse timeout interval size bytes at until status state fallback
    """.split()  # noqa: SIM905
)
"""Last words of names that are settings of a secret, such as ``password-minimum-length``."""
_YES_OR_NO = frozenset(["empty", "allow", "require", "required", "use", "has", "is", "show", "weak", "no"])
"""First words of names that are switches, such as ``allow-empty-passwords``."""
_MATCHED = frozenset(["meta", "ct", "rt", "fib", "socket", "osf"])
"""Expressions of nftables, whose ``key`` names what is compared."""
_NO_SECRET_KEY = frozenset(
    """
    public ssh host primary foreign sort hash index row map flow ecmp lag load table object cache group trusted session
    route entry vlan queue port
    """.split()  # noqa: SIM905
)
"""Words before ``key`` in names whose values are no secrets."""
_OF_KEY = frozenset(["string", "value", "data", "hash", "text", "hex", "octet", "secret"])
_OF_COMMUNITY = frozenset(["name", "index", "string"])


@lru_cache(maxsize=4096)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: authPassphrase and AUTH_PASSPHRASE give auth and passphrase."""
    return tuple(part.lower() for part in _PARTS.findall(name[:200]))


@lru_cache(maxsize=4096)
def announces(name: str) -> bool:
    """Return True if a value of this name is a secret, whatever is above it."""
    words = name_words(name)
    if not words or words[-1] in _SETTINGS or words[0] in _YES_OR_NO:
        return False
    if _HOLDS.search("".join(words)) or not _WORDS.isdisjoint(words):
        return True
    if words[0] in {"md5", "ascii", "hexadecimal", "sha1", "sha256", "sha512"} or words[:2] == ("md", "5"):
        return words in {("md5",), ("md", "5"), ("md", "5", "key"), ("md5", "key"), ("ascii", "text"), ("hexadecimal",)}
    if "key" not in words[1:]:
        return False
    at = words.index("key", 1)
    return words[at - 1] not in _NO_SECRET_KEY and (at == len(words) - 1 or words[at + 1] in _OF_KEY)


@lru_cache(maxsize=4096)
def _of_community(name: str) -> bool:
    return any(word.startswith("communit") for word in name_words(name))


@lru_cache(maxsize=4096)
def _of_snmp(name: str) -> bool:
    return any(word.startswith("snmp") for word in name_words(name)) or name in {"v2c", "trap-group"}


def is_secret(names: Sequence[str], value: str) -> bool:
    """Return True if the text ``value`` is a secret. ``names`` are the names that lead to it, from the top of the document."""
    if not names:
        return False
    last = names[-1]
    words = name_words(last)
    if announces(last):
        return True
    if words == ("key",):
        return not _PLAIN.fullmatch(value) and not (len(names) > 1 and names[-2] in _MATCHED)
    if words in {("authorization",), ("proxy", "authorization")}:
        return bool(_LOGIN.match(value)) or any("header" in name.lower() for name in names[:-1])
    snmp = any(_of_snmp(name) for name in names)
    if snmp or words == ("communities",):
        if _of_community(last) and not _BGP.fullmatch(value):
            return True
        if words[-1:] and words[-1] in _OF_COMMUNITY and any(_of_community(name) for name in names[:-1]):
            return True
    if snmp and words in {("security", "name"), ("text", "name")}:
        return True
    if words == ("name",) and names[-2:-1] and names[-2] in {"v2c", "trap-group"}:
        return value != "railweave"  # the trap group of every rendered configuration
    if words == ("name",) and [*names[-3:-1]] == ["keys", "key"]:
        return True
    if words in {("name",), ("key",), ("keys",)} and any("license" in name.lower() for name in names[:-1]):
        return any(name_words(name)[-1:] in {("key",), ("keys",)} for name in names)
    above = any(announces(name) or name.startswith("NTP_KEY") for name in names[:-1])
    return above and not (words and words[-1] in _SETTINGS)


def is_secret_name(above: Sequence[str], name: str) -> bool:
    """Return True if a name in a document is a secret itself: an SNMP community that is a key of a table. ``above`` are the names above it."""
    if not above or not _of_community(above[-1]) or _BGP.fullmatch(name):
        return False
    known = name_words(name)
    if known and (announces(name) or known[-1] in _SETTINGS | _OF_COMMUNITY | {"access", "authorization", "community"}):
        return False
    return any(_of_snmp(part) for part in above) or name_words(above[-1]) == ("communities",)


_PLAIN = re.compile(
    r"-?[\d.,:/-]+|[0-9a-fA-F:.]{3,39}(?:/\d+)?|[A-Za-z-]{1,20}\d+(?:[/:.]\d+)*|/(?:[\w.-]+/)+[\w.-]+|[\w.-]{1,60}\.(?:key|pem|crt|cer)|"
)
"""A pattern of values of ``key`` that are no secrets: numbers, addresses, ports and paths."""
_BGP = re.compile(
    r"(?:\d+|large|target|origin|rt|soo)(?::[\d.]+){1,3}|\d+|no-\w+(?:-\w+)*|local-\w+|internet|graceful-shutdown|blackhole|additive"
)
_LOGIN = re.compile(r"(?i)(?:basic|bearer|digest|token|negotiate)\s")
