"""The order in which people number things, et-0/0/9 before et-0/0/10; the numbers of switches; and what names begin with."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.model import DeviceConfig

_PART = re.compile(r"(\d+)")


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key by which names sort as their numbers do."""
    return tuple(
        (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part)
        for part in _PART.split(text)
        if part
    )


def as_number(config: DeviceConfig) -> int:
    """The AS number that a switch has towards its neighbors in the fabric; 0 where it has none."""
    if config.bgp is None:
        return 0
    towards = {one.local_as for one in config.bgp.groups if one.sessions} - {0}
    return towards.pop() if len(towards) == 1 else config.bgp.asn


def numbering(config: DeviceConfig) -> tuple[int, int]:
    """A key by which switches of a role sort as their numbers do: by AS number, without one by their lowest link address."""
    asn = as_number(config)
    links = [int(ipaddress.ip_interface(at).ip) for one in config.interfaces if not asn for at in one.addresses[:1]]
    return asn, min(links, default=0)


def common_start(names: Sequence[str]) -> str:
    """The letters that all names begin with."""
    least, most = min(names), max(names)
    return next((least[:at] for at, letter in enumerate(least) if most[at : at + 1] != letter), least)
