"""Secrets in configuration: the reference that replaces a value, and the words of command languages that precede a secret.

Sources:

- Junos CLI reference (``authentication-key``, ``secret``, ``pre-shared-key``, ``snmp community``, and ``trap-group``,
  whose name is the community of traps).
- Arista EOS user manual (``username``, ``snmp-server``, ``tacacs-server``, ``ntp authentication-key``, MACsec,
  shared-secret profiles).
- FRRouting documentation (BGP, OSPF, IS-IS, key chains, NHRP, VRRP, vty).
- Enterprise SONiC user guide.

This module knows only single words, not the syntax of statements. It therefore also finds secrets in statements that
railweave cannot read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.config.secret_paths import announces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


REFERENCE = re.compile(r"<secret:([^>]*)>")
"""The pattern of a secret's reference in a configuration. Its group is the secret's name."""
UNKNOWN_SECRET = "secret:?"  # noqa: S105 - stands for a secret
"""The name that replaces a secret's value if a configuration contains the value itself, in clear text, hashed or obfuscated.

The value is never kept.
"""
HIDDEN = "<hidden>"
"""The text in place of each secret that the module ``gate`` removes."""
_QUOTED = r'"(?:[^"\\]|\\.)*"'
"""A pattern of text with its quotation marks; a backslash escapes the next character."""
_INSIDE = r'(?:[^"\\]|\\.)*'
"""A pattern of text between quotation marks that are matched separately, for example in JSON."""
_WORD = r'[^\s"]+'
"""A pattern of a word without blanks or quotation marks."""
_WORD_OF_BRACES = r'(?:(?!/\*)[^\s"{}\[\];#|?])+'
"""A pattern of a word in a syntax with braces (Junos). The word also ends at a brace, a semicolon or a comment."""


@dataclass(frozen=True)
class Secret:
    """A secret, identified by its name. As text, it is the reference ``<secret:NAME>``, which replaces the secret in configuration."""

    name: str

    def __str__(self) -> str:
        return f"<secret:{self.name}>"


def reference(text: str) -> str:
    """Return ``secret:NAME`` if the text is the reference ``<secret:NAME>``.

    For any other text, return ``UNKNOWN_SECRET``.
    """
    match = REFERENCE.fullmatch(text)
    return f"secret:{match[1]}" if match else UNKNOWN_SECRET


def secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets whose references ``<secret:NAME>`` are in a text, in order."""
    return tuple(Secret(name) for name in REFERENCE.findall(text)) if "<secret:" in text else ()


def alike(text: str, other: str) -> bool | None:
    """Return True if two texts are equal, and False if they differ. Return None if they differ only in secrets.

    In the last case, one text has values where the other text has references ``<secret:NAME>``.
    """
    if text == other:
        return True
    return None if filled(text, other) or filled(other, text) else False


def filled(line: str, text: str) -> bool:
    """Return True if ``text`` is ``line`` with some or all references ``<secret:NAME>`` replaced by values.

    The result is False for a line without references.
    """
    match = secret_pattern(line).fullmatch(text) if "<secret:" in line else None
    if match is None:
        return False
    pairs = zip(secrets(line), match.groups(), strict=True)
    return all(
        not there or there == (secret,) for secret, there in ((reference, secrets(word)) for reference, word in pairs)
    )


@lru_cache(maxsize=1024)
def secret_pattern(line: str) -> re.Pattern[str]:
    """Return a pattern that matches ``line`` with a value in place of each reference ``<secret:NAME>``. Each group is one value.

    A value is exactly one word or one quoted text, so that it cannot hide anything else. In a line with braces (``key <secret:x>;``)
    and in a ``set`` line, a word also ends at a brace or a semicolon.
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
"""A pattern of a quotation mark that no backslash escapes."""


STEMS = re.compile(
    r"(?i)pass|secret|key|communit|psk|(?:\b|_)cak|token|auth|priv|md5|snmp|bearer|ascii-text|hexadecimal|credential|certificates|bindpw|\$\w{1,6}\$"
    r"|://|eyJ|jwt|pwd|license|security|_pat\b|\bpat=|curl|mysql|[A-Za-z0-9+/]{40}"
)
"""A pattern of parts of words. A line with a secret contains at least one of them, so all other lines are skipped."""
_ANNOUNCES = re.compile(
    r"(?:[a-z0-9]{1,32}[-_]){0,6}(?:password|passwd|pass-?phrase|passkey|secret|psk|cak|bindpw|token|credential|apikey|jwt|ascii-text|hexadecimal"
    r"|(?:auth|authentication|privacy|priv|private|shared|encryption|md5|message-digest|digest|api|access|server|secret|md|master)[-_]key"
    r"|key[-_](?:string|value|data|octet-string))"
    r"(?:[-_](?:hash|hashed|encrypted|value|text))?"
)
"""A pattern of words that announce a secret, such as ``password``. Words of ``_FORM`` may come between such a word and the secret."""
_FORM = re.compile(
    r"\d{1,5}|8a|md5|sha[-\d]*|hmac-[\w-]+|aes[-\w]*|3?des\w*|cmac[-\w]*|clear(?:-?text)?|plain(?:-?text)?|encrypted|hash(?:ed)?|ascii-text|hexadecimal"
    r"|text|string|type|value|key-id|keyid|ietf-md5|algorithm|[xy]"
)
"""A pattern of words between an announcing word and its secret: an encryption type, an algorithm, or a key number."""
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
"""Words that may follow a secret and do not belong to it, such as ``role``."""
_NO_VALUE = frozenset(
    """
    ckn profile policy format encryption encryption-key minimum-length maximum-length minimum-changes minimum-numerics
    minimum-upper-cases minimum-lower-cases minimum-punctuations minimum-character-changes minimum-reuse change-type
    history expire recovery complexity aging common reversible chain server timeout retry-options
    """.split()  # noqa: SIM905 - one word a line would hide the rest
)
"""Words such as ``policy`` that may follow an announcing word such as ``password``. A statement with both contains no secret."""
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
FREE = frozenset(["description", "remark", "banner", "contact", "location", "message", "announcement", "motd"])
"""Words that start free text. Announcing words inside free text are ignored."""
_FAR = 8
"""The number of words before a statement among which ``secret_words`` looks for an announcing word, as in ``secret { VALUE { … } }``."""
_COMMUNITY = re.compile(r"(?:[a-z]{1,20}[-_]){0,4}community(?:[-_](?:name|string|map|index))?")
_TRAP_PAIRS = frozenset(["vrf", "version", "udp-port", "source-interface", "interface", "use-vrf"])
_TRAP_WORDS = _TRAP_PAIRS | {"traps", "informs", "trap", "inform"}
_TRAP_GROUP = "railweave"
"""The name of railweave's own SNMP trap group. Every rendered configuration has it, so it is not treated as a secret."""

SHAPE = re.compile(
    r"\$(?:\d{1,2}|2[aby]|y|gy|8[aA]|sha\d{0,4}|md5|apr1)\$[^\s\"']+"  # crypt(3) and Junos
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"  # a JSON web token
    r"|(?<![\w+/-])(?!AAAA)(?=[A-Za-z+/]{0,40}\d)(?=[A-Z\d+/]{0,40}[a-z])(?=[a-z\d+/]{0,40}[A-Z])[A-Za-z0-9+/]{40,}={0,2}"  # Base64
)
"""A pattern of texts that are secrets wherever they occur: password hashes, and long texts of Base64, but for public SSH keys."""
KEY_BEGIN = re.compile(r"(?i)-----? ?BEGIN (?!(?:[A-Z0-9]+ ){0,8}PUBLIC KEY)[A-Z0-9 ]{1,40}-----?")
"""A pattern of the line before a key or certificate (RFC 7468, RFC 4716), but for public keys."""
PLAIN = re.compile(r"-?[\d.,:/%-]{1,40}|(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F.]{0,15}(?:/\d{1,3})?|[{}\[\];,]")
"""A pattern of words that are numbers or addresses."""
_OPTION = re.compile(r"-{1,2}[\w-]{0,40}?(?:auth|password|passwd|passphrase|token|secret|key|credentials?)=?\"?")
_OPTIONS = {
    "curl": ("-u", "--user", "-U", "--proxy-user"),
    "mysql": ("-p",),
    "sshpass": ("-p",),
    "ldapsearch": ("-w",),
    **dict.fromkeys(("snmpwalk", "snmpget", "snmpbulkwalk", "snmpset", "snmptrap"), ("-c", "-A", "-X")),
}
"""The options of programs, as scripts in configurations call them, that a secret follows."""
_LABEL = frozenset("community password passwd passphrase passkey pass secret token psk pin cak key".split())  # noqa: SIM905 - a list of words
_LABEL_MORE = frozenset(["name", "string", "index"])
_NO_LABELLED = re.compile(
    r"(?:\d+|large|target)(?::[\d.]+){1,3}|yes|no|none|on|off|true|false|(?:not )?(?:enabled|disabled|configured|set|required|supported|hidden)|<.*|-+|"
)


def is_announced(words: Sequence[str]) -> bool:
    """Return True if the word after ``words`` is a secret of a login or of a program's option: ``Bearer X``, ``-cvauth key,X``, ``curl -u X``."""
    last = words[-1].strip("\"':")
    if last.lower() == "bearer" or (
        len(words) > 1 and last.lower() == "basic" and "authorization" in words[-2].lower()
    ):
        return True
    if words[-1].startswith("-") and _OPTION.fullmatch(words[-1]):
        return True
    return any(last in _OPTIONS.get(word.rpartition("/")[2].strip("\"'"), ()) for word in words[-12:-1])


def labelled(words: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yield (index, index after it) of each word that follows a label in text for people: ``Community name: X``, ``the password is X``.

    ``words`` begin with the words of the parent statements; the statement itself begins at the index ``start``.
    """
    if not any(word in {"is", "was"} or word[-1:] in {":", "="} for word in words[start:]):
        return
    for at in range(start, len(words) - 1):
        word = words[at].strip("\"'(").lower()
        bare = word.rstrip(":=")
        if bare not in _LABEL and not (bare == "name" and at > start and words[at - 1].lower() == "security"):
            continue
        after = at + 1
        if word == bare:
            marked = words[after].lower()
            if marked.rstrip(":") in _LABEL_MORE and after + 1 < len(words):
                after += 1
                if not marked.endswith(":"):
                    if words[after] not in {":", "="}:
                        continue
                    after += 1
            elif marked in {"is", "was", ":", "="}:
                after += 1
            else:
                continue
        if after < len(words) and not _NO_LABELLED.fullmatch(words[after].strip("\"'.,;").lower()):
            yield after, after + 1


_PAIR = re.compile(r"(?<![\w.-])(-{0,2}[A-Za-z][\w.-]{0,60})=")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20})://")
_LOGINS_BY_KEY = frozenset(["ssh", "scp", "sftp", "git", "rsync", "nfs"])
_HEADER = re.compile(
    r"(?i)\bauthorization:\s{0,4}\w{1,20}\s{1,4}(?P<value>(?!<)[^\s\"']+)|\bbearer\s{1,4}(?P<bearer>(?!<)[^\s\"']+)"
)


def inside_word(word: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of secrets inside a word: ``token=…``, the login and the query of a URL, an HTTP header."""
    spans: list[tuple[int, int]] = []
    for match in _HEADER.finditer(word):
        group = "value" if match["value"] else "bearer"
        spans.append(match.span(group))
    url = _URL.search(word)
    if url:
        spans += _of_url(word, url.end(), url[1].lower())
    for match in _PAIR.finditer(word, 0, url.start() if url else len(word)):
        if announces(match[1].lstrip("-")) or match[1].lower().endswith(("auth", "key", "-key")):
            first = match.end() + (word[match.end() : match.end() + 1] in {'"', "'"})
            for form in ("key,", "token,", "token-secure,"):
                if word.startswith(form, first):
                    first += len(form)
                    break
            past = len(word.rstrip("\"',;"))
            if word[first : first + 1] != "<" and past > first and not PLAIN.fullmatch(word[first:past]):
                spans.append((first, past))
            break
    return spans


def _of_url(word: str, at: int, scheme: str) -> list[tuple[int, int]]:
    """Return the spans of secrets in a URL whose host begins at ``at``, or after the login there."""
    spans: list[tuple[int, int]] = []
    past = len(word.rstrip("\"'>),;"))
    login = word.rfind("@", at, past)
    if login >= 0:
        colon = word.find(":", at, login)
        first = colon + 1 if colon >= 0 else at
        if first < login and word[first] != "<" and (colon >= 0 or scheme not in _LOGINS_BY_KEY):
            spans.append((first, login))
        at = login + 1
    query = word.find("?", at, past)
    parts = re.finditer(r"[?&#][^=&#?]{0,100}=([^&#]+)", word[query:past]) if query >= 0 else ()
    spans += [
        (query + part.start(1), query + part.end(1))
        for part in parts
        if part[1][0] != "<" and not PLAIN.fullmatch(part[1])
    ]
    if scheme in {"http", "https"}:
        folders = re.finditer(r"/([^/?#]+)", word[at : query if query >= 0 else past])
        spans += [(at + part.start(1), at + part.end(1)) for part in folders if _RANDOM.fullmatch(part[1])]
    return spans


_RANDOM = re.compile(r"(?=.{0,60}\d)(?=.{0,60}[a-z])(?=.{0,60}[A-Z])[\w+=-]{9,}|[A-Za-z0-9_=-]{24,}")
"""A pattern of parts of a URL's path that stand for a login, as those of chat programs do."""


def secret_words(words: Sequence[str], start: int = 0, *, lines: bool = False) -> Iterator[tuple[int, int]]:
    """Yield (index of the first word, index after the last word) of each secret in a statement.

    ``words`` begin with the words of the parent statements; the statement itself begins at the index ``start``. ``lines`` is True for a
    command language in which a secret may contain blanks and extends to the end of its line.
    """
    low = [word.strip('"').lower().removeprefix("--") for word in words]
    opens = low[-1:] == ["{"]
    end = next((at for at in range(start, len(low)) if low[at] in FREE), len(low) - opens)
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
        if words[first] == '"' or (first > 1 and "license" in low[:first] and low[first - 1] == "key"):
            at = end  # a quotation mark that nothing closes; a license has several words
        elif lines and whole and not (len(words[first]) > 1 and words[first].startswith('"')):
            while at < end and (low[at] not in _AFTER or low[start] == "neighbor"):
                at += 1
        yield first, at


def _announced(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """Return (index of the secret that the word at ``at`` announces, True if the secret may have several words), or None.

    ``low`` holds the words in lower case, and ``end`` is the index after the last word of the statement.
    """
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
    """Return True if the word at ``at``, which follows an announcing word such as ``password``, is not the secret itself.

    Such a word is a setting of the secret, for example ``minimum-length``, or is itself an announcing word. ``low`` holds the
    words of the statement in lower case, and ``end`` is the index after the last word.
    """
    if low[at] in _NO_VALUE:
        return True
    more = at + 1 < end and low[at + 1] not in _AFTER
    return (more and bool(_ANNOUNCES.fullmatch(low[at]))) or (low[at] == "shared-secret" and at + 1 < end)


def _of_key(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """Return (index of the secret, True) for ``key SECRET``, ``key 7 SECRET`` or ``key NAME 7 SECRET``, or None.

    ``low`` holds the words in lower case, ``at`` is the index of ``key``, and ``end`` is the index after the last word. The
    number of a key in a chain and the path of a key file are not secrets.
    """
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
        contexts = ("-server", "tacacs", "radius", "md5", "authentication", "ntp", "license")
        return (first, True) if any(say in there for there in low[:at] for say in contexts) else None
    if word == "id" or word in _IN_A_CHAIN:
        return None
    return first, True


def _of_authentication(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """Return (index of the secret, True) for ``authentication text SECRET``, or None. For VRRP and NHRP, the word ``text`` is optional.

    ``low`` holds the words in lower case, ``at`` is the index of ``authentication``, and ``end`` is the index after the last word.
    """
    first = at + 1
    if low[first] in {"text", "string", "plain", "simple", "plaintext", "cleartext"} and first + 1 < end:
        return first + 1, True
    if low[first] == "mode" and first + 2 < end and low[first + 1].startswith("hmac"):
        return first + 2, True
    if any(word in {"vrrp", "nhrp", "hsrp", "standby", "glbp"} for word in low[:at]) and not re.match(
        r"mode|type|md5|ietf|key|ah|none|simple", low[first]
    ):
        return first, True
    return None


def _community(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """Return (index of the SNMP community, False) if the word at ``at`` announces a community, or None.

    ``low`` holds the words in lower case, and ``end`` is the index after the last word. False means that a community is one word.
    """
    word, after = low[at], at + 1
    if word == "snmp_community":  # a table of SONiC, whose keys are communities
        return after, False
    if word == "trap-group":
        return None if low[after] == _TRAP_GROUP else (after, False)
    if _COMMUNITY.fullmatch(word):
        return after, False
    if word == "security-name":
        return after, False
    if word == "host" and "snmp-server" in low[max(0, at - 4) : at]:
        return _of_trap_target(low, at + 2, end)
    return None


def _of_trap_target(low: list[str], at: int, end: int) -> tuple[int, bool] | None:
    """Return (index of the community, False) for an ``snmp-server host`` line, or None.

    ``low`` holds the words in lower case, and ``end`` is the index after the last word. ``at`` is the index after the address in
    ``snmp-server host ADDRESS [vrf VRF] [traps] [version 2c] COMMUNITY``. The result is None for version 3, which has a user in
    place of the community.
    """
    rest = low[at:end]
    if {"community", "user"} & set(rest) or ("version" in rest and rest[rest.index("version") + 1 :][:1] == ["3"]):
        return None
    while at < end and low[at] in _TRAP_WORDS:
        at += 2 if low[at] in _TRAP_PAIRS else 1
    return (at, False) if at < end else None
