"""The interface of the modules ``transaction``, which change running devices, and a rollback timer for devices without confirmed commit.

This module does not interpret the content of a change. The caller records the change first (``operations.deploy.journal``).
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from railweave.errors import RailweaveError
from railweave.model.config.gate import hidden
from railweave.reading import CONTROL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.config.tree import Command


Spoken = Literal["ssh", "netconf", "eapi"]
"""A protocol by which commands are sent to a device."""


class RefusedError(RailweaveError):
    """The error that is raised if a device refuses a command. ``what`` is the reason in one line, with secrets left out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.what = CONTROL.sub("?", hidden(" ".join(reason.split())))[:300]

    def __str__(self) -> str:
        return self.what


class Session(Protocol):
    """An open connection to one device, through which the device can be changed."""

    async def execute(self, words: str, given: str = "") -> str:
        """Send ``words`` to the device and return its answer. The meaning of ``words`` and ``given`` depends on the protocol:

        - SSH, and in a lab: ``words`` is a command, and ``given`` is its input.
        - NETCONF: ``words`` is the body of a remote procedure call. If ``given`` is ``text``, the answer is the text inside the reply.
        - eAPI: each line of ``words`` is a command. The answer is a JSON list of the outputs, or of JSON objects if ``given`` is ``json``.

        Raises ``RefusedError`` if the device refuses, and ``ReachError`` if the connection is lost.
        """
        ...

    async def close(self) -> None:
        """Close the connection. Never raises."""
        ...


@dataclass(frozen=True)
class ChangeRequest:
    """A change for a device.

    - ``label``: the name of the change on the device: one word that begins with ``railweave-``.
    - ``commands``: the commands that make the change, by file.
    - ``target``, ``before``: the whole configuration after and before the change, by file.
    """

    label: str
    commands: Mapping[str, Sequence[Command]]
    target: Mapping[str, str]
    before: Mapping[str, str]


@dataclass(frozen=True)
class Pending:
    """A change that a device reverts on its own unless the change is confirmed.

    - ``label``: the label of the change; empty if railweave did not make it.
    - ``seconds``: the seconds left; None if the device does not show them.
    """

    label: str
    seconds: int | None = None


def must_wait(waiting: Pending | None, label: str) -> None:
    """Raise ``RefusedError`` unless ``waiting``, the pending change of a device, has this label."""
    if waiting is None or waiting.label != label:
        raise RefusedError(f"{label} does not wait to be confirmed there any more")


class Transaction(Protocol):
    """The functions of a system's module ``transaction``.

    Only ``commit`` starts a change. It starts a rollback timer on the device before the change takes effect. Every function
    raises ``RefusedError`` if the device refuses, and ``ReachError`` if the connection is lost.
    """

    PROTOCOL: Spoken
    """The protocol by which commands are sent to the device."""
    ATOMIC: bool
    """True if the device applies a change either completely or not at all."""
    FILES: Mapping[str, str]
    """By query about the running configuration: the name of the rendered file to which the answer corresponds."""
    WHOLE: Mapping[str, Command]
    """The command that loads a whole configuration file, by file name, for devices that refuse some single changes.

    Loading a whole file disrupts all traffic.
    """

    async def running(self, session: Session) -> dict[str, str]:
        """Return the texts of the running configuration, by the names of the files that railweave renders.

        ``session`` is the connection to the device.
        """
        ...

    async def rehearse(self, session: Session, given: ChangeRequest) -> str:
        """Let the device check a change without applying it. Return the differences that the device reports.

        ``session`` is the connection to the device, ``given`` the change.
        """
        ...

    async def commit(self, session: Session, given: ChangeRequest, seconds: int) -> None:
        """Start the rollback timer and apply a change. Unless the change is confirmed within ``seconds``, the device reverts it.

        ``session`` is the connection to the device, ``given`` the change.
        """
        ...

    async def pending(self, session: Session) -> Pending | None:
        """Return the change that waits for confirmation, or None if no change does. ``session`` is the connection to the device."""
        ...

    async def confirm(self, session: Session, label: str) -> None:
        """Confirm the pending change, so that the device keeps it even after a restart. ``label`` is the name of the change.

        ``session`` is the connection to the device.
        """
        ...

    async def revert(self, session: Session, label: str) -> None:
        """Revert the pending change now. ``session`` is the connection to the device, ``label`` the name of the change."""
        ...

    async def restore(self, session: Session, given: ChangeRequest) -> None:
        """Apply the configuration ``given.before``, whatever configuration the device runs now.

        This repairs a change that was applied only in part. ``session`` is the connection to the device.
        """
        ...

    async def clear(self, session: Session, label: str) -> None:
        """Remove the candidates, sessions and files that a finished change left on the device. ``label`` is the name of the change."""
        ...


ROOT = """if [ "$(id -u)" = 0 ]; then exec sh -c "$0" "$@"; else exec sudo -n sh -c "$0" "$@"; fi"""
"""Shell code that runs a script as root. The script is its first argument. ``sudo`` must not require a password."""

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
"""Shell functions for the scripts that change a device. A script's first argument (``$1``) is the label of the change.

``armed FOLDER`` succeeds if the change in the folder waits for confirmation. ``arm SECONDS`` writes the file ``armed``
and starts the rollback timer, and ``disarm`` stops the timer. ``alone`` waits until no other script works on this
change.
"""

_PENDING = """for one in "$root"/*; do
  if armed "$one"; then echo "$(basename "$one") $(($(cut -d' ' -f1 "$one/armed") - $(date +%s)))"; fi
done
"""
_PUT = 'mkdir -p "$folder" && cat > "$folder/$2"'


async def script(session: Session, text: str, label: str = "-", *more: object, given: str = "") -> str:
    """Run a shell script as root, and return its output. The script's arguments are ``label`` and ``more``; ``given`` is its input.

    Raises ``RefusedError`` if the script fails, and ``ReachError`` if the connection is lost. ``session`` is the connection to the device.
    """
    return await session.execute(shlex.join(["sh", "-c", ROOT, text, "railweave", label, *map(str, more)]), given)


async def put(session: Session, start: str, label: str, name: str, text: str) -> None:
    """Write ``text`` to the file ``name`` in the folder of a change on the device. ``start`` is shell code that contains ``FUNCTIONS``.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    await script(session, start + _PUT, label, name, given=text)


async def pending(session: Session, start: str = FUNCTIONS) -> Pending | None:
    """Return the change whose rollback timer is running, or None. ``start`` is shell code that contains ``FUNCTIONS``.

    ``session`` is the connection to the device.
    """
    words = (await script(session, start + _PENDING)).split()
    return Pending(words[0], int(words[1])) if len(words) > 1 else None
