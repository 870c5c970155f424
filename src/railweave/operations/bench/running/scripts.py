"""Scripts for servers, as text for ``sh``. Nothing is copied to a server, and nothing remains there.

Each script stops its programs when its standard input ends. The input ends with the connection: at Ctrl-C, when
railweave is killed, or when the server detects a broken connection. If the server does not detect the broken
connection, ``timeout`` ends the script.
"""

from __future__ import annotations

import ipaddress
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT_PREFIX = "railweave: "
"""The prefix of lines that a script itself prints. It distinguishes them from the output of programs."""
LISTENING = f"{SCRIPT_PREFIX}listening on port "
NO_GID = 97
"""The exit status if no GID has the planned address."""
NO_PORT = 98
"""The exit status if no TCP port is free."""
PORTS = 64
"""The number of consecutive TCP ports that the server end of a perftest tries."""
GRACE_S = 5
"""The seconds between the request to a program to exit and its kill."""
DEVICES = "/sys/class/infiniband"
"""The folder in which the kernel lists RDMA devices."""


def written_gid(address: str) -> str:
    """Return an address in the format of the kernel's GID table. IPv4 addresses become mapped addresses (RFC 4291, section 2.5.5.2)."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv4Address):
        ip = ipaddress.IPv6Address(f"::ffff:{ip}")
    return ip.exploded


# The descriptor 3 is what keeps the script alive; programs read nothing.
_BEGIN = "exec 3<&0 </dev/null 2>&1\n"

_FIND = """S={devices}
g= d=
for f in $(grep -lxsF -- {gid} "$S"/{device}/ports/*/gids/*); do
  p=${{f%/gids/*}}; i=${{f##*/}}
  [ "$(cat "$p/gid_attrs/types/$i" 2>/dev/null)" = 'RoCE v2' ] || continue
  n=${{p##*/}}; d=${{p%/ports/*}}; d=${{d##*/}}; g=$i; break
done
if [ -z "$d" ]; then
  echo {prefix}no RoCE v2 GID is {address}, of the RDMA devices $(ls "$S" 2>/dev/null | tr '\\n' ' ')
  exit {none}
fi
echo {prefix}{address} is GID $g of $d port $n
ulimit -l unlimited 2>/dev/null
m=$(cat "$S/$d/device/numa_node" 2>/dev/null); near=
if [ "${{m:--1}}" -ge 0 ] && command -v numactl >/dev/null; then near="numactl -N $m -m $m"; fi
"""

# Other programs take ports meanwhile, perhaps this very one: what listens there must be a socket of what was begun here.
_PORT = """t={first}
listening() {{ grep -hs ":$(printf %04X $t) [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6; }}
family() {{ echo $1; for c in $(cat /proc/$1/task/*/children 2>/dev/null); do family $c; done; }}
mine() {{
  listening | while read -r n at from state queues timer again user limit inode more; do
    for c in $(family $p); do ls -l /proc/$c/fd 2>/dev/null; done | grep "socket:\\[$inode\\]"
  done | grep -q .
}}
while :; do
while listening >/dev/null; do t=$((t+1)); [ $t -lt {last} ] || {{ echo {prefix}no TCP port is free from {first} on; exit {none}; }}; done
"""
_LISTENS = f"""until mine; do kill -0 $p 2>/dev/null || break; sleep 0.1; done
if mine; then echo '{LISTENING}'$t; break; fi
listening >/dev/null || break
kill $w 2>/dev/null
done
"""

# The main shell waits for the program, and not for the one that waits for the input to end.
_GUARDED = """timeout -k {grace} {limit} {words} &
p=$!
{{ cat <&3; kill $p; }} >/dev/null 2>&1 &
w=$!
"""
_AWAITED = """exec 3<&-
wait $p; s=$?
kill $w 2>/dev/null
exit $s
"""


def server_script(address: str, device: str, words: Sequence[str], *, first: int, limit_s: float) -> str:
    """Return the script of perftest's server end. ``words`` is the command line, without device, GID and port.

    The script finds the GID of ``address`` on ``device`` (empty for any device), selects a free TCP port starting at ``first``, and
    reports when perftest listens. It ends after ``limit_s`` seconds.
    """
    line = f"$near {shlex.join(words)} -d $d -i $n -x $g -p $t"
    return (
        _BEGIN
        + _found(address, device)
        + _PORT.format(first=first, last=first + PORTS, prefix=shlex.quote(SCRIPT_PREFIX), none=NO_PORT)
        + _guarded(line, limit_s)
        + _LISTENS
        + _AWAITED
    )


def client_script(address: str, device: str, words: Sequence[str], *, port: int, peer: str, limit_s: float) -> str:
    """Return the script of perftest's client end, which connects to ``peer`` and prints the result.

    ``words`` is the command line, without device, GID and port. The script finds the GID of ``address`` on ``device`` (empty for any
    device), and ends after ``limit_s`` seconds.
    """
    line = f"$near {shlex.join(words)} -d $d -i $n -x $g -p {port} {shlex.quote(peer)}"
    return _BEGIN + _found(address, device) + _guarded(line, limit_s) + _AWAITED


def guarded(line: str, limit_s: float, before: str = "") -> str:
    """Return a script that runs a command, and stops it when the script's input ends or after ``limit_s`` seconds.

    ``line`` is the command. ``before`` has quick commands to run first.
    """
    return _BEGIN + before + _guarded(line, limit_s) + _AWAITED


def _guarded(line: str, limit_s: float) -> str:
    return _GUARDED.format(grace=GRACE_S, limit=f"{limit_s:g}", words=line)


def _found(address: str, device: str) -> str:
    return _FIND.format(
        devices=shlex.quote(DEVICES),
        device=shlex.quote(device) if device else "*",
        gid=written_gid(address),
        address=shlex.quote(address),
        prefix=shlex.quote(SCRIPT_PREFIX),
        none=NO_GID,
    )


SURVEY = """exec </dev/null 2>/dev/null
echo "kernel=$(uname -r)"
for f in {devices}/*; do
  [ -e "$f" ] || continue
  d=${{f##*/}}; m=$(readlink -f "$f/device/driver/module"); m=${{m##*/}}
  echo "firmware $d=$(cat "$f/fw_ver")"
  [ -n "$m" ] && echo "driver $m=$(cat "/sys/module/$m/version" || echo of the kernel)"
done
v=$({perftest} --version 2>&1 | grep -i version | head -1); [ -n "$v" ] && echo "perftest=${{v##*: }}"
v=$(cat /sys/module/nvidia/version); [ -n "$v" ] && echo "driver nvidia=$v"
v=$(cat /sys/module/amdgpu/version); [ -n "$v" ] && echo "driver amdgpu=$v"
v=$(mpirun --version | head -1); [ -n "$v" ] && echo "mpirun=${{v##* }}"
v=$(srun --version); [ -n "$v" ] && echo "slurm=${{v##* }}"
v=$(readlink -f "$(ldconfig -p | grep -o '/[^ ]*lib[nr]ccl.so.[0-9]*$' | head -1)"); [ -n "$v" ] && echo "library=${{v##*/}}"
exit 0
"""
"""A script that prints the versions on a server, as ``NAME=TEXT`` lines."""


def survey(program: str) -> str:
    """Return the script that reports a server's kernel, drivers, RDMA firmware, and versions of perftest, MPI, Slurm and NCCL.

    ``program`` is the perftest program whose version is reported.
    """
    return SURVEY.format(devices=shlex.quote(DEVICES), perftest=shlex.quote(program))
