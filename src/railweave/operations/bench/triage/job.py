"""Triage rules that compare the hosts of a job: networks, devices, versions, variables, interfaces, speeds and the order of ranks.

Each rule is applied to one text. It compares the hosts in this text with the hosts in all logs of the same job. For example, a job
may have one log for each rank. The docstring of a rule's function states the rule.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeVar

from railweave.counting import counted
from railweave.model.findings.registry import FindingPlace, check
from railweave.operations.bench.triage.wire import Case, once, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.operations.bench.nccl_log import (
        Interface,
        LogMessage,
        NcclLog,
        NicSpeed,
        QueuePair,
        RdmaDevice,
        Setting,
    )

    Fact = TypeVar("Fact", Interface, LogMessage, NicSpeed, QueuePair, RdmaDevice, Setting)


def by_host(logs: Iterable[NcclLog], facts_of: Callable[[NcclLog], Iterable[Fact]]) -> dict[str, list[Fact]]:
    """Return the facts of several logs by host. ``facts_of`` returns the facts of one log, such as its RDMA devices.

    If no line of a file names a host, the file's name is used as the host.
    """
    hosts: dict[str, list[Fact]] = defaultdict(list)
    for log in logs:
        for fact in facts_of(log):
            hosts[fact.host or log.file.rpartition("/")[2]].append(fact)
    return hosts


def _own(case: Case, facts_of: Callable[[NcclLog], Iterable[Fact]]) -> dict[str, list[Fact]]:
    return by_host((case.log,) if case.log else (), facts_of)


def _all(case: Case, facts_of: Callable[[NcclLog], Iterable[Fact]]) -> dict[str, list[Fact]]:
    return by_host(case.job or ((case.log,) if case.log else ()), facts_of)


def _unnamed(case: Case) -> set[str]:
    """Return the names of the case's log files in which some lines name a host.

    ``by_host`` uses such a file name for lines that name no host, for example because they are cut off. The name is not a host.
    """
    logs = case.job or ((case.log,) if case.log else ())
    return {log.file.rpartition("/")[2] for log in logs if any(source.host for _, source in log.sources)}


def most_common(values: Iterable[str]) -> str:
    """Return the value that more than half of ``values`` have; empty if there is none."""
    counts = Counter(values)
    value, number = counts.most_common(1)[0] if counts else ("", 0)
    return value if number * 2 > sum(counts.values()) else ""


_OFI_PROVIDER = re.compile(r"NET/OFI .*[Pp]rovider is ((?:tcp|sockets|udp|net)\S*)")


@check(
    "run-over-sockets",
    "error",
    applies="run",
    why="TCP sockets over the bootstrap's interface have a tenth of RDMA's bandwidth; NCCL uses them without a "
    "message if it finds no RDMA device",
    fix="make sure that `ibv_devinfo` lists the NICs inside the job (in a container: /dev/infiniband, memlock), "
    "that NCCL_IB_DISABLE is not set, and that NCCL_NET is not Socket",
)
def sockets(case: Case) -> Iterator[FindingPlace]:
    """NCCL uses RDMA.

    Yield a finding for each host on which NCCL uses TCP sockets.
    """
    everywhere = _all(case, lambda log: log.networks)
    others = {host: {network.text for network in networks} for host, networks in everywhere.items()}
    for host, networks in _own(case, lambda log: log.networks).items():
        on_sockets = [network for network in networks if network.text.rstrip(".") == "Socket"]
        if not on_sockets:
            continue
        rdma = sorted({text for name, texts in others.items() if name != host for text in texts} - {"Socket"})
        switched = [
            f"{name} is {value}"
            for name in ("NCCL_IB_DISABLE", "NCCL_NET")
            if case.log and (value := case.log.variable_of(on_sockets[0].host, name)) not in {"", "0"}
        ]
        beside = f", and other hosts {' and '.join(rdma)}" if rdma else ""
        reason = f" ({', '.join(switched)})" if switched else ""
        text = f"NCCL uses the network Socket{reason}{beside}{times(len(on_sockets))}"
        yield case.finding(on_sockets[0].line, text, on_sockets[0].host)
    for provider, line, often in once(
        (match[1], line.number) for line in case.lines if (match := _OFI_PROVIDER.search(line.text))
    ):
        host = case.host_of(line)
        yield case.finding(
            line, f"the OFI plugin uses the provider {provider}: TCP in place of RDMA{times(often)}", host
        )


def _devices(log: NcclLog) -> tuple[RdmaDevice, ...]:
    return log.devices


@check(
    "run-no-rdma-device",
    "error",
    applies="run",
    why="NCCL_IB_HCA selects devices by the beginning of their name; if it matches no device with a port that is "
    "up, NCCL cannot use RDMA",
    fix="compare NCCL_IB_HCA with `rdma link` on the server: udev sets the names (bnxt_re0, or rocep… after the "
    "PCI slot); a container needs access to /dev/infiniband",
)
def device(case: Case) -> Iterator[FindingPlace]:
    """NCCL finds the RDMA devices that it is configured to use.

    Yield a finding for each host on which NCCL finds none.
    """
    if case.log is None:
        return
    none = [event for event in case.log.events if "No device found" in event.text]
    for host, line, often in once((event.host, event.line) for event in none):
        wanted = case.log.variable_of(host, "NCCL_IB_HCA")
        yield case.finding(
            line, "no RDMA device is found" + (f" by NCCL_IB_HCA={wanted}" if wanted else "") + times(often), host
        )
    yield from case.reported("run-no-rdma-device")
    for host, devices in _own(case, _devices).items():
        names = {rdma_device.name for rdma_device in devices}
        for name, reason in _left_out(case.log.variable_of(devices[0].host, "NCCL_IB_HCA"), names):
            text = f"NCCL_IB_HCA names {name}, {reason}: {', '.join(sorted(names))}"
            yield case.finding(devices[0].line, text, host if devices[0].host else "")


def _left_out(wanted: str, names: set[str]) -> Iterator[tuple[str, str]]:
    exact, wanted = wanted.startswith("="), wanted.lstrip("=")
    if not wanted or wanted.startswith("^"):
        return
    for word in filter(None, (word.strip() for word in wanted.split(","))):
        name = word.partition(":")[0]
        if "/" in name:
            yield word, "whose port must follow a colon (NAME:PORT), so that it fits none of the devices in use"
        elif not any(device_name == name if exact else device_name.startswith(name) for device_name in names):
            yield name, "which is not among the devices in use"


@check(
    "run-missing-nic",
    "error",
    applies="run",
    why="a server with fewer NICs than the others sends all its traffic over the remaining NICs, and NCCL pairs "
    "NICs of different rails: the whole job is slowed down",
    fix="run `rdma link` and `lspci` on that server: a port is down, a driver is not loaded, or a NIC is missing "
    "or not available in the container",
)
def missing(case: Case) -> Iterator[FindingPlace]:
    """All hosts of a job use the same number of NICs. With a design, they use the GPU NICs of the design.

    Yield a finding for each host that uses fewer.
    """
    in_text, unnamed = _own(case, _devices), _unnamed(case)
    undesigned: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for host, devices in in_text.items():
        if host not in unnamed and (deviation := _beside_design(case, devices)):
            undesigned[deviation].append(host)
    for (text, fix), hosts in undesigned.items():
        line = in_text[hosts[0]][0].line
        if len(hosts) == 1:
            yield case.finding(line, text, _named(in_text, hosts[0]), fix=fix)
        else:
            listed = f"{', '.join(hosts[:4])}{', …' * (len(hosts) > 4)}"
            yield case.finding(line, f"{text}: on {counted(len(hosts), 'host')} ({listed})", fix=fix)
    reported = {host for hosts in undesigned.values() for host in hosts}
    yield from _beside_hosts(case, {host: devices for host, devices in in_text.items() if host not in reported})


def _named(in_text: Mapping[str, Sequence[RdmaDevice]], host: str) -> str:
    """Return ``host`` if the log itself names it. Return an empty string if it is only the name of a file (see ``by_host``).

    ``in_text`` has the RDMA devices of each host.
    """
    return host if in_text[host][0].host else ""


def _beside_design(case: Case, devices: Sequence[RdmaDevice]) -> tuple[str, str | None] | None:
    """Return (description, fix) if a host uses fewer GPU NICs than the case's design has for it, or None.

    ``devices`` are the devices that the host uses. If the fix is None, the rule's own fix applies.
    """
    named = devices[0].host
    designed = case.design.server(named)
    if designed is None:
        return None
    logs = case.job or ((case.log,) if case.log else ())
    ranks = max((rank.local_ranks or 0 for log in logs for rank in log.ranks if rank.host == named), default=0)
    names = {device.name for device in devices}
    number, lacking, missing_names = designed.missing(names, ranks or None)
    if not lacking:
        return None
    text = f"{counted(len(names), 'NIC')} in use"
    if missing_names:
        text += f" ({', '.join(missing_names)} {'is' if lacking == 1 else 'are'} missing)"
    text += f", and the design has {number} for GPUs"
    wanted = case.log.variable_of(named, "NCCL_IB_HCA") if case.log else ""
    if wanted and (not missing_names or not any(_selected(wanted, name) for name in missing_names)):
        return f"{text}; NCCL_IB_HCA is {wanted}", "set NCCL_IB_HCA as in the server's `nccl.env`, which `build` writes"
    return text, None


def _selected(wanted: str, name: str) -> bool:
    """Return True if ``wanted``, the value of NCCL_IB_HCA, selects the device ``name``.

    ``mlx5_1`` selects all devices whose names begin with mlx5_1, and ``=mlx5_1`` only the device mlx5_1. A ``^`` before the value
    selects all devices except those.
    """
    excluded = wanted.startswith("^")
    exact = wanted.lstrip("^").startswith("=")
    words = [word.strip().partition(":")[0] for word in wanted.lstrip("^=").split(",")]
    return excluded != any(name == word if exact else bool(word) and name.startswith(word) for word in words)


def _beside_hosts(case: Case, in_text: Mapping[str, Sequence[RdmaDevice]]) -> Iterator[FindingPlace]:
    """Yield a finding for each host of ``in_text`` that uses fewer NICs than most hosts of the job.

    ``in_text`` has the RDMA devices in the text of the case, by host.
    """
    unnamed = _unnamed(case)
    everywhere = {
        host: {rdma_device.name for rdma_device in devices}
        for host, devices in _all(case, _devices).items()
        if host not in unnamed
    }
    most = max(map(len, everywhere.values()), default=0)
    whole = [names for names in everywhere.values() if len(names) == most]
    if len(everywhere) < 2 or len(whole) * 2 < len(everywhere):
        return
    alike = {name for name in whole[0] if all(name in names for names in whole)}
    for host, devices in in_text.items():
        names = everywhere.get(host, whole[0])
        left_out = {
            name
            for name, _ in _left_out(case.log.variable_of(devices[0].host, "NCCL_IB_HCA") if case.log else "", names)
        }
        lacks = sorted(alike - names - left_out)
        if len(names) < most and (lacks or not left_out):
            named = f" ({', '.join(lacks)} is missing)" if lacks else ""
            text = f"{counted(len(names), 'NIC')} in use{named}, and {counted(most, 'NIC')} on {counted(len(whole), 'other host')}"
            yield case.finding(devices[0].line, text, _named(in_text, host))


@check(
    "run-mixed-versions",
    "error",
    applies="run",
    why="different versions of a library exchange incompatible messages: the job fails or hangs at its start",
    fix="set LD_LIBRARY_PATH to the same build of NCCL or RCCL on every server: that of the container or that of "
    "the host",
)
def versions(case: Case) -> Iterator[FindingPlace]:
    """All ranks use the same version of the library.

    Yield a finding for a version line that differs from the most common one.
    """
    everywhere = [message for log in case.job or ((case.log,) if case.log else ()) for message in log.version_lines]
    texts = list(dict.fromkeys(message.text for message in everywhere))
    cut = {text for text in texts if any(other.startswith(text) and other != text for other in texts)}
    everywhere = [message for message in everywhere if message.text not in cut]
    texts = [text for text in texts if text not in cut]
    if case.log is not None and len(texts) > 1:
        usual = most_common(message.text for message in everywhere) or next(
            (message.text for message in everywhere if not message.host), ""
        )
        for host, messages in _own(case, lambda log: log.version_lines).items():
            other = next((message for message in messages if message.text not in {usual, *cut}), None)
            if other is not None:
                text = f"ranks have different versions: {', '.join(texts)}; here {other.text}"
                yield case.finding(other.line, text, host if other.host else "")
    yield from case.reported("run-mixed-versions")


_ITS_OWN = re.compile(r"_(?:FILE|HOSTID|COMM_ID|DUMP_\w+|TOPO_\w+)$|^NCCL_DEBUG|^NCCL_GRAPH")
"""The pattern of variables that may differ between hosts."""


def _settings(log: NcclLog) -> tuple[Setting, ...]:
    return tuple(setting for setting in log.settings if not _ITS_OWN.search(setting.name))


@check(
    "run-mixed-settings",
    "warning",
    applies="run",
    why="ranks with different variables choose different networks, algorithms or queue pairs: they wait for each "
    "other, or the whole job is as slow as the slowest",
    fix="export the variables to all ranks (mpirun -x, srun --export), and look for /etc/nccl.conf and "
    "~/.nccl.conf on that host",
)
def settings(case: Case) -> Iterator[FindingPlace]:
    """All hosts of a job have the same variables of NCCL.

    Yield a finding for a variable whose value differs between hosts.
    """
    everywhere = {
        host: {setting.name: setting.value for setting in settings} for host, settings in _all(case, _settings).items()
    }
    began = set(_all(case, lambda log: log.networks)) | set(_all(case, lambda log: log.bootstrap))
    hosts = (began | set(everywhere)) - _unnamed(case)
    for host, of_host in _own(case, _settings).items():
        if host not in hosts:
            continue
        first = {setting.name: setting for setting in reversed(of_host)}
        for name, setting in sorted(first.items()):
            values = Counter(everywhere.get(other, {}).get(name, "") for other in hosts)
            others = {value: number for value, number in values.items() if value != setting.value}
            if not others or values[setting.value] > max(others.values()):
                continue
            value, number = max(sorted(others.items()), key=lambda other: other[1])
            unset = not value
            if unset and (len(others) > 1 or not any(everywhere.get(other) for other in hosts - {host})):
                continue  # a host that reports no variable at all may log less
            beside = "not set" if unset else value
            text = f"{name} is {setting.value}, and {beside} on {counted(number, 'other host')}"
            yield case.finding(setting.line, text, setting.host)


_VIRTUAL = re.compile(
    r"docker|virbr|veth|br-|cni|flannel|cali|vxlan|tun|tap|ip6tnl|ipip|sit|gre|wg|podman|lxc|lxd|kube|usb|idrac",
    re.IGNORECASE,
)


@check(
    "run-bootstrap-interface",
    "warning",
    applies="run",
    why="ranks find each other by TCP; if their interfaces belong to container bridges or to different networks, "
    "they wait for each other until a timeout",
    fix="set NCCL_SOCKET_IFNAME to the name of the management interface, which must be the same on every server",
)
def bootstrap(case: Case) -> Iterator[FindingPlace]:
    """Ranks bootstrap over an interface that all servers can reach, with the same name on all servers.

    Yield a finding for each host whose ranks find each other over an unsuitable or different interface.
    """
    if case.log is None:
        return
    interfaces = {
        host: next(iter(facts)) for host, facts in _all(case, lambda log: log.bootstrap).items()
    }  # the first that a host lists is the one that it uses
    several = len(interfaces) > 1 or any((log.nodes or 1) > 1 for log in (case.log, *case.job))
    names = _ordinary(interfaces)
    usual = names[0][0] if len(names) == 1 or (names and len(names[0][1]) > len(names[1][1])) else ""
    versions = {host: _version(interface.address) for host, interface in interfaces.items()}
    for host, facts in _own(case, lambda log: log.bootstrap).items():
        name, line = facts[0].name, facts[0].line
        where = facts[0].host
        often = times(sum(interface.name == name for interface in facts))
        link_local = _version(facts[0].address) == "link-local"
        if _VIRTUAL.match(name):
            text = f"ranks find each other over {name}, which containers, tunnels or virtual machines use{often}"
            yield case.finding(line, text, where)
        elif name == "lo" and several:
            yield case.finding(line, f"ranks of several servers look for each other over {name}{often}", where)
        elif link_local:
            yield case.finding(line, f"ranks find each other by the link-local address {facts[0].address}", where)
        elif len(names) > 1 and (name != usual if usual else host == names[0][1][0]):
            text = "servers use different interfaces to find each other: "
            if usual:
                text += f"{', '.join(sorted(name for name, _ in names))}; here {name}"
            else:  # none is the usual one: which host is at fault is not known
                text += "; ".join(
                    f"{each} on {', '.join(hosts[:4])}{', …' * (len(hosts) > 4)}" for each, hosts in names
                )
            yield case.finding(line, text, where if usual else "")
        elif (version := versions.get(host)) and version != (common := most_common(versions.values())) and common:
            yield case.finding(
                line, f"ranks here use an {version} address to find each other, the others {common}", where
            )
    yield from case.reported("run-bootstrap-interface")


def _ordinary(interfaces: Mapping[str, Interface]) -> list[tuple[str, list[str]]]:
    """Return the interfaces that are neither virtual nor ``lo``, each with the hosts that use it. The most frequent interface is first.

    ``interfaces`` has the bootstrap interface of each host.
    """
    hosts: dict[str, list[str]] = defaultdict(list)
    for host, interface in interfaces.items():
        if not _VIRTUAL.match(interface.name) and interface.name != "lo":
            hosts[interface.name].append(host)
    return sorted(hosts.items(), key=lambda of_name: -len(of_name[1]))


def _version(text: str) -> str:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    return "link-local" if address.is_link_local else f"IPv{address.version}"


@check(
    "run-nic-speed",
    "warning",
    applies="run",
    why="the slowest NIC sets the pace of a ring or tree: a port that came up at a lower rate, or a storage NIC "
    "used like a GPU's NIC, slows the whole job",
    fix="run `ethtool` and `railweave host check --only link` on that server; exclude other NICs with NCCL_IB_HCA",
)
def speeds(case: Case) -> Iterator[FindingPlace]:
    """The NICs of a job have the same speed.

    Yield a finding for each NIC whose speed differs from the usual one.
    """
    everywhere = _all(case, lambda log: log.speeds)
    usual = most_common(f"{speed.gbps:g}" for speeds in everywhere.values() for speed in speeds)
    fastest = max((speed.gbps for speeds in everywhere.values() for speed in speeds), default=0.0)
    expected = float(usual) if usual else fastest
    for host, of_host in _own(case, lambda log: log.speeds).items():
        odd = [speed for speed in of_host if abs(speed.gbps - expected) > expected / 50]
        for name, line, _ in once((f"{speed.device} has {speed.gbps:g} Gb/s", speed.line) for speed in odd):
            yield case.finding(line, f"{name}, and other NICs {expected:g}", host if odd[0].host else "")


MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
"""The RDMA MTU in bytes by its code, ``enum ibv_mtu`` (rdma-core, ``libibverbs/verbs.h``)."""


@check(
    "run-mixed-mtu",
    "warning",
    applies="run",
    why="the ends of a queue pair must use the smaller RDMA MTU: if one end or a switch between them is "
    "configured differently, packets are dropped and completions fail",
    fix="set the same MTU on all NICs and switch ports (an RDMA MTU of 4096 needs at least 4200 bytes); "
    "`railweave fleet mesh` measures the MTU of paths",
)
def mtus(case: Case) -> Iterator[FindingPlace]:
    """All NICs of a job have the same RDMA MTU.

    Yield a finding for each host with a smaller MTU than the largest.
    """
    everywhere = _all(case, lambda log: log.queue_pairs)
    values = {pair.mtu for pairs in everywhere.values() for pair in pairs}
    if len(values) < 2:
        return
    largest = max(values)
    for host, of_host in _own(case, lambda log: log.queue_pairs).items():
        odd = [pair for pair in of_host if pair.mtu != largest]
        if odd:
            mtu, other = MTU_BYTES.get(odd[0].mtu, odd[0].mtu), MTU_BYTES.get(largest, largest)
            text = f"the RDMA MTU of device {odd[0].device} is {mtu}, and {other} elsewhere in the job"
            yield case.finding(odd[0].line, text, host if odd[0].host else "")


@check(
    "run-ring-order",
    "warning",
    applies="run",
    why="a ring that leaves a server several times sends the same data over the network several times",
    fix="place the ranks of a server one after another: mpirun --map-by ppr:8:node, srun --distribution=block",
)
def rings(case: Case) -> Iterator[FindingPlace]:
    """The ring of a channel enters and leaves each server once.

    Yield a finding for the first channel of NCCL whose ring leaves servers more often than that.
    """
    log = case.log
    if log is None:
        return
    host_of = {rank.rank: rank.host for rank in log.ranks if rank.host}
    largest = max((rank.ranks for rank in log.ranks), default=0)
    for channel, _ in log.rings:
        ring = log.ring_of(channel)
        if len(ring) != largest or not all(rank in host_of for rank in ring):
            continue
        hosts = [host_of[rank] for rank in ring]
        leaves = sum(host != hosts[place - 1] for place, host in enumerate(hosts))
        servers = len(set(hosts))
        if servers > 1 and leaves > servers:
            line = next((rank.line for rank in log.ranks), 0)
            text = f"the ring of channel {channel} leaves a server {leaves} times, where {servers} would do"
            yield case.finding(line, text)
            return
