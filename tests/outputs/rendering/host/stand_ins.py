"""What scripts meet on a server: the vendors' tools as stand-ins that record their calls, and a copy of sysfs."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from railweave.model.device.host import host_config
from railweave.model.device.host_model import HostConfig
from tests.conftest import designed, example

COMMON = "awk bash basename cat chmod cmp cp dirname env flock grep id install ln ls mkdir mv printf readlink rm rmdir sed sort tail tr"


@cache
def server(name: str) -> HostConfig:
    """The first server of an example."""
    network = example(name)
    return host_config(network, network.servers[0].name)


def config_of(folder: Path, model: str = "h100-8gpu-cx7", leaf: str = "", more: str = "") -> HostConfig:
    """The server of a small fabric of one leaf a rail."""
    text = f"""
name: small
fabrics:
  backend:
    topology: {{stripes: 1, spines: 2, link_speed: 400G}}
    leaf: {{device: qfx5240-64od, release: 25.4R1{leaf}}}
{more}
servers: [{{names: "n[1-2]", model: {model}}}]
"""
    network, _ = designed(folder, text)
    return host_config(network, "n1")


class Machine:
    """A folder that looks like a server to a script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "calls"
        self.sys = folder / "sys"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.sys / "config" / "rdma_cm").mkdir(parents=True)
        for tool in COMMON.split():
            place = shutil.which(tool)
            assert place is not None
            (self.bin / tool).symlink_to(place)

    def tool(self, name: str, body: str = "") -> None:
        """A stand-in: records its call, then does ``body``."""
        file = self.bin / name
        file.write_text(f'#!/usr/bin/env bash\nprintf "%s\\n" "{name} $*" >>"{self.log}"\n{body}\n')
        file.chmod(0o755)

    def attribute(self, path: str, value: str = "") -> Path:
        """A file of the kernel's."""
        file = self.sys / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value + "\n")
        return file

    def nics(self, config: HostConfig) -> list[str]:
        """Interfaces and RDMA devices of a server; their PCI addresses."""
        found: list[str] = []
        for number, nic in enumerate(config.nics):
            pci = f"0000:{0x1B + number:02x}:00.0"
            (self.sys / "devices" / pci / "infiniband" / nic.rdma).mkdir(parents=True)
            net = self.sys / "class" / "net" / nic.netdev
            net.mkdir(parents=True)
            (net / "device").symlink_to(self.sys / "devices" / pci)
            for one in ("default_roce_mode", "default_roce_tos"):
                self.attribute(f"config/rdma_cm/{nic.rdma}/ports/1/{one}")
            if nic.vendor == "Broadcom":
                self.attribute(f"debug/bnxt_re/{nic.rdma}/info", "fw_service_prof_type_sup = 1")
            found.append(pci)
        return found

    def run(self, script: Path, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a script with nothing else on PATH. ``said``: what someone in front of it types."""
        return subprocess.run(
            [str(self.bin / "bash"), str(script), *arguments],
            env={
                "PATH": str(self.bin),
                "RAILWEAVE_SYSFS": str(self.sys),
                "RAILWEAVE_CONFIGFS": str(self.sys / "config"),
                "RAILWEAVE_DEBUGFS": str(self.sys / "debug"),
                "RAILWEAVE_ETC": str(self.folder / "etc"),
                "RAILWEAVE_RUN": str(self.folder / "run"),
                "HOME": os.environ.get("HOME", "/"),
            },
            input=said,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def calls(self, tool: str | None = None) -> list[str]:
        """Calls so far, of one tool or all, and forgets them."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line for line in lines if tool is None or line.split()[0] == tool]

    def write(self, files: dict[str, str]) -> Path:
        """A folder with files."""
        place = self.folder / "files"
        place.mkdir(exist_ok=True)
        for name, text in files.items():
            (place / name).write_text(text)
        return place
