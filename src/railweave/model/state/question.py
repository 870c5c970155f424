"""Questions about a device's state, each with the command or request for each protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Form = Literal["json", "xml", "text"]
Protocol = Literal["ssh", "netconf", "eapi", "restconf"]
"""The protocol for asking a device. Inside a lab, the commands for ``ssh`` run directly in the device's namespace."""
PROTOCOLS: tuple[Protocol, ...] = ("ssh", "netconf", "eapi", "restconf")

CONFIGURATION = "configuration"
"""The name of the question for the running configuration. With a suffix ``-PART``, the question asks for a section of it."""
DEFAULT_VRF = "default"
"""railweave's name for the routing table outside all VRFs, on every system. The system itself may use a different name."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a device.

    - ``name``: the name of the file for the answer, without its suffix.
    - ``form``: the format of the answer.
    - ``asked``: the command or request, by protocol.
    - ``optional``: True if an error message is an acceptable answer. For example, a switch without an overlay has no VNIs.
    """

    name: str
    form: Form
    asked: Mapping[Protocol, str]
    optional: bool = False
    revision: int | None = None
    """The revision of the answer format to request by eAPI; None if the command has only one."""

    @property
    def file(self) -> str:
        """The name of the file that holds the answer."""
        return f"{self.name}.{'json' if self.form == 'json' else 'txt'}"

    @property
    def of_configuration(self) -> bool:
        """True if the question is for all or part of the running configuration."""
        return self.name.partition("-")[0] == CONFIGURATION

    def words(self) -> str:
        """Return the command that a person types over SSH. If there is none, return the request for another protocol."""
        return self.asked.get("ssh") or next(iter(self.asked.values()))


NOT_RUNNING = "is not running"
"""The text that ``vtysh`` prints after a daemon's name, if a command needs the daemon and it is not running (FRR's vtysh/vtysh.c)."""


def about(kind: str, vrf: str, prefix: str) -> str:
    """Return the name of a question about one prefix, such as ``route@default@2001:db8::_64``.

    ``kind`` is the first part, such as ``route``. The name contains the VRF and the prefix, because the answer may not repeat them.
    """
    return f"{kind}@{vrf}@{prefix.replace('/', '_')}"


def asked_about(name: str) -> tuple[str, str, str] | None:
    """Return (kind such as ``route``, VRF, prefix) from the name of a question about a prefix (``about``), or None for any other question."""
    parts = name.split("@")
    if len(parts) != 3 or not all(parts):
        return None
    return parts[0], parts[1], parts[2].replace("_", "/")


FROZEN = "is frozen"
"""The text that follows a daemon's name in an error message, if the daemon runs but does not answer."""
_NOT_RUNNING = re.compile(r"\b(\w+)(?: subsystem)? is (?:not running|frozen)\b")


def not_running(why: str) -> str:
    """Return the name of the daemon that an error message (``why``) reports as not running or not answering.

    Examples are ``bgpd``, or ``routing`` on Junos. Return "" if the message names no daemon.
    """
    match = _NOT_RUNNING.search(why)
    return match[1] if match else ""


_QUOTED = r"'show [\w .:/%*-]+'"
_READS: dict[Protocol, re.Pattern[str]] = {
    "ssh": re.compile(
        r"show [\w .:/%*-]+(?: \| (?:json|no-more|display (?:xml|set|json)))*"
        rf"|(?:sudo )?vtysh (?:-d [a-z]+ )?-c {_QUOTED}"
        r"|ip -j (?:-s |-4 |-6 )?(?:link|address|neigh|netconf|route|rule)"
        r"|ip -j -[46] route show(?: exact [0-9a-f:./]+)?(?: vrf [\w.-]+)?"
        r"|nft -j list ruleset"
        r"|grep -s \.(?: /proc/sys/net/[\w/]+)+"
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
    """Return True if the request ``words`` only reads: it starts with a command that ``protocol`` allows for reading, such as ``show``.

    A request with a second command or a redirection gives False. Callers check this before they send any question, regardless of
    its source.
    """
    # ".." would leave the data that may be fetched.
    return _READS[protocol].fullmatch(words) is not None and ".." not in words
