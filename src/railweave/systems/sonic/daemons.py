"""The daemons and containers that SONiC starts with given tables, and the statements that need one of these daemons.

FRRouting's daemons are listed in ``supervisord.conf.j2`` (sonic-buildimage, ``dockers/docker-fpm-frr/frr/supervisord``;
``supervisord.conf.common.j2`` on master). The list is the same on the branches 202405 to 202605 and on master, except
for mgmtd, which exists from 202411 on, and pathd. Containers are rows of ``FEATURE``. For a missing row,
``config reload`` uses the row in ``files/build_templates/init_cfg.json.j2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.sonic.meaning.management import system_of
from railweave.systems.sonic.render.frr import parts
from railweave.systems.sonic.statements.management import SYSTEM
from railweave.systems.sonic.tables import Tables, merge, of_sections

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.config.sections import Section
    from railweave.model.device.model import DeviceConfig

ALWAYS = frozenset({"mgmtd", "zebra", "staticd", "bgpd"})
"""The FRRouting daemons that always run."""

WITH_FRAMEWORK = frozenset({"bfdd", "ospfd", "pimd", "pathd"})
"""The FRRouting daemons that run only if ``frr_mgmt_framework_config`` of ``DEVICE_METADATA`` is ``true``."""

STATEMENTS = {
    "bfd": "bfdd",
    "router isis": "isisd",
    "router ospf": "ospfd",
    "router ospf6": "ospf6d",
    "router pim": "pimd",
    "router rip": "ripd",
    "router ripng": "ripngd",
    "router eigrp": "eigrpd",
    "router babel": "babeld",
    "router openfabric": "fabricd",
}
"""The daemon that runs each section of ``frr.conf``, by the first words of the section. The longest match applies."""

FEATURES = {
    "SNMP": "snmp",
    "SNMP_COMMUNITY": "snmp",
    "SNMP_USER": "snmp",
    "SNMP_AGENT_ADDRESS_CONFIG": "snmp",
    "GNMI": "gnmi",
    "GNMI_CLIENT_CERT": "gnmi",
    "TELEMETRY": "telemetry",
    "MACSEC_PROFILE": "macsec",
    "SFLOW": "sflow",
    "SFLOW_COLLECTOR": "sflow",
    "SFLOW_SESSION": "sflow",
    "PORTCHANNEL": "teamd",
    "DHCP_RELAY": "dhcp_relay",
    "DHCPV4_RELAY": "dhcp_relay",
    "DHCP_SERVER_IPV4": "dhcp_server",
    "STATIC_NAT": "nat",
    "NAT_POOL": "nat",
    "RESTAPI": "restapi",
    "REST_SERVER": "mgmt-framework",
    "MCLAG_DOMAIN": "iccpd",
}
"""The container that reads each table. Containers are named as in the table ``FEATURE``."""

ENABLED = frozenset({"bgp", "lldp", "snmp", "gnmi", "radv", "teamd", "mgmt-framework"})
"""The containers of the public image that run without a row in ``FEATURE``.

The source is ``init_cfg.json.j2`` with ``rules/config``, for a switch that is not a ToR. Other containers are off, or
not in the image.
"""


def running(tables: Tables) -> frozenset[str]:
    """Return the FRRouting daemons that SONiC starts with these tables."""
    row = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    return ALWAYS | WITH_FRAMEWORK if row.get("frr_mgmt_framework_config") == "true" else ALWAYS


def started(config: DeviceConfig) -> frozenset[str]:
    """Return the FRRouting daemons that SONiC starts for a device, as its tables determine, including the operator's own rows.

    Raises ``RenderError`` if these rows cannot be read.
    """
    tables = of_sections(SYSTEM.printed(system_of(config)))
    merge(tables, parts(config.extra)[0])
    return running(tables)


def idle_sections(tables: Tables, routing: Sequence[Section]) -> Iterator[tuple[str, str]]:
    """Yield (header of the section, daemon) for each section of ``frr.conf`` (``routing``) whose daemon does not run with these tables."""
    started = running(tables)
    for section in routing:
        daemon = next((STATEMENTS[head] for head in _heads(section.line) if head in STATEMENTS), "")
        if daemon and daemon not in started:
            yield section.line, daemon


def _heads(line: str) -> tuple[str, ...]:
    words = line.split()
    return " ".join(words[:2]), " ".join(words[:1])


def idle_tables(tables: Tables) -> Iterator[tuple[str, str]]:
    """Yield (table, container) for each table that has rows, but whose container does not run."""
    states = {name: row.get("state") for name, row in tables.get("FEATURE", {}).items()}
    for table, feature in FEATURES.items():
        state = states.get(feature, "enabled" if feature in ENABLED else "disabled")
        if tables.get(table) and state not in {"enabled", "always_enabled"}:
            yield table, feature
