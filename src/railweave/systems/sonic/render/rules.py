"""Rules about parts of the design that SONiC expresses differently or not at all.

A rule with the id ``sonic-no-KEY`` is about ``KEY`` of the support matrix.
"""

from railweave.systems.common_gaps import note, warning
from railweave.systems.sonic.render.ports import KEY_NAME_DIGITS

RELEASE = warning(
    "sonic-release",
    "the release is of no branch of SONiC that has been read",
    "which tables and fields it has is not known",
    "name a release of a branch of sonic-buildimage, for example 202511; or have `verify --sonic-yang` read the files with the models of yours",
)
RELEASE_LACKS = warning(
    "sonic-release-lacks",
    "the release lacks a table or field that the design asks for: it is left out",
    "the models of its branch do not have it, or no daemon reads it there",
    "name a newer release (`release`), or accept what is lost",
)
RELEASE_MINOR = note(
    "sonic-release-minor",
    "the release lacks a table or field that little rests on: it is left out",
    "the models of its branch do not have it, or no daemon reads it there",
    "name a newer release (`release`), or accept what is lost",
)
NO_ANYCAST = warning(
    "sonic-no-anycast",
    "gateways of layer-2 networks have a MAC address of their own on each leaf, not `gateway_mac`",
    "models and daemons with SAG and static_anycast_gateway are on master alone; a server that moves to another leaf keeps the old "
    "address until it asks again",
    "use an image of master, or leaves of another system",
)
NO_PLATFORM = warning(
    "sonic-no-platform",
    "the release has no platform of this switch model",
    "the folder device of sonic-buildimage holds the platforms of an image; without one the image does not start the ports",
    "name a release that has it, or take the image of the switch's vendor and compare its platform, HwSKU and lanes with the rendered ones",
)
OLD_FRR = note(
    "sonic-old-frr",
    "the release routes by an FRR that has not read frr.conf in our checks",
    "the validator and the lab have FRR 10.3; SONiC takes that from 202505 on (rules/frr.mk)",
    "look for lines that `vtysh -C -f frr.conf` refuses on the switch, as the runbook has it",
)
BUFFER_POOLS = warning(
    "sonic-buffer-pools",
    "lossy classes have buffer pools beside those of lossless ones, which no published platform on this chip has",
    "platforms of Tomahawk 4 and 5 in sonic-buildimage that pause have two pools, ingress_lossless_pool and egress_lossless_pool, "
    "and their lossy profiles are in these (for example device/dell/x86_64-dell_z9864f-r0/Dell-Z9864f-O64, buffers_defaults_t1.j2): "
    "whether the chip's SAI takes four has not been tried",
    "load one leaf first; look for `Failed to create buffer pool` in its syslog, and for every pool in `show buffer_pool watermark`",
)
NO_LOAD_BALANCING = warning(
    "sonic-no-load-balancing",
    "adaptive or random load balancing has no place in config_db.json",
    "no published model of SONiC has adaptive routing; next-hop groups are shared by static hash instead",
    "use load_balancing mode ecmp (rlb: within_color ecmp), or a distribution that has it (dell_sonic)",
)
NO_HASH = note(
    "sonic-no-hash", "the hash seed (`seed`) is not configured", "config_db.json has none: SONiC sets its own"
)
NO_RA_ROUTES = note(
    "sonic-no-ra-routes",
    "router advertisements carry no route information options (`routes`, `route_lifetime`, `route_preference`)",
    "FRR, which sends them, has none",
)
NO_RA_INTERVAL = note(
    "sonic-no-ra-interval",
    "the shortest router-advertisement interval (`min_interval`) is not configured",
    "FRR, which sends them, derives it from the longest",
)
PEER_AS = note(
    "sonic-peer-as",
    "there is no list of accepted AS numbers; each neighbor is given the one that design knows",
    "a neighbor with another AS stays down, so the effect is stricter",
)
ISISD = warning(
    "sonic-isisd",
    "IS-IS is in frr.conf alone: whether isisd runs, and gets its packets, is the image's",
    "SONiC's public routing container starts no isisd on any branch, and the traps that it sets have no IS-IS "
    "(sonic-buildimage, supervisord.conf.j2 and copp_cfg.j2; sonic-net/SONiC issues 502 and 1956); config_db.json has no field that starts isisd",
    "use an image that starts isisd, with a row of COPP_TRAP for `isis` (`extra:`), or `underlay: {protocol: bgp}`",
)
NO_PROXY_ARP = warning(
    "sonic-no-proxy-arp",
    "ports do not answer ARP for other addresses (`server_link: proxy-arp`): servers do not reach each other",
    "SONiC's model has proxy_arp for VLANs only",
    "set net.ipv4.conf.PORT.proxy_arp=1 in Linux at every start, or use `server_link: routed`",
)
MACSEC_KEY = warning(
    "sonic-macsec-key",
    "the key of MACsec has to be given in SONiC's own form",
    "the model takes 66 hexadecimal digits for a key of 128 bits and 130 for one of 256: the key as SONiC encodes it",
    "give `build --secrets` the value that SONiC's `config macsec` stores",
)
MACSEC_NAME = note(
    "sonic-macsec-name",
    f"the key name of MACsec is filled up with zeros to {KEY_NAME_DIGITS} digits",
    "Junos fills it up by itself; on a neighbor that runs another system, configure all 64 digits",
)
NO_COLOR_ENDPOINTS = warning(
    "sonic-no-color-endpoints",
    "a tunnel endpoint per path color is not configured: the first one serves all",
    "SONiC has one source address for its tunnels",
)
IPV6_TUNNEL = warning(
    "sonic-ipv6-tunnel",
    "the tunnel's source is an IPv6 address",
    "the published model takes it; whether the chip's SAI does has not been tried",
    "test one pair of leaves before the other switches",
)
NO_LOGINS = note(
    "sonic-no-logins",
    "logins (`users`, `root_password`) are not in config_db.json",
    "SONiC keeps local users in Linux",
    "make them with useradd, or by ZTP",
)
NO_LOCKOUT = note(
    "sonic-no-lockout",
    "an account is not locked after wrong passwords (`lockout`): the session ends alone",
    "no published model of config_db.json has it",
    "configure pam_faillock on the switch",
)
FEW_ATTEMPTS = warning(
    "sonic-few-attempts",
    "an SSH session does not end after so few wrong passwords (`login.attempts`)",
    "hostcfgd takes 3 to 100 and otherwise leaves OpenSSH's 6 (sonic-host-services, scripts/hostcfgd, SSH_MIN_VALUES)",
    "give 3 or more",
)
REMOTE_ROLE = note(
    "sonic-remote-role",
    "what users may do whom only a server knows (`role` of `aaa`) is what the server says",
    "SONiC goes by the privilege level in the server's answer: 15 is an administrator",
    "set priv-lvl on the server",
)
NO_BPDU_GUARD = note(
    "sonic-no-bpdu-guard",
    "a server port that hears a bridge is not shut (`bpdu_guard`)",
    "SONiC guards ports by its spanning tree alone, and the public image is built without one (INCLUDE_STP of sonic-buildimage)",
    "with an image that has it, give the tables STP and STP_PORT by `extra:`",
)
SNMP_CLIENTS = warning(
    "sonic-snmp-clients",
    "who may ask with the SNMP community (`clients`) is not in the community's table",
    "SNMP_COMMUNITY has a type alone; a control-plane access list of SNMP limits them",
    "protect the control plane, or use v3 `users`",
)
NO_AO = warning(
    "sonic-no-tcp-ao",
    "BGP sessions have no key: FRR, by which SONiC routes, has no TCP-AO (`algorithm`, `key`, `key_id` of `authentication`)",
    "FRR knows TCP MD5 alone",
    "use `algorithm: md5`",
)
NO_NETCONF = note(
    "sonic-no-netconf",
    "there is no NETCONF (`netconf`, `netconf_rfc_compliant`)",
    "SONiC is configured by gNMI, REST or its files",
)
CERTIFICATE = note(
    "sonic-certificate",
    "the certificate of gNMI is not in config_db.json, only where it lies",
    "SONiC reads it from files",
    "put certificate and key into /etc/sonic/telemetry as server.cer and server.key, and the authority of clients' "
    "certificates as client-ca.cer; every client with a certificate of that authority is let in. On master, and before with `user_auth: cert` of GNMI|gnmi "
    "(`extra:`), only clients that GNMI_CLIENT_CERT names",
)
TRAPS = note(
    "sonic-traps",
    "targets of SNMP traps (`trap_targets`) are not configured",
    "no published model of config_db.json has them",
    "config snmptrap modify",
)
NO_DOMAIN = note(
    "sonic-no-domain",
    "the DNS domain (`domain`) is not configured without name servers (`dns`)",
    "config_db.json has it among the options of name servers",
)
MULTICAST_POOL = note(
    "sonic-multicast-pool",
    "multicast has no egress pool of its own: its share is in that of lossy classes",
    "SONiC's queues of multicast follow the platform",
)
EGRESS_POOLS = note(
    "sonic-egress-pools",
    "egress pools are configured with the sizes that Junos has by itself (`egress: system`)",
    "SONiC has no pools but those that are configured",
)
DEDICATED_BUFFER = note(
    "sonic-dedicated-buffer",
    "dedicated buffers are not configured (`buffer_percent`, `dedicated_ingress`, `dedicated_egress`)",
    "SONiC takes bytes, and how many a port has is not published",
)
STRICT_CAP = note(
    "sonic-strict-cap",
    "strict classes are not capped at their `transmit_percent`",
    "a cap would be bytes a second and so a scheduler for each port speed",
)
WATCHDOG_QUEUE = warning(
    "sonic-watchdog-queue",
    "a lossless class's queue is not that of its PFC priority",
    "SONiC's watchdog looks at the queue of the priority's number",
    "give the class the queue of its priority",
)
CONTROL_PLANE = warning(
    "sonic-control-plane",
    "the control plane is protected in part (`control_plane`): SSH, SNMP, NTP and gNMI by source; BGP and BFD of servers at their ports",
    "control-plane lists of SONiC hold services of management alone: caclmgrd takes BGP, ICMP, neighbor discovery, DHCP, "
    "replies and whatever has a hop limit of 1 from anybody, without rates or counters of ours, and everything from neighbors that FRR has BFD with",
)
NO_LEAKS = warning(
    "sonic-no-leaks",
    "tenants with shared services (`leaks`) do not reach them: the routes are taken, and not forwarded by",
    "FRR keeps a route of another VNI than the VRF's out of the kernel, and takes none of the leaf's own VRFs",
    "use leaves that leak between VRFs (junos, eos), or let an external router join the tenants",
)
