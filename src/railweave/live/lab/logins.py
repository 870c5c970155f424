"""SSH access to a lab's devices, as to real devices. Each device has an address and a host key, and users log in with a key.

One process listens on the loopback address, with a port for each device. Like inetd, it starts an ``sshd`` in the
device's namespace for each connection. Commands for a router run in the environment of its daemons, with their files,
network and host name.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from railweave.errors import LabError
from railweave.live.lab import hosts, lldp
from railweave.live.lab.frr.routers import daemon_pid
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.namespace import RUN
from railweave.live.lab.names import MARK, namespace, sudo_program
from railweave.live.lab.state import Place
from railweave.reading import file_text, parse_json
from railweave.tool_roots import INSIDE
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.lab.running import Running

_CONFIG = """
HostKey {own}/host_key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
LogLevel ERROR
Subsystem sftp internal-sftp
SetEnv PATH={path} HOME={own} {mark}={lab}{files}
{forced}
"""
_ENTER = """#!/bin/sh
# Written by railweave: what a login to {name} runs is run where its daemons are.
case "$SSH_ORIGINAL_COMMAND" in
vtysh*|'sh '*) ;;
*) exec sh -c "$SSH_ORIGINAL_COMMAND" ;;
esac
for one in zebra bgpd; do
  pid=$(cat {state}/run/frr/$one.pid 2> /dev/null)
  [ -n "$pid" ] && [ "$(cat /proc/$pid/comm 2> /dev/null)" = $one ] &&
    exec nsenter --mount=/proc/$pid/ns/mnt --uts=/proc/$pid/ns/uts chroot "$(readlink /proc/$pid/root)" sh -c "$SSH_ORIGINAL_COMMAND"
done
echo 'no daemon of {name} runs' >&2
exit 1
"""
_OWN_SYS = 'mount -t sysfs sysfs /sys && exec "$@"'
"""A shell command that mounts /sys again and then runs its arguments. ``ip netns exec`` mounts /sys in the same way.

/sys shows the interfaces of the namespace in which it was mounted (sysfs(5)).
"""
_PROGRAM = "import sys; from railweave.live.lab.logins import serve; serve(*sys.argv[1:])"


def listen(lab: Running, only: Sequence[str] = ()) -> Path:
    """Accept logins to all devices of a lab, or only to those in ``only``. Return the path of ``access.yaml`` for them.

    An earlier listening process of the lab is ended; its keys and ports are used again. Raises ``LabError`` if OpenSSH
    is missing.
    """
    if os.environ.get(INSIDE):
        raise LabError(
            "`lab access` needs root: an SSH server changes users, and listens on this machine's loopback address. "
            f"Take the lab down, and start it with `sudo {sudo_program()} lab up`"
        )
    place, folder = lab.place, _folder(lab.place)
    sshd, keygen = shutil.which("sshd") or shutil.which("/usr/sbin/sshd"), shutil.which("ssh-keygen")
    if sshd is None or keygen is None:
        raise LabError("there is no sshd on this machine: sudo apt-get install -y openssh-server")
    close(place)
    routers, servers = ({path.name for path in at.iterdir()} for at in (place.router(""), place.host("")))
    ports = _ports(place)
    folder.mkdir(mode=0o700, exist_ok=True)
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd(8): what its unprivileged part is confined to
    _make_key(keygen, folder / "key")
    doors: dict[str, socket.socket] = {}
    for name in sorted(routers | servers):
        device_folder = folder / name
        device_folder.mkdir(exist_ok=True)
        _make_key(keygen, device_folder / "host_key")
        _write_config(lab, name, router=name in routers)
        if not only or name in only:
            doors[name] = _door(ports.get(name, 0))
            ports[name] = doors[name].getsockname()[1]
    _write_access(folder, ports)
    write_file(folder / "ports.json", json.dumps(ports))
    words = [f"{name}={door.fileno()}" for name, door in doors.items()]
    with (folder / "log").open("ab") as log:
        running = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-c", _PROGRAM, place.lab, sshd, *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, MARK: place.lab},
            pass_fds=[door.fileno() for door in doors.values()],
            start_new_session=True,
        )
    running.returncode = 0  # it outlives this process, and is not waited for
    write_file(folder / "pid", str(running.pid))
    for door in doors.values():
        door.close()
    return folder / "access.yaml"


def close(place: Place) -> None:
    """Stop accepting logins, and end open ones. The devices continue to run. ``place`` has the paths of the lab's files."""
    try:
        first = int(file_text(_folder(place) / "pid"))
    except (OSError, ValueError):
        return
    if first in processes.of_lab(place.lab):
        processes.end([first, *_below(first)])


def serve(lab: str, sshd: str, *doors: str) -> None:
    """Pass each connection to an ``sshd`` in its device's namespace, until this process ends.

    ``sshd`` is the path of the program. Each member of ``doors`` is a listening socket, as ``NAME=DESCRIPTOR``.
    """
    place, running = Place(lab), list[subprocess.Popen[bytes]]()
    with selectors.DefaultSelector() as waiting:
        for door in doors:
            name, _, descriptor = door.partition("=")
            waiting.register(socket.socket(fileno=int(descriptor)), selectors.EVENT_READ, name)
        while True:
            ready = waiting.select(1)
            running = [process for process in running if process.poll() is None]
            for key, _ in ready:
                listening, name = key.fileobj, str(key.data)
                assert isinstance(listening, socket.socket)  # noqa: S101 - what was registered
                taken, _ = listening.accept()
                with taken:
                    # Of a router without daemons nothing is left but its cables: it does not answer.
                    if not place.router(name).exists() or any(
                        daemon_pid(place, name, daemon) for daemon in ("zebra", "bgpd")
                    ):
                        inside = ["unshare", "--mount", "sh", "-euc", _OWN_SYS, "sh", sshd, "-i", "-e", "-f"]
                        words = ["nsenter", f"--net={RUN / namespace(lab, name)}", *inside]
                        words.append(str(_folder(place) / name / "sshd_config"))
                        running.append(subprocess.Popen(words, stdin=taken.fileno(), stdout=taken.fileno()))  # noqa: S603


def _folder(place: Place) -> Path:
    return place.folder / "ssh"


def _ports(place: Place) -> dict[str, int]:
    path = _folder(place) / "ports.json"
    return dict(parse_json(file_text(path))) if path.exists() else {}


def _door(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port), backlog=64)
    except OSError as error:
        raise LabError(f"port {port} of this machine cannot be listened on: {error.strerror}") from None


def _make_key(keygen: str, path: Path) -> None:
    if not path.exists():
        words = [keygen, "-q", "-t", "ed25519", "-N", "", "-C", path.parent.name, "-f", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise LabError(f"ssh-keygen: {done.stderr.strip()}")


def _write_config(lab: Running, name: str, *, router: bool) -> None:
    device_folder = _folder(lab.place) / name
    before = [str(Path(sys.executable).parent), str(lldp.commands(lab.place, name))]
    path = ":".join([*before, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"])
    forced = f"ForceCommand {device_folder}/enter" if router else ""
    if router:
        state = shlex.quote(str(lab.place.router(name)))
        write_file(device_folder / "enter", _ENTER.format(name=name, state=state))
        (device_folder / "enter").chmod(0o755)
    files = "" if router else "".join(f" {variable}={file}" for variable, file in hosts.own_files(lab, name).items())
    text = _CONFIG.format(
        own=device_folder,
        folder=device_folder.parent,
        path=path,
        mark=MARK,
        lab=lab.place.lab,
        files=files,
        forced=forced,
    )
    write_file(device_folder / "sshd_config", text)


def _write_access(folder: Path, ports: dict[str, int]) -> None:
    keys = {name: file_text(folder / name / "host_key.pub").split() for name in ports}
    lines = [f"[127.0.0.1]:{ports[name]} {' '.join(key[:2])}\n" for name, key in keys.items()]
    write_file(folder / "known_hosts", "".join(lines))
    access = {
        "defaults": {"user": "root", "key": str(folder / "key"), "known_hosts": str(folder / "known_hosts")},
        "devices": {name: {"address": "127.0.0.1", "ports": {"ssh": port}} for name, port in ports.items()},
        "at_once": 8,
        "connect_seconds": 60,
    }
    write_file(folder / "access.yaml", yaml.safe_dump(access, sort_keys=False))


def _below(first: int) -> list[int]:
    """Return the process ids of all descendants of process ``first``."""
    parents: dict[int, list[int]] = {}
    for path in processes.PROC.iterdir():
        if path.name.isdecimal():
            try:
                parent = int(file_text(path / "stat").rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(path.name))
    descendants, left = list[int](), [first]
    while left:
        descendants += (below := parents.get(left.pop(), []))
        left += below
    return descendants
