"""Derivation of the keys of sessions, and of the BFD timers of interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.secret_words import reference
from railweave.model.device.management import Authentication
from railweave.model.device.timers import Bfd
from railweave.systems.eos.read.values import number

if TYPE_CHECKING:
    from railweave.model.config.sections import SectionReader, SelectedLine


def bfd_of(line: SelectedLine) -> Bfd | None:
    """Return the BFD settings from the words ``interval``, ``receive`` and ``times``; None if a value is out of bounds or the intervals of the directions differ."""
    sent, times = number(line["interval"], 1, 100_000), number(line["times"], 1, 255)
    if sent is None or times is None or line["receive"] != line["interval"]:
        return None
    return Bfd(minimum_interval=sent, multiplier=times)


def key_profiles(taking: SectionReader) -> dict[str, Authentication]:
    """Return the profiles of shared secrets by name. If a profile has several keys, the first one is used."""
    profiles: dict[str, Authentication] = {}
    for security in taking.each("management security"):
        for header in taking.each("session shared-secret profile <name>", below=security):
            for line in taking.each("secret <number> 0|7|8a <secret> **", below=header):
                place = number(line["number"], 0, 255)
                if place is None or header["name"] in profiles:
                    taking.leave(line)
                else:
                    profiles[header["name"]] = Authentication(reference(line["secret"]), "ao-aes-128-cmac", place)
    return profiles
