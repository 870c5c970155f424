"""The networks that published rows were measured on, from the examples."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import railweave
from railweave.outputs.folder.designing import design_file

from .engine import ROOT

if TYPE_CHECKING:
    from railweave.model.network.model import Network

EVPN = """
name: evpn-h100
description: EVPN multi-tenancy report, 4 leaves of 4 rails, 4 spines, two cables of 400G from each leaf to each spine
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 2, spines: 4, links_per_spine: 2, link_speed: 400G}
    leaf: {device: qfx5240-64od, release: 23.4X100-D31}
    spine: {device: qfx5240-64od, release: 23.4X100-D31}
    addressing: {server_mode: static, server_pool: 10.0.0.0/8, server_prefix: "10.{stripe}.{rail}.0/24"}
    load_balancing:
      mode: dlb-flowlet
      dlb: {inactivity_interval: 128us, flowset_table_size: 2048, sampling_rate: 1000000, egress_quantization: {min: MIN, max: MAX}}
servers:
  - {names: "H100-[01-02]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "H100-[03-04]", model: h100-8gpu-cx7, stripe: stripe2}
management: {pool: 172.20.0.0/24}
"""
VXLAN = {
    "switch.vxlan": "yes",
    "switch.vxlan-overhead": "70",
    "switch.vxlan-copy-in": "yes",
    "switch.vxlan-copy-out": "yes",
}
"""Tunnels over the report's IPv6 underlay; the fabric file does not know them yet."""


@cache
def lab(uplinks: int) -> Network:
    """The lab of the RDMA load-balancing document."""
    return railweave.load(ROOT / f"examples/h100-rlb{'-8up' if uplinks == 8 else ''}.yaml")


LEAF = "leaf=z9664f-on:sonic"
"""The guide does not say on which switch it measured. Its first leaf is a Dell Z9664 (section 2.4.1.3), with marking by bytes, of
which there are no two readings (section 2.5.2: 1048 to 2097 KB, 5 %)."""


@cache
def thor2(servers: int) -> Network:
    """MI300X servers on one leaf."""
    text = (ROOT / "examples/mi300x-leaf-31.yaml").read_text()
    return _designed(text.replace("host[1-2]", f"host[1-{servers}]" if servers > 1 else "host1"), LEAF)


@cache
def evpn(least: int, most: int) -> Network:
    """The EVPN report's lab without its tunnels (``VXLAN``), by its DLB's egress quantization."""
    return _designed(EVPN.replace("MIN", str(least)).replace("MAX", str(most)))


@cache
def evpn_mi300x(flowsets: int, idle_us: int, samples: int) -> Network:
    """The same lab with MI300X servers, by its DLB's flowsets, inactivity interval and samples a second; quantization is the default."""
    knobs = f"inactivity_interval: {idle_us}us, flowset_table_size: {flowsets}, sampling_rate: {samples}"
    text = EVPN.replace("inactivity_interval: 128us, flowset_table_size: 2048, sampling_rate: 1000000", knobs)
    text = text.replace("h100-8gpu-cx7", "mi300x-8gpu-thor2").replace("MIN", "20").replace("MAX", "50")
    return _designed(text)


H20 = """
name: h20
description: two servers of eight H20; eight ConnectX-7 of 200G are assumed, on one switch
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: qfx5240-64od, release: 23.4X100-D31}
    addressing: {server_mode: static, server_pool: 10.0.0.0/8, server_prefix: "10.{stripe}.{rail}.0/24"}
servers:
  - {names: "H20-[01-02]", model: hgx-h20-8gpu-cx7-200, stripe: stripe1}
management: {pool: 172.20.0.0/24}
"""


@cache
def h20() -> Network:
    """The two servers of NVIDIA/nccl issue 1244."""
    return _designed(H20)


def _designed(text: str, *device: str) -> Network:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fabric.yaml"
        file.write_text(text)
        return design_file(file, device=device)[0]
