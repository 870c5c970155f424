"""What is said of a configuration that Junos cannot express, or that no public model confirms."""

from railweave.model.findings.registry import Rule

NO_SPRAY = Rule(
    "junos-no-spray",
    "warning",
    "rendering",
    "random packet spraying (`mode`, `spray_opcodes`) has no statement on QFX Junos",
    "next-hop groups are shared by static hash instead",
    "use load_balancing mode dlb-per-packet",
)
MARKING_BYTES = Rule(
    "junos-marking-bytes",
    "warning",
    "rendering",
    "queue lengths of ECN (`min_bytes`, `max_bytes`) are not configured: Junos marks by fill level",
    "`min_fill` and `max_fill` are at their defaults, for the fabric file gives lengths alone",
    "give `min_fill` and `max_fill` too",
)
DPF_UNVERIFIED = Rule(
    "junos-dpf-unverified",
    "info",
    "rendering",
    "fabric-color and fabric-advertise are in no published model",
    "no validator can check them; that backup-color takes a list is read from the source, not tried on a device",
    "check one leaf and one spine with `commit check` before the rest",
)
SELECTIVE_DLB = Rule(
    "junos-selective-dlb",
    "info",
    "rendering",
    "rdma-opcode and dynamic-load-balance are in no published model, and the field profile restarts the forwarding engine",
    "documented for routed IPv4 ports; filters of bridged and IPv6 ports follow the documented hierarchy, and have "
    "not been tried on a device",
    "commit it while no job runs; check one leaf first, and that `show firewall` counts under load",
)
IPV6_TUNNELS = Rule(
    "junos-ipv6-tunnels",
    "info",
    "rendering",
    "where type-5 tunnels over IPv6 take their source from is documented for MAC-VRFs only",
    "switch-options vtep-source-interface lo0.0 inet6 is the documented statement, here without a MAC-VRF",
    "check one leaf with `commit check`",
)
NO_KEY = Rule(
    "junos-no-key",
    "warning",
    "rendering",
    "BGP sessions on links have no key (`authentication`: `algorithm`, `key`, `key_id`): their neighbors are found, not named",
    "peer-auto-discovery and authentication-key exclude each other; sessions of an overlay, which have addresses, have it",
    "use `peering: numbered`, or leave sessions on links to `ttl_security` and the protection of the control plane",
)
HOP_LIMIT = Rule(
    "junos-hop-limit",
    "info",
    "rendering",
    "`ttl_security` on Junos sends BGP with a hop limit of 255, and does not ask for it",
    "Junos drops what has come over a router by a filter on lo0 only",
    "protect the control plane (`management.security`)",
)
COLOR_ENDPOINTS = Rule(
    "junos-color-endpoints",
    "warning",
    "rendering",
    "a tunnel endpoint per path color inside one VRF rests on the next hop that an export policy sets",
    "Junos documents a colored tunnel address per MAC-VRF; with a policy it has not been tried on a device",
    "try one pair of leaves before the rest",
)
CONTROL_PLANE = Rule(
    "junos-control-plane",
    "info",
    "rendering",
    "filters of what may reach the switch (`control_plane`) are on lo0 and on the management port, and were not tried on a device",
    "published models have every statement; models do not say which conditions a filter on lo0 of this switch takes",
    "load them with `commit confirmed`, one leaf and one spine before the rest, and look at `show firewall`",
)
IPV6_CLASSIFIER = Rule(
    "junos-ipv6-classifier",
    "warning",
    "rendering",
    "classifiers for IPv6 beside those for IPv4 on a model and release that they are not documented for",
    "a commit may refuse them, or IPv6 packets fall into the default class, where RDMA data is not lossless",
    "use a later release, or check one router with `commit check`",
)
