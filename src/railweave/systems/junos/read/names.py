"""Names of the XML and JSON forms that the ``set`` form does not print, and elements that name an entry.

The ``set`` form has ``interfaces et-0/0/0`` where XML has ``<interfaces><interface><name>et-0/0/0</name>``. As Juniper's published
models have it (lists whose keyword is hidden, leaves whose name is), for what this package reads.
"""

from __future__ import annotations

_UNPRINTED = frozenset(
    {
        "contents",
        "prefix-list-item",
        "as-number",
        "rd-type",
        "filter-name",
        "certificate",
        "identifier",
    }
)
"""Elements whose name is printed nowhere."""

_UNPRINTED_BELOW = frozenset(
    {
        ("interfaces", "interface"),
        ("vlans", "vlan"),
        ("routing-instances", "instance"),
        ("vrf-target", "community"),
        ("vtep-source-interface", "interface-name"),
        ("autonomous-system", "as-number"),
    }
)
"""(the word before, element) of names that are printed elsewhere."""

_KEYS: dict[str, frozenset[str]] = {
    "route-filter": frozenset({"address", "choice-ident", "choice-value"}),
    "source-address-filter": frozenset({"address", "choice-ident", "choice-value"}),
    "prefix-list-filter": frozenset({"list_name", "choice-ident", "choice-value"}),
    "community": frozenset({"name", "choice-ident", "choice-value", "community-name", "add", "delete", "set"}),
    "drop-profile-map": frozenset({"loss-priority", "protocol"}),
}
_NAME = frozenset({"name"})


def printed(before: tuple[str, ...], name: str) -> bool:
    """Whether an element's name is a word of the ``set`` form."""
    if name in _UNPRINTED:
        return False
    return not before or (before[-1], name) not in _UNPRINTED_BELOW or _is_name(before)


def _is_name(before: tuple[str, ...]) -> bool:
    """Whether the last word is a name of the user's choosing that reads like a keyword, as a group ``vlans``."""
    return len(before) > 1 and before[-2] in {"groups", "group"}


def keys(element: str) -> frozenset[str]:
    """The elements in an entry that name it."""
    return _KEYS.get(element, _NAME)


def follows(words: tuple[str, ...], key: str, text: str) -> tuple[str, ...]:
    """The words of an entry with one more of its names."""
    if key in {"loss-priority", "protocol"}:
        return (*words, key, text)
    if key in {"add", "delete", "set"} and not text:
        return (*words, key)
    return (*words, text) if text else words
