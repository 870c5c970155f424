"""What is said of a configuration that Enterprise SONiC is not told, or does otherwise.

Ids ``dell_sonic-no-KEY`` are those that the support matrix asks for; the others are ``dell-KEY``.
"""

from railweave.model.findings.registry import Rule

UNKNOWN_COMMANDS = "no public document has the commands"
NO_MODEL = Rule(
    "dell-no-model",
    "info",
    "rendering",
    "no validator can check sonic.cli",
    "Dell publishes no model of this command line; the lint knows the commands used, each from a public document",
    "load one leaf and one spine before the rest",
)
PREPARE = Rule(
    "dell-prepare",
    "info",
    "rendering",
    "prepare.cli comes first: its port names need a new session, and `buffer init lossless`, its last line, asks and restarts the switch",
    "commands typed before the restart has ended are lost; port names of sonic.cli are refused in the session of prepare.cli",
    "type it, answer `y`, wait for the login prompt, log in again, then type sonic.cli (no lossless class: no question and no restart)",
)
NO_SPRAY = Rule(
    "dell_sonic-no-spray",
    "warning",
    "rendering",
    "random packet spraying (`mode`) is not configured",
    "next-hop groups are shared by static hash instead",
    "use load_balancing mode dlb-per-packet",
)
ARS_OBJECT = Rule(
    "dell-ars-object",
    "warning",
    "rendering",
    "set ars-object in route-maps is read from a module's documentation, not from a switch",
    "no public document shows the command itself",
    "try one leaf; without it next-hop groups are shared by static hash",
)
ARS_BANDS = Rule(
    "dell-ars-bands",
    "info",
    "rendering",
    "`egress_quantization.min` and `max`, and `reassignment`, are left at the default of the system's adaptive routing",
    "their units are not documented",
)
NO_MACSEC = Rule(
    "dell_sonic-no-macsec",
    "warning",
    "rendering",
    "MACsec (`macsec`) is not configured: links between sites are in the clear",
    UNKNOWN_COMMANDS,
    "encrypt them outside the switch, or use a system that has it",
)
SUB_INTERFACE = Rule(
    "dell-sub-interface",
    "warning",
    "rendering",
    "a tag of an external router is a sub-interface",
    "its command is read from a test library, and whether it may be in a VRF of a tunnel has not been tried",
    "try one leaf",
)
NO_ISIS = Rule(
    "dell_sonic-no-isis",
    "error",
    "rendering",
    "IS-IS is not configured: the switch has no routes",
    "no public document of Enterprise SONiC has it",
    "set `underlay: {protocol: bgp}`",
)
PEER_AS = Rule(
    "dell-peer-as",
    "info",
    "rendering",
    "there is no list of accepted AS numbers; each neighbor is given the one that design knows",
    "a neighbor with another AS stays down, so the effect is stricter",
)
NO_RA_ROUTES = Rule(
    "dell_sonic-no-ra-routes",
    "info",
    "rendering",
    "router advertisements carry no route information options (`routes`, `route_lifetime`, `route_preference`)",
    "FRR, which sends them, has none",
)
NO_COLOR_ENDPOINTS = Rule(
    "dell_sonic-no-color-endpoints",
    "warning",
    "rendering",
    "a tunnel endpoint per path color is not configured: the first one serves all",
    "a tunnel has one source address",
)
IPV6_TUNNEL = Rule(
    "dell-ipv6-tunnel",
    "warning",
    "rendering",
    "the tunnel's source is an IPv6 address",
    "public documents show IPv4 only",
    "use vtep: ipv4",
)
NEXT_HOP_UNCHANGED = Rule(
    "dell-next-hop-unchanged",
    "warning",
    "rendering",
    "attribute-unchanged next-hop is FRR's command, taken for this command line's",
    "spines must pass type-5 routes on with the leaf's next hop, and no public document shows how",
    "try one spine",
)
MANAGEMENT = Rule(
    "dell-management",
    "info",
    "rendering",
    "parts of management, as the login banner or SSH keys, are not configured",
    UNKNOWN_COMMANDS,
    "configure by hand, or by `extra:`",
)
NO_SYSLOG = Rule(
    "dell_sonic-no-syslog",
    "info",
    "rendering",
    "syslog servers (`syslog`) are not configured",
    UNKNOWN_COMMANDS,
    "configure by hand, or by `extra:`",
)
NO_AO = Rule(
    "dell_sonic-no-tcp-ao",
    "warning",
    "rendering",
    "BGP sessions have no key: FRR, by which SONiC routes, has no TCP-AO (`algorithm`, `key`, `key_id` of `authentication`)",
    "FRR knows TCP MD5 alone",
    "use `algorithm: md5`",
)
NO_NETCONF = Rule(
    "dell_sonic-no-netconf",
    "info",
    "rendering",
    "there is no NETCONF (`netconf`, `netconf_rfc_compliant`)",
    "the system is configured by gNMI, REST or its command line",
)
CERTIFICATE = Rule(
    "dell-certificate",
    "info",
    "rendering",
    "the certificate of telemetry is named, not installed",
    "certificates are files",
    "install it, and make `crypto security-profile railweave` of it",
)
NO_BUFFER_PARTITION = Rule(
    "dell_sonic-no-buffer-partition",
    "info",
    "rendering",
    "`buffers`, but for headroom and threshold, are not configured: pools and egress profiles are those of buffer init lossless",
    "the command line sets the headroom of pools, not their size",
)
NO_DEDICATED_BUFFER = Rule(
    "dell-dedicated-buffer",
    "info",
    "rendering",
    "dedicated buffers (`dedicated_ingress`, `dedicated_egress`) are not configured",
    UNKNOWN_COMMANDS,
)
NO_XON_OFFSET = Rule(
    "dell-xon-offset",
    "info",
    "rendering",
    "how far below XOFF a pause is lifted (`xon_offset`) is not configured",
    "it is left at the system's own; no public document has the command's unit",
)
STRICT_CAP = Rule(
    "dell-strict-cap",
    "info",
    "rendering",
    "strict classes are not capped at their `transmit_percent`",
    "a cap would be a rate and so a policy for each port speed",
)
QUEUE_BUFFERS = Rule(
    "dell-queue-buffers",
    "info",
    "rendering",
    "egress thresholds and dedicated buffers of classes (`dynamic_threshold`, `buffer_percent`) are not configured",
    "queues have the profiles of `buffer init lossless`",
)
CONTROL_PLANE = Rule(
    "dell-control-plane",
    "warning",
    "rendering",
    "the list of the control plane (`control_plane`, on `line vty`) is read from a design document, not from a switch",
    "it names sources, ports and types of ICMP, not rates or hop limits; it is one list for the management port and the network, and "
    "what else it sees is not documented",
    "try one switch from its console before the rest",
)
NO_LEAKS = Rule(
    "dell-no-leaks",
    "warning",
    "rendering",
    "tenants with shared services (`leaks`) do not reach them: the routes are taken, and not forwarded by",
    "FRR keeps a route of another VNI than the VRF's out of the kernel, and takes none of the leaf's own VRFs",
    "use leaves that leak between VRFs (junos, eos), or let an external router join the tenants",
)
