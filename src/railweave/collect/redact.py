"""Answers without secrets: hashes, keys, passwords and communities are taken out before anything is written.

What is left in their place is ``<hidden>``, which nothing takes for a value: ``drift`` says that it could not compare it. Every other
character of a text stays as the device gave it, for configurations are compared statement by statement.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from railweave.config.secret import HIDDEN
from railweave.reading import parse_json

_VALUE = r"""(?!<(?:secret:|hidden>)|&lt;|[{};]|\\")("(?:[^"\\]|\\.)*"|[^\s;"<>]+)"""
_FORM = r"(?:(?:sha-?\d+|md5|aes-?\d*|des|\d|8a|clear(?:text)?|encrypted|hash|ascii-text|hexadecimal)[ \t]+)*+"
_WORDS = ("password", "passphrase", "passkey", "secret", "authentication-key", "privacy-key", "cak")
_RULES = [
    (needles, re.compile(rule))
    for needles, rule in (
        (("PRIVATE KEY",), r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)((?s:.){1,20000}?)(?=-----END )"),
        (_WORDS, rf"(?<![-\w])((?:[a-z0-9]+-)*(?:{'|'.join(_WORDS)})[ \t]+{_FORM}){_VALUE}"),
        (("ascii-text", "hexadecimal"), rf"(?<![-\w])((?:ascii-text|hexadecimal)[ \t]+){_VALUE}"),
        (("key ", "key\t"), rf"(?<![-\w])(key[ \t]+(?:[0-9a-fA-F]+[ \t]+)?(?:0|7|8a)[ \t]+){_VALUE}"),
        (("-server",), rf"(?m:^[ \t]*(?:tacacs|radius)-server\b[^\n]{{0,200}}?[ \t]key[ \t]+)()(?!\d+[ \t]){_VALUE}"),
        (("auth", "priv"), rf"(?<![-\w])((?:auth|priv)[ \t]+(?:md5|sha\d*|sha-\d+|aes\d*|aes-?\d+|des)[ \t]+){_VALUE}"),
        (("community",), rf"((?:\bsnmp-server|(?m:^)set snmp)[ \t]+community[ \t]+){_VALUE}"),
    )
]
"""Words without one of which a rule is not tried, for answers about state have none and are long; and the rule."""
_SCRAMBLED = re.compile(r"""\$(?:\d|2[aby]|y|8[aA]?)\$[^\s;"<]+""")
"""Text as crypt(3) and Junos write it."""
_SNMP_BLOCK = re.compile(r"(?m)^([ \t]*)snmp \{\n((?:(?!\1\}).*\n)*)")
"""The statement ``snmp`` of Junos in braces: only there is a community a secret."""
_SNMP_COMMUNITY = re.compile(rf"(?m)^([ \t]*community[ \t]+){_VALUE}")
_KEYS = re.compile(
    r"(?i)(?:.*[-_])?(?:passwd|passkey|passphrase|secret|psk|cak|private[-_]?key|(?:auth|authentication|privacy)[-_]key"
    r"|password(?:[-_]hash)?|snmp[-_]community)"
)
"""Keys of JSON whose value is a secret, whatever it is."""
_TABLES = {"SNMP_COMMUNITY"}
"""Tables of SONiC whose keys are secrets."""
_TAG = re.compile(
    r"(<((?:[\w-]+:)?(?:[\w-]*password|passkey|passphrase|secret|authentication-key|privacy-key|cak))(?:\s[^>]{0,200})?>)(?!&lt;)[^<]+(?=</\2>)"
)


def redacted(text: str) -> str:
    """An answer without its secrets."""
    begun = text.lstrip()[:1]
    if begun in {"{", "["}:
        try:
            value = parse_json(text)
        except ValueError:
            return _lines(text)
        changed = _json(value)
        return text if changed == value else json.dumps(changed, indent=1, ensure_ascii=False) + "\n"
    if begun == "<" and any(word in text for word in _WORDS):
        text = _TAG.sub(r"\1&lt;hidden&gt;", text)
    return _lines(text)


def _lines(text: str) -> str:
    """Lines of configuration: the words that stand after those that announce a secret."""
    for needles, rule in _RULES:
        if any(needle in text for needle in needles):
            text = rule.sub(lambda found: found[0][: found.start(2) - found.start()] + HIDDEN, text)
    if "snmp {" in text:
        text = _SNMP_BLOCK.sub(lambda found: _SNMP_COMMUNITY.sub(rf"\g<1>{HIDDEN}", found[0]), text)
    return _SCRAMBLED.sub(HIDDEN, text) if "$" in text else text


def _json(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {
            key: _table(inner) if key in _TABLES else _hidden(inner) if _KEYS.fullmatch(key) else _json(inner)
            for key, inner in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [_json(one) for one in cast("list[Any]", value)]
    return _lines(value) if isinstance(value, str) else value


def _table(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A table whose keys are secrets."""
    if not isinstance(value, dict):
        return HIDDEN
    entries = cast("dict[str, Any]", value)
    names = [key if key.startswith("<") else f"<hidden-{number}>" for number, key in enumerate(entries, 1)]
    return dict(zip([HIDDEN] if names == ["<hidden-1>"] else names, entries.values(), strict=True))


def _hidden(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A value in the place of a secret; a reference stays, and so does what is no text."""
    if isinstance(value, str):
        return value if not value or value.startswith(("<secret:", HIDDEN)) else HIDDEN
    return _json(value)
