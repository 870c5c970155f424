"""The outcomes of checks, the list of all checks, and functions with which several checks read the machine.

A check is a function that yields outcomes about one subject, such as PCIe.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from ..machine import CannotTellError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..machine import Machine
    from .server import Server, WantedNic


_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def pci_of(machine: Machine, netdev: str) -> str:
    """Return the PCI address of a network interface. Raises CannotTellError if it has none."""
    chain = pci_chain(machine, f"/sys/class/net/{netdev}/device")
    if not chain:
        raise CannotTellError(f"{netdev} is no PCI device")
    return chain[-1]


def pci_chain(machine: Machine, path: str) -> list[str]:
    """Return the PCI addresses of a device and of the bridges above it, from the root port down to the device.

    ``path`` is a sysfs path that leads to the device.
    """
    return _ADDRESS.findall(machine.real(path) or "")


def gpu_addresses(machine: Machine, vendor: str) -> list[str]:
    """Return the PCI addresses of a vendor's data center GPUs (NVIDIA or AMD) in bus order, found by PCI class."""
    ours = {"NVIDIA": ("0x10de", ("0x0302", "0x0300")), "AMD": ("0x1002", ("0x1200", "0x0380", "0x0300"))}.get(vendor)
    if ours is None:
        return []
    number, classes = ours
    folder = "/sys/bus/pci/devices"

    def addresses() -> list[str]:
        of_vendor = [name for name in machine.names(folder) if machine.text(f"{folder}/{name}/vendor") == number]
        return [name for name in of_vendor if (machine.text(f"{folder}/{name}/class") or "").startswith(classes)]

    return machine.once(("GPUs", vendor), addresses)


def shared_bridges(chain: list[str], other: list[str]) -> int:
    """Return the number of bridges that are above both devices. ``chain`` and ``other`` are the results of ``pci_chain`` for them."""
    return next((i for i, (a, b) in enumerate(zip(chain, other)) if a != b), min(len(chain), len(other)))


def lspci(machine: Machine) -> dict[str, str]:
    """Return the text that ``lspci -D -vvv`` prints about each device, by PCI address.

    Raises CannotTellError if lspci is missing or fails.
    """

    def blocks() -> dict[str, str]:
        sections = re.split(r"\n\n+", machine.output("lspci", "-D", "-vvv").strip())
        return {block.split(" ", 1)[0]: block for block in sections if _ADDRESS.match(block)}

    return machine.once(("lspci",), blocks)


def capability(block: str, name: str) -> str:
    """Return the text after a capability's name, such as ``DevCtl``, with its continuation lines; empty if it is absent.

    ``block`` is the text that lspci prints about one device.
    """
    match = re.search(rf"^(\s*){name}:(.*(?:\n\1\s+.*)*)", block, re.MULTILINE)
    return match[2] if match else ""


def pairs(text: str) -> dict[str, str]:
    """Return the values of ``name: value`` lines by name. If a name occurs several times, the last value is returned."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and value.strip():
            values[name.strip()] = value.strip()
    return values


def counters(machine: Machine, netdev: str) -> dict[str, int]:
    """Return the counters that ``ethtool -S`` shows, by name, without those of single rings (``[0]: …``).

    Raises CannotTellError if ethtool is missing or fails.
    """

    def numbers() -> dict[str, int]:
        text = machine.output("ethtool", "-S", netdev)
        matches = re.findall(r"^\s*([A-Za-z0-9_.\-]+(?:\[\d+\])?): (\d+)\s*$", text, re.MULTILINE)
        return {name: int(value) for name, value in matches}

    return machine.once(("ethtool -S", netdev), numbers)


def list_of_numbers(text: str) -> list[int]:
    """Return all whole numbers in a text."""
    return [int(digits) for digits in re.findall(r"\d+", text)]


OK, WARNING, FAILED, NOT_APPLICABLE, NOT_SEEN = "ok", "warning", "failed", "not applicable", "not seen"
VERDICTS = (OK, WARNING, FAILED, NOT_APPLICABLE, NOT_SEEN)


@dataclass(frozen=True)
class Outcome:
    """The verdict of a check on the server, a NIC or a GPU.

    - ``verdict``: ``ok``, ``warning``, ``failed``, ``not applicable`` or ``not seen``. ``of``: the NIC or GPU; empty for the server.
    - ``seen`` and ``wanted``: the observed and the required value in readable form.
    - ``origin``: the source of the required value.
    - ``remedy``: the command or action that fixes the fault.
    """

    verdict: str
    seen: str
    wanted: str = ""
    origin: str = ""
    remedy: str = ""
    of: str = ""


def ok(seen: object, of: str = "") -> Outcome:
    """Return the outcome for a correct value.

    ``seen`` is the value. ``of`` is the NIC or GPU; empty for the server.
    """
    return Outcome(OK, str(seen), of=of)


def failed(seen: object, wanted: object, origin: str, remedy: str, of: str = "") -> Outcome:
    """Return the outcome for a fault that would make a job fail or slow it down. The arguments are the fields of ``Outcome``.

    ``seen`` and ``wanted`` are the observed and the required value; ``of`` is the NIC or GPU.
    """
    return Outcome(FAILED, str(seen), str(wanted), origin, remedy, of)


def warning(seen: object, wanted: object, origin: str, remedy: str, of: str = "") -> Outcome:
    """Return the outcome for a condition that may be harmful. The arguments are the fields of ``Outcome``.

    ``seen`` and ``wanted`` are the observed and the required value; ``of`` is the NIC or GPU.
    """
    return Outcome(WARNING, str(seen), str(wanted), origin, remedy, of)


def failed_or_ok(wrong: list[str], good: str, wanted: object, origin: str, remedy: str) -> Outcome:
    """Return an outcome: failed with all texts of ``wrong`` on one line, or ok with the text ``good`` if ``wrong`` is empty.

    ``wanted``, ``origin`` and ``remedy`` are the fields of ``Outcome`` for a failure.
    """
    return failed("; ".join(wrong), wanted, origin, remedy) if wrong else ok(good)


def not_applicable(why: str, of: str = "") -> Outcome:
    """Return the outcome for a check that does not apply to this machine.

    ``why`` is the reason. ``of`` is the NIC or GPU; empty for the server.
    """
    return Outcome(NOT_APPLICABLE, why, of=of)


def not_seen(why: str, of: str = "") -> Outcome:
    """Return the outcome for a value that could not be read. Such an outcome never counts as ok.

    ``why`` is the reason. ``of`` is the NIC or GPU; empty for the server.
    """
    return Outcome(NOT_SEEN, why, of=of)


def alike(
    server: Server,
    nic: WantedNic,
    read: Callable[[WantedNic], object],
    shown: Callable[[Any], str] = str,
    *,
    remedy: str,
    level: Callable[..., Outcome] | None = None,
) -> Iterator[Outcome]:
    """Compare a value of a NIC with the server's other NICs of the same model. Used for a server without a design.

    - ``read``: a function that returns the value of a NIC. Other NICs for which it raises CannotTellError are left out; for the NIC itself,
      the error leads to the outcome "not seen".
    - ``shown``: a function that returns a value as text for the user.
    - ``remedy``: the command or action that fixes the difference.
    - ``level``: a function that makes the outcome for a NIC that differs; by default ``failed``.

    A value that more than half of the NICs have counts as correct. If there is no such value, all NICs get a warning.
    """
    have = read(nic)
    values: list[object] = []
    for other in server.nics:
        if other.model == nic.model and other is not nic:
            try:
                values.append(read(other))
            except CannotTellError:
                continue
    if not values:
        yield not_applicable(f"{shown(have)}; no other {nic.model} here to compare with")
        return
    values.append(have)
    most = max(values, key=values.count)
    agree, of = values.count(most), len(values)
    origin = "the other NICs of its kind on this server"
    if agree * 2 <= of:
        seen = f"{shown(have)}; the {of} NICs of this kind have {len({shown(value) for value in values})} values"
        yield warning(seen, "one value on all of them", origin, remedy)
    elif have == most:
        yield ok(f"{shown(have)}, as on {agree} of {of} NICs of this kind")
    else:
        yield (level or failed)(shown(have), f"{shown(most)}, as on {agree} of {of} NICs of this kind", origin, remedy)


@dataclass(frozen=True)
class Check:
    """A check of the server or of each planned NIC.

    - ``look``: the function that carries out the check; called once or, with ``per_nic``, once for each planned NIC.
    - ``what``: the rule in one sentence.
    - ``why``: the consequence of breaking the rule.
    - ``how``: the file or command that the check reads.
    - ``source``: the document that states the rule.
    - ``root``: True if the check can read less, or nothing, without root.
    - ``unless``: a function with the same arguments as ``look`` that is called first. If it returns a reason, the check does not apply.
    - ``design``: True if every comparison of the check is with ``host.json``. Such a check does not run without a design.
    """

    id: str
    subject: str
    what: str
    why: str
    how: str
    source: str
    root: bool
    per_nic: bool
    look: Callable[..., Iterator[Outcome]] = field(compare=False)
    unless: Callable[..., str] | None = field(default=None, compare=False)
    design: bool = False


ALL: dict[str, Check] = {}
"""Every check by its ID, in display order."""


def of_server(
    name: str,
    *,
    rule: str,
    why: str,
    how: str,
    source: str,
    root: bool = False,
    unless: Callable[[Server], str] | None = None,
    design: bool = False,
) -> Callable[[Callable[[Server], Iterator[Outcome]]], Callable[[Server], Iterator[Outcome]]]:
    """Return a decorator that registers a function as a check of the whole server.

    The arguments are the fields of ``Check``; ``name`` becomes its ID, and ``rule`` its field ``what``. If ``unless`` returns a reason, the
    check does not apply.
    """

    def enter(look: Callable[[Server], Iterator[Outcome]]) -> Callable[[Server], Iterator[Outcome]]:
        _enter(Check(name, _subject(look), rule, why, how, source, root, False, look, unless, design))
        return look

    return enter


def of_nic(
    name: str,
    *,
    rule: str,
    why: str,
    how: str,
    source: str,
    root: bool = False,
    unless: Callable[[Server, WantedNic], str] | None = None,
    design: bool = False,
) -> Callable[[Callable[[Server, WantedNic], Iterator[Outcome]]], Callable[[Server, WantedNic], Iterator[Outcome]]]:
    """Return a decorator that registers a function as a check of each planned NIC that is present.

    The arguments are the fields of ``Check``; ``name`` becomes its ID, and ``rule`` its field ``what``. If ``unless`` returns a reason, the
    check does not apply.
    """

    def enter(
        look: Callable[[Server, WantedNic], Iterator[Outcome]],
    ) -> Callable[[Server, WantedNic], Iterator[Outcome]]:
        _enter(Check(name, _subject(look), rule, why, how, source, root, True, look, unless, design))
        return look

    return enter


def _enter(check: Check) -> None:
    assert check.id not in ALL, check.id  # noqa: S101 - two checks of one name are a slip in this program
    ALL[check.id] = check


def _subject(look: Callable[..., object]) -> str:
    """Return the subject of a check, such as ``pcie``: the name of the module that defines the check function ``look``."""
    return look.__module__.rpartition(".")[2]
