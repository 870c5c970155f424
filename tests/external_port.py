"""A dual-stack fabric whose tenants share a port to an external router, on any operating system."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file

FABRIC = """
name: wan
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 2, spines: 2, oversubscription: 4}
    leaf: {device: qfx5240-64od, server_ports: {first: 16}}
    load_balancing: {mode: ecmp}
    addressing: {server_mode: static, server_pool: 10.0.0.0/12, prefix_length: 24, dual_stack: {server_pool: "fd01::/16"}}
    tenants:
      red:
        members: ["h[1-4]:gpu[0-1]_eth"]
        external: {wan: {asn: 65000, links: [{leaf: stripe1-leaf1, port: et-0/0/60, prefix: 10.200.0.0/31, vlan: 301}]}}
      blue:
        members: ["h[1-4]:gpu[2-3]_eth"]
        external: {wan: {asn: 65000, links: [{leaf: stripe1-leaf1, port: et-0/0/60, prefix: 10.200.0.2/31, vlan: 302}]}}
      green:
        members: ["h[1-4]:gpu[4-7]_eth"]
        external: {wan: {asn: 65000, links: [{leaf: stripe1-leaf1, port: et-0/0/60, prefix: "fd0f::/127", vlan: 303}]}}
servers:
  - {names: "h[1-2]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "h[3-4]", model: h100-8gpu-cx7, stripe: stripe2}
"""


@cache
def shared_port(nos: str) -> Network:
    """The fabric on an operating system."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "wan.yaml"
        file.write_text(FABRIC, encoding="utf-8")
        return design_file(file, device=[f":{nos}"])[0]
