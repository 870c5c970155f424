"""The commands `setup plan`, `setup apply` and `undo --setup`: show the steps, carry them out in order, and undo them.

A step is written to the journal before its first command, and again after its last one. If the program is killed, the
next run finds the unfinished step in the journal, and carries it out again.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from . import checking, files, host_file, journal, options, show
from .apply import delayed_interrupts
from .checks import server as running
from .checks.outcome import FAILED, VERDICTS
from .checks.server import server
from .failure import HostError, HostInputError
from .machine import TOOLS, FileMachine, Machine, ThisMachine, ran
from .setup_parts import DONE, NOT_SEEN, TO_DO, Bare, Command, SetupStep, State, state_of
from .setup_steps import STEPS

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from .journal import Journal, StepRecord
    from .machine import CommandOutput

_PROBE_S = 60.0
"""The time limit of a command that reads the state of a step, in seconds. `dkms status` and `grubby` are slow on some servers."""
CHECK = "check"
"""The name of the last step, `railweave host check` after the restart. `--skip` also accepts this name."""


class Installation(ThisMachine):
    """This server, read with a longer time limit for commands than in checks."""

    def _run(self, words: tuple[str, ...]) -> CommandOutput:
        return ran(words, self._path, _PROBE_S)


class Image(FileMachine):
    """A root folder of a system that is not running: its commands run under chroot."""

    def has(self, tool: str) -> bool:
        """Return True if a tool is installed in the folder."""
        return any(os.access(self._at(f"{folder}/{tool}"), os.X_OK) for folder in TOOLS.split(":"))

    def _run(self, words: tuple[str, ...]) -> CommandOutput:
        if "/" not in words[0] and not self.has(words[0]):
            return ran(("",), "", _PROBE_S)
        return ran(_in_root(self.root, words), f"{os.environ.get('PATH', '')}:{TOOLS}", _PROBE_S)


def _in_root(root: Path, words: tuple[str, ...]) -> tuple[str, ...]:
    return ("chroot", str(root), *words)


@dataclass(frozen=True)
class Row:
    """A step with its state now, for output.

    ``files`` has the names of required files; ``missing`` those that the folder of packages lacks. ``writes`` has the paths of files that
    the step writes. ``state``, ``commands``, ``inverse`` and ``left`` are the results of the step's functions with these names.
    """

    step: SetupStep
    state: State
    commands: tuple[Command, ...] = ()
    inverse: tuple[Command, ...] = ()
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    left: str = ""


def look(asked: Namespace) -> Bare:
    """Return the server to set up and its plan. The states of the steps are not read. Raises HostInputError for a wrong file or folder.

    ``asked`` has the parsed options.
    """
    image = asked.root is not None
    machine: Machine = Image(asked.root) if image else Installation()
    if image and not asked.root.is_dir():
        raise HostInputError(f"--root {asked.root}: is not a folder")
    plan = host_file.load(asked.host_file)
    wanted = server(machine, plan, files.parsed(files.content(asked.host_file)))
    folder: Path | None = asked.packages
    if folder is None:
        return Bare(machine, wanted, None, (), asked.repositories, image)
    try:
        names = tuple(sorted(path.name for path in folder.iterdir()))
    except OSError as error:
        raise HostInputError(f"--from {folder}: {error.strerror}") from None
    inside = str(folder.resolve())
    if image:
        root = str(asked.root.resolve())
        if os.path.commonpath([root, inside]) != root:
            raise HostInputError(f"--from {folder}: must be inside --root {asked.root}, where the commands run")
        inside = f"/{os.path.relpath(inside, root)}"
    return Bare(machine, wanted, inside, names, asked.repositories, image)


def chosen(only: Iterable[str], skip: Iterable[str]) -> list[SetupStep]:
    """Return the steps that the options ``--only`` and ``--skip`` select. Raises HostInputError for an unknown name."""
    known = [step.name for step in STEPS]
    for option, names in (("--only", only), ("--skip", skip)):
        for name in names:
            if name not in {*known, CHECK}:
                raise HostInputError(f"{option} {name}: no such step; steps are {', '.join([*known, CHECK])}")
    return [step for step in STEPS if (not only or step.name in only) and step.name not in skip]


def _state(step: SetupStep, bare: Bare, book: Journal) -> State:
    """Return the state of a step, taking into account what the journal ``book`` shows: an interrupted attempt, or a due restart.

    ``bare`` is the server to set up.
    """
    record = _record(book, step.name)
    if record and not record.ended:
        return State(TO_DO, "an earlier run has not finished it: it starts again")
    state = state_of(step, bare)
    if record and record.boot and record.boot == journal.boot() and state.word != NOT_SEEN and not bare.image:
        return State(TO_DO, f"{state.text}; the server has not restarted since", restart=True)
    return state


def _record(book: Journal, name: str) -> StepRecord | None:
    return next((record for record in reversed(book.steps) if record.name == name), None)


def _row(step: SetupStep, bare: Bare, book: Journal) -> Row:
    state = _state(step, bare, book)
    if state.word == DONE or state.restart:
        return Row(step, state)
    needed = tuple(step.files(bare))
    missing = tuple(name for name in needed if not bare.matching(name))
    if state.word == NOT_SEEN:
        return Row(step, state, files=needed, missing=missing)
    commands, inverse = tuple(step.commands(bare)), tuple(step.inverse(bare))
    return Row(step, state, commands, inverse, needed, missing, tuple(step.writes(bare)), step.left(bare))


def rows(asked: Namespace) -> tuple[Bare, list[Row]]:
    """Return the server to set up, and its steps with their states. ``asked`` has the options of the command."""
    bare, book = look(asked), journal.load(asked.state_file)
    bare.family  # noqa: B018 - refuses an unknown distribution before anything else
    return bare, [_row(step, bare, book) for step in chosen(asked.only, asked.skip) if step.applies(bare)]


def plan(asked: Namespace) -> int:
    """Print the steps with their states, commands and missing files.

    Return the exit code: 1 if `apply` could not carry out all steps, otherwise 0. ``asked`` has the parsed options.
    """
    bare, steps = rows(asked)
    missing = _missing(steps, TO_DO, NOT_SEEN)
    if asked.json:
        print(json.dumps(_document(bare, steps), indent=1))
    else:
        print("\n".join([_headline(bare, steps), *_lines(steps)]))
        print("".join(f"{line}\n" for line in _missing_lines(asked, missing)), end="")
    return 1 if missing or any(row.state.word == NOT_SEEN for row in steps) else 0


def _headline(bare: Bare, steps: list[Row]) -> str:
    words = ["done after a restart" if row.state.restart else row.state.word for row in steps]
    summary = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(sorted(words)))
    system = bare.release.get("PRETTY_NAME", "this system")
    return f"{bare.plan.plan.host}, {system}: {show.count(len(steps), 'step')}: {summary}"


def _lines(steps: list[Row]) -> list[str]:
    width = max((len(row.step.name) for row in steps), default=0)
    lines: list[str] = []
    for row in steps:
        lines.append(f"{row.state.word:8}  {row.step.name:{width}}  {row.state.text}")
        if row.state.word == DONE or row.state.restart:
            continue
        details = [("write", path) for path in row.writes]
        details += [("run", str(command)) for command in row.commands]
        details += [("undo", f"remove or put back {path}") for path in row.writes]
        details += [("undo", str(command)) for command in row.inverse]
        details += [("stays", row.left)] if row.left and row.commands else []
        details += [("needs", f"{name}{' (missing)' if name in row.missing else ''}") for name in row.files]
        details += [("restart", row.step.restart)] if row.step.restart and row.state.word == TO_DO else []
        details.append(("tried", row.step.tried))
        lines += [f"{'':10}{word:8}{text}" for word, text in details]
    return lines


def _missing(steps: list[Row], *words: str) -> list[str]:
    return list(dict.fromkeys(name for row in steps if row.state.word in words for name in row.missing))


def _missing_lines(asked: Namespace, missing: list[str]) -> list[str]:
    if not missing:
        return []
    where = f"--from {asked.packages} has not" if asked.packages else "give --from DIR with"
    return [f"{where} these files (* is any text):", *(f"  {name}" for name in missing)]


def _document(bare: Bare, steps: list[Row]) -> dict[str, Any]:
    return {
        "host": bare.plan.plan.host,
        "system": bare.release.get("PRETTY_NAME", ""),
        "steps": [
            {
                "step": row.step.name,
                "subject": row.step.subject,
                "source": row.step.source,
                "state": row.state.word,
                "text": row.state.text,
                "restart": row.step.restart if not row.state.restart else "pending",
                "writes": list(row.writes),
                "commands": [str(command) for command in row.commands],
                "undo": [str(command) for command in row.inverse],
                "stays": row.left,
                "files": [{"name": name, "missing": name in row.missing} for name in row.files],
                "tried": row.step.tried,
            }
            for row in steps
        ],
    }


def apply(asked: Namespace) -> int:
    """Carry out the steps that are to do, in order.

    Restart if an option allows it and a step needs it. Then check the server. ``asked`` has the parsed options.
    """
    say: Callable[[str], None] = (lambda _: None) if asked.json else (lambda line: print(line, flush=True))
    with journal.locked(asked.state_file) as lock:
        bare, before = rows(asked)
        missing = _missing(before, TO_DO)
        if missing:
            raise HostError("\n".join([*_missing_lines(asked, missing), "nothing was changed"]))
        restart = _carry_out(asked, lock, [row.step for row in before], say)
        bare, after = rows(asked)
    made = [
        step.step.name
        for step, old in zip(after, before)
        if old.state.word == TO_DO and not old.state.restart and (step.state.word == DONE or step.state.restart)
    ]
    pending = restart or any(row.state.restart for row in after)
    checked = None
    unfinished = [row for row in after if row.state.word != DONE and not row.state.restart]
    if (
        not pending
        and not unfinished
        and not bare.image
        and CHECK not in asked.skip
        and (not asked.only or CHECK in asked.only)
    ):
        checked = _checked(asked)
    if asked.json:
        print(
            json.dumps({**_document(bare, after), "done": made, "restart": bool(pending), "check": checked}, indent=1)
        )
    else:
        say(
            f"{_headline(bare, after)}; {show.count(len(made), 'step')} carried out{'' if made else ', nothing changed'}"
        )
        for row in unfinished:
            say(f"{row.state.word}: {row.step.name}: {row.state.text}")
        if checked is not None:
            say(checked["text"])
    if pending and asked.reboot:
        say("restarting; run the same command again afterwards")
        return subprocess.run(["systemctl", "reboot"], check=False).returncode
    if pending:
        say("restart the server, then run the same command again (--reboot restarts it)")
    return 1 if pending or unfinished or (checked and checked["exit_code"]) else 0


def _carry_out(asked: Namespace, lock: int, steps: list[SetupStep], say: Callable[[str], None]) -> bool:
    """Carry out the steps that are to do. Return True if a restart must come before the next step.

    ``lock`` is the descriptor of the locked file, which commands inherit. ``say`` prints a line of progress. ``asked`` has the parsed
    options.
    """
    with delayed_interrupts() as interrupted:
        for step in steps:
            bare, book = look(asked), journal.load(asked.state_file)
            row = _row(step, bare, book)
            if row.state.restart and step.restart == "at once":
                return True
            if row.state.word != TO_DO or row.state.restart:
                continue
            if row.missing:
                raise HostError("\n".join(_missing_lines(asked, list(row.missing))))
            interrupted()
            _carry_out_one(asked, lock, row, bare, book, say, interrupted)
            state = _state(step, look(asked), journal.load(asked.state_file))
            if state.word == TO_DO and not state.restart:
                raise HostError(
                    f"{step.name}: all commands succeeded, but the step is still to do: {state.text} (output: {_log(asked.state_file)})"
                )
            if state.restart and step.restart == "at once":
                return True
        interrupted()
    return False


def _carry_out_one(
    asked: Namespace,
    lock: int,
    row: Row,
    bare: Bare,
    book: Journal,
    say: Callable[[str], None],
    interrupted: Callable[[], None],
) -> None:
    step, texts = row.step, row.step.writes(bare)
    earlier = _record(book, step.name)
    inverse = tuple((command.folder, *command.words) for command in row.inverse)
    before = tuple((path, files.read(_at(asked.root, path))) for path in texts)
    modes = tuple((path, _mode(_at(asked.root, path))) for path in texts)
    written, left = tuple((path, text) for path, (text, _) in texts.items()), row.left
    if earlier:  # of an attempt that was interrupted, or of another release
        kept = {path for path, _ in earlier.files}
        inverse = (*(words for words in inverse if words not in earlier.inverse), *earlier.inverse)
        before = (*(pair for pair in before if pair[0] not in kept), *earlier.files)
        modes = (*(pair for pair in modes if pair[0] not in kept), *earlier.modes)
        written = (*written, *(pair for pair in earlier.written if pair not in written))
        left = earlier.left
    record = journal.StepRecord(step.name, inverse, before, left, written=written, modes=modes)
    others = tuple(other for other in book.steps if other is not earlier)
    journal.save(asked.state_file, replace(book, steps=(*others, record)))
    say(f"{step.name}: {row.state.text}")
    for path, (text, mode) in texts.items():
        say(f"  write {path}")
        file = _at(asked.root, path)
        for staged in file.parent.glob(f".{file.name}.{'[0-9a-f]' * 16}"):  # of a run that was killed
            staged.unlink(missing_ok=True)
        files.write(file, text, mode)
        file.chmod(mode)
    for command in row.commands:
        interrupted()
        say(f"  $ {command}")
        run_command(asked.state_file, asked.root, lock, command)
    ended = replace(record, ended=True, boot=journal.boot() if step.restart else "")
    journal.save(asked.state_file, replace(book, steps=(*others, ended)))


def _at(root: Path | None, path: str) -> Path:
    return Path(path) if root is None else root / path.lstrip("/")


def _mode(file: Path) -> int:
    """Return the mode of a file, or 0644 if the file does not exist."""
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return 0o644


def _log(state_file: Path) -> Path:
    return state_file.with_name("setup.log")


def run_command(state_file: Path, root: Path | None, lock: int, command: Command) -> None:
    """Run a command, with its output in the log next to the journal. ``state_file`` is the journal's path.

    Raises HostError with the last lines of output if the command fails.

    ``root`` is the root folder of an image; None for this server. The command inherits ``lock``, the descriptor of the locked file. So if
    this program is killed, the command continues, and the next run waits for it.
    """
    words = command.words
    folder = command.folder or None
    if root is not None:
        words = _in_root(root, ("sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", folder or "/", *words))
        folder = None
    path = f"{os.environ.get('PATH', '')}:{TOOLS}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with os.fdopen(os.open(_log(state_file), flags, 0o640), "ab") as log:
        log.write(f"$ {command}\n".encode())
        log.flush()
        start = log.tell()
        try:
            code = subprocess.run(
                words,
                check=False,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=[lock],
                start_new_session=True,
            ).returncode
        except OSError as error:
            raise HostError(f"{command}: cannot be run: {error.strerror}: {error.filename}") from None
    if code:
        with _log(state_file).open("rb") as log:
            log.seek(start)
            last = log.read().decode("utf-8", "replace").strip().splitlines()[-5:]
        raise HostError("\n  ".join([f"{command}: exit code {code} (output: {_log(state_file)})", *last]))


def _checked(asked: Namespace) -> dict[str, Any]:
    """Run all checks of `railweave host check`, and return their result as data for JSON.

    The keys are ``exit_code``, ``counts`` (results by verdict), ``failed`` (ids of failed checks) and ``text`` (a summary). Checks whose
    values could not be read do not count as failed. ``asked`` has the parsed options.
    """
    looked = checking.looked_at(asked, None)
    results = running.run(looked, running.chosen(()))
    counts = running.counted(results)
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts.get(verdict))
    failed = sorted({result.check.id for result in results if result.outcome.verdict == FAILED})
    more = f"; `railweave host check` has the fixes of {', '.join(failed)}" if failed else ""
    return {
        "exit_code": running.exit_code(results, None),
        "counts": counts,
        "failed": failed,
        "text": f"check: {summary}{more}",
    }


def undo(
    state_file: Path,
    root: Path | None,
    lock: int,
    say: Callable[[str], None],
    chosen: Callable[[StepRecord], bool] = lambda _: True,
) -> list[str]:
    """Undo the recorded steps for which ``chosen`` returns True, the last one first. Return their names, each with what was left in place.

    - ``state_file``: the path of the journal.
    - ``root``: the root folder of an image; None for this server.
    - ``lock``: the descriptor of the locked file, which commands inherit.
    - ``say``: a function that prints a line of progress.

    Raises HostError if a command fails. The step and those before it then stay in the journal, so that a second run
    can continue.
    """
    undone: list[str] = []
    with delayed_interrupts() as interrupted:
        while True:
            book = journal.load(state_file)
            record = next((record for record in reversed(book.steps) if chosen(record)), None)
            if record is None:
                return undone
            kept: list[str] = []
            for path, text in record.files:
                if _changed_since(record, root, path):
                    say(f"  keep {path}: its text is not what setup wrote")
                    kept.append(f"{path} stays, because its text is not what setup wrote")
                    continue
                say(f"  {'remove' if text is None else 'put back'} {path}")
                files.write(_at(root, path), text)
                if text is not None and path in dict(record.modes):
                    _at(root, path).chmod(dict(record.modes)[path])
            for folder, *words in record.inverse:
                command = Command(tuple(words), folder)
                interrupted()
                say(f"  $ {command}")
                run_command(state_file, root, lock, command)
            left = tuple(other for other in book.steps if other is not record)
            journal.save(state_file, replace(book, steps=left))
            remains = "; ".join(filter(None, [record.left, *kept]))
            undone.append(f"{record.name} ({remains})" if remains else record.name)
            interrupted()


def _changed_since(record: StepRecord, root: Path | None, path: str) -> bool:
    """Return True if a file that a step wrote has been changed or removed since.

    ``record`` is the step's record in the journal. ``root`` is the root folder of an image; None for this server.
    """
    texts = [text for written, text in record.written if written == path]
    now = files.read(_at(root, path))
    return bool(texts) and now not in {*texts, dict(record.files)[path]}


def undo_setup(asked: Namespace) -> int:
    """Undo the steps of `setup`, or print the commands with --dry-run. ``asked`` has the parsed options."""
    _state_in_root(asked)
    records = journal.load(asked.state_file).steps[::-1]
    if asked.dry_run or not records:
        commands = [str(Command(tuple(words), folder)) for record in records for folder, *words in record.inverse]
        commands += [
            f"{'keep' if _changed_since(record, asked.root, path) else 'rm' if text is None else 'put back'} {path}"
            for record in records
            for path, text in record.files
        ]
        if asked.json:
            print(json.dumps({"commands": commands} if asked.dry_run else {"steps": []}, indent=1))
        else:
            print("\n".join(commands) if records else "nothing to undo")
        return 0
    restart = any(step.restart for step in STEPS if step.name in {record.name for record in records})
    with journal.locked(asked.state_file) as lock:
        say: Callable[[str], None] = (lambda _: None) if asked.json else (lambda line: print(line, flush=True))
        undone = undo(asked.state_file, asked.root, lock, say)
    if asked.json:
        print(json.dumps({"steps": undone}, indent=1))
    else:
        print(
            f"{show.count(len(undone), 'step')} undone: {', '.join(undone)}{'; restart the server' if restart else ''}"
        )
    return 0


def _state_in_root(asked: Namespace) -> None:
    if asked.root is not None and asked.state_file == options.STATE_FILE:
        asked.state_file = _at(asked.root, str(options.STATE_FILE))


_VERBS = {"plan": plan, "apply": apply}


def setup(asked: Namespace) -> int:
    """Run the subcommand `setup plan` or `setup apply`, and return its exit code. ``asked`` has the parsed options."""
    _state_in_root(asked)
    return _VERBS[asked.what](asked)
