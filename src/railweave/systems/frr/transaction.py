"""Changes on FRRouting: ``vtysh`` enters the lines of a change, and FRR's own ``frr-reload.py`` rolls them back.

FRR has no candidate configuration and no confirmed commit (docs.frrouting.org, developer's guide, northbound:
"proposed feature"). Therefore railweave first starts a timer on the machine. When the timer ends, the machine loads the
earlier configuration. ``vtysh --dryrun`` checks every line beforehand, because ``frr-reload.py`` would remove everything
else if a file has a line that FRR does not know (tools/frr-reload.py, load_from_file). Until the change is confirmed,
``/etc/frr/frr.conf`` is unchanged, so a restart of the machine also restores the earlier configuration.

Links and kernel parameters of the Linux host (``frr.host``) change in the same transaction, by commands before and
after the change of ``frr.conf``. The commands for the rollback are on the machine before the change. If the machine
restarts, links and parameters get the values of the host's own network configuration.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.config.compare import compare
from railweave.systems import transaction
from railweave.systems.frr import host
from railweave.systems.frr.idle_sessions import WAKE
from railweave.systems.transaction import FUNCTIONS, ChangeRequest, Pending, RefusedError, Session, put, script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.tree import Command

PROTOCOL = "ssh"
_FILE = "frr.conf"
ATOMIC = False
FILES = {"configuration": _FILE, "interfaces": host.LINKS, "parameters": host.PARAMETERS}
WHOLE: Mapping[str, Command] = {}
_INTERFACE = re.compile(r"^interface .*", re.MULTILINE)
_INSTANCE = re.compile(r"router bgp \d+ vrf (\S+)")
_COMPLAINT = re.compile(r"^line \d+: .*|^%(?! Configuration applied with notes:).*", re.MULTILINE)
"""A pattern of the messages that ``vtysh`` prints about lines that FRR rejects.

Newer releases (10.7) also print notes about accepted lines. The heading of these notes looks like a message, and is excluded.
"""

START = (
    "umask 077\nRAILWEAVE_DEPLOY_FOLDER=/etc/frr/railweave\n"
    + FUNCTIONS
    + """PATH=/usr/lib/frr:$PATH
frr() { vtysh "$@"; }
plain() { awk '/^ *(exit|end|!)/ {next} /^[^ ]/ {top = $0} /^interface / {next} /^ / {print top $0; next} {print}' "$@" | sort; }
back() { vtysh -c 'show running-config no-header' | plain > now.plain; plain before.conf | cmp -s - now.plain; }
back_to() {
  n=0
  while [ -s back.conf ] && [ $n -lt 3 ] && ! back; do vtysh --inputfile back.conf; n=$((n + 1)); sleep 1; done
  back || frr-reload.py --reload --log-level warning "$1"
}
"""
    + WAKE
    + host.SHELL
)
_BACK = """# Written by railweave deploy.
{}cd "$folder" && exec 9> lock && flock 9 || exit 1
armed . || exit 0
{{ . ./host-back-first; back_to "$folder/before.conf" && . ./host-back-then && wake; }} > back.log 2>&1 && rm -f armed
"""
_ARM = 'alone && nothing_waits && arm "$2"'
_READ = 'vtysh --dryrun --inputfile "$folder/$2" 2>&1; true'
_CHANGE = """cd "$folder"
vtysh --inputfile change.conf 2>&1
[ -s last.conf ] || exit 0
n=0
while vtysh --inputfile last.conf > said 2>&1; grep -q l3vni said && [ $n -lt 20 ]; do n=$((n + 1)); sleep 0.5; done
cat said
"""
"""A script that enters the lines of a change one after another.

The line that removes a VRF's BGP instance comes last. The script repeats this line until bgpd has learned from zebra that the VRF no
longer has a VNI.
"""
_HOST = """while read -r line; do
  eval "$line" || { echo "the host refuses: $line" >&2; exit 1; }
done < "$folder/$2"
"""
_WAKE = "wake"
_CONFIRM = """alone || exit 1
armed "$folder" || { echo 'it is not waiting any more' >&2; exit 1; }
vtysh -c 'write memory' && rm -f "$folder/armed" && disarm
"""
_REVERT = """sh "$folder/back.sh" "$label" || { cat "$folder/back.log" >&2; exit 1; }
disarm
"""
_RESTORE = """cd "$folder" && . ./host-back-first
back_to "$folder/before.conf" && vtysh -c 'write memory' && . "$folder/host-back-then" && wake
"""
_CLEAR = 'armed "$folder" || rm -rf "$folder"'


def _lines(commands: Iterable[Command]) -> str:
    return "".join(f"{command}\n" for command in commands)


def _before(given: ChangeRequest) -> str:
    """Return the earlier FRR configuration, with an empty section for each interface that the change adds.

    FRR keeps the section of an existing interface, and ``frr-reload.py`` fails if it has to remove the section ("only
    inactive interfaces can be deleted"). ``given`` is the change.
    """
    text = given.before[_FILE]
    there = set(_INTERFACE.findall(text))
    new = [name for name in dict.fromkeys(_INTERFACE.findall(given.target.get(_FILE, ""))) if name not in there]
    return text + "".join(f"{name}\nexit\n" for name in new)


def _in_turn(commands: Mapping[str, Iterable[Command]]) -> tuple[str, str]:
    """Return (commands before ``frr.conf`` changes, commands after the change) for the settings of the host.

    ``commands`` has the commands for each file of host settings.
    """
    first, then = list["Command"](), list["Command"]()
    for file in (host.PARAMETERS, host.LINKS):
        part = first
        for command in commands.get(file, ()):
            if command == host.THEN_DAEMONS:
                part = then
            else:
                part.append(command)
    return _lines(first), _lines(then)


async def _put_way_back(session: Session, given: ChangeRequest, now: Mapping[str, str]) -> None:
    """Write the files for the rollback to the machine.

    They contain FRR's earlier configuration, the lines that change the present configuration ``now`` into the earlier one,
    and the commands that restore the host's earlier settings. ``session`` is the connection to the device, ``given`` the change.
    """
    back = {
        file: host.changes(file, now[file], given.before[file])
        for file in given.before
        if file in now and host.is_one(file)
    }
    for name, text in zip(("host-back-first", "host-back-then"), _in_turn(back), strict=True):
        await _put(session, given.label, name, f"{text}true\n")
    await _put(session, given.label, "before.conf", _before(given))
    await _put(session, given.label, "back.conf", _between(now[_FILE], given.before[_FILE]))


def _between(now: str, then: str) -> str:
    """Return the lines that change the FRR configuration ``now`` into ``then``.

    The rollback enters these lines before it runs ``frr-reload.py``. This program drops the VRF from the name of an
    interface in a file, but not in the configuration that FRR shows. Without these lines, it would remove every interface of a
    VRF that is a network namespace (seen on FRR 10.3).
    """
    from railweave.systems.frr.read import parsed

    return _lines(compare(parsed(_FILE, now), parsed(_FILE, then)).commands)


async def _script(session: Session, text: str, label: str, *more: object) -> str:
    return await script(session, START + text, label, *more)


async def _put(session: Session, label: str, name: str, text: str) -> None:
    await put(session, START, label, name, text)


async def running(session: Session) -> dict[str, str]:
    """Return FRR's running configuration and the settings of the host, by file name.

    The heading of FRR's output is left out, because FRR could not read it. ``session`` is the connection to the device.
    """
    return {
        _FILE: await session.execute("vtysh -c 'show running-config no-header'"),
        host.LINKS: await session.execute(f"vtysh -c '{host.QUERIES[host.LINKS]} json'"),
        host.PARAMETERS: await session.execute(host.QUERIES[host.PARAMETERS]),
    }


async def rehearse(session: Session, given: ChangeRequest) -> str:
    """Let ``vtysh`` check every line of the change without applying the lines. Return the lines of the change.

    ``session`` is the connection to the device, ``given`` the change.
    """
    lines = _lines(given.commands.get(_FILE, ()))
    await _put(session, given.label, "rehearsed.conf", lines)
    try:
        await _tried(session, given.label, "rehearsed.conf")
    finally:
        await clear(session, given.label)
    return lines + "".join(_in_turn(given.commands))


async def commit(session: Session, given: ChangeRequest, seconds: int) -> None:
    """Start the rollback timer of ``seconds``, then enter the lines one after another. If FRR refuses a line, restore the earlier configuration.

    ``session`` is the connection to the device, ``given`` the change.
    """
    await _put_way_back(session, given, {**given.before, **given.target})
    lines = [str(line) for line in given.commands.get(_FILE, ())]
    made = {match[1] for line in lines if (match := _INSTANCE.fullmatch(line))}
    last = [line for line in lines if (match := _INSTANCE.fullmatch(line.removeprefix("no "))) and match[1] not in made]
    await _put(session, given.label, "change.conf", _lines(line for line in lines if line not in last))
    await _put(session, given.label, "last.conf", _lines(last))
    for name, text in zip(("host-first", "host-then"), _in_turn(given.commands), strict=True):
        await _put(session, given.label, name, text)
    await _put(session, given.label, "back.sh", _BACK.format(START))
    await _tried(session, given.label, "before.conf")
    await _script(session, _ARM, given.label, seconds)
    try:
        await _script(session, _HOST, given.label, "host-first")
        _raise_complaints(await _script(session, _CHANGE, given.label))
        await _script(session, _HOST, given.label, "host-then")
        await _script(session, _WAKE, given.label)
    except RefusedError as refused:
        try:
            await revert(session, given.label)
        except RefusedError as failed:
            raise RefusedError(f"{refused}; going back failed too: {failed}") from None
        raise


async def _tried(session: Session, label: str, name: str) -> None:
    """Let ``vtysh`` check a file without applying it. Raises ``RefusedError`` with the lines that FRR does not know.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    _raise_complaints(await _script(session, _READ, label, name))


def _raise_complaints(answer: str) -> None:
    if complaints := _COMPLAINT.findall(answer):
        raise RefusedError(f"FRR does not take it: {'; '.join(complaints[:3])}")


async def pending(session: Session) -> Pending | None:
    """Return the change whose rollback timer is running, or None. ``session`` is the connection to the device."""
    return await transaction.pending(session, START)


async def confirm(session: Session, label: str) -> None:
    """Save ``frr.conf`` and stop the rollback timer. Raises ``RefusedError`` if the change was already rolled back.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    await _script(session, _CONFIRM, label)


async def revert(session: Session, label: str) -> None:
    """Load the configuration from before the change now, without waiting for the rollback timer.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    await _script(session, _REVERT, label)


async def restore(session: Session, given: ChangeRequest) -> None:
    """Load ``given.before``, the configuration before the change, and save it. ``session`` is the connection to the device."""
    await _put_way_back(session, given, await running(session))
    await _tried(session, given.label, "before.conf")
    await _script(session, _RESTORE, given.label)


async def clear(session: Session, label: str) -> None:
    """Remove the files of a change from the machine. Does nothing if the change still waits for confirmation.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    await _script(session, _CLEAR, label)
