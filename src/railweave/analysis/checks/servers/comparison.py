"""Which reader takes which file of a server, and what a file says otherwise than the designed one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.analysis.checks.servers import environment, host_document, lines, netplan_file, script, udev, units
from railweave.analysis.checks.servers.entries import Difference, Entry, differences, in_sequence, placed

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: tuple[tuple[str, Callable[[str], list[Entry]]], ...] = (
    (r"netplan\.yaml", netplan_file.read),
    (r"(host|tuner(-.*)?)\.json", host_document.read),
    (r"nccl\.env", environment.nccl_env),
    (r"grub-.*\.cfg", environment.grub),
    (r"sysctl\.conf", lines.sysctl),
    (r"limits\.conf", lines.limits),
    (r"rt_tables\.conf", lines.rt_tables),
    (r"hostfile(\..*)?", lines.hostfile),
    (r".*\.(service|network)|(networkd|networkmanager)\.conf", units.unit),
    (r".*\.rules", udev.rules),
    (r".*\.conf", lines.settings),  # those of NIC vendors
)
"""Readers by the names of files; of several that fit, the first."""


def compared(name: str, designed: str, found: str) -> list[Difference] | None:
    """What a file says otherwise than designed, by line; None where files of this name are not read.

    Raises ``RenderError`` with the line where it cannot be read.
    """
    file = name.rpartition("/")[2]
    if file.endswith(".sh"):
        form = script.form_of(file)
        old, new = script.read(designed, form), script.read(found, form)
        commands = in_sequence(old.commands, new.commands, lambda text: script.about(form, text))
        return placed([*differences(old.entries, new.entries), *commands], designed, found)
    read = next((reader for pattern, reader in FORMS if re.fullmatch(pattern, file)), None)
    return None if read is None else placed(differences(read(designed), read(found)), designed, found)
