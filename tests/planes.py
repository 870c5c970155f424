"""Small networks of planes: a server model of NICs with two or four ports, in the fabric file itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conftest import designed

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

FABRIC = """
name: planes
fabrics:
  backend:
    topology: {{stripes: 2, planes: {planes}, leaves_per_stripe: {leaves}, spines: 2, links_per_spine: {links}}}
    leaf: {{device: qfx5240-64od}}
    {more}
servers:
  - {{names: "gpu-[1-2]", model: two-gpus, stripe: stripe1}}
  - {{names: "gpu-[3-4]", model: two-gpus, stripe: stripe2}}
management: {{root_password: secret:root, users: {{ops: {{password: secret:ops}}}}}}
{last}
hardware:
  servers:
    two-gpus:
      extends: hgx-b300-8gpu-cx8-2x400
      gpus: 2
      nics:
        gpu:
          nic: connectx-8-2x400
          names: [{names}]
          rdma: [{rdma}]
          ports: {ports}
          per_gpu: true
          source: "assumed"
"""
RLB = "load_balancing: {mode: rlb}"
"""Four path colors, one for each uplink of a leaf with four."""


def fabric_text(
    planes: int = 2, *, ports: int | None = None, links: int = 2, leaves: int = 1, more: str = RLB, last: str = ""
) -> str:
    """A fabric file of two stripes with two servers of two GPUs each; ``ports`` of a NIC: as many as planes."""
    count = planes if ports is None else ports
    names = [(f"gpu{gpu}_p{port}", f"mlx5_{gpu * count + port}") for port in range(count) for gpu in range(2)]
    return FABRIC.format(
        planes=planes,
        ports=count,
        links=links,
        leaves=leaves,
        more=more,
        last=last,
        names=", ".join(name for name, _ in names),
        rdma=", ".join(device for _, device in names),
    )


def network_of_planes(
    folder: Path,
    planes: int = 2,
    *,
    ports: int | None = None,
    links: int = 2,
    leaves: int = 1,
    more: str = RLB,
    last: str = "",
) -> Network:
    """The network of ``fabric_text``, designed."""
    return designed(folder, fabric_text(planes, ports=ports, links=links, leaves=leaves, more=more, last=last))[0]
