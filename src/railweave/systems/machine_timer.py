"""The way back of a machine whose system has no confirmed commit: a timer armed on it first, as functions of its shell.

A change has a folder on the machine, called by its label. While ``armed`` is in it, the change waits, and the script ``back.sh`` brings back
what was before; it is run by the timer, or earlier. ``armed`` holds the second (Unix time) at which the timer is due, and the machine's boot:
after a restart nothing waits any more, for no timer outlives one, and the machine has come up with what was saved before the change.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from railweave.systems.transaction import Pending

if TYPE_CHECKING:
    from railweave.systems.transaction import Session

ROOT = """if [ "$(id -u)" = 0 ]; then exec sh -c "$0" "$@"; else exec sudo -n sh -c "$0" "$@"; fi"""
"""Runs a script, its first argument, as root; ``sudo`` must ask for no password."""

FUNCTIONS = """root=${RAILWEAVE_DEPLOY_FOLDER:-/var/lib/railweave/deploy}
label=$1 folder=$root/$1
machine() { [ -z "$RAILWEAVE_LAB" ] && [ -d "${RAILWEAVE_SYSTEMD_FOLDER:-/run/systemd/system}" ]; }
boot() { cat /proc/sys/kernel/random/boot_id; }
armed() { grep -qs "$(boot)" "$1/armed"; }
alone() { mkdir -p "$folder" && exec 9> "$folder/lock" && flock 9; }
nothing_waits() {
  for one in "$root"/*; do
    if armed "$one"; then echo "$(basename "$one") waits to be confirmed there already" >&2; return 1; fi
  done
}
arm() {
  echo "$(($(date +%s) + $1)) $(boot)" > "$folder/armed" || return 1
  if machine; then
    systemd-run --quiet --collect --timer-property=AccuracySec=1s --unit="$label" --on-active="$1" sh "$folder/back.sh" "$label" ||
      { rm -f "$folder/armed"; return 1; }
  else
    setsid sh -c 'echo $$ > "$3/timer"; sleep "$2"; exec sh "$3/back.sh" "$1"' "$label" "$label" "$1" "$folder" > /dev/null 2>&1 < /dev/null 9>&- &
  fi
}
disarm() {
  if machine; then systemctl stop "$label.timer" 2> /dev/null
  elif grep -qs "$label" "/proc/$(cat "$folder/timer")/cmdline"; then kill -- "-$(cat "$folder/timer")"; fi; true
}
"""
"""``$1`` is the change's label. ``armed FOLDER``: that change waits. ``arm SECONDS`` writes ``armed`` and starts the timer; ``disarm`` stops it; ``alone`` waits until nothing else is at work on this change."""

_PENDING = """for one in "$root"/*; do
  if armed "$one"; then echo "$(basename "$one") $(($(cut -d' ' -f1 "$one/armed") - $(date +%s)))"; fi
done
"""
_PUT = 'mkdir -p "$folder" && cat > "$folder/$2"'


async def script(session: Session, text: str, label: str = "-", *more: object, given: str = "") -> str:
    """Run a script as root. Its first argument is the label, then come ``more``; ``given`` is its input. Raises ``RefusedError``, ``ReachError``."""
    return await session.tell(shlex.join(["sh", "-c", ROOT, text, "railweave", label, *map(str, more)]), given)


async def put(session: Session, start: str, label: str, name: str, text: str) -> None:
    """Write a file into the folder of a change. ``start`` begins with, or has, ``FUNCTIONS``."""
    await script(session, start + _PUT, label, name, given=text)


async def pending(session: Session, start: str = FUNCTIONS) -> Pending | None:
    """The change whose way back is armed. ``start`` begins with, or has, ``FUNCTIONS``."""
    said = (await script(session, start + _PENDING)).split()
    return Pending(said[0], int(said[1])) if len(said) > 1 else None
