"""What is said of a configuration that has no place in ``frr.conf``."""

from railweave.model.findings.registry import Rule

HOST = "belongs to the Linux host under FRR"
NO_PORTS = Rule(
    "frr-no-ports",
    "info",
    "rendering",
    "frr.conf cannot express `mtu`, port breakout and speed, VLANs and bridges, or the ports that servers are on (`server_ports`, `servers_per_stripe`, `servers`, `ports`)",
    HOST,
)
NO_QOS = Rule(
    "frr-no-qos",
    "info",
    "rendering",
    "frr.conf cannot express `qos`: classifiers, queues, `buffers`, ECN, `pfc` and the headroom for a cable's `length`",
    HOST,
)
NO_MANAGEMENT = Rule(
    "frr-no-management",
    "info",
    "rendering",
    "frr.conf cannot express `management` (and `management_address`): logins, NTP, SNMP, LLDP and telemetry",
    HOST,
)
NO_LOAD_BALANCING = Rule(
    "frr-no-load-balancing",
    "info",
    "rendering",
    "frr.conf cannot express a mode of load balancing inside a next-hop group",
    "FRR hands groups to the kernel, which hashes",
)
NO_PROXY_ARP = Rule(
    "frr-no-proxy-arp", "info", "rendering", "frr.conf cannot express proxy ARP (`server_link: proxy-arp`)", HOST
)
NO_MACSEC = Rule(
    "frr-no-macsec",
    "info",
    "rendering",
    "frr.conf cannot express MACsec (`macsec`)",
    f"{HOST}: wpa_supplicant, or `ip macsec`",
)
NO_HASH = Rule(
    "frr-no-hash",
    "info",
    "rendering",
    "frr.conf cannot express seed and fields of the ECMP hash (`seed`, `layer3`, `layer4`)",
    "the kernel's own: net.ipv6.fib_multipath_hash_policy",
)
NO_TUNNELS = Rule("frr-no-tunnels", "info", "rendering", "frr.conf cannot express VRF devices and VXLAN tunnels", HOST)
NO_ANYCAST = Rule(
    "frr-no-anycast",
    "info",
    "rendering",
    "frr.conf cannot express the MAC address that gateways of layer-2 networks share (`gateway_mac`)",
    HOST,
)
NO_COLOR_ENDPOINTS = Rule(
    "frr-no-color-endpoints",
    "info",
    "rendering",
    "frr.conf cannot express a tunnel endpoint per path color",
    "FRR has one VTEP address per VNI",
)
NO_RA_ROUTES = Rule(
    "frr-no-ra-routes",
    "info",
    "rendering",
    "frr.conf cannot express route information options (`routes`, `route_lifetime`, `route_preference`)",
    "FRR's router advertisements have none",
)
NO_RA_INTERVAL = Rule(
    "frr-no-ra-interval",
    "info",
    "rendering",
    "frr.conf cannot express the shortest router-advertisement interval (`min_interval`)",
    "FRR derives it from the longest",
)
NO_AO = Rule(
    "frr-no-tcp-ao",
    "warning",
    "rendering",
    "BGP sessions have no key: FRR has no TCP-AO (`algorithm`, `key`, `key_id` of `authentication`)",
    "FRR knows TCP MD5 alone (`neighbor PEER password`)",
    "use `algorithm: md5`, or leave sessions to `ttl_security` and the protection of the control plane",
)
PEER_AS = Rule(
    "frr-peer-as",
    "info",
    "rendering",
    "FRR has no list of accepted AS numbers; each neighbor is given the one that design knows",
    "a neighbor with another AS stays down, so the effect is stricter",
)
NO_LEAKS = Rule(
    "frr-no-leaks",
    "info",
    "rendering",
    "tenants with shared services (`leaks`) do not reach them: the routes are taken, and not forwarded by",
    "FRR keeps a route of another VNI than the VRF's out of the kernel, and takes none of the leaf's own VRFs",
    "use leaves that leak between VRFs (junos, eos), or let an external router join the tenants",
)
