"""The functions that carry out the subcommands and print their results. ``options`` parses the arguments."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Callable

from . import (
    apply,
    capture_roce,
    changes,
    checking,
    doctor,
    environment,
    files,
    gids,
    host_file,
    journal,
    kernel,
    metrics,
    options,
    plugin,
    probing,
    readiness,
    setup_run,
    show,
)
from .failure import HostError, HostInputError, HostUsageError
from .machine import ThisMachine

if TYPE_CHECKING:
    from argparse import Namespace


_OF_OUTPUT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def main(argv: list[str] | None = None) -> int:
    """Run the program and return its exit code: 0 good, 1 errors found, 2 bad usage or input, 130 interrupted.

    ``argv`` are the arguments; None means those of the command line.
    """
    apply.by_exception()
    try:
        asked = options.parse(argv)
        code = _VERBS[asked.verb](asked)
        sys.stdout.flush()  # else an error of the output is met when Python ends
    except HostError as error:
        if options.wants_json(argv):
            print(json.dumps(show.failure(error), indent=1))
        elif isinstance(error, HostUsageError):
            print(f"{error.usage}{error.program}: error: {error}", file=sys.stderr)
        else:
            print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `… | head`; nothing more can be said, also not when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in _OF_OUTPUT:
            raise
        print(f"error: the result cannot be printed: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    else:
        return code


def _plan(asked: Namespace) -> int:
    plan = host_file.load(asked.host_file)
    states = readiness.wait(plan, asked.wait)
    places = apply.places(asked.state_file, asked.names_file)
    wanted = apply.work_out(plan, places)
    blocked = _blocked(states)
    if asked.json:
        print(json.dumps(show.document(plan, states, wanted), indent=1))
    else:
        todo = show.count(len(wanted.commands), "change") if wanted else "nothing to change"
        print(f"{plan.host}: {show.planned(plan)} planned, {todo}\n\n{show.nics(states)}")
        if wanted:
            print(f"\n{show.commands(plan, wanted, places.names)}")
    missing = any(state.missing for state in states)
    return _say_blocked(blocked) or (1 if missing and asked.wait else 0)


def _apply(asked: Namespace) -> int:
    if asked.dry_run:
        return _plan(asked)
    plan = host_file.load(asked.host_file)
    with journal.locked(asked.state_file) as lock:
        places = apply.places(asked.state_file, asked.names_file)
        states = readiness.wait(plan, asked.wait)
        blocked = _blocked(states)
        if blocked and not asked.partial:
            hint = "nothing was changed; --partial does the other NICs, --wait SECONDS waits"
            raise HostError("\n       ".join([*(f"{dev}: {why}" for dev, why in blocked.items()), hint]))
        done = apply.apply(plan, places, lock, blocked)
        if asked.json:
            print(json.dumps(show.document(plan, states, done), indent=1))
        elif done:
            names = f", names in {places.names}" if done.names is not None else ""
            print(f"{plan.host}: {show.planned(plan)} planned, {show.count(len(done.commands), 'change')} made{names}")
        else:
            print(f"{plan.host}: {show.planned(plan)} planned, all in place: nothing changed")
        absent = [f"{state.netdev}: {why}" for state in states if state.netdev not in blocked for why in state.missing]
        for line in absent:
            print(line, file=sys.stderr)
        failed = _say_blocked(blocked) or (1 if absent and asked.wait else 0)
        if asked.watch:
            if not asked.quiet and not asked.json:
                print("watching links, addresses, routes and rules", flush=True)
            try:
                apply.watch(plan, places, lock, lambda line: print(line, flush=True))
            except KeyboardInterrupt:
                return 0  # how a service is stopped
        return failed


def _undo(asked: Namespace) -> int:
    if asked.setup:
        return setup_run.undo_setup(asked)
    captures = capture_roce.left(asked.state_file)
    if not asked.state_file.exists() and not captures:
        print(json.dumps({"changes": None}) if asked.json else "nothing to undo")
        return 0
    if asked.dry_run:
        ours = journal.load(asked.state_file)
        lines = [*captures, *(kernel.command_line(command) for command in changes.to_before(kernel.read(), ours))]
        if ours.names:
            gone = ours.names_before is None
            lines.append(f"rm {ours.names}" if gone else f"# {ours.names} gets back what it held before")
        print(
            json.dumps({"commands": lines}, indent=1) if asked.json else "".join(f"{line}\n" for line in lines), end=""
        )
        return 0
    undone = capture_roce.undo(asked.state_file)
    with journal.locked(asked.state_file) as lock:
        number = apply.undo(asked.state_file, lock)
    if asked.json:
        print(json.dumps({"changes": number, **({"captures": undone} if undone else {})}))
        return 0
    if undone:
        print(f"undone: {', '.join(undone)}")
    print("nothing to undo" if number is None else f"{show.count(number, 'change')} made: as it was before apply")
    return 0


def _show(asked: Namespace) -> int:
    shown = show.state_document(ThisMachine(asked.sysfs))
    print(json.dumps(shown, indent=1) if asked.json else show.table(shown))
    return 0


def _gids(asked: Namespace) -> int:
    plan, machine = _maybe_plan(asked, needed=asked.check), ThisMachine(asked.sysfs)
    if asked.device is not None:
        _known_device(asked.device, machine, plan)
    device_gids = [gid for gid in gids.read(machine, plan) if asked.device in {None, gid.device}]
    shown = device_gids if asked.all else [gid for gid in device_gids if gid.type == gids.V2 and not gid.link_local]
    absent = gids.missing(plan, device_gids) if plan else []
    absent = [(nic, path) for nic, path in absent if asked.device in {None, nic.rdma}]
    if asked.json:
        print(json.dumps({"gids": [_gid(gid) for gid in shown], "missing": [
            {"device": nic.rdma, "port": nic.rdma_port, "path": path.number, "prefix": str(path.prefix)} for nic, path in absent
        ]}, indent=1))  # fmt: skip
    else:
        rows = [["device", "port", "index", "GID", "type", "netdev", "path", "color", "table"]]
        for gid in shown:
            path = [str(gid.path.number), gid.path.color_name or "-", gid.path.table_name] if gid.path else ["-"] * 3
            rows.append([gid.device, str(gid.port), str(gid.index), str(gid.address), gid.type, gid.netdev, *path])
        print("\n".join(show.aligned(rows)))
    for nic, path in absent:
        print(f"{nic.rdma} port {nic.rdma_port}: no RoCE v2 GID in {path.prefix} ({path.table_name})", file=sys.stderr)
    return 1 if absent and asked.check else 0


def _gid(gid: gids.Gid) -> dict[str, object]:
    path = gid.path
    return {
        **gid.described(),
        "path": path.number if path else None,
        "color": path.color if path else None,
        "color_name": path.color_name if path else None,
        "table": path.table if path else None,
    }


def _env(asked: Namespace) -> int:
    plan = host_file.load(asked.host_file)
    if asked.tenant is not None:
        plan = plan.of_tenant(asked.tenant)
    elif plan.tenants:
        raise HostInputError(
            f"GPUs of {plan.host} belong to several tenants: give --tenant {' or '.join(plan.tenants)}"
        )
    resolved, warnings = environment.resolve(plan, gids.read(ThisMachine(asked.sysfs), plan) if plan.resolve else [])
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    variables = environment.chosen({**plan.environment, **resolved}, os.environ, override=asked.override)
    if asked.tuner:
        variables["RAILWEAVE_NET_TUNER"] = "1"
    if asked.command:
        sys.stdout.flush()
        try:
            os.execvpe(asked.command[0], asked.command, {**os.environ, **environment.expanded(variables, os.environ)})
        except OSError as error:
            raise HostInputError(f"{asked.command[0]}: cannot be run: {error.strerror}") from None
    if asked.json:
        print(json.dumps(environment.expanded(variables, os.environ), indent=1))
    else:
        print(environment.exports(variables), end="")
    return 0


def _rdma_ping(asked: Namespace) -> int:
    sys.stdout.flush()
    return probing.run(asked.command)


def _doctor(asked: Namespace) -> int:
    machine = ThisMachine(asked.sysfs)
    there = asked.host_file.exists() or asked.host_file != options.HOST_FILE
    plan = host_file.load(asked.host_file) if there else None
    raw = doctor.load_raw(asked.host_file) if there else {}
    verdicts = doctor.examine(plan, raw, machine, os.environ)
    try:
        others = doctor.read_others(asked.compare)
    except (OSError, ValueError) as error:
        raise HostInputError(
            f"--compare: {error}; wanted are outputs of `railweave host plugin doctor --json`"
        ) from None
    if others:
        verdicts += doctor.compared(verdicts, others)
    print(json.dumps(doctor.document(verdicts), indent=1) if asked.json else doctor.lines(verdicts))
    return 1 if any(verdict.level == "error" for verdict in verdicts) else 0


def _plugin(asked: Namespace) -> int:
    if asked.what == "doctor":
        return _doctor(asked)
    before = plugin.read(asked.shm)
    if asked.prometheus:
        print(plugin.prometheus(plugin.total(before)), end="")
        return 0
    if asked.interval > 0 and before:
        time.sleep(asked.interval + 1)  # pages are written each second
    after = plugin.read(asked.shm) if asked.interval > 0 else before
    speed = plugin.rates(before, after)
    if asked.json:
        print(json.dumps(plugin.document(after, speed), indent=1))
    elif not after:
        print(f"no process with the net plugin runs here (looked in {asked.shm})")
    else:
        print(plugin.table(plugin.total(after), speed))
        peers = plugin.peer_table(after, everyone=asked.peers)
        print(f"\n{peers}" if peers else "\nno queue pair to any other process died")
    return 0


def _metrics(asked: Namespace) -> int:
    if asked.interval and asked.out is None:
        raise HostInputError("--interval needs --out: it writes the file again and again")
    try:
        while True:
            pages = plugin.read(asked.shm)
            shown = metrics.document(checking.looked_at(asked, None), pages)
            text = json.dumps(shown, indent=1) + "\n" if asked.json else metrics.text(shown, pages)
            if asked.out is None:
                print(text, end="")
                return 0
            files.write(asked.out, text, mode=0o644)
            if not asked.interval:
                return 0
            time.sleep(asked.interval)
    except KeyboardInterrupt:
        if asked.out is not None and asked.interval:
            files.write(asked.out, None)  # old numbers would look like new ones
        return 0


def _zipapp(asked: Namespace) -> int:
    files.write_program(asked.file)
    if asked.json:
        print(json.dumps({"file": str(asked.file)}))
        return 0
    print(f"{asked.file}: copy it to a server and run it there")
    return 0


def _known_device(name: str, machine: ThisMachine, plan: host_file.HostFile | None) -> None:
    """Raise HostInputError if the device ``name`` is neither in the plan nor on the machine.

    A planned device may be missing from the machine; ``--check`` reports that.
    """
    there = gids.devices(machine)
    if name not in {*there, *(nic.rdma for nic in (plan.nics if plan else ()))}:
        known = f"there are {', '.join(there)}" if there else "there is none at all: is the RDMA driver loaded?"
        raise HostInputError(f"--device {name}: there is no such RDMA device; {known}")


def _maybe_plan(asked: Namespace, *, needed: bool) -> host_file.HostFile | None:
    """Return the plan, read from ``host.json``. ``asked`` has the parsed options.

    Return None if the options name no file, the default file does not exist, and ``needed`` is False. For example, the list of GIDs needs
    no plan.
    """
    if not needed and asked.host_file == options.HOST_FILE and not asked.host_file.exists():
        return None
    return host_file.load(asked.host_file)


def _blocked(states: list[readiness.NicState]) -> dict[str, str]:
    return {state.netdev: state.blocked for state in states if state.blocked}


def _say_blocked(blocked: dict[str, str]) -> int:
    for dev, why in blocked.items():
        print(f"error: {dev}: {why}", file=sys.stderr)
    return 1 if blocked else 0


_VERBS: dict[str, Callable[[Namespace], int]] = {
    "plan": _plan,
    "apply": _apply,
    "undo": _undo,
    "setup": setup_run.setup,
    "capture-roce": capture_roce.capture_roce,
    "show": _show,
    "gids": _gids,
    "env": _env,
    "rdma-ping": _rdma_ping,
    "plugin": _plugin,
    "metrics": _metrics,
    "zipapp": _zipapp,
    **checking.VERBS,
}
