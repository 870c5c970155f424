"""Changes of a server with ``railweave host apply`` and a new ``host.json``, through the same functions as changes of a switch.

The running state of a server is its installed ``host.json``, together with the routes and rules of that file that the
kernel lacks. The program is copied as a zipapp, so it need not be installed.

First, a rollback timer is started on the server. When the timer expires, the server applies the former ``host.json``. If
there was none, it undoes all changes of ``host apply``. The new file is installed only when the change is confirmed, so that
a restart of the server before then also rolls back. If ``host apply`` is killed, its journal shows what is left to do,
and the next apply or undo completes it.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from railweave.host import files
from railweave.live.fleet.host_tree import AMISS, FILE, without_amiss
from railweave.reading import file_bytes, parse_json
from railweave.systems import transaction
from railweave.systems.transaction import FUNCTIONS, ChangeRequest, RefusedError, Session, put, script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.tree import Command

PROTOCOL = "ssh"
ATOMIC = False
FILES: Mapping[str, str] = {}
WHOLE: Mapping[str, Command] = {}
_MARK = "-- railweave host plan --"

_START = (
    "umask 022\n"
    + FUNCTIONS
    + """host=${RAILWEAVE_DEPLOY_HOST_FILE:-${RAILWEAVE_HOST_FILE:-/etc/railweave/host.json}}
state=${RAILWEAVE_STATE_FILE:-/var/lib/railweave/host.state.json}
service=railweave-host.service
program() {
  from=$1; shift
  python3 "$from/railweave-host.pyz" "$@" --state-file "$state" ${RAILWEAVE_NAMES_FILE:+--names-file "$RAILWEAVE_NAMES_FILE"}
}
rest() { if machine && systemctl is-active --quiet $service; then : > "$folder/served" && systemctl stop $service; fi; }
wake() { if machine && [ -e "$folder/served" ]; then systemctl start $service; fi; true; }
carry_out() {
  if [ -s "$1" ]; then program "$folder" apply --host-file "$@"; else program "$folder" undo; fi
}
install() {
  if [ ! -s "$1" ]; then rm -f "$host"; return; fi
  mkdir -p "$(dirname "$host")" && cp "$1" "$host.new" && sync "$host.new" && mv "$host.new" "$host"
}
"""
)
_UNPACKED = """t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT && base64 -d > "$t/railweave-host.pyz" || exit 1
"""
_RUNNING = """f=$host
for one in "$root"/*; do if armed "$one"; then f=$one/after.json; fi; done
if [ ! -s "$f" ]; then
  if [ "$f" = "$host" ] && [ -s "$state" ]; then echo "routes of a plan that is not in $host are in force: install it there" >&2; exit 1; fi
  exit 0
fi
cat "$f" && printf '\\n%s\\n' "$2" && { program "$t" plan --json --host-file "$f" 2> /dev/null; true; }
"""
_PUT_PROGRAM = 'mkdir -p "$folder" && base64 -d > "$folder/railweave-host.pyz"'
_REHEARSE = """if [ -s "$folder/rehearsed.json" ]; then program "$folder" plan --host-file "$folder/rehearsed.json"
else program "$folder" undo --dry-run; fi
"""
_BACK = """cd "$folder" && exec 9> lock && flock 9 || exit 1
armed . || exit 0
rest
carry_out before.json --partial > back.log 2>&1 && install before.json || exit 1
rm -f armed; wake
"""
_COMMIT = """alone && cd "$folder" && nothing_waits || exit 1
if [ -e "$host" ]; then cp "$host" before.json; else rm -f before.json; fi && arm "$2" || exit 1
rest; carry_out after.json
"""
_CONFIRM = """alone && cd "$folder" || exit 1
armed . || { echo 'it is not waiting any more' >&2; exit 1; }
install after.json && rm -f armed && disarm && wake
"""
_REVERT = """sh "$folder/back.sh" "$label" || { cat "$folder/back.log" >&2; exit 1; }
disarm
"""
_RESTORE = """rest
carry_out "$folder/before.json" --partial && install "$folder/before.json" && wake
"""
_CLEAR = 'armed "$folder" || rm -rf "$folder"'


async def _script(session: Session, text: str, label: str = "-", *more: object, given: str = "") -> str:
    return await script(session, _START + text, label, *more, given=given)


@cache
def _program() -> str:
    """Return the zipapp of ``railweave host``, encoded in base64."""
    with TemporaryDirectory() as place:
        files.write_program(Path(place) / "railweave-host.pyz")
        return base64.encodebytes(file_bytes(Path(place) / "railweave-host.pyz")).decode()


async def running(session: Session) -> dict[str, str]:
    """Return the text of the installed ``host.json``, by file name; the text is empty if the server has no such file.

    The text also lists the routes and rules that the kernel lacks (``AMISS``). No files are left on the server. Raises ``RefusedError`` if
    routes of a plan that is not installed are in use.
    """
    output = await _script(session, _UNPACKED + _RUNNING, "-", _MARK, given=_program())
    text, _, answer = output.partition(f"\n{_MARK}\n")
    if not text.strip():
        return {FILE: ""}
    try:
        plan, plan_answer = parse_json(text), parse_json(answer)
    except ValueError:
        raise RefusedError(f"its {FILE} or the answer of `host plan` is no JSON") from None
    return {FILE: json.dumps(_with_amiss(plan, plan_answer), indent=1) + "\n"}


def _with_amiss(plan: dict[str, Any], plan_answer: dict[str, Any]) -> dict[str, Any]:
    if "message" in plan_answer:
        return {**plan, AMISS: [str(plan_answer["message"])]}
    amiss = [" ".join(words) for words in cast("list[list[str]]", plan_answer.get("commands", []))]
    if plan_answer.get("table_names") is not None:
        amiss.append("names of routing tables")
    return {**plan, AMISS: amiss} if amiss else plan


async def rehearse(session: Session, given: ChangeRequest) -> str:
    """Test the change ``given``: return the output of ``host plan`` on the server for the new file.

    Raises ``RefusedError`` if a NIC is not ready.
    """
    await _script(session, _PUT_PROGRAM, given.label, given=_program())
    await put(session, _START, given.label, "rehearsed.json", given.target[FILE])
    try:
        return await _script(session, _REHEARSE, given.label)
    finally:
        await clear(session, given.label)


async def commit(session: Session, given: ChangeRequest, seconds: int) -> None:
    """Start the rollback timer, then apply the new file of the change ``given``. If the server refuses the change, revert at once.

    ``seconds`` is the time until the rollback. Raises ``RefusedError`` if the server refuses the change.
    """
    await _script(session, _PUT_PROGRAM, given.label, given=_program())
    await put(session, _START, given.label, "after.json", given.target[FILE])
    await put(session, _START, given.label, "back.sh", f"# Written by railweave deploy.\n{_START}{_BACK}")
    try:
        await _script(session, _COMMIT, given.label, seconds)
    except RefusedError:
        await revert(session, given.label)
        raise


pending = transaction.pending
"""Return the change whose rollback timer is running on the server, or None."""


async def confirm(session: Session, label: str) -> None:
    """Install the new file and stop the rollback timer. Raises ``RefusedError`` if the change was already rolled back.

    ``label`` identifies the change.
    """
    await _script(session, _CONFIRM, label)


async def revert(session: Session, label: str) -> None:
    """Apply the former ``host.json`` now. If there was none, undo all changes of ``host apply``. ``label`` identifies the change."""
    await _script(session, _REVERT, label)


async def restore(session: Session, given: ChangeRequest) -> None:
    """Apply and install the file from before the change (``given.before``), regardless of the plan in use."""
    await _script(session, _PUT_PROGRAM, given.label, given=_program())
    await put(session, _START, given.label, "before.json", without_amiss(given.before)[FILE])
    await _script(session, _RESTORE, given.label)


async def clear(session: Session, label: str) -> None:
    """Remove the files of the change ``label`` from the server, unless the change waits for its confirmation."""
    await _script(session, _CLEAR, label)
