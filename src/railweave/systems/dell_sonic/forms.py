"""Forms of Enterprise SONiC's commands. A form is a way of writing a command, such as ``mtu <bytes>``, with the sections that contain it.

The grammar names the public document of every command, so there is no ``forms.yaml``. This module also lists the
commands to check on a first switch: the commands whose only source is a document, and the commands without a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.dell_sonic.lint.grammar import GRAMMAR, TOP, Command
from railweave.systems.forms import Document, Form, Forms

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS = {
    "guide": Document(
        "Broadcom, Ethernet Networking Guide for AMD Instinct MI300X GPU Clusters (Thor2), 2.4.1.3 and 2.5.2",
        "document",
    ),
    "ansible": Document(
        "ansible-collections/dellemc.enterprise_sonic: configurations that its modules' examples and tests show",
        "configurations",
    ),
    "options": Document("ansible-collections/dellemc.enterprise_sonic: options of its modules, no line", "document"),
    "spytest": Document("sonic-net/sonic-mgmt, spytest: `klish` commands that its tests type", "configurations"),
    "acl": Document(
        "sonic-net/SONiC, ACL enhancements and flow based services, 3.6.2",
        "document",
        link="https://github.com/sonic-net/SONiC",
    ),
}
LOOK_FOR = "`show running-configuration` has the line as it is in the file; what it does is in the checks below"
"""The text that tells the operator what to check on a first switch, for commands that no configuration or test contains."""


def _sources(command: Command) -> dict[str, str]:
    """Return the public documents that contain a command: the place in each document, by the grammar's name of the document.

    The result is empty if the command is only assumed.
    """
    sources: dict[str, str] = {}
    if command.source.startswith("assumed"):
        return sources
    for part in command.source.split("; "):
        word, _, place = part.partition(" ")
        key = "options" if "options" in place else word.rstrip(",")
        sources[key] = place
    return sources


def _openers(mode: str) -> list[tuple[str, Command]]:
    """Return (mode in which the command is entered, command) for each command that opens the configuration mode ``mode``."""
    return [(above, command) for above, commands in GRAMMAR.items() for command in commands if command.opens == mode]


def _above(mode: str) -> tuple[str, str]:
    """Return the headers of the sections that enclose a configuration mode, as (text, regular expression). Both are empty at the top level."""
    if mode == TOP:
        return "", ""
    openers = _openers(mode)
    text, pattern = _above(openers[0][0])
    words = [opener.form for _, opener in openers]
    patterns = "|".join(opener.pattern.pattern for _, opener in openers)
    return f"{text}{' or '.join(words)} / ", f"{pattern}(?:{patterns}) / "


def _forms() -> Iterator[Form]:
    for mode, commands in GRAMMAR.items():
        text, pattern = _above(mode)
        for command in commands:
            weak = not any(DOCUMENTS[key].kind == "configurations" for key in _sources(command))
            yield Form(
                f"Mode {mode}",
                text + command.form,
                _sources(command),
                DOCUMENTS,
                LOOK_FOR if weak else "",
                command.source if command.source.startswith("assumed") else "",
                pattern + command.pattern.pattern,
            )


FORMS = Forms(DOCUMENTS, tuple(_forms()))
