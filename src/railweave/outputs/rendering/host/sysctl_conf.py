"""``sysctl.conf``: kernel parameters of the network, each group with its reason and source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.outputs.rendering.host.comments import head

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig

_RA = ("accept_ra", "autoconf", "use_tempaddr", "addr_gen_mode", "max_addresses")

_GROUPS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        _RA,
        (
            "The kernel forms addresses from router advertisements: accept_ra and autoconf (RLB document, Server SLAAC Configuration).",
            "On a server that forwards (net.ipv6.conf.all.forwarding=1, as containers want it) accept_ra must be 2, else the kernel",
            "ignores advertisements (Linux, Documentation/networking/ip-sysctl).",
            "use_tempaddr 0, addr_gen_mode 0: no privacy addresses, and the host part from the MAC (EUI-64), for the design knows the",
            "addresses from it. Ubuntu sets use_tempaddr to 2 in 10-ipv6-privacy.conf.",
            "max_addresses: the kernel silently leaves out prefixes beyond it; the default is 16 and the link-local address counts.",
        ),
    ),
    (
        ("keep_addr_on_down",),
        (
            "Static IPv6 addresses stay when their interface is set down, and the GIDs with them (ip-sysctl). Addresses from router",
            "advertisements go then whatever this says: they have a lifetime. The loss of the carrier alone removes neither.",
        ),
    ),
    (
        ("arp_announce", "arp_ignore"),
        (
            "No ARP flux: a NIC answers and announces its own addresses only; otherwise the RDMA stack can take one NIC's address to",
            "belong to another's device (Thor2 guide, section 2.4).",
        ),
    ),
    (
        ("rp_filter",),
        (
            "Loose reverse-path check (RFC 3704): by the main table, which the strict check looks at too, an answer may leave by",
            "another NIC than the one it came in by; with source routing that is no sign of a forged address.",
        ),
    ),
    (
        ("gc_thresh1", "gc_thresh2", "gc_thresh3"),
        (
            "More neighbors can be met on the NICs' segments than the kernel keeps (1024, for the whole server): every address of the",
            "other servers, and the gateways. Beyond gc_thresh3 packets are dropped (ip-sysctl). At least double what is designed.",
        ),
    ),
    (
        ("numa_balancing",),
        ("Memory that GPUs and NICs read is not to be moved between NUMA nodes under way (Thor2 guide, section 2.6).",),
    ),
)


def sysctl_conf(config: HostConfig) -> str:
    """The file's text."""
    lines = head(config, "/etc/sysctl.d/70-railweave.conf")
    if config.advertisements_by == "networkd" and any(nic.slaac for nic in config.nics):
        lines += [
            "",
            "# accept_ra is not set: systemd-networkd handles router advertisements itself, sets it to 0 on its interfaces and needs",
            "# no 1 there (the RLB document's Server SLAAC Configuration says otherwise; measured with systemd 252). With a 1 the kernel",
            "# would handle every advertisement a second time. max_addresses is the kernel's limit and none of networkd's.",
        ]
    left = dict(config.sysctl)
    for names, why in _GROUPS:
        group = {key: left.pop(key) for key in list(left) if re.split(r"[./]", key)[-1] in names}
        if group:
            lines += ["", *(f"# {line}" for line in why), *(f"{key} = {value}" for key, value in group.items())]
    lines += ["", *(f"{key} = {value}" for key, value in left.items())] if left else []
    return "\n".join(lines) + "\n"
