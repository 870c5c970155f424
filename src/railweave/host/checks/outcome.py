"""The inputs and outcomes of a check, and the list of all checks; each check is a function that looks at one thing and gives outcomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable

from ..machine import CannotTellError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..machine import Machine
    from .server import Server, WantedNic


_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def pci_of(machine: Machine, netdev: str) -> str:
    """The PCI address of a network interface. Raises CannotTellError where it has none."""
    chain = pci_chain(machine, f"/sys/class/net/{netdev}/device")
    if not chain:
        raise CannotTellError(f"{netdev} is no PCI device")
    return chain[-1]


def pci_chain(machine: Machine, path: str) -> list[str]:
    """The PCI addresses from the root port down to the device that a path of sysfs leads to."""
    return _ADDRESS.findall(machine.real(path) or "")


def gpu_addresses(machine: Machine, vendor: str) -> list[str]:
    """The PCI addresses of the GPUs, in their order on the bus: NVIDIA's and AMD's data center GPUs, by PCI class."""
    ours = {"NVIDIA": ("0x10de", ("0x0302", "0x0300")), "AMD": ("0x1002", ("0x1200", "0x0380", "0x0300"))}.get(vendor)
    if ours is None:
        return []
    number, classes = ours
    folder = "/sys/bus/pci/devices"

    def addresses() -> list[str]:
        of_vendor = [name for name in machine.names(folder) if machine.text(f"{folder}/{name}/vendor") == number]
        return [name for name in of_vendor if (machine.text(f"{folder}/{name}/class") or "").startswith(classes)]

    return machine.once(("GPUs", vendor), addresses)


def lspci(machine: Machine) -> dict[str, str]:
    """Return the text that ``lspci -D -vvv`` prints for each device, by PCI address.

    Raises CannotTellError.
    """

    def blocks() -> dict[str, str]:
        sections = re.split(r"\n\n+", machine.output("lspci", "-D", "-vvv").strip())
        return {block.split(" ", 1)[0]: block for block in sections if _ADDRESS.match(block)}

    return machine.once(("lspci",), blocks)


def capability(block: str, name: str) -> str:
    """The line of a capability such as ``DevCtl`` with those that continue it; empty where the device does not show it."""
    match = re.search(rf"^(\s*){name}:(.*(?:\n\1\s+.*)*)", block, re.MULTILINE)
    return match[2] if match else ""


def pairs(text: str) -> dict[str, str]:
    """Lines of ``name: value``; of a name that is there twice, the last."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and value.strip():
            values[name.strip()] = value.strip()
    return values


def counters(machine: Machine, netdev: str) -> dict[str, int]:
    """The counters of ``ethtool -S``; those of single rings (``[0]: …``) are left out. Raises CannotTellError."""

    def numbers() -> dict[str, int]:
        text = machine.output("ethtool", "-S", netdev)
        matches = re.findall(r"^\s*([A-Za-z0-9_.\-]+(?:\[\d+\])?): (\d+)\s*$", text, re.MULTILINE)
        return {name: int(value) for name, value in matches}

    return machine.once(("ethtool -S", netdev), numbers)


def list_of_numbers(text: str) -> list[int]:
    """All whole numbers of a text."""
    return [int(digits) for digits in re.findall(r"\d+", text)]


OK, WARNING, FAILED, NOT_APPLICABLE, COULD_NOT_TELL = "ok", "warning", "failed", "not applicable", "could not tell"
VERDICTS = (OK, WARNING, FAILED, NOT_APPLICABLE, COULD_NOT_TELL)


@dataclass(frozen=True)
class Outcome:
    """One verdict on one thing.

    ``of`` is the thing: a NIC or a GPU; empty for the server. ``seen`` and ``wanted`` are values as a person reads them. ``origin`` is
    the source of the wanted value. ``remedy`` is the command or the act that fixes the thing.
    """

    verdict: str
    seen: str
    wanted: str = ""
    origin: str = ""
    remedy: str = ""
    of: str = ""


def ok(seen: object, of: str = "") -> Outcome:
    """As it should be."""
    return Outcome(OK, str(seen), of=of)


def failed(seen: object, wanted: object, origin: str, remedy: str, of: str = "") -> Outcome:
    """A job would fail, or be slow, by this."""
    return Outcome(FAILED, str(seen), str(wanted), origin, remedy, of)


def warning(seen: object, wanted: object, origin: str, remedy: str, of: str = "") -> Outcome:
    """Worth a look: it may harm, or not."""
    return Outcome(WARNING, str(seen), str(wanted), origin, remedy, of)


def failed_or_ok(wrong: list[str], good: str, wanted: object, origin: str, remedy: str) -> Outcome:
    """Failed with all that is wrong in one line, or ok with ``good`` where nothing is."""
    return failed("; ".join(wrong), wanted, origin, remedy) if wrong else ok(good)


def not_applicable(why: str, of: str = "") -> Outcome:
    """This machine has no such thing."""
    return Outcome(NOT_APPLICABLE, why, of=of)


def could_not_tell(why: str, of: str = "") -> Outcome:
    """Return the outcome for a thing that was not seen, which never counts as good."""
    return Outcome(COULD_NOT_TELL, why, of=of)


@dataclass(frozen=True)
class Check:
    """A check: ``look`` is called once, or once for each planned NIC where ``per_nic``.

    ``what`` is the rule in a sentence, ``why`` what happens otherwise, ``how`` the file or command it reads, ``source`` the
    document that says so. ``root``: without root it sees nothing, or less. ``unless`` is called first, with the same
    arguments, and gives the reason why the check is not applicable, or nothing.
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


ALL: dict[str, Check] = {}
"""Every check by its id, in the order in which they are shown."""


def of_server(
    name: str,
    *,
    rule: str,
    why: str,
    how: str,
    source: str,
    root: bool = False,
    unless: Callable[[Server], str] | None = None,
) -> Callable[[Callable[[Server], Iterator[Outcome]]], Callable[[Server], Iterator[Outcome]]]:
    """Enter a function as a check of the whole server."""

    def enter(look: Callable[[Server], Iterator[Outcome]]) -> Callable[[Server], Iterator[Outcome]]:
        _enter(Check(name, _subject(look), rule, why, how, source, root, False, look, unless))
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
) -> Callable[[Callable[[Server, WantedNic], Iterator[Outcome]]], Callable[[Server, WantedNic], Iterator[Outcome]]]:
    """Enter a function as a check of each planned NIC that is there."""

    def enter(
        look: Callable[[Server, WantedNic], Iterator[Outcome]],
    ) -> Callable[[Server, WantedNic], Iterator[Outcome]]:
        _enter(Check(name, _subject(look), rule, why, how, source, root, True, look, unless))
        return look

    return enter


def _enter(check: Check) -> None:
    assert check.id not in ALL, check.id  # noqa: S101 - two checks of one name are a slip in this program
    ALL[check.id] = check


def _subject(look: Callable[..., object]) -> str:
    """The name of the module that the function is in."""
    return look.__module__.rpartition(".")[2]
