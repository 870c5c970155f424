"""The routers of a lab: each switch's FRR daemons and ``nftables.conf``, in its network namespace and with its own folders."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.frr import rootfs
from railweave.live.lab.kernel.links import ROUTER
from railweave.live.lab.kernel.namespace import RUN, entered, ip, named, set_parameters, spaces_of, vrf_space
from railweave.live.lab.kernel.processes import alive
from railweave.live.lab.names import MARK, namespace
from railweave.reading import file_text
from railweave.systems import system
from railweave.systems.frr.host import parameters
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from railweave.live.lab.frr.rootfs import Frr
    from railweave.live.lab.state import Place
    from railweave.model.device.model import DeviceConfig


FILE = "nftables.conf"

WITHOUT = "routers are not protected here (`management.security.control_plane`): the nft command is not there; install nftables"


def load(place: Place, configs: Iterable[DeviceConfig], progress: Callable[[str], None]) -> None:
    """Load ``nftables.conf`` of every router that has the file. If nft is missing, report this and continue without.

    Raises ``LabError`` with the message of nft if it rejects a file. ``place`` has the paths of the lab's files.
    """
    for config in configs:
        path = place.router(config.name) / "etc/frr" / FILE
        if not path.exists():
            continue
        nft = shutil.which("nft")
        if nft is None:
            progress(WITHOUT)
            return
        for space in spaces_of(config):
            with entered(namespace(place.lab, space)):
                done = subprocess.run([nft, "-f", str(path)], capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                raise LabError(f"{config.name}: nft does not take {FILE}: {done.stderr.strip()[:300]}")


FOLDERS = ("etc/frr", "run/frr", "var/lib/frr", "var/tmp/frr")
"""The folders to which daemons write.

Each router has its own copies. They are mounted over the folders of the root folder, so that only the router's processes
see them.
"""

LOAD_LIMIT_S = 120

_ROOT = "root"
"""The name of the file that records a router's root folder and FRR release, if they differ from the lab's."""

# Nothing is created in the root folder, which may be the machine's own: where it lacks a folder, the folder above is replaced.
# /run comes last, because it holds all that is mounted here. ACCOUNTS is set if there are no users but root: then FRR's are root.
_ENTER = """
for file in $ACCOUNTS; do
  mount --bind "$STATE/etc/$file" "$ROOT/etc/$file"
done
for folder in etc/frr var/lib/frr var/tmp/frr; do
  [ -d "$ROOT/$folder" ] || folder=${folder%/frr}
  mount --bind "$STATE/$folder" "$ROOT/$folder"
done
[ "$ROOT" = / ] || mount --bind /proc "$ROOT/proc"
for pair in $VRFS; do
  : > "$STATE/run/netns/${pair#*=}"
  mount --bind "/run/netns/${pair%%=*}" "$STATE/run/netns/${pair#*=}"
done
mount --rbind "$STATE/run" "$ROOT/run"
exec chroot "$ROOT" sh -euc "$INSIDE" inside $DAEMONS
"""
# While zebra registers with mgmtd that locks its store, and vtysh then loads only what other daemons have. What was half
# loaded is not loaded once more: daemons start afresh.
_INSIDE = r"""
cd /
for attempt in $(seq 5); do
  for daemon; do /usr/lib/frr/$daemon -d $OPTIONS --log file:/var/tmp/frr/$daemon.log --log-level notifications; done
  code=0
  vtysh -b > /var/tmp/frr/loaded 2>&1 || code=$?
  grep -q 'locked by another session' /var/tmp/frr/loaded || break
  for daemon; do kill "$(cat /run/frr/$daemon.pid)"; done
  for daemon; do while kill -0 "$(cat /run/frr/$daemon.pid)"; do sleep 0.05; done 2> /dev/null; done
done
cat /var/tmp/frr/loaded
exit $code
"""
_AGAIN = """
cd /
/usr/lib/frr/$1 -d $OPTIONS --log file:/var/tmp/frr/$1.log --log-level notifications
exec vtysh -b -d $1
"""
_COMPLAINT = re.compile(r"^line \d+: .*|^.*% .*", re.MULTILINE)


def write_files(place: Place, frr: Frr, configs: Sequence[DeviceConfig], bare: Collection[str] = ()) -> None:
    """Write the configuration files of every router's daemons, with the owner that the daemons need.

    ``bare`` has the routers whose configuration is only a host name. ``place`` has the paths of the lab's files, ``frr`` the lab's FRR.
    """
    for config in configs:
        folder = place.router(config.name)
        for name in FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
            os.chown(folder / name, frr.user, frr.group)
        (folder / "run/netns").mkdir(exist_ok=True)
        if not frr.user:
            write_accounts(folder / "etc", frr.root)
        made = system(config.nos).files(config)
        files = {
            "frr.conf": f"hostname {config.name}\n" if config.name in bare else made["frr.conf"],
            "vtysh.conf": "service integrated-vtysh-config\n",
            **{name: made[name] for name in (FILE,) if name in made and config.name not in bare},
        }
        for name, text in files.items():
            path = folder / "etc/frr" / name
            write_file(path, text)
            os.chown(path, frr.user, frr.group, follow_symlinks=False)  # the folder is FRR's


ACCOUNTS = ("passwd", "group", "shadow")


def write_accounts(folder: Path, root: Path) -> None:
    """Write the files of users and groups in which every user of a root folder is root, for a namespace without other users.

    Daemons look up their user by its name, and vtysh asks if root's account is valid.
    """
    for name, ids in (("passwd", 2), ("group", 1)):
        rows = [line.split(":") for line in file_text(root / "etc" / name).splitlines()]
        text = "".join(":".join([*row[:2], *["0"] * ids, *row[2 + ids :]]) + "\n" for row in rows if len(row) > 2 + ids)
        write_file(folder / name, text)
    write_file(folder / "shadow", "root:*:20000:0:99999:7:::\n")


def start(place: Place, frr: Frr, configs: Sequence[DeviceConfig], progress: Callable[[str], None]) -> None:
    """Start the daemons of routers and load their configurations, in parallel on all processors.

    Raises ``LabError`` with FRR's message if FRR rejects a configuration. ``place`` has the paths of the lab's files.
    """
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(max_workers=workers) as pool:
        started = [pool.submit(_start, place, frr, config) for config in configs]
        try:
            for number, future in enumerate(started, 1):
                future.result()
                progress(f"router {number} of {len(configs)}")
        finally:
            for future in started:
                future.cancel()


def _start(place: Place, frr: Frr, config: DeviceConfig) -> None:
    name = config.name
    frr = frr_of(place, frr, name)
    vrfs = [f"{namespace(place.lab, vrf_space(name, vrf.name))}={vrf.name}" for vrf in config.vrfs]
    accounts = [] if frr.user else [file for file in ACCOUNTS if (frr.root / "etc" / file).exists()]
    environment = {
        "ACCOUNTS": " ".join(accounts),
        "ROOT": str(frr.root),
        "STATE": str(place.router(name)),
        "INSIDE": _INSIDE,
        "DAEMONS": " ".join(daemons_of(frr, config)),
        "OPTIONS": _options(config),
        "VRFS": " ".join(vrfs),
    }
    # FRR prints its machine's name as that of the router.
    with entered(namespace(place.lab, name)), named(name):
        _load(place, name, ["unshare", "--mount", "sh", "-euc", _ENTER], environment)


_SHOWN = """
: > "$ROOT/run/netns/$VRF"
mount --bind /proc/self/ns/net "$ROOT/run/netns/$VRF"
"""


def add_vrfs(place: Place, config: DeviceConfig) -> None:
    """Create the namespaces of a running router's VRFs that do not exist yet, and show them to its daemons.

    Nothing is done for a router that was started without VRFs: its zebra does not look for namespaces. Raises ``LabError`` if a namespace
    cannot be created. ``place`` has the paths of the lab's files.
    """
    pid = daemon_pid(place, config.name, "zebra")
    if pid is None or "--vrfwnetns" not in file_text(Path(f"/proc/{pid}/cmdline")).split("\0"):
        return
    for vrf in config.vrfs:
        space = namespace(place.lab, vrf_space(config.name, vrf.name))
        if (RUN / space).exists():
            continue
        ip(["netns", "add", space])
        with entered(space):
            set_parameters(parameters(config) | ROUTER)
        ip(["link", "set", "lo", "up"], inside=space)
        shown = {**os.environ, "ROOT": running_root(pid), "VRF": vrf.name}
        inside = ["nsenter", f"--mount=/proc/{pid}/ns/mnt", f"--net={RUN / space}", "sh", "-euc", _SHOWN]
        done = subprocess.run(inside, env=shown, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise LabError(
                f"{config.name}: the namespace of VRF {vrf.name} cannot be shown to FRR: {done.stderr.strip()[:300]}"
            )


def daemons_of(frr: Frr, config: DeviceConfig) -> tuple[str, ...]:
    """Return the daemons that a router runs.

    They are the daemons of the lab's FRR, except those that the switch's designed operating system would not start.
    """
    started = system(config.nos).daemons(config)
    return tuple(daemon for daemon in frr.daemons if started is None or daemon in started)


def not_started(frr: Frr, config: DeviceConfig, daemon: str) -> str:
    """Return a sentence, such as ``leaf1 runs no isisd: sonic starts none``, if the switch's designed operating system does not start a daemon.

    The result is empty if that system starts the daemon. ``frr`` is the lab's FRR.
    """
    return "" if daemon in daemons_of(frr, config) else f"{config.name} runs no {daemon}: {config.nos} starts none"


def _options(config: DeviceConfig) -> str:
    return "--vrfwnetns" if config.vrfs else ""


def solicit(place: Place, configs: Iterable[DeviceConfig]) -> None:
    """Send router solicitations (RFC 4861, section 4.1) from all routers, so that sessions start early.

    Without them, a router that starts late waits up to 10 s for the next unsolicited advertisement of an earlier router. ``place`` has the
    paths of the lab's files.
    """
    message = struct.pack("!BBHI", 133, 0, 0, 0)  # router solicitation; the kernel fills in the checksum
    for config in configs:
        with (
            entered(namespace(place.lab, config.name)),
            socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as packets,
        ):
            # Neighbor discovery takes nothing that could have been forwarded.
            packets.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            for port in config.fabric_interfaces():
                index = socket.if_nametoindex(port.name)
                packets.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
                # Refused where the kernel has not got round to a link's addresses yet: its sessions then wait.
                with contextlib.suppress(OSError):
                    packets.sendto(message, ("ff02::2", 0, 0, index))


def restart(place: Place, frr: Frr, config: DeviceConfig, daemon: str) -> None:
    """Restart one daemon of a router with the daemon's part of the configuration. If no other daemon runs, restart the whole router.

    Raises ``LabError`` if the daemon does not start or rejects its configuration. ``place`` has the paths of the lab's files, ``frr`` is
    the lab's FRR.
    """
    name = config.name
    frr = frr_of(place, frr, name)
    others = [
        pid
        for other in daemons_of(frr, config)
        if other != daemon and (pid := daemon_pid(place, name, other)) is not None
    ]
    if not others:
        _start(place, frr, config)
        return
    inside = [
        "nsenter",
        f"--mount=/proc/{others[0]}/ns/mnt",
        f"--uts=/proc/{others[0]}/ns/uts",
        "chroot",
        running_root(others[0]),
        "sh",
        "-euc",
        _AGAIN,
        "inside",
        daemon,
    ]
    with entered(namespace(place.lab, name)):
        _load(place, name, inside, {"OPTIONS": f"{_options(config)} {_graceful(config, daemon)}".strip()})


def _graceful(config: DeviceConfig, daemon: str) -> str:
    """Return the option that starts bgpd with a graceful restart, if the router uses it; otherwise and for other daemons, empty.

    With this option, bgpd waits for all neighbors before it chooses paths.
    """
    return "-K" if daemon == "bgpd" and config.bgp and config.bgp.graceful_restart else ""


def _load(place: Place, name: str, command: list[str], environment: dict[str, str]) -> None:
    marked = {**os.environ, "LC_ALL": "C", MARK: place.lab, **environment}
    log = place.router(name) / "load.log"
    with log.open("wb") as out:  # not a pipe: daemons keep what they are given, and a reader would never see its end
        try:
            code = subprocess.run(  # noqa: S603 - no shell but our own text
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False, env=marked, timeout=LOAD_LIMIT_S
            ).returncode
        except subprocess.TimeoutExpired:
            raise LabError(f"{name}: FRR does not start within {LOAD_LIMIT_S} s: see {log}") from None
    text = file_text(log, errors="replace")
    complaints = _COMPLAINT.findall(text)
    if code or complaints:
        raise LabError(
            f"{name}: FRR does not take its configuration: {'; '.join(complaints[:3]) or text.strip()[-300:]}"
        )


def write_root(place: Place, name: str, frr: Frr) -> None:
    """Record the root folder and FRR release from which a router's daemons are started, if they are not the lab's.

    ``place`` has the paths of the lab's files.
    """
    write_file(place.router(name) / _ROOT, f"{frr.root}\n{frr.version}\n")


def frr_of(place: Place, frr: Frr, name: str) -> Frr:
    """Return the FRR of a router: the FRR in the root folder recorded for the router, or else the FRR of the lab.

    Raises ``LabError`` if the recorded folder has no FRR. ``place`` has the paths of the lab's files.
    """
    path = place.router(name) / _ROOT
    if not path.exists():
        return frr
    root, version = file_text(path).splitlines()
    return replace(rootfs.known(Path(root), version), protocols=frr.protocols)


def running_root(pid: int) -> str:
    """Return the root folder of the running daemon with process id ``pid``."""
    return str(Path(f"/proc/{pid}/root").readlink())


def daemon_pid(place: Place, name: str, daemon: str) -> int | None:
    """Return the process id of a router's daemon, or None if it does not run. ``place`` has the paths of the lab's files."""
    try:
        pid = int(file_text(place.router(name) / f"run/frr/{daemon}.pid"))
        command = file_text(Path(f"/proc/{pid}/comm")).strip()
    except (OSError, ValueError):
        return None
    return pid if command == daemon and alive(pid) else None  # one that nobody has buried yet has its name still
