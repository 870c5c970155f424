"""A fabric with layer-2 networks and an external router, small enough to read."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from railweave.model.network.model import Network
from tests.conftest import designed

SERVERS = ("n1", "n2", "n3", "n4", "n5", "n6")
"""Two on each of three leaves."""

TEXT = """
name: shared
fabrics:
  front:
    topology: {{stripes: 3, spines: 2, leaves_per_stripe: 1, oversubscription: 8}}
    leaf: {{device: qfx5130-32cd, release: 23.4R2, server_ports: {{first: 4}}}}
    load_balancing: {{mode: ecmp}}
    underlay: {{peering: {peering}}}
    pools: {{fabric_links: 10.252.0.0/16}}
    addressing: {{server_link: {link}, server_mode: static, server_pool: 10.100.0.0/16, prefix_length: {length}, gateway_host: 1}}
    tenants:
{tenants}
servers:
  - {{names: "n[1-2]", model: h100-8gpu-cx7, stripe: stripe1}}
  - {{names: "n[3-4]", model: h100-8gpu-cx7, stripe: stripe2}}
  - {{names: "n[5-6]", model: h100-8gpu-cx7, stripe: stripe3}}
management: {{root_password: secret:root-hash, users: {{netops: {{password: "secret:netops-hash"}}}}}}
"""

TWO_TENANTS = """
      red:
        members: ["n[1-6]:gpu7_eth"]
        networks:
          wide: {members: ["n1:gpu0_eth", "n[3-4]:gpu0_eth"], prefix: 10.10.3.0/24}
          narrow: {members: ["n[5-6]:gpu1_eth"], prefix: 10.10.5.0/24, vlan: 40}
        external:
          wan:
            asn: 65000
            links:
              - {leaf: stripe1-leaf1, port: et-0/0/31, prefix: 10.200.0.0/31}
              - {leaf: stripe2-leaf1, port: et-0/0/31, prefix: 10.200.0.2/31, vlan: 99}
      blue:
        networks:
          other: {members: ["n[1-6]:gpu2_eth"], prefix: 10.10.9.0/24}
"""


def shared_network(tenants: str = TWO_TENANTS, *, link: str = "access", peering: str = "numbered") -> Network:
    """The network of a fabric with the tenants given."""
    length = 24 if link == "access" else 30
    with TemporaryDirectory() as folder:
        text = TEXT.format(tenants=tenants.strip("\n"), link=link, length=length, peering=peering)
        return designed(Path(folder), text)[0]
