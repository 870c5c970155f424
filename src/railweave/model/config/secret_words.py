"""Secrets in configuration: the reference that replaces a value, and the words of command languages that announce one.

Sources:

- Junos CLI reference (``authentication-key``, ``secret``, ``pre-shared-key``, ``snmp community``, ``trap-group``, whose name is
  the community of traps).
- Arista EOS user manual (``username``, ``snmp-server``, ``tacacs-server``, ``ntp authentication-key``, MACsec, shared-secret profiles).
- FRRouting documentation (BGP, OSPF, IS-IS, key chains, NHRP, VRRP, vty).
- Enterprise SONiC user guide.

This module is a vocabulary and not a grammar: a statement that no reader knows announces its secret by the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


REFERENCE = re.compile(r"<secret:([^>]*)>")
"""The form of a secret in configuration; its group is the name."""
HIDDEN = "<hidden>"
"""The text that replaces a secret that was taken out (``gate``)."""
_QUOTED = r'"(?:[^"\\]|\\.)*"'
"""A text in quotation marks, in which a backslash stands before one that belongs to it."""
_INSIDE = r'(?:[^"\\]|\\.)*'
"""The content of quotation marks that exist already, as in JSON."""
_WORD = r'[^\s"]+'
"""A word of a line: it ends at a blank, and has no quotation mark in it."""
_WORD_OF_BRACES = r'(?:(?!/\*)[^\s"{}\[\];#|?])+'
"""A word where braces, semicolons and comments end one without a blank before them."""


@dataclass(frozen=True)
class Secret:
    """A secret by its name; printed as the reference that replaces the secret in configuration."""

    name: str

    def __str__(self) -> str:
        return f"<secret:{self.name}>"


def secrets(text: str) -> tuple[Secret, ...]:
    """The secrets that a text refers to, in order."""
    return tuple(Secret(name) for name in REFERENCE.findall(text)) if "<secret:" in text else ()


def alike(text: str, other: str) -> bool | None:
    """Return whether two texts are the same; None if they differ only by values in the place of secrets, which cannot be compared."""
    if text == other:
        return True
    return None if filled(text, other) or filled(other, text) else False


def filled(line: str, text: str) -> bool:
    """Return whether a text is a line with only values in place of its references; a reference may also stay in its place."""
    match = secret_pattern(line).fullmatch(text) if "<secret:" in line else None
    if match is None:
        return False
    pairs = zip(secrets(line), match.groups(), strict=True)
    return all(
        not there or there == (secret,) for secret, there in ((reference, secrets(word)) for reference, word in pairs)
    )


@lru_cache(maxsize=1024)
def secret_pattern(line: str) -> re.Pattern[str]:
    """Return the pattern of a line whose references have values; each group is the value of one reference.

    A value is one word, or one text in quotation marks, as the line takes it. It is never more, so that nothing hides in it. In a line
    of braces (``key <secret:x>;``), or a ``set`` line, a word ends at a brace or a semicolon too.
    """
    braces = line.rstrip().endswith((";", "{", "}")) or line.startswith("set ")
    value = f"({_QUOTED}|{_WORD_OF_BRACES if braces else _WORD})"
    parts: list[str] = []
    at, quoted = 0, False
    for match in REFERENCE.finditer(line):
        before = line[at : match.start()]
        quoted ^= len(_MARK.findall(before)) % 2 == 1
        parts += [re.escape(before), f"({_INSIDE})" if quoted else value]
        at = match.end()
    return re.compile("".join([*parts, re.escape(line[at:])]))


_MARK = re.compile(r'(?<!\\)(?:\\\\)*"')
"""A quotation mark that no backslash takes away."""


STEMS = re.compile(
    r"(?i)pass|secret|key|communit|psk|\bcak|token|auth|priv|md5|snmp|bearer|ascii-text|hexadecimal|credential|certificates|bindpw|\$\w{1,6}\$"
    r"|://|eyJ"
)
"""Words of lines with a secret; a line without any of these is not looked at."""
_ANNOUNCES = re.compile(
    r"(?:[a-z0-9]+[-_])*(?:password|passwd|pass-?phrase|passkey|secret|psk|cak|bindpw|token|credential|apikey|jwt|ascii-text|hexadecimal"
    r"|(?:auth|authentication|privacy|priv|private|shared|encryption|md5|message-digest|digest|api|access|server|secret|md|master)[-_]key"
    r"|key[-_](?:string|value|data|octet-string))"
    r"(?:[-_](?:hash|hashed|encrypted|value|text))?"
)
"""A word after which a secret stands, once the words of its form are over."""
_FORM = re.compile(
    r"\d{1,5}|8a|md5|sha[-\d]*|hmac-[\w-]+|aes[-\w]*|3?des\w*|cmac[-\w]*|clear(?:-?text)?|plain(?:-?text)?|encrypted|hash(?:ed)?|ascii-text|hexadecimal"
    r"|text|string|type|value|key-id|keyid|ietf-md5|algorithm|[xy]"
)
"""Words between an announcement and its secret: an encryption type, an algorithm, the number of a key."""
_TYPE = re.compile(r"[05789]|8a|clear(?:text)?|encrypted|plain(?:text)?|hash(?:ed)?|md5|sha[-\d]+")
_ALGORITHM = re.compile(r"md5|sha[-\d]*|aes[-\w]*|3?des\w*|hmac-[\w-]+")
_AFTER = frozenset(
    """
    encrypted fallback ro rw view group role privilege port auth-port acct-port vrf use-vrf timeout retransmit retries
    receive-lifetime transmit-lifetime send-lifetime accept-lifetime lifetime local algorithm auth priv priority
    auth-type access acl ipv4 ipv6 udp-port single-connection cipher shell sshkey ssh-key nopassword start-time
    authorization read-only read-write clients traps informs trap inform version source-interface routing-instance
    source-address options hello level-1 level-2 authenticate remote localized deadtime key-id mode rounds and / ; | { }
    """.split()  # noqa: SIM905 - one word a line would hide the rest
)
"""Words that stand behind a secret, and are none."""
_NO_VALUE = frozenset(
    """
    ckn profile policy format encryption encryption-key minimum-length maximum-length minimum-changes minimum-numerics
    minimum-upper-cases minimum-lower-cases minimum-punctuations minimum-character-changes minimum-reuse change-type
    history expire recovery complexity aging common reversible chain server timeout retry-options
    """.split()  # noqa: SIM905 - one word a line would hide the rest
)
"""Words after an announcement that say that no secret follows."""
_IN_A_CHAIN = frozenset(
    [
        "secret",
        "key-string",
        "start-time",
        "algorithm",
        "options",
        "cryptographic-algorithm",
        "accept-lifetime",
        "send-lifetime",
    ]
)
_NO_KEY_BEFORE = frozenset(["hash", "ssh", "public", "sort", "ssl", "certificate", "host", "primary"])
_FREE = frozenset(["description", "remark", "banner", "contact", "location", "message", "announcement", "motd"])
"""Words after which text for people stands: announcements in it are chance."""
_FAR = 8
"""So many words before a statement may announce its first one: ``secret { VALUE { … } }``."""
_COMMUNITY = re.compile(r"(?:[a-z]+[-_])*community(?:[-_](?:name|string))?")
_TRAP_PAIRS = frozenset(["vrf", "version", "udp-port", "source-interface", "interface", "use-vrf"])
_TRAP_WORDS = _TRAP_PAIRS | {"traps", "informs", "trap", "inform"}
_TRAP_GROUP = "railweave"
"""The group that railweave names itself: it is in every rendered configuration, and no secret."""

SHAPE = re.compile(
    r"\$(?:\d{1,2}|2[aby]|y|gy|8[aA]|sha\d*|md5|apr1)\$[^\s;\"'<>]+"  # crypt(3) and Junos
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"  # a JSON web token
)
"""Texts that are a secret anywhere."""
INSIDE = re.compile(
    r"(?i)(?:(?<![a-z0-9])(?:[a-z0-9]+[-_.])*(?:password|passwd|pwd|secret|token|apikey|api[-_]key|access[-_]key|[a-z]*auth)=(?:(?:key|token|token-secure),)?+"
    r"|[a-z][a-z0-9+.-]*://[^\s:/@\"]*:|\bbearer\s+|\bauthorization:\s*\w+\s+)(?P<value>(?!<)[^\s,;\"'&@<>]+)"
)
"""Secrets inside a word or a text: ``token=…``, ``ftp://user:…@host``, an HTTP header."""


def secret_words(words: Sequence[str], start: int = 0, *, lines: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the places (first, past the last) of secrets among the words of a statement from ``start`` on.

    The words before ``start`` are those of the statements above. ``lines``: the words are of a command language in which a secret may
    have blanks and reaches to the end of its line.
    """
    low = [word.strip('"').lower().removeprefix("--") for word in words]
    opens = low[-1:] == ["{"]
    end = next((at for at in range(start, len(low)) if low[at] in _FREE), len(low) - opens)
    at = start if lines else max(0, start - _FAR)
    if start == end - 1 and not opens and "certificates" in low[:start]:  # the whole of ``local NAME { CERTIFICATE; }``
        yield start, end
        return
    while at < end:
        announced = _announced(low, at, end)
        form = opens and announced is not None and announced[0] == end - 1 and _FORM.fullmatch(low[end - 1])
        if announced is None or announced[0] < start or form:  # in what it stands in, or the block has it
            at += 1
            continue
        at, whole = announced
        first = at
        at += 1
        if lines and whole and not words[first].startswith('"'):
            while at < end and low[at] not in _AFTER:
                at += 1
        yield first, at


def _announced(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """The place of the secret that a word announces, and whether it may have several words; None: it announces none."""
    word, after = low[at], at + 1
    if word == "local" and at and low[at - 1] == "certificates" and at + 2 < end:
        return at + 2, False
    if after >= end:
        return None
    if word == "key":
        return _of_key(low, at, end)
    if _ANNOUNCES.fullmatch(word):
        place = _past_form(low, after, end)
        return None if _is_no_value(low, place, end) else (place, True)
    if word in {"auth", "priv"} and _ALGORITHM.fullmatch(low[after]):
        place = _past_form(low, after, end)
        return None if _is_no_value(low, place, end) or place == after else (place, False)
    if word == "authentication":
        return _of_authentication(low, at, end)
    if word == "spi" and low[at - 1] == "ipsec" and at + 2 < end:  # ``ipsec spi 33 sha1 0 KEY``
        place = _past_form(low, at + 2, end)
        return None if _is_no_value(low, place, end) else (place, True)
    if word == "value" and "ntp_key" in low[:at]:
        return after, False
    if _of_snmp(low, at):
        return _community(low, at, end)
    return None


def _of_snmp(low: list[str], at: int) -> bool:
    return any(word == "snmp" or word.startswith(("snmp-server", "snmp_")) for word in low[: at + 1])


def _past_form(low: list[str], at: int, end: int) -> int:
    while at + 1 < end and _FORM.fullmatch(low[at]) and low[at + 1] not in _AFTER:
        at += 1
    return at


def _is_no_value(low: list[str], at: int, end: int) -> bool:
    """Return whether a word in the place of a secret is none: it says what follows, or announces one itself."""
    if low[at] in _NO_VALUE:
        return True
    more = at + 1 < end and low[at + 1] not in _AFTER
    return (more and bool(_ANNOUNCES.fullmatch(low[at]))) or (low[at] == "shared-secret" and at + 1 < end)


def _of_key(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """``key SECRET``, ``key 7 SECRET``, ``key NAME 7 SECRET``; the number of a key in a chain, or its file, is no secret."""
    first, second, third = at + 1, at + 2, at + 3
    word = low[first]
    if low[-1] == "{" or word in _NO_VALUE or (at and low[at - 1] in _NO_KEY_BEFORE) or word.endswith((".key", ".pem")):
        return None
    if second < end and (low[second] in _IN_A_CHAIN or (_ANNOUNCES.fullmatch(low[second]) and third < end)):
        return None
    if third < end and _TYPE.fullmatch(low[second]) and low[third] not in _AFTER:
        return third, True
    if (
        second < end
        and (_TYPE.fullmatch(word) or (_FORM.fullmatch(word) and not word.isdigit()))
        and low[second] not in _AFTER
    ):
        return second, True
    if word.isdigit() and second >= end:
        says = ("-server", "tacacs", "radius", "md5", "authentication", "ntp", "license")
        return (first, True) if any(say in there for there in low[:at] for say in says) else None
    if word == "id" or word in _IN_A_CHAIN:
        return None
    return first, True


def _of_authentication(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """``authentication text SECRET``; of VRRP and NHRP also without ``text``."""
    first = at + 1
    if low[first] in {"text", "string", "plain", "simple", "plaintext", "cleartext"} and first + 1 < end:
        return first + 1, True
    if any(word in {"vrrp", "nhrp", "hsrp"} for word in low[:at]) and not re.match(
        r"mode|type|md5|ietf|key|ah|none|simple", low[first]
    ):
        return first, True
    return None


def _community(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """The community that a word of an SNMP statement announces."""
    word, after = low[at], at + 1
    if word == "snmp_community":  # a table of SONiC, whose keys are communities
        return after, False
    if word == "trap-group":
        return None if low[after] == _TRAP_GROUP else (after, False)
    if _COMMUNITY.fullmatch(word):
        return after, False
    if word == "host" and at and low[at - 1] == "snmp-server":
        return _of_trap_target(low, at + 2, end)
    return None


def _of_trap_target(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """The community of ``snmp-server host ADDRESS [vrf VRF] [traps] [version 2c] COMMUNITY``; version 3 has a user in its place."""
    rest = low[at:end]
    if {"community", "user"} & set(rest) or ("version" in rest and rest[rest.index("version") + 1 :][:1] == ["3"]):
        return None
    while at < end and low[at] in _TRAP_WORDS:
        at += 2 if low[at] in _TRAP_PAIRS else 1
    return (at, False) if at < end else None
