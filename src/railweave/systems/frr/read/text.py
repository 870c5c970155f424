"""Functions that convert FRR configuration text to sections, and words to values.

As in FRR, keywords such as ``router bgp`` and ``exit`` open and close sections. Indentation has no meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.config.secret_words import REFERENCE
from railweave.model.config.sections import Section

_LONGEST = 20


def number(word: str) -> int | None:
    """Return the whole number in a word, or None if the word is not a number, or is longer than any valid value."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= _LONGEST else None


def address(word: str) -> Address | None:
    """Return the address in a word, or None if the word is not an address."""
    try:
        return Address.read(word)
    except ValueError:
        return None


def interface_address(word: str) -> InterfaceAddress | None:
    """Return the address with a prefix length in a word, or None for any other word."""
    try:
        return InterfaceAddress.read(word)
    except ValueError:
        return None


def prefix(word: str) -> Prefix | None:
    """Return the prefix in a word, or None for any other word. Host bits are set to zero, as in FRR."""
    subnet = interface_address(word)
    return subnet.prefix if subnet else None


_OPENS = re.compile(
    r"(?:interface \S|router (?!id )\S|route-map \S+ (?:permit|deny) \d|vrf \S|bfd$|line vty|key chain|nexthop-group|"
    r"pbr-map|segment-routing|mpls ldp|rpki|pseudowire|l2vpn)"
)
"""A pattern of lines that open a section at the top level."""

_STANDS_ALONE = re.compile(
    r"(?:no )?(?:frr |hostname|domainname|log |service |password|enable password|username|agentx|debug |zebra |allow-|"
    r"(?:ip|ipv6) (?:route|prefix-list|forwarding|nht|protocol|access-list|community-list|large-community-list|"
    r"extcommunity-list|as-path|multicast-routing|import-table|router-id)\b|access-list|"
    r"bgp (?:as-path|community-list|large-community-list|extcommunity-list|community alias|no-rib|send-extra-data)\b|"
    r"mpls label|router-id |vni \d+$|fpm |banner |snmp|end$)"
)
"""A pattern of top-level lines that open no section. If a text is not indented, such a line ends the section before it."""

_OF_ROUTER = re.compile(
    r"(?:no )?(?:bgp |neighbor \S+ (?:remote-as|peer-group|interface|timers|description|bfd|update-source|ebgp-multihop|"
    r"password|local-as|capability|ttl-security|shutdown)\b)"
)
"""A pattern of lines that belong directly to ``router bgp``, and not to an address family."""

_OF_VRF = re.compile(r"(?:no )?(?:vni |(?:ip|ipv6) (?:route|nht|protocol|router-id)\b)")
_FAMILY = re.compile(r"address-family \S")
_INNER = {"bfd": re.compile(r"(?:profile|peer) \S"), "key": re.compile(r"key \S"), "rpki": re.compile(r"rpki cache")}
_CLOSED = {"exit-address-family": "address-family", "exit-vni": "vni", "exit-vrf": "vrf"}
_HEADS = re.compile(r"(?:Building configuration|Current configuration|[\w.-]+[#>] ?(?:show|sh|vtysh)\b)")
"""A pattern of lines that a terminal prints around a configuration."""


@dataclass(slots=True)
class _Open:
    """An open section, to which lines are added. ``column`` is the indentation of its header, ``word`` the header's first word."""

    column: int
    section: Section
    word: str


def sections(text: str) -> list[Section]:
    """Return the sections of a text. Every text is valid: a line that belongs to no section is at the top level."""
    top: list[Section] = []
    stack: list[_Open] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = " ".join(raw.split())
        if not line or line[0] in "!#" or line == "end" or _HEADS.match(line):
            continue
        if line.startswith("int "):
            line = f"interface {line[4:]}"
        wide = raw.expandtabs(8)
        column = len(wide) - len(wide.lstrip())
        if line == "exit" or line in _CLOSED:
            _close(stack, line, column)
            continue
        _leave(stack, line, column)
        made = Section(line, at=number)
        if stack:
            above = stack[-1].section
            above.body = above.body if above.body is not None else []
            above.body.append(made)
        else:
            top.append(made)
        if _opens(stack, line):
            made.body = []
            stack.append(_Open(column, made, line.split()[0]))
        elif column == 0 and not stack:
            # An unknown kind of section is recognized by its indentation.
            stack.append(_Open(column, made, ""))
    return top


def _close(stack: list[_Open], line: str, column: int) -> None:
    """Close the section that the line ends. ``exit`` closes the innermost section whose header has the same indentation (``column``).

    ``stack`` has the open sections; the innermost is last.
    """
    word = _CLOSED.get(line)
    for place in range(len(stack) - 1, -1, -1):
        if (stack[place].word == word) if word else (stack[place].column == column):
            closed = stack[place].section
            closed.body = closed.body if closed.body is not None else []
            del stack[place:]
            return
    if stack and not word:
        stack.pop()


def _leave(stack: list[_Open], line: str, column: int) -> None:
    """Close those open sections to which a line cannot belong. ``column`` is the indentation of the line.

    ``stack`` has the open sections; the innermost is last.
    """
    while stack and not stack[-1].word and column <= stack[-1].column:
        stack.pop()
    if not stack:
        return
    if column == 0 and (_OPENS.match(line) or _stands_alone(stack[-1].word, line)):
        stack.clear()
        return
    if _FAMILY.match(line) and any(opened.word == "router" for opened in stack):
        while stack[-1].word != "router":
            stack.pop()
        return
    while stack and _ends(stack, line, column):
        stack.pop()


def _stands_alone(word: str, line: str) -> bool:
    return bool(_STANDS_ALONE.match(line)) and not (word == "vrf" and _OF_VRF.match(line))


def _ends(stack: list[_Open], line: str, column: int) -> bool:
    """Return True if a line ends the innermost open section, because it opens a similar section or belongs to the enclosing section.

    ``stack`` has the open sections; the innermost is last. ``column`` is the indentation of the line.
    """
    top = stack[-1]
    if top.word == "address-family" and column <= top.column:
        return bool(_OF_ROUTER.match(line))
    if len(stack) == 1 and column == 0 and top.word != "router":
        return line.startswith("bgp ")
    if top.word in {"profile", "peer", "vni"} and column <= top.column:
        return bool(re.match(r"(?:profile|peer|vni) \S", line)) or column < top.column
    return False


def _opens(stack: list[_Open], line: str) -> bool:
    """Return True if a line opens a section inside the innermost open section, which is the last in ``stack``."""
    if not stack:
        return bool(_OPENS.match(line))
    word = stack[-1].word
    if word == "address-family":
        return "l2vpn" in stack[-1].section.line and bool(re.match(r"vni \d+$", line))
    if word == "router":
        return bool(_FAMILY.match(line))
    return word in _INNER and bool(_INNER[word].match(line))


_SECRET = re.compile(r"\b((?:password|passphrase|key-string)(?: (?:\d|md5|clear))? |md5 )(.+)")


def without_secrets(line: str) -> str:
    """Return a line for display, with secrets replaced by ``<secret:?>``."""
    if "pass" not in line and "md5" not in line and "key-string" not in line:
        return line
    return _SECRET.sub(lambda match: f"{match[1]}{match[2] if REFERENCE.fullmatch(match[2]) else '<secret:?>'}", line)
