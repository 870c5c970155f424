"""What is said of a configuration that EOS cannot express, or does otherwise. Ids ``eos-no-KEY``: the support matrix."""

from railweave.model.findings.registry import Rule

HASHED = "no public document shows the statements; groups are shared by static hash instead"
NO_COLOR_ENDPOINTS = Rule(
    "eos-no-color-endpoints",
    "warning",
    "rendering",
    "EOS cannot express a tunnel endpoint per path color",
    "VXLAN has one source interface",
)
NO_RA_ROUTES = Rule(
    "eos-no-ra-routes",
    "info",
    "rendering",
    "EOS cannot express route information options (`routes`, `route_lifetime`, `route_preference`)",
    "EOS's router advertisements have none",
)
MACSEC_PORT = Rule(
    "eos-macsec-port",
    "warning",
    "rendering",
    "MACsec on a model of which no public document says that its ports encrypt",
    "MACsec needs ports that can, and a license; without them the switch refuses the lines, and nothing is encrypted",
    "ask Arista, or encrypt in the transport between the sites",
)
VLAN_BASED = Rule(
    "eos-vlan-based",
    "info",
    "rendering",
    "each layer-2 network is an EVPN instance of its own (VLAN-based service)",
    "Junos has one instance for all of them (VLAN-aware bundle): nobody has tried the two in one network",
    "keep the leaves of a layer-2 network on one operating system",
)
NO_GATEWAY_MAC = Rule(
    "eos-no-gateway-mac",
    "warning",
    "rendering",
    "EOS cannot express a MAC address for each shared gateway",
    "it has one for all",
)
NO_DLB_PER_PACKET = Rule(
    "eos-no-dlb-per-packet",
    "warning",
    "rendering",
    "EOS cannot express dlb-per-packet (`mode` or `within_color`) inside a next-hop group",
    HASHED,
    "use dlb-flowlet",
)
NO_SPRAY = Rule(
    "eos-no-spray",
    "warning",
    "rendering",
    "EOS cannot express spray (`mode`) inside a next-hop group",
    HASHED,
    "use dlb-flowlet",
)
NO_DLB_KNOBS = Rule(
    "eos-no-dlb-knobs",
    "info",
    "rendering",
    "EOS cannot express `inactivity_interval`, `sampling_rate`, `egress_quantization` and `reassignment` of DLB",
    "EOS has a statement for the flowset table's size alone; the rest is the chip's default",
)
NO_HASH = Rule(
    "eos-no-hash",
    "info",
    "rendering",
    "EOS cannot express seed and fields of the hash (`seed`, `layer3`, `layer4`)",
    "they are set by platform profiles that no public schema has; EOS's own hash takes addresses and ports",
)
NO_BUFFER_PARTITION = Rule(
    "eos-no-buffer-partition",
    "info",
    "rendering",
    "EOS cannot express the partition of the buffer (`buffers`, but for its headroom and threshold)",
    "lossless and lossy classes share one pool: thresholds and the headroom pool are set",
)
MRU_IN_TABLE = Rule(
    "eos-mru-in-table",
    "info",
    "rendering",
    "EOS cannot express the largest packet of PFC (`pfc.mru`), and the headroom of ports does not change with it",
    "headroom is in bytes, and the table of the platform asks for more than packets of that size do",
)
NO_DEDICATED_BUFFER = Rule(
    "eos-no-dedicated-buffer",
    "info",
    "rendering",
    "EOS cannot express dedicated buffers as a share (`dedicated_ingress`, `dedicated_egress`)",
    "EOS reserves bytes a queue",
)
NO_BUFFER_SIZE = Rule(
    "eos-no-buffer-size",
    "info",
    "rendering",
    "EOS cannot express a queue's share of dedicated buffer (`buffer_percent`)",
    "EOS reserves bytes a queue",
)
NO_XON_OFFSET = Rule(
    "eos-no-xon-offset",
    "info",
    "rendering",
    "EOS cannot express how far below XOFF a pause is lifted (`xon_offset`)",
    "the unit of `ingress resume` is not public",
)
NO_SYSLOG_SEVERITY = Rule(
    "eos-no-syslog-severity",
    "info",
    "rendering",
    "EOS cannot express a severity for each syslog server",
    "it has one: that which sends most",
)
NO_SSH_KEYS = Rule(
    "eos-no-ssh-keys",
    "warning",
    "rendering",
    "EOS cannot express more than two SSH keys of a user",
    "the first two are set",
)
NO_KEY_ONLY_LOGIN = Rule(
    "eos-no-key-only-login",
    "warning",
    "rendering",
    "EOS cannot express a user without a password who cannot log in at the console",
    "they log in by key over SSH, and freely at the console",
    "give a password",
)
FOUND_KEY = Rule(
    "eos-found-key",
    "info",
    "rendering",
    "the key of BGP sessions stands at peer groups whose neighbors are found on the link",
    "no public document shows that EOS takes a key for such neighbors, nor that it does not",
    "try one leaf and one spine; else use `peering: numbered`",
)
SHARED_FATE = Rule(
    "eos-shared-fate",
    "info",
    "rendering",
    "what EOS does where BFD goes down while a neighbor restarts gracefully is its own default",
    "no public schema has a statement for it; Junos and FRR are configured to follow BFD except for a neighbor that restarts",
)
NO_ROOT = Rule(
    "eos-no-root",
    "info",
    "rendering",
    "root's password (`root_password`) is not configured on EOS",
    "root is the account of the Linux below: nobody logs in by it (`no aaa root`), and users have names",
)
NETCONF_RFC = Rule(
    "eos-netconf-rfc",
    "info",
    "rendering",
    "EOS has no switch for the strict form of NETCONF (`netconf_rfc_compliant`)",
    "its NETCONF is as it is",
)
NO_TRAPS = Rule(
    "eos-no-traps",
    "warning",
    "rendering",
    "EOS cannot express traps without a community or a user",
    "none are sent",
    "give `community:`",
)
NO_CERTIFICATE = Rule(
    "eos-no-certificate",
    "info",
    "rendering",
    "EOS cannot express the certificate of gNMI inside the configuration",
    "it is a file on the switch: certificate:railweave.pem and sslkey:railweave.key",
    "copy it there before loading, `copy FILE certificate:`",
)
CONTROL_PLANE = Rule(
    "eos-control-plane",
    "info",
    "rendering",
    "EOS cannot express rates and types of ICMP in the lists of its control plane (`control_plane`)",
    "its own policing of the control plane bounds them; all types are permitted, as in EOS's own list",
    "load one leaf and one spine with `configure session` and `commit timer` before the rest",
)
