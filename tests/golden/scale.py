"""What is kept of large examples: a digest of all files by kind, one switch of each role and fabric, and one server.

Those of 32,768 GPUs are designed but not built here: their digest counts what there is, and says the findings.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.outputs.folder.designing import design_file
from railweave.outputs.folder.steps import build
from railweave.outputs.rendering import host
from railweave.systems import system

if TYPE_CHECKING:
    from railweave.model.network.model import Network

BUILT = ("scale-8k", "aidc-three-fabrics", "arista-h200-512", "gb300-racks")
DESIGNED = ("scale-32k-planes", "scale-32k-superspine")
KEPT = {
    "junos.conf",
    "eos.conf",
    "frr.conf",
    "netplan.yaml",
    "net-setup.sh",
    "sysctl.conf",
    "rt_tables.conf",
    "nccl.env",
}
"""Files that are kept of a device or server; the others follow from the same values."""


def kept_files(name: str, fabric: Path, folder: Path) -> dict[str, bytes]:
    """What is kept of one example, by path; ``fabric`` is its fabric file, ``folder`` an empty one to build into."""
    if name in BUILT:
        network = build(fabric, folder).network
        digest = _digest(json.loads((folder / "manifest.json").read_text())["files"])
    else:
        network, digest = design_file(fabric)[0], ""
    lines = [*_counts(network), *_findings(network), *([digest] if digest else [])]
    files = {"digest.txt": ("\n".join(lines) + "\n").encode()}
    first = {(one.fabric, one.role): one.name for one in reversed(network.switches)}
    for device in first.values():
        for nos in (network.switch(device).nos, "frr"):
            config = device_config(network, device, nos)
            files |= {f"{device}/{file}": text.encode() for file, text in system(nos).files(config).items()}
    server = network.servers[0].name
    texts = host.files(host_config(network, server))
    files |= {f"{server}/{file}": text.encode() for file, text in texts.items()}
    return {path: text for path, text in files.items() if path == "digest.txt" or path.split("/")[-1] in KEPT}


def _counts(network: Network) -> list[str]:
    roles = [switch.role for switch in network.switches]
    kinds = [cable.kind for cable in network.cables]
    return [
        *(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles)),
        *(f"{kinds.count(kind)} cables {kind}" for kind in dict.fromkeys(kinds)),
        f"{sum(len(segment.subnets) for segment in network.segments)} server prefixes",
        f"{len(network.servers)} servers",
    ]


def _findings(network: Network) -> list[str]:
    return [f"{one.severity} {one.id}: {one.what}" for one in network.findings if one.id != "mac-placeholder"]


def _digest(manifest: dict[str, str]) -> str:
    """A line a kind of file: how many there are, and the digest of their digests."""
    kinds: dict[str, list[str]] = {}
    for path, value in sorted(manifest.items()):
        parts = path.split("/")
        kind = path if len(parts) < 3 else f"{parts[0]}/*/{parts[-1]}"
        kinds.setdefault(kind, []).append(f"{path} {value}")
    return "\n".join(
        f"{len(lines)} {kind} {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
        for kind, lines in kinds.items()
    )
