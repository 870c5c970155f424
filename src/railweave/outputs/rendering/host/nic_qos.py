"""The script ``nic-qos.sh`` and vendors' files, which set what NICs and switches must share, and the script ``nic-nvm.sh`` for settings in flash.

Each vendor of a server's NICs contributes its commands as functions of the scripts (``railweave.nics``).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from railweave.nics import every_vendor, vendors_of
from railweave.outputs.rendering.host.shell import BY_NAME, array, body, head

if TYPE_CHECKING:
    from railweave.model.device.host_model import FirmwareOption, HostConfig, HostQos


def nic_nvm(config: HostConfig) -> str:
    """Return the script ``nic-nvm.sh``. It shows the settings in the flash of NICs, and changes those that differ from the design."""
    lists: dict[tuple[FirmwareOption, ...], str] = {}
    nics: list[str] = []
    vendors: set[str] = set()
    for nic in config.nics:
        if nic.firmware:
            vendors.add(nic.vendor)
            name = lists.setdefault(nic.firmware, f"OPTIONS_{len(lists) + 1}")
            nics.append(f"{nic.netdev} {nic.vendor} {name}")
    lines = head("Settings in the NICs' flash.", network=config.network, server=config.name, lint=BY_NAME)
    lines += ["# interface, vendor, its list of settings", *array("NICS", nics), ""]
    lines += ["# setting, wanted value (- is only shown), whether each PCI function has its own, why"]
    for options, name in lists.items():
        lines += array(name, [_option(option) for option in options])
    scripts = (vendor.nvm_script() for vendor in vendors_of(vendors))
    return "".join(
        ["\n".join([*lines, "", ""]), body("nic_common.sh"), body("nic_nvm.sh"), *scripts, body("nic_nvm_main.sh")]
    )


def _option(option: FirmwareOption) -> str:
    return f"{option.name} {option.value or '-'} {'function' if option.per_function else 'device'} {option.why}"


def files(config: HostConfig) -> dict[str, str]:
    """Return the texts of the files that this module writes, by name."""
    texts = {"nic-qos.sh": nic_qos(config)}
    for path, settings in driver_files(config).items():
        texts[_name(path)] = "".join(f"{key}={value}\n" for key, value in settings.items())
    return texts


def driver_files(config: HostConfig) -> dict[str, dict[str, str]]:
    """Return the settings that NIC drivers read from files, as ``KEY=VALUE`` lines, by the path of the file on the server."""
    by_path: dict[str, dict[str, str]] = {}
    for vendor in vendors_of(nic.vendor for nic in config.nics):
        by_path |= vendor.driver_files(config)
    return by_path


def vendors_files() -> tuple[str, ...]:
    """Return the names of all vendors' files that may be next to ``nic-qos.sh``."""
    return tuple(_name(path) for vendor in every_vendor() for path in vendor.driver_file_paths)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def nic_qos(config: HostConfig) -> str:
    """Return the script that sets the QoS of every NIC."""
    lines = head(
        "QoS of the NICs: DSCP, priorities, PFC, ETS, congestion control.",
        network=config.network,
        server=config.name,
        lint=BY_NAME,
    )
    lines += ["# interface, RDMA device, its port, vendor, fabric, cable in m (0: not known)"]
    lines += array(
        "NICS", [f"{n.netdev} {n.rdma} {n.rdma_port} {n.vendor} {n.fabric} {n.cable_m or 0}" for n in config.nics]
    )
    lines += ["", "# The design of a fabric, as the variables that follow.", "design() {", "    case $1 in"]
    vendors = vendors_of(nic.vendor for nic in config.nics)
    for qos in config.qos:
        design = _design(qos)
        for vendor in vendors:
            design += vendor.qos_variables(config, qos.fabric)
        lines += [f"    {shlex.quote(qos.fabric)})", *(f"        {line}" for line in design), "        ;;"]
    lines += ["    esac", "}", "", ""]
    scripts = (vendor.qos_script() for vendor in vendors)
    return "".join(["\n".join(lines), body("nic_common.sh"), body("nic_qos.sh"), *scripts, body("nic_qos_main.sh")])


def _design(qos: HostQos) -> list[str]:
    priorities = {qos.cnp_priority, *(lossless_class.priority for lossless_class in qos.other_lossless)}
    if qos.lossless:
        priorities.add(qos.priority)
    designed = " ".join(f"{dscp}:{priority}" for dscp, priority in enumerate(qos.priorities) if priority in priorities)
    if qos.lossless:
        line = f"# RDMA data: DSCP {qos.dscp}, priority {qos.priority}, never dropped (PFC)"
    else:
        line = f"# RDMA data: DSCP {qos.dscp}; NICs do not pause it (no PFC), and it shares the link with all other traffic"
    return [
        line,
        f"PRIORITY={qos.priority} LOSSLESS={_yes(qos.lossless)} ECN={_yes(qos.ecn)}",
        f"# share of the link in percent, where other traffic wants it too; class byte: DSCP {qos.dscp} x 4 + ECT(0)",
        f"SHARE={qos.bandwidth_percent} CLASS={qos.traffic_class}",
        *_others(qos),
        "# congestion notification packets",
        f"CNP_DSCP={qos.cnp_dscp} CNP_PRIORITY={qos.cnp_priority}",
        f"# the fabric {'sprays packets' if qos.adaptive_routing else 'keeps the packets of a flow in order'}",
        f"ADAPTIVE={_yes(qos.adaptive_routing)}",
        "# priority of every DSCP, and those that are designed",
        f"MAP=({' '.join(str(priority) for priority in qos.priorities)})",
        f"DESIGNED={shlex.quote(designed)}",
    ]


def _others(qos: HostQos) -> list[str]:
    lines = [
        f"# {lossless_class.name}: DSCP {', '.join(map(str, lossless_class.dscp)) or 'none'}, priority {lossless_class.priority}, never dropped either"
        for lossless_class in qos.other_lossless
    ]
    pairs = " ".join(
        f"{lossless_class.priority}:{lossless_class.bandwidth_percent}" for lossless_class in qos.other_lossless
    )
    marked = " ".join(str(lossless_class.priority) for lossless_class in qos.other_lossless if lossless_class.ecn)
    return [
        *lines,
        "# lossless classes beside RDMA data, priority:share of the link, and the priorities of those that switches mark",
        f"OTHERS={shlex.quote(pairs)} MARKED={shlex.quote(marked)}",
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
