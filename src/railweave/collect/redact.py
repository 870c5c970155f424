"""Answers without secrets: hashes, keys, passwords and communities are taken out before anything is written.

What is left in their place is ``<hidden>``, which nothing takes for a value: ``drift`` says that it could not compare it.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from railweave.config.secret import HIDDEN, hidden
from railweave.reading import parse_json

_KEYS = re.compile(
    r"(?i)(?:.*[-_])?(?:password|passwd|passkey|passphrase|secret|hash|psk|cak|private[-_]?key|auth[-_]?key|key[-_]?string|community)"
)
"""Keys of JSON and tags of XML whose value is a secret, whatever it is."""
_TABLES = {"SNMP_COMMUNITY"}
"""Tables of SONiC whose keys are secrets."""
_TAG = re.compile(
    r"(<([\w:-]*(?:password|passkey|passphrase|secret|authentication-key|privacy-key|encrypted-password|pre-shared-key|\bcak))\b[^>]*>)[^<]+(</\2>)"
)
_BGP_COMMUNITY = re.compile(r"(?:\d+:\d+(?::\d+)?|no-export|no-advertise|internet|local-AS|[a-z-]+:[\d:.]+)")


def redacted(text: str) -> str:
    """An answer without its secrets; every other character of a text stays where it was."""
    begun = text.lstrip()
    if begun[:1] in {"{", "["}:
        try:
            value = parse_json(text)
        except ValueError:
            return _lines(text)
        changed = _json(value)
        return text if changed == value else json.dumps(changed, indent=1, ensure_ascii=False) + "\n"
    return (
        _TAG.sub(rf"\g<1>{HIDDEN.replace('<', '&lt;').replace('>', '&gt;')}\g<3>", _lines(text))
        if begun[:1] == "<"
        else _lines(text)
    )


def _lines(text: str) -> str:
    return "\n".join(map(hidden, text.split("\n")))


def _json(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {
            key: _table(inner) if key in _TABLES else _hidden(inner) if _KEYS.fullmatch(key) else _json(inner)
            for key, inner in entries.items()
        }
    if isinstance(value, list):
        return [_json(one) for one in cast("list[Any]", value)]
    return hidden(value) if isinstance(value, str) else value


def _table(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A table whose keys are secrets."""
    if not isinstance(value, dict):
        return HIDDEN
    inside = list(cast("dict[str, Any]", value).values())
    return {HIDDEN if len(inside) == 1 else f"{HIDDEN}-{number}": one for number, one in enumerate(inside)}


def _hidden(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A value in the place of a secret; BGP communities and what is no text stay."""
    if isinstance(value, str):
        return (
            value if not value or _BGP_COMMUNITY.fullmatch(value.split()[0]) or value.startswith("<secret:") else HIDDEN
        )
    return _json(value)
