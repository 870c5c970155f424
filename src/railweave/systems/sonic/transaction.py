"""Changes on SONiC.

Tables change by a JSON patch, or by ``config reload`` if the patch tool refuses the patch. Routing changes by lines of
``vtysh``.

SONiC has no commit that reverts itself, its patch tool applies one step after another, and nothing connects changes of
tables and of routing (sonic-utilities, ``generic_config_updater``). Therefore a timer on the switch is started first.
When the timer ends, the switch rolls back to a checkpoint and undoes the lines of FRRouting.

Long operations (a patch may take minutes) run in the background on the switch, so that a lost login does not interrupt
them. Until the change is confirmed, ``config_db.json`` and ``frr.conf`` on the disk are unchanged, so a restart of the
switch also restores the earlier configuration.

The container of FRRouting has no ``frr-reload.py`` (sonic-buildimage, ``rules/docker-fpm-frr.mk``). If undoing the
lines does not restore the earlier running configuration, FRRouting is restarted with that configuration.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from railweave.model.config.compare import compare
from railweave.reading import parse_json
from railweave.systems import transaction
from railweave.systems.frr.idle_sessions import WAKE
from railweave.systems.transaction import FUNCTIONS, ChangeRequest, RefusedError, Session, put, script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.tree import Command

PROTOCOL = "ssh"
TABLES, ROUTING = "config_db.json", "frr.conf"
ATOMIC = False
FILES = {"configuration": TABLES, "configuration-frr": ROUTING}
WHOLE = {TABLES: "config reload -y config_db.json"}
_LONGEST_S = 3600
"""The longest time in seconds that a rollback may take. Patches of port speeds have taken 40 minutes (sonic-net/sonic-buildimage issue 23945)."""

_START = (
    "umask 077\n"
    + FUNCTIONS
    + """PATH=$PATH:/usr/local/bin
etc=${RAILWEAVE_SONIC_FOLDER:-/etc/sonic}
frr() { docker exec bgp vtysh "$@"; }
lines() {
  docker exec -i bgp sh -c 't=$(mktemp) && cat > "$t" && { vtysh "$@" --inputfile "$t" 2>&1; rm -f "$t"; }' vtysh $2 < "$1" > said || return 1
  ! grep -E '^(line [0-9]+: |%)' said
}
runs() { frr -c 'show running-config no-header'; }
plain() {
  awk '/^ *(exit|end|!)/ {next} /^[^ ]/ {top = $0} /^ [^ ]/ {part = $0} /^  / {print top part $0; next} /^ / {print top $0; next}
    !/^interface / {print}' "$@" | sort
}
routed() { runs | plain > now.plain && plain before.conf | cmp -s - now.plain; }
answers() {
  n=0
  until runs > /dev/null 2>&1; do n=$((n + 1)); [ $n -lt 300 ] || return 1; sleep 1; done
}
came() {
  grep -q '^router bgp' "$1" || return 0
  n=0
  until [ -s "$etc/frr/frr.conf" ] && runs | grep -q '^router bgp'; do
    n=$((n + 1))
    if [ $n -gt 20 ]; then
      [ -s "$etc/frr/frr.conf" ] || echo "$etc/frr/frr.conf is missing or empty: copy frr.conf of build there, then: sudo systemctl restart bgp" >&2
      echo "FRRouting runs no BGP after the reload: see docker logs bgp, and vtysh -C -f /etc/frr/frr.conf in the container bgp; then: sudo systemctl restart bgp" >&2
      return 1
    fi
    sleep 3
  done
}
anew() {
  cat "$etc/frr/frr.conf" > "$folder/disk.conf" && cat "$1" > "$etc/frr/frr.conf" || return 1
  text=$1; shift; "$@" && answers && came "$text"; status=$?
  cat "$folder/disk.conf" > "$etc/frr/frr.conf" && return $status
}
reloaded() { config reload -y -f "$1" > /dev/null; }
restarted() { systemctl reset-failed bgp; systemctl restart bgp; }
routed_back() {
  routed || { [ -e back.conf ] && lines back.conf; routed; } || anew before.conf restarted
}
"""
    + WAKE
)
"""Shell functions for the scripts below.

``lines FILE [--dryrun]`` enters FRRouting lines and prints the lines that FRRouting rejects. ``anew FILE COMMAND…`` runs
a command that starts FRRouting with the content of a file. ``frr.conf`` on the disk stays the same.
"""

_REHEARSE = """if [ -s patch.json ]; then config apply-patch --dry-run "$folder/patch.json" || exit 1; fi
if [ -s after.json ]; then sonic-cfggen -j "$folder/after.json" --print-data > /dev/null || exit 1; fi
if [ -s change.conf ]; then lines change.conf --dryrun; fi
"""
_BACK = """armed . || exit 0
if [ -e after.json ]; then anew before.conf reloaded "$folder/before.json" || exit 1
elif [ -e patch.json ]; then
  config rollback "$label" > /dev/null || anew before.conf reloaded "$folder/before.json" || exit 1
fi
routed_back || exit 1
wake
if [ -e saving ]; then cp saved.json "$etc/config_db.json" && cat saved.conf > "$etc/frr/frr.conf" || exit 1; fi
rm -f armed
"""
_ARM = """alone && cd "$folder" && nothing_waits &&
sonic-cfggen -d --print-data > before.json && runs > before.conf &&
cp "$etc/config_db.json" saved.json && cat "$etc/frr/frr.conf" > saved.conf || exit 1
if [ -e patch.json ]; then config checkpoint "$label" > /dev/null || exit 1; fi
arm "$2"
"""
_WORK = """armed . || exit 1
if [ -e after.json ]; then
  if [ -e after.conf ]; then anew after.conf reloaded "$folder/after.json"; else anew before.conf reloaded "$folder/after.json"; fi
  exit
fi
if [ -e patch.json ]; then config apply-patch "$folder/patch.json" || exit 1; fi
if [ -e change.conf ]; then lines change.conf && wake; fi
"""
_RESTORE = """if [ -e before.json ]; then
  config replace "$folder/before.json" > /dev/null || anew before.conf reloaded "$folder/before.json" || exit 1
fi
routed_back && config save -y > /dev/null && frr -c 'write memory' > /dev/null
"""
_CONFIRM = """alone && cd "$folder" || exit 1
armed . || { echo 'it is not waiting any more' >&2; exit 1; }
: > saving
config save -y > /dev/null && frr -c 'write memory' > /dev/null && rm -f armed && disarm
"""
_DISARM = """disarm
"""
_CLEAR = """! armed "$folder" || exit 0
if [ -e "$folder/patch.json" ]; then config delete-checkpoint "$label" > /dev/null 2>&1; fi
rm -rf "$folder"
"""
_SCRIPT = """# Written by railweave deploy.
{}(
cd "$folder" && exec 9> lock && flock 9 || exit 1
{}) > "$folder/{}.log" 2>&1
echo $? > "$folder/result"
"""
_BEGIN = """rm -f "$folder/result"
if machine; then systemd-run --quiet --collect sh "$folder/$2.sh" "$label"
else setsid sh "$folder/$2.sh" "$label" > /dev/null 2>&1 < /dev/null & fi
"""
_ENDED = """n=0
until [ -s "$folder/result" ]; do n=$((n + 1)); [ $n -le 100 ] || { echo busy; exit 0; }; sleep 0.1; done
cat "$folder/$2.log" >&2; exit "$(cat "$folder/result")"
"""


async def _script(session: Session, text: str, label: str = "-", *more: object) -> str:
    return await script(session, _START + text, label, *more)


async def _put_script(session: Session, label: str, name: str, text: str) -> None:
    await put(session, _START, label, f"{name}.sh", _SCRIPT.format(_START, text, name))


async def _done(session: Session, label: str, name: str, text: str, seconds: int) -> None:
    """Run a script in the background on the switch, and wait until it ends. The script is the file ``name`` with the content ``text``.

    Raises ``RefusedError`` with the script's output if the script fails or does not end within ``seconds``. ``session`` is the connection
    to the device, ``label`` the name of the change.
    """
    await _put_script(session, label, name, text)
    await _script(session, _BEGIN, label, name)
    waited = 0
    while "busy" in await _script(session, _ENDED, label, name):
        waited += 10
        if waited > seconds:
            raise RefusedError(f"it has not ended after {seconds} s, and goes on: see {name}.log of {label} there")


async def _given(session: Session, given: ChangeRequest) -> None:
    """Copy the files of a change to the switch: a patch or whole tables, FRRouting lines, and the lines that undo them.

    ``session`` is the connection to the device, ``given`` the change.
    """
    tables, routing = given.commands.get(TABLES, ()), given.commands.get(ROUTING, ())
    if any(isinstance(table, str) for table in tables):
        await put(session, _START, given.label, "after.json", given.target[TABLES])
        if routing:
            await put(session, _START, given.label, "after.conf", _file(given.target[ROUTING]))
    elif tables:
        await put(session, _START, given.label, "patch.json", json.dumps(list(tables), indent=1))
    if routing:
        await put(session, _START, given.label, "change.conf", _lines(routing))
        await put(session, _START, given.label, "back.conf", _between(given.target[ROUTING], given.before[ROUTING]))


def _lines(commands: Iterable[Command]) -> str:
    return "".join(f"{command}\n" for command in commands)


def _file(text: str) -> str:
    """Return FRRouting's running configuration without the heading that ``show running-config`` prints, so that FRRouting can read it as a file."""
    return text.partition("Current configuration:\n")[2] or text


def _between(old: str, new: str) -> str:
    """Return the FRRouting lines that change the text ``old`` into ``new``."""
    from railweave.systems.sonic.read import parsed

    return _lines(compare(parsed(ROUTING, old), parsed(ROUTING, new)).commands)


def _mode(text: str) -> str:
    parsed = cast("dict[str, dict[str, dict[str, str]]]", parse_json(text))
    return parsed.get("DEVICE_METADATA", {}).get("localhost", {}).get("docker_routing_config_mode", "separated")


def _must_last(given: ChangeRequest) -> None:
    """Raise ``RefusedError`` if FRRouting would not read ``frr.conf`` at its next start, because the change would then be lost.

    Source: sonic-buildimage, ``dockers/docker-fpm-frr/docker_init.sh``. ``given`` is the change.
    """
    for text in (given.before[TABLES], given.target.get(TABLES, given.before[TABLES])):
        if (mode := _mode(text)) != "split-unified":
            raise RefusedError(
                f"lines of FRRouting would not last: docker_routing_config_mode is {mode}, and only with split-unified does FRRouting start "
                "with frr.conf: load the files of `build` by hand"
            )


async def running(session: Session) -> dict[str, str]:
    """Return the tables of CONFIG_DB, and FRRouting's running configuration, by file name.

    ``session`` is the connection to the device.
    """
    tables = await session.execute("sonic-cfggen -d --print-data")
    return {TABLES: tables, ROUTING: await session.execute("vtysh -c 'show running-config'")}


async def rehearse(session: Session, given: ChangeRequest) -> str:
    """Let the patch tool and ``vtysh`` check the change without applying it. Return the patch operations and FRRouting lines.

    Raises ``RefusedError`` if the patch tool or ``vtysh`` refuses the change. ``session`` is the connection to the device, ``given`` the
    change.
    """
    _must_last(given)
    label = f"{given.label}-rehearsal"
    try:
        await _given(session, replace(given, label=label))
        await _done(session, label, "rehearse", _REHEARSE, _LONGEST_S)
    finally:
        await _script(session, 'rm -rf "$folder"', label)
    shown = [
        command if isinstance(command, str) else json.dumps(command)
        for file in given.commands
        for command in given.commands[file]
    ]
    return _lines(shown)


async def commit(session: Session, given: ChangeRequest, seconds: int) -> None:
    """Make a checkpoint, start the rollback timer of ``seconds``, then change tables and routing.

    If the switch refuses a part of the change, the whole change is reverted. Raises ``RefusedError`` in three cases:

    - The switch refused a part of the change.
    - Another change waits for confirmation.
    - The lines of FRRouting would not survive a restart.

    ``session`` is the connection to the device, ``given`` the change.
    """
    _must_last(given)
    if (waiting := await pending(session)) is not None:
        raise RefusedError(f"{waiting.label} waits to be confirmed there already")
    await clear(session, given.label)
    await _given(session, given)
    await _put_script(session, given.label, "back", _BACK)
    await _script(session, _ARM, given.label, seconds)
    try:
        await _done(session, given.label, "work", _WORK, seconds)
    except RefusedError:
        await revert(session, given.label)
        raise


pending = transaction.pending
"""Return the change whose rollback timer is running, or None. The parameter ``session`` is the connection to the switch."""


async def confirm(session: Session, label: str) -> None:
    """Save both files and stop the rollback timer. Raises ``RefusedError`` if the change was already rolled back.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    await _script(session, _CONFIRM, label)


async def revert(session: Session, label: str) -> None:
    """Roll back now, to the checkpoint and the earlier FRRouting lines. Raises ``RefusedError`` if the rollback fails.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    await _done(session, label, "back", _BACK, _LONGEST_S)
    await _script(session, _DISARM, label)


async def restore(session: Session, given: ChangeRequest) -> None:
    """Restore the configuration from before the change, and save it. ``config replace`` is tried first, then ``config reload``.

    Raises ``RefusedError`` if both fail. ``session`` is the connection to the device, ``given`` the change.
    """
    now = await running(session)
    label = given.label
    await clear(session, label)
    await put(session, _START, label, "before.conf", _file(given.before.get(ROUTING, now[ROUTING])))
    if TABLES in given.before:
        await put(session, _START, label, "before.json", given.before[TABLES])
    if back := _between(now[ROUTING], given.before.get(ROUTING, now[ROUTING])):
        await put(session, _START, label, "back.conf", back)
    await _done(session, label, "restore", _RESTORE, _LONGEST_S)


async def clear(session: Session, label: str) -> None:
    """Remove the files and the checkpoint of a change. Does nothing if the change still waits for confirmation.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    await _script(session, _CLEAR, label)
