"""What a line of syslog says: who sent it, and whether it is of a kind that an operator looks for.

Forms of headers are those of RFC 5424 and RFC 3164; forms of messages those of public readers and of the systems' sources (docs/watch.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["link", "bgp", "bfd", "pfc-watchdog", "configuration", "process", "alarm", ""]
"""What a message is about; empty: something else."""

_HEADER = re.compile(r"<(?P<pri>\d{1,3})>")
_NEW = re.compile(
    r"1 (?P<time>\S+) (?P<host>\S+) (?P<app>\S+) (?P<id>\S+) (?P<msg>\S+) (?:-|(?:\[(?:[^]\\]|\\.)*\])+) ?(?P<text>.*)",
    re.DOTALL,
)
_OLD = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+) (?P<host>[\w.:-]+) (?P<text>.*)", re.DOTALL
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
MOST_CHARACTERS = 1000
"""Of a message that is kept."""


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of message. ``port`` and ``peer`` are groups of ``pattern``, where they are in it."""

    kind: Kind
    pattern: re.Pattern[str]
    source: str


def _form(kind: Kind, pattern: str, source: str) -> Form:
    return Form(kind, re.compile(pattern), source)


FORMS = (
    _form("bgp", r"RPD_BGP_NEIGHBOR_STATE_CHANGED: BGP peer (?P<peer>\S+)", "Junos"),
    _form("link", r"SNMP_TRAP_LINK_(?:DOWN|UP): .*ifName (?P<port>\S+)", "Junos"),
    _form("configuration", r"UI_COMMIT(?:_COMPLETED|_PROGRESS)?:|UI_LOAD_EVENT:", "Junos"),
    _form("bfd", r"BFDD_(?:STATE_UP_TO_DOWN|TRAP_SHOP_STATE_(?:DOWN|UP))", "Junos"),
    _form("alarm", r"(?:Major|Minor) alarm set, |Alarm set: ", "Junos"),
    _form("bgp", r"%BGP-[35]-(?:ADJCHANGE|NOTIFICATION): peer (?P<peer>\S+)", "EOS"),
    _form("bfd", r"%BFD-5-STATE_CHANGE: peer \(vrf:[^,]+, ip:(?P<peer>[^,]+), intf:(?P<port>[^,]+)", "EOS"),
    _form("link", r"%LINEPROTO-5-UPDOWN: Line protocol on Interface (?P<port>[^,\s]+)", "EOS"),
    _form("configuration", r"%SYS-5-CONFIG_(?:E|I|STARTUP)\b", "EOS"),
    _form("process", r"%PROCMGR-6-PROCESS_TERMINATED: '(?P<peer>[^']+)'", "EOS"),
    _form("pfc-watchdog", r"PFC Watchdog (?:detected PFC storm|storm restored) on port (?P<port>[^\s,]+)", "SONiC"),
    _form("link", r"Port (?P<port>\S+) oper (?:state set from|error event:)", "SONiC"),
    _form("bgp", r"%ADJCHANGE: neighbor (?P<peer>[^\s(]+)", "FRRouting, SONiC"),
    _form("bgp", r"NOTIFICATION: (?:received|sent) (?:from|to) neighbor (?P<peer>\S+)", "FRRouting, SONiC"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it was read. ``severity`` is from 0 (emergency) to 7 (debug); ``host`` is the name in its header, or empty."""

    severity: int
    host: str
    text: str
    kind: Kind = ""
    port: str = ""
    peer: str = ""


def read(data: bytes) -> Message:
    """One message. Nothing is raised: what has no header is a message of severity 5 (notice), as RFC 3164 has it."""
    line = data.decode("utf-8", "replace").strip("\ufeff\r\n\x00 ")
    header = _HEADER.match(line)
    severity = int(header["pri"]) & 7 if header else 5
    rest = line[header.end() :] if header else line
    form = _NEW.match(rest) or _OLD.match(rest)
    host = form["host"] if form and form["host"] != "-" else ""
    text = form["text"] if form else rest
    if form and "app" in form.groupdict() and form["msg"] != "-":  # Junos has the name of the event in the header
        text = f"{form['msg']}: {text}"
    text = _CONTROL.sub(" ", text)[:MOST_CHARACTERS]
    for one in FORMS:
        found = one.pattern.search(text)
        if found:
            own = found.groupdict()
            return Message(severity, host, text, one.kind, own.get("port") or "", own.get("peer") or "")
    return Message(severity, host, text)
