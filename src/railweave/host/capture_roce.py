"""The command `capture-roce`: capture a NIC's RoCE packets with tcpdump, or read a capture.

RDMA bypasses the kernel's network stack, so tcpdump sees RoCE packets only if the NIC passes copies to it:

- libpcap 1.9 and newer captures from RDMA devices (mlx5_0, bnxt_re0), if it was built with RDMA support.
- Older drivers of NVIDIA's NICs have a flag, ``sniffer``, by which the network interface gets the copies.
- Broadcom's NICs need two settings in their flash, and a restart (Thor2 guide, section 5.1, question 9).

Changed settings are restored after the capture. This command has its own journal (record of changes), because
`apply --watch` keeps the other journal locked.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import files, host_file, journal, options, packets, setup_run
from .apply import delayed_interrupts
from .checks.nics import nvm_option
from .checks.outcome import pci_of
from .checks.server import server
from .failure import HostError, HostInputError, InterruptedRunError
from .machine import ThisMachine

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Generator
    from pathlib import Path

    from .checks.server import Traffic
    from .machine import Machine

FILTER = f"udp dst port {packets.PORT} or (vlan and udp dst port {packets.PORT})"
_FLAG = "sniffer"
"""The private flag of older mlx5 drivers by which the network interface gets RoCE packets."""
_SNAPLEN = 192
"""The bytes kept of each packet: all headers of RoCE v2 over IPv6 with a VLAN tag, and the beginning of the data."""
_STOP_S = 5.0
"""The seconds within which tcpdump must write its remaining packets. After that, tcpdump is killed."""


@dataclass(frozen=True)
class Port:
    """The NIC to capture from: its interface, RDMA device, driver and PCI address. ``rdma`` is empty if it has no RDMA device."""

    netdev: str
    rdma: str
    driver: str
    pci: str


def port(machine: Machine, name: str) -> Port:
    """Return the NIC with this interface or RDMA device.

    Raises HostInputError if the server has no such NIC, or if the NIC's vendor is neither NVIDIA nor Broadcom.
    """
    netdevs = machine.names(f"/sys/class/infiniband/{name}/device/net") or [name]
    netdev = netdevs[0]
    driver = (machine.real(f"/sys/class/net/{netdev}/device/driver") or "").rpartition("/")[2]
    if not driver:
        known = [
            nic for nic in machine.names("/sys/class/net") if machine.real(f"/sys/class/net/{nic}/device/infiniband")
        ]
        raise HostInputError(f"{name}: is no NIC here; NICs with RDMA are {', '.join(known) or 'none'}")
    if driver not in {"mlx5_core", "bnxt_en"}:
        raise HostInputError(
            f"{name}: capture-roce knows NICs of NVIDIA (mlx5_core) and Broadcom (bnxt_en), not {driver}: mirror its port"
            " on the switch, and read that capture with --read"
        )
    rdma = machine.names(f"/sys/class/net/{netdev}/device/infiniband")
    return Port(netdev, name if name in rdma else (rdma or [""])[0], driver, pci_of(machine, netdev))


def _nvm(nic: Port) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return the settings in Broadcom's flash that a capture needs, by name.

    Each value is (required number, arguments of niccli that select the NIC's PCI function).
    """
    return {"enable_sriov": (0, ()), "default_evb_mode": (3, ("--scope", nic.pci.rpartition(".")[2]))}


def _prepared(machine: Machine, nic: Port) -> dict[str, tuple[str, int | None]]:
    """Return the flash settings of a Broadcom NIC that a capture must change, by name, as (text, number) of the present value.

    The result is empty for other NICs. Raises HostError if the settings cannot be read.
    """
    if nic.driver != "bnxt_en":
        return {}
    if not machine.has("niccli"):
        raise HostError(f"{nic.netdev}: niccli is not installed (Broadcom's package), so its settings are not known")
    wrong: dict[str, tuple[str, int | None]] = {}
    for name, (wanted, scope) in _nvm(nic).items():
        shown, number = nvm_option(machine, nic.pci, name, *scope)
        if not shown:
            raise HostError(
                f"{nic.netdev}: niccli does not show {name}: root is needed, and firmware of release 231 or newer"
            )
        if number != wanted:
            wrong[name] = (shown, number)
    return wrong


def prepare(asked: Namespace, machine: Machine, nic: Port) -> int:
    """Write the two flash settings of a Broadcom NIC that a capture needs, and record the earlier values in the journal.

    ``asked`` holds the command's arguments. Return the exit code.
    """
    wrong = _prepared(machine, nic)
    odd = [f"{name} is {shown}" for name, (shown, number) in wrong.items() if number is None]
    if odd:
        raise HostError(f"{nic.netdev}: {' and '.join(odd)}, which is an unknown value: nothing was changed")
    if not wrong:
        return _say(asked, f"{nic.netdev}: is prepared already", {"changed": []})
    with journal.locked(_book(asked.state_file)) as lock:
        nvm = ("niccli", "--dev", nic.pci, "nvm", "--setoption")
        needed = _nvm(nic)
        inverse = [("", *nvm, name, *needed[name][1], "--value", str(number)) for name, (_, number) in wrong.items()]
        with delayed_interrupts() as check:
            _record(asked, journal.StepRecord(f"prepare {nic.netdev}", tuple(inverse)))
            for name in wrong:
                value, scope = needed[name]
                command = setup_run.Command((*nvm, name, *scope, "--value", str(value)))
                setup_run.run_command(_book(asked.state_file), None, lock, command)
            check()
    changed = ", ".join(f"{name} was {shown}, is {_nvm(nic)[name][0]}" for name, (shown, _) in wrong.items())
    return _say(
        asked,
        f"{nic.netdev}: {changed}; restart the server, capture, then `railweave host capture-roce {nic.netdev} --restore`",
        {"changed": list(wrong)},
    )


def restore(asked: Namespace, nic: Port) -> int:
    """Undo the recorded changes of a NIC: flash settings of Broadcom's NICs, and settings that an interrupted capture has left.

    ``asked`` holds the command's arguments. Return the exit code.
    """
    undone = undo(asked.state_file, lambda record: record.name.split()[-1] == nic.netdev)
    line = f"{', '.join(undone)}: undone; restart the server" if undone else f"{nic.netdev}: nothing to restore"
    return _say(asked, line, {"undone": undone})


def undo(state_file: Path, chosen: Callable[[journal.StepRecord], bool] = lambda _: True) -> list[str]:
    """Undo the recorded steps of captures for which ``chosen`` returns True, and return their names.

    ``state_file`` is the path of the journal of `apply`. The journal of captures is in the same folder.
    """
    book = _book(state_file)
    if not any(map(chosen, journal.load(book).steps)):
        return []
    with journal.locked(book) as lock:
        return setup_run.undo(book, None, lock, lambda _: None, chosen)


def left(state_file: Path) -> list[str]:
    """Return the commands that `undo` would run to reverse interrupted captures. ``state_file`` is the path of the journal of `apply`."""
    records = journal.load(_book(state_file)).steps[::-1]
    return [str(setup_run.Command(tuple(words), folder)) for record in records for folder, *words in record.inverse]


def _book(state_file: Path) -> Path:
    return state_file.with_name("capture.state.json")


def _record(asked: Namespace, record: journal.StepRecord) -> None:
    book = journal.load(_book(asked.state_file))
    journal.save(_book(asked.state_file), replace(book, steps=(*book.steps, record)))


def _source(machine: Machine, nic: Port) -> tuple[str, str]:
    """Return (interface to capture from, driver flag to turn on). The flag is empty if none is needed.

    Raises HostError if tcpdump cannot capture RoCE packets of this NIC.
    """
    listed = machine.output("tcpdump", "-D")
    if nic.rdma and re.search(rf"^\d+\.{re.escape(nic.rdma)}\b", listed, re.MULTILINE):
        return nic.rdma, ""
    if nic.driver == "bnxt_en":
        return nic.netdev, ""
    flags = machine.run("ethtool", "--show-priv-flags", nic.netdev).out
    match = re.search(r"^\s*sniffer\s*:\s*(on|off)\s*$", flags, re.MULTILINE)
    if match:
        return nic.netdev, "" if match[1] == "on" else _FLAG
    raise HostError(
        f"{nic.netdev}: tcpdump cannot capture from {nic.rdma or 'an RDMA device'}, and the driver has no flag `sniffer`: install tcpdump with"
        " libpcap 1.9 or newer that was built with RDMA support (`tcpdump -D` lists the RDMA devices then)"
    )


@contextmanager
def _sniffing(asked: Namespace, nic: Port, flag: str) -> Generator[None, None, None]:
    """Turn a flag of the NIC's driver on while the context lasts. ``asked`` holds the command's arguments.

    The flag is turned off at the end, also after an exception, SIGINT or SIGTERM.
    """
    if not flag:
        yield
        return
    words = ("ethtool", "--set-priv-flags", nic.netdev, flag)
    with journal.locked(_book(asked.state_file)) as lock:
        record = journal.StepRecord(f"{flag} {nic.netdev}", (("", *words, "off"),))
        with delayed_interrupts() as check:
            _record(asked, record)
        try:
            check()
            setup_run.run_command(_book(asked.state_file), None, lock, setup_run.Command((*words, "on")))
            yield
        finally:
            with delayed_interrupts():
                setup_run.undo(_book(asked.state_file), None, lock, lambda _: None, lambda other: other == record)


def capture(asked: Namespace, machine: Machine, nic: Port, say: Callable[[str], None]) -> int:
    """Capture until a limit or an interrupt, restore changed settings, print a summary of the packets, and return the exit code.

    ``asked`` holds the command's arguments. ``say`` is called with a line of text when the capture begins.
    """
    if asked.output is None:
        raise HostInputError("give -o FILE for the captured packets (or --prepare, --restore or --read)")
    wrong = _prepared(machine, nic)
    if wrong:
        seen = " and ".join(f"{name} is {shown}, wanted {_nvm(nic)[name][0]}" for name, (shown, _) in wrong.items())
        raise HostError(
            f"{nic.netdev}: {seen}, so the NIC gives tcpdump no RoCE packets: run `railweave host capture-roce {nic.netdev}"
            " --prepare`, restart the server, and capture again"
        )
    undo(asked.state_file, lambda record: record.name == f"{_FLAG} {nic.netdev}")  # of a capture that was killed
    source, flag = _source(machine, nic)
    stopped = False
    with _sniffing(asked, nic, flag):
        say(
            f"capturing from {source} into {asked.output}"
            + ("" if asked.seconds or asked.packets else "; Ctrl-C ends it")
        )
        stopped = _tcpdump(asked, source)
    if stopped and (asked.seconds or asked.packets):
        raise InterruptedRunError(
            f"interrupted; {asked.output} has the packets until then, and everything is as it was before"
        )
    return read(asked, asked.output)


def _tcpdump(asked: Namespace, source: str) -> bool:
    """Run tcpdump on the interface ``source`` until it reaches a limit or a signal arrives. Return True if a signal ended it.

    ``asked`` holds the command's arguments, with the limits (packets, seconds). Raises HostError with tcpdump's message if tcpdump fails.
    """
    words = ["tcpdump", "-i", source, "-n", "-U", "-w", str(asked.output)]
    words += [] if asked.whole else ["-s", str(_SNAPLEN)]
    words += ["-c", str(asked.packets)] if asked.packets else []
    stopped = False
    dump: subprocess.Popen[str] | None = None
    try:
        with delayed_interrupts():
            # In a session of its own: Ctrl-C is for us, who then end it.
            dump = subprocess.Popen(
                [*words, FILTER],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        dump.wait(asked.seconds or None)
    except subprocess.TimeoutExpired:
        pass
    except KeyboardInterrupt:
        if dump is None:
            raise
        stopped = True
    finally:
        if dump is not None:
            with delayed_interrupts():
                _end(dump)
    if dump is None:
        return stopped
    with dump:
        message = dump.stderr.read() if dump.stderr else ""
    if dump.returncode:
        raise HostError(f"tcpdump: {(message.strip().splitlines() or [f'exit code {dump.returncode}'])[-1]}")
    return stopped


def _end(dump: subprocess.Popen[str]) -> None:
    if dump.poll() is not None:
        return
    dump.send_signal(signal.SIGINT)
    end = time.monotonic() + _STOP_S
    while dump.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    if dump.poll() is None:
        dump.kill()


def read(asked: Namespace, file: Path) -> int:
    """Print the content of a capture file, and its differences from the QoS in host.json.

    ``asked`` holds the command's arguments. Return exit code 1 if there is a difference.
    """
    content = packets.summary(file)
    different = differences(content, _traffic(asked))
    if asked.json:
        print(json.dumps({"file": str(file), **packets.document(content), "differences": different}, indent=1))
    else:
        print(packets.text(content, asked.flows))
        for line in different:
            print(line, file=sys.stderr)
    return 1 if different else 0


def _traffic(asked: Namespace) -> dict[str, Traffic]:
    """Return the QoS of each fabric in host.json, by fabric; empty if the default file does not exist.

    ``asked`` holds the command's arguments, with the path of the file.
    """
    if asked.host_file == options.HOST_FILE and not asked.host_file.exists():
        return {}
    plan = host_file.load(asked.host_file)
    wanted = server(ThisMachine(), plan, files.parsed(files.content(asked.host_file)))
    return {nic.plan.fabric: nic.traffic for nic in wanted.nics if nic.traffic}


def differences(content: packets.Summary, fabrics: dict[str, Traffic]) -> list[str]:
    """Return a sentence for each difference of a capture's packets (``content``) from the fabrics' QoS; empty without fabrics."""
    if not fabrics:
        return []
    known = {
        dscp
        for traffic in fabrics.values()
        for dscp in (traffic.dscp, *traffic.other_dscp, *(d for other in traffic.others.values() for d in other.dscp))
    }
    cnp = {traffic.cnp_dscp for traffic in fabrics.values()}
    data = {True: packets.Counter[int](), False: packets.Counter[int]()}
    unmarked = 0
    for flow in content.flows.values():
        data[flow.notifications < flow.packets].update(flow.dscp)
        unmarked += flow.ecn[0] if flow.data else 0
    wrong: list[str] = []
    for kind, counts, wanted, name in (
        ("RDMA", data[True], known, "roce"),
        ("congestion notification", data[False], cnp, "cnp"),
    ):
        others = {dscp: count for dscp, count in counts.items() if dscp not in wanted}
        if others:
            seen = ", ".join(f"{count} with DSCP {dscp}" for dscp, count in sorted(others.items()))
            values = " or ".join(map(str, sorted(wanted)))
            wrong.append(
                f"{sum(others.values())} of {sum(counts.values())} {kind} packets have another DSCP than {values} (host.json"
                f" fabrics[].{name}.dscp): {seen}; switches put them into another class: `railweave host check --only qos`"
            )
    if unmarked and all(traffic.ecn for traffic in fabrics.values()):
        wrong.append(
            f"{unmarked} packets of flows with data are Not-ECT: switches drop them where they would mark them; set the traffic class of"
            " jobs to DSCP x 4 + 2 (`railweave host env`)"
        )
    return wrong


def capture_roce(asked: Namespace) -> int:
    """Run the subcommand `capture-roce` with its arguments (``asked``), and return its exit code."""
    if asked.read is not None:
        return read(asked, asked.read)
    if asked.nic is None:
        raise HostInputError("name a NIC to capture from, or a file with --read")
    machine = ThisMachine(asked.sysfs)
    nic = port(machine, asked.nic)
    if asked.prepare:
        return prepare(asked, machine, nic)
    if asked.restore:
        return restore(asked, nic)
    say: Callable[[str], None] = (
        (lambda _: None) if asked.json or asked.quiet else (lambda line: print(line, flush=True))
    )
    return capture(asked, machine, nic, say)


def _say(asked: Namespace, line: str, document: dict[str, Any]) -> int:
    print(json.dumps(document, indent=1) if asked.json else line)
    return 0
