"""The optical values of a pluggable module, as ``ethtool -m`` prints them: wavelength, sent and received power, and limits.

The names of these values differ between SFF-8472 (SFP), SFF-8636 (QSFP) and CMIS (QSFP-DD, OSFP). Source: ethtool,
module-common.c, sfpdiag.c, qsfp.c and cmis.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SENT, RECEIVED = "sends", "receives"

_LANE = re.compile(r"(?P<name>.*?) *\(Chan(?:nel)? (?P<lane>\d+)\)")
_POWERS = {
    "Transmit avg optical power": SENT,
    "Laser output power": SENT,
    "Rcvr signal avg optical power": RECEIVED,
    "Receiver signal average optical power": RECEIVED,
    "Receiver signal OMA": RECEIVED,
}
_LIMIT = re.compile(r"Laser (?P<way>output|tx|rx) power (?P<bound>high|low) (?P<level>alarm|warning) threshold")
_FLAG = re.compile(r"Laser (?P<way>output|tx|rx) power (?:high|low) (?:alarm|warning)")
_DBM = re.compile(r"/ *(-?[\d.]+|-inf) dBm")


@dataclass
class Light:
    """The optical values of a module.

    - ``nm``: the wavelength in nanometres; None if the module does not report one.
    - ``copper``: True if the module is a copper cable.
    - ``dbm``: the power in dBm, by (direction, lane). A module with one lane has lane 0.
    - ``limits``: the limits in dBm, by (direction, ``low`` or ``high``, ``alarm`` or ``warning``).
    - ``flags``: the directions for which the module itself compares the power with its limits.
    """

    nm: float | None = None
    copper: bool = False
    dbm: dict[tuple[str, int], float] = field(default_factory=dict[tuple[str, int], float])
    limits: dict[tuple[str, str, str], float] = field(default_factory=dict[tuple[str, str, str], float])
    flags: set[str] = field(default_factory=set[str])

    @property
    def lanes(self) -> list[int]:
        """The lanes that send or receive light."""
        return sorted({lane for (_, lane), power in self.dbm.items() if power > float("-inf")})

    def outside(self, level: str) -> list[str]:
        """Return a sentence for each lane in use whose power is outside the module's limits.

        ``level`` selects the limits: ``alarm`` or ``warning``.
        """
        wrong: list[str] = []
        for (way, lane), power in sorted(self.dbm.items(), key=lambda item: item[0][1]):
            low, high = (self.limits.get((way, bound, level)) for bound in ("low", "high"))
            name = f"lane {lane} {way}" if lane else way
            shown = "no light" if power == float("-inf") else f"{power:g} dBm"
            if lane in self.lanes and low is not None and power < low:
                wrong.append(f"{name} {shown}, below {low:g} dBm")
            elif lane in self.lanes and high is not None and power > high:
                wrong.append(f"{name} {shown}, above {high:g} dBm")
        return wrong

    @property
    def compared(self) -> bool:
        """True if the power of every direction can be compared: the module reports limits for the direction, or its own alarm flags."""
        ways = {way for way, _ in self.dbm}
        return all(way in self.flags or any(limit[0] == way for limit in self.limits) for way in ways)

    def __str__(self) -> str:
        powers: list[str] = []
        for way in (SENT, RECEIVED):
            of_way = [self.dbm[way, lane] for lane in self.lanes if (way, lane) in self.dbm]
            if of_way:
                least, most = min(of_way), max(of_way)
                powers.append(f"{way} {least:g} dBm" if least == most else f"{way} {least:g} to {most:g} dBm")
        return ", ".join([*([f"{self.nm:g} nm"] if self.nm else []), *powers])


def light(text: str) -> Light:
    """Return the optical values in the output of ``ethtool -m``."""
    shown = Light()
    for line in text.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if colon:
            _read(shown, " ".join(name.split()), value)
    return shown


def _read(shown: Light, name: str, value: str) -> None:
    lane = _LANE.fullmatch(name)
    base, number = (lane["name"], int(lane["lane"])) if lane else (name, 0)
    power = _DBM.search(value)
    if base in _POWERS and power:
        shown.dbm[_POWERS[base], number] = float(power[1])
    elif (limit := _LIMIT.fullmatch(name)) and power and power[1] != "-inf":
        shown.limits[_way(limit["way"]), limit["bound"], limit["level"]] = float(power[1])
    elif (flag := _FLAG.fullmatch(base)) and value in {"On", "Off"}:
        shown.flags.add(_way(flag["way"]))
    elif name == "Laser wavelength" and (nm := re.match(r"([\d.]+) ?nm", value)):
        shown.nm = float(nm[1]) or shown.nm
    elif name == "Transmitter technology":
        shown.copper = "copper" in value.lower()
        nm = re.search(r"\b(\d{3,4}) ?nm\b", value)
        shown.nm = shown.nm or (float(nm[1]) if nm else None)


def _way(word: str) -> str:
    return RECEIVED if word == "rx" else SENT
