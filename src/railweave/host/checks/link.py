"""Checks of each NIC's link: carrier, speed, MTU, FEC, errors, module, and the switch port at the other end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..machine import CannotTellError, objects
from ..port_names import announced, by_names
from . import outcome
from .light import light as read_light
from .outcome import alike, failed, not_applicable, of_nic, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..machine import Machine
    from .outcome import Outcome
    from .server import Server, WantedNic

_FLAPS = 5
_HOTTEST_C = 70
_WORST_POST_FEC = 1e-12
_WORST_RAW = 2.4e-5


def _folder(nic: WantedNic) -> str:
    return f"/sys/class/net/{nic.netdev}"


def _carrier(server: Server, nic: WantedNic) -> bool:
    try:
        return server.machine.text(f"{_folder(nic)}/carrier") == "1"
    except CannotTellError:  # the kernel refuses to say while the interface is down
        return False


def _dark(server: Server, nic: WantedNic) -> str:
    return "" if _carrier(server, nic) else "no carrier"


@of_nic(
    "link-carrier",
    rule="The NIC's port is up and has a carrier.",
    why="If the port is down, no job on this server can use its rail.",
    how="/sys/class/net/NIC/carrier, operstate",
    source="Thor2 guide, section 2.6, check 8",
)
def carrier(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the port is up and has a carrier."""
    if _carrier(server, nic):
        yield ok("carrier")
        return
    if server.generic and (why := _spare(server, nic)):
        yield not_applicable(why)
        return
    flags = server.machine.text(f"{_folder(nic)}/flags") or "0x0"
    up = bool(int(flags, 16) & 1) if re.fullmatch(r"0x[0-9a-f]+", flags) else False
    origin = server.origin(f"{nic.key}.leaf_port", "the other NICs on this server")
    if up:
        remedy = f"cable, module, or {nic.leaf} {nic.leaf_port}: is it up, with the same speed and FEC?"
        yield failed("up, without a carrier", f"a link to {nic.leaf} {nic.leaf_port}", origin, remedy)
    else:
        yield failed("down", "up", origin, f"sudo ip link set {nic.netdev} up; sudo netplan apply")


def _spare(server: Server, nic: WantedNic) -> str:
    """Return the reason why a port without a carrier is probably unused. Return an empty string if it is probably in use.

    A port counts as unused if no NIC of the same model has a carrier, and NICs of other models have one.
    """
    like = [other for other in server.nics if other.model == nic.model and other is not nic]
    if any(_carrier(server, other) for other in like):
        return ""
    others = any(_carrier(server, other) for other in server.nics)
    return f"no {nic.model} here has a carrier, and NICs of other kinds have" if others else ""


@of_nic(
    "link-speed",
    rule="The link runs at the planned speed.",
    why="If breakout or FEC is set differently at the switch, the link has half its rate or less.",
    how="/sys/class/net/NIC/speed",
    source="Thor2 guide, section 2.6, check 8; host.json nics[].speed_gbps",
    unless=_dark,
)
def speed(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the link has the planned speed."""
    now = server.machine.number(f"{_folder(nic)}/speed")
    if now is None or now <= 0:
        raise CannotTellError("the driver tells no speed")
    if server.generic:
        remedy = f"check breakout, speed and FEC of {nic.leaf} {nic.leaf_port}"
        yield from alike(server, nic, lambda other: _speed(server, other), "{:g} Gbit/s".format, remedy=remedy)
        return
    if now == nic.speed_gbps * 1000:
        yield ok(f"{now // 1000} Gbit/s")
    else:
        remedy = f"check breakout, speed and FEC of {nic.leaf} {nic.leaf_port}"
        yield failed(f"{now / 1000:g} Gbit/s", f"{nic.speed_gbps} Gbit/s", f"host.json {nic.key}.speed_gbps", remedy)


def _speed(server: Server, nic: WantedNic) -> float:
    now = server.machine.number(f"{_folder(nic)}/speed") if _carrier(server, nic) else None
    if now is None or now <= 0:
        raise CannotTellError("the driver tells no speed")
    return now / 1000


@of_nic(
    "link-mtu",
    rule="The interface has the planned MTU.",
    why="With a smaller MTU, RDMA uses smaller packets; if the MTU is larger than at the other end, transfers "
    "hang (status 12).",
    how="/sys/class/net/NIC/mtu",
    source="Thor2 guide, section 2.6, check 11, and section 5.1, question 2",
)
def mtu(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the interface has the planned MTU."""
    now = server.machine.number(f"{_folder(nic)}/mtu")
    if server.generic:
        remedy = f"sudo ip link set {nic.netdev} mtu MTU, and the same in the files of netplan or NetworkManager"
        yield from alike(server, nic, lambda other: server.machine.number(f"{_folder(other)}/mtu") or 0, remedy=remedy)
        return
    if now == nic.plan.mtu:
        yield ok(now)
    else:
        remedy = "sudo netplan apply (the vendor's installer resets it to 1500)"
        yield failed(now, nic.plan.mtu, f"host.json {nic.key}.mtu", remedy)


@of_nic(
    "link-fec",
    rule="Forward error correction (FEC) is on, and is of the kind that the link speed requires.",
    why="Without RS-FEC, a link with lanes of 50G or faster loses packets all the time; with the wrong kind of "
    "FEC, it stays down.",
    how="ethtool --show-fec NIC",
    source="IEEE 802.3 clauses 91 and 134 (RS-FEC); ethtool(8)",
    unless=_dark,
)
def fec(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the active FEC encoding is RS-FEC on links of 100 Gbit/s and more."""
    text = server.machine.output("ethtool", "--show-fec", nic.netdev)
    match = re.search(r"Active FEC encodings?: *(.*)", text)
    if not match:
        raise CannotTellError("ethtool shows no active FEC")
    active = match[1].strip()
    if re.search(r"\b(RS|LLRS)\b", active) or nic.speed_gbps < 100:
        yield ok(active)
    else:
        remedy = f"sudo ethtool --set-fec {nic.netdev} encoding rs; the same on {nic.leaf} {nic.leaf_port}"
        yield failed(active, "RS", "IEEE 802.3 for 100 Gbit/s and more", remedy)


@of_nic(
    "link-errors",
    rule="The link has had almost no errors after FEC since its counters started.",
    why="After a lost packet, RDMA sends a whole window again: even one loss in a million packets slows jobs down.",
    how="ethtool -S NIC",
    source="Linux, mlx5 counters; Broadcom bnxt_ethtool.c; OCI health checks (1e-12 after FEC)",
)
def errors(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the ratio of bit errors that remain after FEC to received bits."""
    have = outcome.counters(server.machine, nic.netdev)
    names = (
        "rx_pcs_symbol_err_phy", "rx_symbol_err_phy", "rx_crc_errors_phy", "rx_pcs_symbol_err", "rx_fec_uncorrectable_blocks",
        "rx_fcs_err_frames",
    )  # fmt: skip
    there = {name: have[name] for name in names if name in have}
    if not there:
        raise CannotTellError("ethtool -S shows none of the known counters of errors after FEC")
    bits = have.get("rx_bits_phy") or 8 * (have.get("rx_bytes_phy") or have.get("rx_bytes") or 0)
    total = sum(there.values())
    seen = ", ".join(f"{name} {count}" for name, count in there.items() if count) or "none"
    if total and total > max(_WORST_POST_FEC * bits, 10):
        remedy = f"clean both ends of the cable to {nic.leaf} {nic.leaf_port}; then exchange module or cable"
        yield failed(seen, f"below {_WORST_POST_FEC:g} of {bits:.3g} bits", "OCI health checks", remedy)
    else:
        yield ok(seen)


@of_nic(
    "link-raw-errors",
    rule="Before FEC, fewer than 1 bit in 40,000 is wrong.",
    why="RS-FEC corrects an error rate of up to 2.4e-4; a link with a tenth of that rate loses packets when it "
    "gets warmer.",
    how="ethtool -S NIC, corrected bits over all bits",
    source="IEEE 802.3 clause 120 (2.4e-4 before RS(544,514)); Linux, mlx5 counters",
)
def raw_errors(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the ratio of bits that FEC corrected to all received bits."""
    have = outcome.counters(server.machine, nic.netdev)
    bits = have.get("rx_bits_phy") or have.get("rx_bits") or 0
    corrected = have.get("rx_corrected_bits_phy", have.get("rx_corrected_bits"))
    if corrected is None or not bits:
        raise CannotTellError("its driver does not count corrected bits, or all bits")
    rate = corrected / bits
    if rate > _WORST_RAW:
        remedy = f"clean both ends of the cable to {nic.leaf} {nic.leaf_port}; then exchange module or cable"
        yield warning(f"{rate:.1e}", f"below {_WORST_RAW:g}", "a tenth of what RS-FEC mends, IEEE 802.3", remedy)
    else:
        yield ok(f"{rate:.1e}")


@of_nic(
    "link-module",
    rule="The module is not too hot and receives enough light: none of its alarms is active.",
    why="A module near its limits causes bit errors first, and link failures later.",
    how="ethtool -m NIC",
    source="SFF-8636 and CMIS (alarm flags of the module)",
    root=True,
)
def module(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the module's alarm and warning flags, and its temperature."""
    text = _module(server.machine, nic)
    if text is None:
        yield not_applicable(_NO_MODULE)
        return
    lines = outcome.pairs(text)
    on = sorted(name for name, value in lines.items() if value == "On" and ("alarm" in name or "warning" in name))
    heat = re.match(r"(-?[\d.]+) degrees C", lines.get("Module temperature", ""))
    remedy = f"clean or exchange the module towards {nic.leaf} {nic.leaf_port}; look at the server's fans"
    if any("alarm" in name for name in on):
        yield failed(", ".join(on), "no alarm", "the module's own limits", remedy)
    elif on:
        yield warning(", ".join(on), "no warning", "the module's own limits", remedy)
    elif heat and float(heat[1]) >= _HOTTEST_C:
        yield warning(
            f"{heat[1]} degrees C", f"below {_HOTTEST_C}", "usual limit of a module's case, 70 degrees C", remedy
        )
    else:
        yield ok(f"{heat[1]} degrees C" if heat else "no alarm")


_NO_MODULE = "the port has no module that can be read"


def _module(machine: Machine, nic: WantedNic) -> str | None:
    """Return the output of ``ethtool -m`` for a NIC, or None if the port has no module that can be read."""
    answer = machine.run("ethtool", "-m", nic.netdev)
    if not answer.code:
        return answer.out
    reason = answer.err.strip()
    if "not supported" in reason.lower():
        return None
    raise CannotTellError(f"`ethtool -m {nic.netdev}`: {reason or answer.code}")


@of_nic(
    "link-light",
    rule="The module has the wavelength of the planned optic, and sends and receives light within its own limits.",
    why="Modules of different wavelengths do not understand each other; a lane with too little light loses packets, "
    "and a link with one dark lane is down.",
    how="ethtool -m NIC",
    source="SFF-8472, SFF-8636 and CMIS (limits of the module); host.json nics[].wavelength_nm",
    root=True,
)
def module_light(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare the module's wavelength with the planned wavelength, and the power of each lane with the module's limits."""
    text = _module(server.machine, nic)
    if text is None:
        yield not_applicable(_NO_MODULE)
        return
    light = read_light(text)
    if light.copper:
        yield not_applicable("a copper cable")
        return
    if nic.wavelength_nm and light.nm is not None and not nic.wavelength_nm[0] <= light.nm <= nic.wavelength_nm[1]:
        shortest, longest = nic.wavelength_nm
        remedy = (
            f"exchange the module for {nic.optic}, or name its optic for this cabling in the fabric file (`optic:`)"
        )
        origin = f"host.json {nic.key}.wavelength_nm ({nic.optic})"
        yield failed(f"{light.nm:g} nm", f"{shortest:g} to {longest:g} nm", origin, remedy)
        return
    remedy = f"clean the fibre's ends to {nic.leaf} {nic.leaf_port}; a lane that sends too little: exchange the module"
    if wrong := light.outside("alarm"):
        yield failed("; ".join(wrong), "within the alarm limits", "the module's own limits", remedy)
    elif wrong := light.outside("warning"):
        yield warning("; ".join(wrong), "within the warning limits", "the module's own limits", remedy)
    elif not light.lanes:
        raise CannotTellError("the module shows no light of any lane")
    elif not light.compared:
        raise CannotTellError(f"{light}; the module shows no limits for it")
    elif nic.wavelength_nm and light.nm is None:
        raise CannotTellError(f"{light}; the module does not report its wavelength")
    else:
        yield ok(light)


@of_nic(
    "link-flaps",
    rule="The link has not gone down several times since boot.",
    why="Each time a link goes down, the transfers on its rail end; five times in a day indicate a bad cable or "
    "module.",
    how="/sys/class/net/NIC/carrier_down_count",
    source="Azure node health checks (5 lost carriers in 24 hours)",
)
def flaps(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the link has gone down fewer than ``_FLAPS`` times."""
    count = server.machine.number(f"{_folder(nic)}/carrier_down_count")
    if count is None:
        raise CannotTellError("the kernel does not count it")
    if count >= _FLAPS:
        remedy = f"exchange cable or module towards {nic.leaf} {nic.leaf_port}; look for its flaps there"
        yield warning(f"{count} times", f"fewer than {_FLAPS}", "Azure node health checks", remedy)
    else:
        yield ok(f"{count} times")


@of_nic(
    "link-neighbor",
    rule="The other end of the cable is the planned port of the planned leaf.",
    why="Two swapped cables break rail alignment: traffic crosses spines that the design reserves for other rails.",
    how="lldpctl -f json0",
    source="host.json nics[].leaf, nics[].leaf_port; IEEE 802.1AB",
    unless=lambda _, nic: "" if nic.leaf else "the design names no leaf",
    design=True,
)
def neighbor(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the LLDP neighbor is the planned switch port. A switch may announce any of the port's names."""
    ports = by_names(
        {other.leaf_port: (other.leaf_port, *other.leaf_port_names) for other in server.nics if other.leaf == nic.leaf}
    )
    planned = f"{nic.leaf} {nic.leaf_port}"
    elsewhere, unclear = "", ""
    for announcement in announcements(server.machine, nic.netdev):
        seen = f"{announcement['name']} {announcement['port']}".strip()
        ours = _short(announcement["name"]) == _short(nic.leaf)
        clear, port = announced(ports, announcement["port"], announcement["kind"], announcement["descr"])
        shown = f"{seen}, which is {port}" if ours and port and port != announcement["port"] else seen
        if ours and port == nic.leaf_port:
            yield ok(shown)
            return
        if announcement["name"] and (clear or not ours):
            elsewhere = elsewhere or shown
        else:
            unclear = unclear or seen
    if not elsewhere:
        raise CannotTellError(f"the neighbor ({unclear}) names itself or its port by no name of the design's")
    remedy = f"move the cable to {planned}; `railweave check` lists all cables to exchange"
    yield failed(elsewhere, planned, f"host.json {nic.key}.leaf, leaf_port", remedy)


def _short(name: str) -> str:
    return name.partition(".")[0].lower()


@of_nic(
    "link-switch-mtu",
    rule="The switch port accepts frames as long as those that this interface sends.",
    why="A port with a smaller MTU drops large packets without a message: small messages arrive, and jobs hang.",
    how="lldpctl -f json0, the maximum frame size that the switch sends",
    source="Thor2 guide, section 2.6, check 12; IEEE 802.3 clause 79 (maximum frame size)",
    unless=_dark,
)
def switch_mtu(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the switch port's maximum frame size, announced by LLDP, is large enough for the NIC's MTU and an Ethernet header."""
    frame = next(
        (announcement["mfs"] for announcement in announcements(server.machine, nic.netdev) if announcement["mfs"]), ""
    )
    if not frame.isdigit():
        raise CannotTellError("the switch does not send its maximum frame size by LLDP; see host-path-mtu")
    if int(frame) >= nic.plan.mtu + 18:
        yield ok(f"{frame} bytes")
    else:
        remedy = f"raise the MTU of {nic.leaf} {nic.leaf_port} to what the design has"
        yield failed(
            f"{frame} bytes",
            f"{nic.plan.mtu + 18} bytes or more",
            server.origin(f"{nic.key}.mtu and an Ethernet header", "this interface's MTU and an Ethernet header"),
            remedy,
        )


def announcements(machine: Machine, netdev: str) -> list[dict[str, str]]:
    """Return the LLDP announcement of each neighbor of the interface ``netdev``. Raises CannotTellError if there is no neighbor.

    Keys: ``name`` and ``system`` of the switch, ``port``, the ``kind`` of the port's name, ``descr`` of the port, and
    ``mfs``, the maximum frame size.
    """
    document = machine.rows("lldpctl", "-f", "json0")
    neighbors: list[dict[str, str]] = []
    for interface in _inside(_inside(document, "lldp"), "interface"):
        if interface.get("name") == netdev:
            chassis, port = _inside([interface], "chassis"), _inside([interface], "port")
            kind = next((str(inner["type"]) for inner in _inside(port, "id") if "type" in inner), "")
            neighbors.append(
                {
                    "name": _value(chassis, "name"),
                    "system": _value(chassis, "descr"),
                    "port": _value(port, "id"),
                    "kind": kind,
                    "descr": _value(port, "descr"),
                    "mfs": _value(port, "mfs"),
                }
            )
    if not neighbors:
        raise CannotTellError("no LLDP neighbor is heard: is lldpd running here, and LLDP of the firmware off?")
    return neighbors


def _inside(parents: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Return the JSON objects that several parent objects have under a key, in one list."""
    return [inner for parent in parents for inner in objects(parent.get(key))]


def _value(parents: list[dict[str, Any]], key: str) -> str:
    return next((str(child["value"]) for child in _inside(parents, key) if "value" in child), "")
