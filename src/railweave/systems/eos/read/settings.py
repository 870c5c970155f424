"""Keys of sessions, and timers of BFD on interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.management import Authentication
from railweave.model.device.timers import Bfd
from railweave.systems.eos.read.values import number, secret

if TYPE_CHECKING:
    from railweave.model.config.sections import SectionReader, SelectedLine


def bfd_of(one: SelectedLine) -> Bfd | None:
    """BFD by the words ``interval``, ``receive`` and ``times``: one interval holds for both directions."""
    sent, times = number(one["interval"], 1, 100_000), number(one["times"], 1, 255)
    if sent is None or times is None or one["receive"] != one["interval"]:
        return None
    return Bfd(minimum_interval=sent, multiplier=times)


def key_profiles(taking: SectionReader) -> dict[str, Authentication]:
    """Profiles of shared secrets, by name: of several keys, the first."""
    found: dict[str, Authentication] = {}
    for security in taking.each("management security"):
        for header in taking.each("session shared-secret profile <name>", below=security):
            for one in taking.each("secret <number> 0|7|8a <secret> **", below=header):
                place = number(one["number"], 0, 255)
                if place is None or header["name"] in found:
                    taking.leave(one)
                else:
                    found[header["name"]] = Authentication(secret(one["secret"]), "ao-aes-128-cmac", place)
    return found
