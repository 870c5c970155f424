"""Fabrics whose NICs have IPv4 and IPv6 addresses, on any operating system."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from textwrap import dedent

from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file

_SERVERS = """
    servers:
      - {names: "h[1-2]", model: h100-8gpu-cx7, stripe: stripe1}
      - {names: "h[3-4]", model: h100-8gpu-cx7, stripe: stripe2}
    management: {pool: 172.20.0.0/24, security: {control_plane: {}}}
"""

_TENANTS = """
          tenant-1: {members: ["h[1-4]:gpu[0-1]_eth"]}
          tenant-2: {members: ["h[1-4]:gpu[2-3]_eth"], route_target: "64999:7"}
          tenant-3: {members: ["h[1-4]:gpu[4-6]_eth"], server_pools: ["fd77::/32", 10.64.0.0/12]}
"""

FABRICS = {
    "tenants": f"""
    name: dual
    fabrics:
      backend:
        topology: {{stripes: 2, leaves_per_stripe: 2, spines: 2, links_per_spine: 2, oversubscription: 2}}
        leaf: {{device: qfx5240-64od, release: 23.4X100-D31, server_ports: {{first: 16}}}}
        spine: {{device: qfx5240-64qd, release: 23.4X100-D31}}
        addressing: {{server_pool: "fc00::/16", dual_stack: {{server_pool: 10.0.0.0/10}}}}
        overlay: {{vtep: ipv6}}
        load_balancing: {{mode: dlb-flowlet}}
        tenants: {_TENANTS}
    {_SERVERS}""",
    "tenants of one leaf each, on routed links": f"""
    name: dual
    fabrics:
      backend:
        topology: {{stripes: 2, leaves_per_stripe: 2, spines: 2, links_per_spine: 2, oversubscription: 2}}
        leaf: {{device: qfx5240-64od, release: 23.4X100-D31, server_ports: {{first: 16}}}}
        spine: {{device: qfx5240-64qd, release: 23.4X100-D31}}
        addressing:
          server_pool: 10.128.0.0/10
          server_link: routed
          server_mode: static
          prefix_length: 31
          dual_stack: {{server_pool: "fd01::/16"}}
        overlay: {{vtep: ipv4}}
        load_balancing: {{mode: ecmp}}
        tenants: {_TENANTS}
    {_SERVERS}""",
    "path colors": f"""
    name: dual
    fabrics:
      backend:
        topology: {{stripes: 2, leaves_per_stripe: 2, spines: 2, links_per_spine: 2, oversubscription: 2}}
        leaf: {{device: qfx5240-64od, release: 23.4X100-D31, server_ports: {{first: 16}}}}
        spine: {{device: qfx5240-64qd, release: 23.4X100-D31}}
        addressing:
          server_pool: "fc00::/16"
          dual_stack: {{server_pool: 10.0.0.0/8, bits: {{stripe: 4, rail: 6, color: 6}}}}
        load_balancing: {{mode: rlb}}
    {_SERVERS}""",
    "plain": f"""
    name: dual
    fabrics:
      backend:
        topology: {{stripes: 2, leaves_per_stripe: 2, spines: 2, links_per_spine: 2, oversubscription: 2}}
        leaf: {{device: qfx5240-64od, release: 23.4X100-D31, server_ports: {{first: 16}}}}
        spine: {{device: qfx5240-64qd, release: 23.4X100-D31}}
        addressing:
          server_pool: 10.0.0.0/8
          server_mode: static
          prefix_length: 24
          dual_stack: {{server_pool: "fd01::/16", server_prefix: "fd01:0:0:{{stripe*8+rail-9}}::/64"}}
        load_balancing: {{mode: ecmp}}
    {_SERVERS}""",
}


@cache
def dual(name: str, nos: str = "junos") -> Network:
    """One of the fabrics, on an operating system."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dual.yaml"
        file.write_text(dedent(FABRICS[name]))
        return design_file(file, device=[] if nos == "junos" else [f":{nos}"])[0]
