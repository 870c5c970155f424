"""One router of a network, with its own daemons and none of its neighbors: what FRR does with lines, tried line by line."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from railweave.live.lab import life, names
from railweave.live.lab.frr import rootfs, routers
from railweave.live.lab.kernel import links, namespace
from railweave.live.lab.kernel.namespace import spaces_of, vrf_space
from railweave.live.lab.state import Place
from railweave.model.config.tree import Command
from railweave.model.device.model import DeviceConfig
from railweave.systems.frr.host import vrf_by_interface


class Router:
    """FRR's own vtysh on a router."""

    def __init__(self, lab: str, config: DeviceConfig) -> None:
        self._here = Place(lab).router(config.name) / "etc/frr/given.conf"
        pid = routers.daemon_pid(Place(lab), config.name, "zebra")
        assert pid is not None
        self._inside = [
            *("nsenter", f"--mount=/proc/{pid}/ns/mnt", f"--uts=/proc/{pid}/ns/uts", f"--net=/proc/{pid}/ns/net"),
            *("chroot", routers.running_root(pid), "vtysh"),
        ]

    def _vtysh(self, *words: str) -> str:
        done = subprocess.run([*self._inside, *words], capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    def given(self, commands: Sequence[Command]) -> list[str]:
        """Give it the commands as ``deploy`` does; what it complains about."""
        self._here.write_text("".join(f"{one}\n" for one in commands), encoding="utf-8")
        said = self._vtysh("--inputfile", "/etc/frr/given.conf")
        return [line for line in said.splitlines() if line.startswith(("%", "line "))]

    def running(self) -> str:
        """What it runs."""
        return self._vtysh("-c", "show running-config no-header")


@contextmanager
def router(config: DeviceConfig, root: Path) -> Iterator[Router]:
    """A router that is up by itself, and gone afterwards. It has its ports; nothing is at their other ends."""
    lab = names.lab_id(Path(f"/one-router/{config.name}"))
    place = Place(lab)
    frr = replace(rootfs.find(root, rootfs.need([config]), lambda _: None), protocols=frozenset({"bgp", "isis"}))
    of_vrf = vrf_by_interface(config)
    try:
        namespace.ip_batch(f"netns add {names.namespace(lab, space)}" for space in spaces_of(config))
        for vrf in ("", *(one.name for one in config.vrfs)):
            ports = [
                one.name
                for one in config.interfaces
                if of_vrf.get(one.name, "") == vrf and not (one.kind == "server" and one.outside)
            ]
            lines = [f"link add {name} type veth peer name end-{at}" for at, name in enumerate(ports)]
            inside = names.namespace(lab, vrf_space(config.name, vrf))
            namespace.ip_batch([*lines, *links.router_lines(config, vrf)], inside=inside)
        routers.write_files(place, frr, [config])
        routers.start(place, frr, [config], lambda _: None)
        yield Router(lab, config)
    finally:
        life.clean(lab)
