"""A small fabric of two stripes and four servers, with the lines of a test in its middle."""

from __future__ import annotations

TEXT = """
name: two-stripes
fabrics:
  backend:
    topology: {{stripes: 2, leaves_per_stripe: 2, spines: 2, links_per_spine: 4}}
    leaf: {{device: qfx5240-64od, server_ports: {{first: 16}}}}
    load_balancing: {{mode: ecmp}}
{lines}
servers:
  - {{names: "H100-[01-02]", model: h100-8gpu-cx7, stripe: stripe1}}
  - {{names: "H100-[03-04]", model: h100-8gpu-cx7, stripe: stripe2}}
management: {{root_password: secret:r, users: {{n: {{password: secret:n}}}}}}
"""


def text(*lines: str) -> str:
    """The fabric file with these lines in its fabric, each indented by two more than it stands there."""
    return TEXT.format(lines="\n".join(f"    {line}" for one in lines for line in one.splitlines()))
