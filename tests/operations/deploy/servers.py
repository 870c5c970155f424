"""Servers beside the stand-ins of switches: the real program, in a network namespace each, behind SSH."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from railweave import api
from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.host_json import host_json
from tests.live.reach.stand_ins import StandIn, stand_ins
from tests.netns import Server, server
from tests.operations.deploy.network import Changing, changing


@dataclass
class ServerBox:
    """One server: its namespace, the folder of the files that are its own, and what stands in for its sshd."""

    host: Server
    folder: Path
    device: StandIn

    @property
    def file(self) -> Path:
        return self.folder / "host.json"

    def tables(self) -> list[str]:
        """Rules and routes that are not the kernel's own, as lines in order."""
        lines = (
            self.host.run("ip", "-6", "rule", "show").stdout
            + self.host.run("ip", "-6", "route", "show", "table", "all").stdout
        )
        own = [line.strip() for line in lines.splitlines() if "proto kernel" not in line and "table local" not in line]
        return sorted(line for line in own if "proto ra" not in line)

    def waits(self) -> bool:
        return any(self.folder.glob("deploy/*/armed"))

    def first_on_path(self, name: str, script: str) -> None:
        """A program that stands before that of the machine."""
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
        self.device.shell = [*self.words(), f"PATH={folder}:{os.environ['PATH']}"]

    def words(self) -> list[str]:
        own = {
            "RAILWEAVE_HOST_FILE": self.file,
            "RAILWEAVE_STATE_FILE": self.folder / "state.json",
            "RAILWEAVE_NAMES_FILE": self.folder / "rt_tables.conf",
            "RAILWEAVE_DEPLOY_FOLDER": self.folder / "deploy",
        }
        return self.host.argv("env", *(f"{name}={path}" for name, path in own.items()))

    def run(self, command: str) -> None:
        self.host.run(*self.words()[4:], "sh", "-c", command)


def host_files(fabric: Path) -> dict[str, str]:
    """What every server of a fabric file should run."""
    network = api.load(fabric)
    return {one.name: host_json(host_config(network, one.name)) for one in network.servers}


@contextmanager
def with_servers(
    fabric: Path, running: dict[str, list[str]], files: dict[str, str]
) -> Iterator[tuple[Changing, dict[str, ServerBox]]]:
    """``changing``, and servers that run given ``host.json``s: by ``host apply``, where they are not empty."""
    with ExitStack() as stack:
        network = stack.enter_context(changing(fabric, running))
        devices = stack.enter_context(stand_ins())
        boxes: dict[str, ServerBox] = {}
        access: dict[str, Any] = yaml.safe_load(network.access.read_text())
        for name, text in files.items():
            document = json.loads(host_files(fabric)[name])
            host = stack.enter_context(server([one["netdev"] for one in document["nics"]], mtu=9000))
            folder = fabric.parent / "servers" / name
            folder.mkdir(parents=True)
            box = boxes[name] = ServerBox(host, folder, devices.ssh({}))
            box.device.shell = box.words()
            if text:
                box.file.write_text(text)
                apply = f"{sys.executable} -m railweave.host apply --host-file {shlex.quote(str(box.file))} --state-file {box.folder}/state.json"
                box.run(f"{apply} --names-file {box.folder}/rt_tables.conf")
            access["devices"][name] = {"address": "127.0.0.1", "protocols": ["ssh"], "ports": {"ssh": box.device.port}}
            with fabric.with_name("known_hosts").open("a") as out:
                out.write(box.device.known() + "\n")
        network.access.write_text(yaml.safe_dump(access))
        yield network, boxes
