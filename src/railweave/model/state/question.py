"""A question: what is asked of a device to see its state, in the words of each way there is to ask it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Form = Literal["json", "xml", "text"]
Protocol = Literal["ssh", "netconf", "eapi", "restconf"]
"""The protocol by which a device is asked. A command inside a lab's namespace has the words of ``ssh``."""
PROTOCOLS: tuple[Protocol, ...] = ("ssh", "netconf", "eapi", "restconf")

CONFIGURATION = "configuration"
"""The question for the running configuration, or with ``-PART`` for a part of it."""
DEFAULT_VRF = "default"
"""The name used here for the routing table outside all VRFs, whatever the system calls it."""


@dataclass(frozen=True, slots=True)
class Question:
    """``name`` is that of the answer's file; ``asked`` are the words by protocol; ``form`` is what the answer is in.

    Not every device has an answer: where it is ``optional``, an error is no fault (a switch without an overlay has no VNIs).
    """

    name: str
    form: Form
    asked: Mapping[Protocol, str]
    optional: bool = False
    revision: int | None = None
    """The revision of the answer's form that is read, where eAPI has several."""

    @property
    def file(self) -> str:
        """The name of the file that holds the answer."""
        return f"{self.name}.{'json' if self.form == 'json' else 'txt'}"

    @property
    def of_configuration(self) -> bool:
        """True if the question is for the running configuration, or for a part of the configuration."""
        return self.name.partition("-")[0] == CONFIGURATION

    def words(self) -> str:
        """Return the command that a person types, or else the request that a program sends."""
        return self.asked.get("ssh") or next(iter(self.asked.values()))


NOT_RUNNING = "is not running"
"""The words that ``vtysh`` prints, after the daemon's name, if the daemon for a command does not run (FRR's vtysh/vtysh.c)."""


def about(kind: str, vrf: str, prefix: str) -> str:
    """The name of a question about one prefix, as ``route@default@2001:db8::_64``: an answer may not repeat what was asked for."""
    return f"{kind}@{vrf}@{prefix.replace('/', '_')}"


def asked_about(name: str) -> tuple[str, str, str] | None:
    """Kind, VRF and prefix of a question about one prefix; None of another."""
    parts = name.split("@")
    if len(parts) != 3 or not all(parts):
        return None
    return parts[0], parts[1], parts[2].replace("_", "/")


_NOT_RUNNING = re.compile(r"\b(\w+)(?: subsystem)? is not running\b")


def not_running(why: str) -> str:
    """The daemon that is not running, where that is why a question was refused: FRRouting's ``bgpd``, Junos' ``routing``; or empty."""
    match = _NOT_RUNNING.search(why)
    return match[1] if match else ""


_QUOTED = r"'show [\w .:/%*-]+'"
_READS: dict[Protocol, re.Pattern[str]] = {
    "ssh": re.compile(
        r"show [\w .:/%*-]+(?: \| (?:json|no-more|display (?:xml|set|json)))*"
        rf"|(?:sudo )?vtysh -c {_QUOTED}"
        r"|ip -j (?:-s |-4 |-6 )?(?:link|address|neigh|netconf|route|rule)"
        r"|lldpcli -f json show neighbors"
        r"|docker exec lldp lldpctl -f json"
        r"|sonic-db-dump -n [A-Z_]+ -k '[\w:|*-]+' -y"
        r"|sonic-cfggen -d --print-data"
        r"|sonic-cli -c 'show [\w .:/%*-]+(?: \| no-more)?'"
        r"|date -u \+%s"
        r"|railweave-host (?:show|metrics) --json"
    ),
    "netconf": re.compile(r"show [\w .:/%*-]+|get-configuration set"),
    "eapi": re.compile(r"show [\w .:/%*-]+"),
    "restconf": re.compile(r"[\w:/=,.%-]+"),  # the path below /restconf/data, which is only ever fetched
}


def reads_only(protocol: Protocol, words: str) -> bool:
    """Return whether a request can change nothing: it has a form that only shows, and nothing is appended to it.

    Callers check this before they ask, whatever the source of the question: only ``show``, no second command, no redirection.
    """
    # ".." would leave the data that may be fetched.
    return _READS[protocol].fullmatch(words) is not None and ".." not in words
