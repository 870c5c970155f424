"""Which network NCCL took: plugins, RDMA devices, interfaces, GPUDirect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Found, check
from railweave.operations.bench.triage.case import once, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.operations.bench.triage.case import Case

_VIRTUAL = re.compile(
    r"docker|virbr|veth|br-|cni|flannel|cali|vxlan|tun|tap|podman|lxc|lxd|kube|usb|idrac", re.IGNORECASE
)


@check(
    "run-plugin-not-loaded",
    "error",
    applies="run",
    why="without its plugin NCCL takes its own transport, in silence: queue pairs go where the hash of the switches sends them",
    fix="put the folder of the plugin into LD_LIBRARY_PATH on every server, and NCCL_NET_PLUGIN to its name: the part behind libnccl-net-",
)
def plugin(case: Case) -> Iterator[Found]:
    """The network plugin that was asked for is loaded."""
    if case.log is None:
        return
    asked = case.log.variable("NCCL_NET_PLUGIN")
    net = [one for one in case.log.plugins if one.kind == "NET"]
    missing = [(one.name, one.line) for one in net if not one.loaded]
    if not asked or asked.lower() in {"none", "0"}:
        return
    loaded = {one.host for one in net if one.loaded}
    for name, line, often in once(missing):
        hosts = {one.host for one in net if not one.loaded} - loaded
        if hosts or not loaded:
            yield case.found(
                line, f"NCCL_NET_PLUGIN asks for {asked}, and {name} is not found{times(often)}", min(hosts, default="")
            )


@check(
    "run-plugin-failed",
    "error",
    applies="run",
    why="a plugin that is loaded and does not start leaves the built-in transport or none",
    fix="the warning before it says why: no usable address on a NIC, a host.json of another server; `railweave host check` looks at both",
)
def plugin_failed(case: Case) -> Iterator[Found]:
    """The network plugin starts."""
    pattern = re.compile(r"Failed to initialize (?:any )?NET plugin ?(\S*)")
    seen = [(found[0], line.number) for line in case.lines if (found := pattern.search(line.text))]
    for what, line, often in once(seen):
        yield case.found(line, f"{what}{times(often)}")


@check(
    "run-over-sockets",
    "error",
    applies="run",
    why="sockets carry a tenth of what RDMA does, over the interface of the bootstrap; NCCL takes them in silence where it finds no RDMA device",
    fix="see that `ibv_devinfo` lists the NICs inside the job (container: /dev/infiniband, memlock), and that NCCL_IB_DISABLE and NCCL_NET are not set",
)
def sockets(case: Case) -> Iterator[Found]:
    """NCCL uses RDMA."""
    seen = [(one.text, one.line, one.host) for one in case.log.networks] if case.log else []
    for text, line, often in once((text, line) for text, line, _ in seen if text == "Socket"):
        yield case.found(line, f"NCCL uses the network {text}{times(often)}", next(host for *_, host in seen))


@check(
    "run-no-rdma-device",
    "error",
    applies="run",
    why="NCCL_IB_HCA names devices by their beginning: where it fits none, or none has a port that is up, there is no RDMA",
    fix="compare NCCL_IB_HCA with `rdma link` on the server: names follow udev's rule (bnxt_re0, or rocep… after the PCI slot)",
)
def device(case: Case) -> Iterator[Found]:
    """NCCL finds the RDMA devices that it is told to use."""
    if case.log is None:
        return
    none = ((one.text, one.line) for one in case.log.events if "No device found" in one.text)
    for _, line, often in once(none):
        wanted = case.log.variable("NCCL_IB_HCA")
        yield case.found(
            line, "no RDMA device is found" + (f" by NCCL_IB_HCA={wanted}" if wanted else "") + times(often)
        )
    yield from _left_out(case, case.log)


def _left_out(case: Case, log: NcclLog) -> Iterator[Found]:
    wanted = log.variable("NCCL_IB_HCA").lstrip("=")
    if not wanted or wanted.startswith("^") or not log.devices:
        return
    there = {one.name for one in log.devices}
    for name in filter(None, (one.partition(":")[0] for one in wanted.split(","))):
        if not any(one.startswith(name) for one in there):
            yield case.found(
                log.devices[0].line,
                f"NCCL_IB_HCA names {name}, which is not among the devices in use: {', '.join(sorted(there))}",
            )


@check(
    "run-no-gpudirect",
    "warning",
    applies="run",
    why="data goes through the host's memory: about half the rate, and processor time; NCCL does not fail for it",
    fix="load the peer memory module or use dma-buf (kernel 5.12, NCCL_DMABUF_ENABLE=1), switch PCIe ACS off, and let NCCL_NET_GDR_LEVEL reach as far as GPU and NIC are apart",
)
def gpudirect(case: Case) -> Iterator[Found]:
    """Data goes between GPU and NIC by GPUDirect RDMA."""
    if case.log is None:
        return
    net = [one for one in case.log.channels if one.transport == "NET" and one.through != "Socket"]
    without = [one for one in net if not one.gdr]
    level = case.log.variable("NCCL_NET_GDR_LEVEL")
    told = f" (NCCL_NET_GDR_LEVEL is {level})" if level else ""
    by_host: dict[str, list[int]] = {}
    for one in without:
        by_host.setdefault(one.host, []).append(one.line)
    for host, lines in by_host.items():
        all_of = sum(one.host == host for one in net)
        yield case.found(
            lines[0], f"{len(lines)} of {all_of} connections go over the network without GPUDirect RDMA{told}", host
        )
    if not net:
        disabled = ((f"{one.host} {one.device}", one.line) for one in case.log.gpu_direct if not one.enabled)
        for name, line, _ in once(disabled):
            yield case.found(line, f"GPUDirect RDMA is off for {name.split()[-1]}", name.split()[0])


@check(
    "run-bootstrap-interface",
    "warning",
    applies="run",
    why="ranks find each other by TCP: over a bridge of containers, or over interfaces of different networks, they wait for each other until a timeout",
    fix="set NCCL_SOCKET_IFNAME to the management interface, by the same name on every server",
)
def bootstrap(case: Case) -> Iterator[Found]:
    """The interface of the bootstrap is one that other servers reach, and of one name."""
    if case.log is None:
        return
    interfaces = case.log.bootstrap
    several = len({one.host for one in interfaces}) > 1 or (case.log.nodes or 1) > 1
    for name, line, often in once((one.name, one.line) for one in interfaces):
        if _VIRTUAL.match(name):
            yield case.found(
                line, f"ranks find each other over {name}, which containers or virtual machines use{times(often)}"
            )
        elif name == "lo" and several:
            yield case.found(line, f"ranks of several servers look for each other over {name}{times(often)}")
    names = sorted({one.name for one in interfaces})
    if len(names) > 1:
        odd = min(names, key=lambda name: sum(one.name == name for one in interfaces))
        first = next(one for one in interfaces if one.name == odd)
        yield case.found(
            first.line, f"servers use different interfaces to find each other: {', '.join(names)}", first.host
        )
