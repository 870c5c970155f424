"""The subcommands and options of the command line, with their help."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import NoReturn

from . import __version__, files
from .failure import HostInputError, HostUsageError
from .machine import SYSFS

HOST_FILE = Path("/etc/railweave/host.json")
STATE_FILE = Path("/var/lib/railweave/host.state.json")


def parse(argv: list[str] | None = None) -> Namespace:
    """Return the parsed options. Arguments after ``--`` are the command to run and are not parsed.

    Raises HostInputError if the command line is invalid.

    ``argv`` are the arguments; None means those of the command line.
    """
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["rdma-ping"]:
        return Namespace(verb="rdma-ping", command=words[1:])
    end = words.index("--") if "--" in words else len(words)
    asked = parser().parse_args(words[:end])
    asked.command = words[end + 1 :]
    if asked.command and asked.verb != "env":
        raise HostInputError(f"railweave host {asked.verb} runs no command: {' '.join(words[end:])}")
    return asked


def wants_json(argv: list[str] | None = None) -> bool:
    """Return True if ``--json`` is among the arguments before ``--``, except for ``rdma-ping``. ``argv`` None means the command line."""
    words = sys.argv[1:] if argv is None else argv
    return words[:1] != ["rdma-ping"] and "--json" in words[: words.index("--") if "--" in words else len(words)]


class _Parser(ArgumentParser):
    """A parser that raises errors and leaves printing to the caller."""

    def error(self, message: str) -> NoReturn:
        """Raise ``HostUsageError``."""
        raise HostUsageError(message, self.format_usage(), self.prog)


def parser() -> ArgumentParser:
    """Return the parser of the whole program."""
    top = _Parser(
        prog="railweave host",
        description="Set up and check this GPU server: routing tables and rules, RDMA GIDs (addresses) and job environment.\nMost verbs read host.json, the plan of this server, which `railweave build` writes.",
        epilog="exit codes: 0 good, 1 errors found, 2 wrong command line or input file, 130 interrupted\n\n"
        "examples:\n  railweave host plan\n  railweave host apply --wait 60\n  railweave host undo",
        formatter_class=RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=__version__)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, help: str, more: str, *examples: str) -> ArgumentParser:  # noqa: A002 - argparse's word
        lines = "\n".join(f"  railweave host {example}" for example in examples)
        description = f"{help[0].upper()}{help[1:]}. {more}".replace(" \n", "\n").rstrip()
        subparser = verbs.add_parser(
            name,
            help=help,
            description=description,
            epilog=f"examples:\n{lines}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        subparser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
        return subparser

    plan = verb(
        "plan",
        "print the changes that `apply` would make, and the state of each NIC",
        "Changes nothing.\nExit code 1: a NIC is missing, is down, or lacks an address that its routes need; `apply` would then change nothing,\nexcept with --partial.",
        "plan",
        "plan --wait 60",
        "plan --json --host-file H100-01.host.json",
    )
    _host_file(plan)
    _state(plan)
    _wait(plan)
    plan.add_argument("--json", action="store_true", help="print JSON")

    apply = verb(
        "apply",
        "configure the routing tables, routes and rules that host.json plans for this server",
        "After a failure or\nan interrupt, `apply` restores the earlier state. A second run changes nothing.\nExit code 1: a NIC is not ready, so nothing was changed; see --partial.",
        "apply",
        "apply --wait 60",
        "apply --wait 300 --partial --watch     (a systemd service)",
    )
    _host_file(apply)
    _state(apply)
    apply.add_argument(
        "--dry-run", action="store_true", help="like `plan`: only print the changes (default: make them)"
    )
    apply.add_argument("--json", action="store_true", help="print JSON")
    apply.add_argument(
        "--partial",
        action="store_true",
        help="configure the NICs that are ready even if some are not; list the NICs that are not ready, and exit 1 (default: if a NIC is not ready, change nothing)",
    )
    _wait(apply)
    apply.add_argument(
        "--watch",
        action="store_true",
        help="keep running, and restore planned routes and rules whenever they change; exit 0 on SIGTERM (default: exit when done)",
    )

    undo = verb(
        "undo",
        "undo all changes that `apply` has made since its first run",
        "Routes and rules that existed before `apply` stay;\nthose that `apply` replaced are restored. Without recorded changes (see --state-file), `undo`\ndoes nothing: exit code 0.",
        "undo",
        "undo --dry-run",
    )
    _state(undo, "ignored; `undo` restores the names file that `apply` wrote")
    undo.add_argument("--dry-run", action="store_true", help="print the commands without running them")
    undo.add_argument(
        "--setup",
        action="store_true",
        help="undo the steps of `setup`, the last step first, instead of the changes of `apply` (default: undo `apply`, and NIC settings that an interrupted `capture-roce` has left)",
    )
    _root(undo, "with --setup: ")
    undo.add_argument("--json", action="store_true", help="print JSON")

    setup = verb(
        "setup",
        "set up a bare server: drivers, firmware, GPU libraries, MPI, benchmark programs, boot parameters, PCIe settings",
        "\n`setup plan` changes nothing. It prints each step with its state (done, to do, not seen), its\n"
        "commands, the files that it needs, and the commands that undo it. Exit code 1: a file is missing, or a state was not seen.\n"
        "`setup apply` carries out the steps that are not done, in order. It prints each command before running it, and checks the\n"
        "server at the end. A second run changes nothing; after an interrupt, it continues. Exit code 1: a step was not carried out,\n"
        "or a restart is needed.\n"
        "The vendors' installers must be in the folder --from; they are not downloaded. `undo --setup` undoes the steps.",
        "setup plan --from /srv/packages",
        "setup apply --from /srv/packages --reboot",
        "setup apply --from /srv/packages --repositories --skip open-mpi --skip ucx",
        "setup apply --root /srv/image --from /srv/image/packages     (an image of a server)",
        "undo --setup",
    )
    setup.add_argument("what", choices=("plan", "apply"), help="plan: show the steps; apply: carry them out")
    _host_file(setup)
    _state_file(setup)
    setup.add_argument(
        "--from",
        dest="packages",
        type=Path,
        metavar="DIR",
        help="folder with the vendors' installers and packages, under their vendors' file names (default: none; `plan` lists the names)",
    )
    setup.add_argument(
        "--repositories",
        action="store_true",
        help="install the Linux distribution's packages from the apt or dnf repositories that are configured on the server (default: only from the folder --from)",
    )
    for option, effect, default in (
        ("--only", "carry out only the step with this name", "all steps"),
        ("--skip", "leave out the step with this name", "no step"),
    ):
        setup.add_argument(
            option, action="append", default=[], metavar="STEP", help=f"{effect}; may be repeated (default: {default})"
        )
    _root(setup)
    setup.add_argument(
        "--reboot",
        action="store_true",
        help="apply only: restart the server if a step needs that (default: print that a restart is needed, and exit 1)",
    )
    setup.add_argument("--json", action="store_true", help="print JSON")

    shown = verb(
        "show",
        "print the state of this server: links, addresses, routes, rules, GIDs, LLDP neighbors, counters",
        "Changes nothing, and\nneeds no host.json. `railweave collect --servers` saves this state; `railweave check` compares it with the design.",
        "show",
        "show --json",
    )
    _sysfs(shown)
    shown.add_argument("--json", action="store_true", help="print JSON")

    gid = verb(
        "gids",
        "show the RDMA GIDs (addresses) of this server, with the path color and routing table that host.json plans for each",
        "A path\ncolor is a group of uplinks, by destination address. Without --all, the list has only GIDs that a job can\nuse: RoCE v2 and not link-local. GIDs of host.json that the server lacks are listed as missing.",
        "gids",
        "gids --device mlx5_0 --all",
        "gids --check",
    )
    _host_file(gid)
    _sysfs(gid)
    gid.add_argument(
        "--device",
        metavar="NAME",
        help="show only the GIDs of this RDMA device, for example mlx5_0 (default: all devices)",
    )
    gid.add_argument("--all", action="store_true", help="also show RoCE v1 and link-local GIDs")
    gid.add_argument("--check", action="store_true", help="exit 1 if a GID of host.json is missing (default: exit 0)")
    gid.add_argument("--json", action="store_true", help="print JSON")

    check = verb(
        "check",
        "check whether this server is ready for a job: compare its state with host.json, and show a fix for each difference",
        "Changes nothing.\nExit code 1: a check failed, or could not read its values because root rights or a tool are missing. If --allow-unseen\nnames a check, its unread values do not count. With --slurm or --nhc, no unread values count, except with --strict.",
        "check",
        "check --only link --only rdma-gids",
        "check --json > before.json     ... later: check --since before.json",
        "check --watch 60s --only counters",
        "check --generic     (no host.json: NICs are compared with each other)",
        "check --slurm     (one line, for Slurm's Prolog or HealthCheckProgram)",
        "check --list",
    )
    _host_file(check)
    _generic(
        check,
        "check without host.json: compare NICs of the same kind with each other, and run every check that needs no design (default: compare with host.json)",
    )
    check.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="run only the check with this id, or the group of checks with this name, for example link (see --list); may be repeated (default: all)",
    )
    check.add_argument(
        "--since",
        type=Path,
        metavar="FILE",
        help="file with the output of an earlier `check --json`; counters that have increased since are reported (default: counters are not compared)",
    )
    check.add_argument(
        "--watch",
        type=_duration,
        default=0.0,
        metavar="TIME",
        help="read the counters, wait for this time, for example 60s or 5m, and report the counters that have increased meanwhile (default: counters are not compared)",
    )
    check.add_argument(
        "--capture",
        type=Path,
        metavar="DIR",
        help="folder that `capture` wrote: check the server that is recorded there, instead of this server",
    )
    _wait(
        check,
        "repeat the checks until they pass, for at most this time (default: 0, check once); no effect with --capture",
    )
    check.add_argument(
        "--all", action="store_true", help="also print checks that passed (default: print only the other checks)"
    )
    check.add_argument("--list", action="store_true", help="list all checks without running them")
    check.add_argument(
        "--allow-unseen",
        action="append",
        default=[],
        metavar="ID",
        help="do not fail if the check with this id, or a check in the group with this name, cannot read its values; may be repeated (default: exit 1 if a check cannot read its values)",
    )
    check.add_argument(
        "--strict",
        action="store_true",
        help="with --slurm or --nhc: a check that cannot read its values counts as failed (default: only a message on stderr)",
    )
    form = check.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument(
        "--slurm",
        action="store_true",
        help="print one line with the first failed checks, or nothing if no check failed; for Slurm's Prolog or HealthCheckProgram",
    )
    form.add_argument(
        "--nhc",
        action="store_true",
        help="like --slurm, but the line has the format of LBNL Node Health Check",
    )

    capture = verb(
        "capture",
        "record in a folder everything that `check` reads on this server",
        "`railweave host check --capture DIR` checks\nthe recording on any machine.",
        "capture H100-01.machine",
    )
    capture.add_argument("folder", type=Path, metavar="DIR", help="folder to create")
    _host_file(capture)
    _generic(capture, "record without host.json, for `check --generic` (default: record host.json too)")
    capture.add_argument("--json", action="store_true", help="print JSON")

    roce = verb(
        "capture-roce",
        "capture the RoCE packets of a NIC with tcpdump, or read a capture; print flows, DSCP, ECN and congestion notifications",
        "For\nNICs of NVIDIA and Broadcom. A capture may change settings of the NIC; they are restored at the end, also after SIGTERM.\n"
        "Broadcom's NICs need --prepare and a restart first. Exit code 1: DSCP or ECN of packets differs from host.json, or the capture failed.",
        "capture-roce gpu0_eth -o gpu0.pcap --seconds 10",
        "capture-roce --read gpu0.pcap --flows 50",
        "capture-roce eth1 --prepare     ... restart, capture; later: capture-roce eth1 --restore",
    )
    roce.add_argument("nic", nargs="?", metavar="NIC", help="interface or RDMA device to capture from")
    roce.add_argument("-o", "--output", type=Path, metavar="FILE", help="pcap file to write")
    roce.add_argument(
        "--seconds",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="time to capture (default: until Ctrl-C or SIGTERM)",
    )
    roce.add_argument(
        "--packets", type=_count, default=0, metavar="N", help="number of packets to capture (default: no limit)"
    )
    roce.add_argument("--whole", action="store_true", help="keep whole packets (default: the first 192 bytes of each)")
    action = roce.add_mutually_exclusive_group()
    action.add_argument(
        "--prepare",
        action="store_true",
        help="change the flash settings of a Broadcom NIC that a capture needs: turn off SR-IOV and edge virtual bridging; takes effect after a restart",
    )
    action.add_argument(
        "--restore",
        action="store_true",
        help="restore the settings that --prepare, or an interrupted capture, has changed",
    )
    action.add_argument(
        "--read",
        type=Path,
        metavar="FILE",
        help="read this capture (pcap or pcapng, also compressed by gzip) instead of capturing",
    )
    roce.add_argument(
        "--flows",
        type=_count,
        default=20,
        metavar="N",
        help="number of flows to print, the largest first (default: 20)",
    )
    _host_file(roce)
    _state_file(roce)
    _sysfs(roce)
    roce.add_argument("--json", action="store_true", help="print JSON")

    support = verb(
        "bundle",
        "write one archive for a support case: the data that `check` reads, its results, and the changes that `apply` recorded",
        "Text\nthat looks like a secret is removed; names and addresses are kept.",
        "bundle H100-01.tar.gz",
    )
    support.add_argument("file", type=Path, metavar="FILE", help="archive to write (tar with gzip)")
    _host_file(support)
    _generic(support, "check without host.json (default: compare with host.json)")
    _state_file(support)
    support.add_argument("--json", action="store_true", help="print JSON")

    env = verb(
        "env",
        "print the environment variables for a job, or run COMMAND with them",
        "The values come from host.json; only\nGID indexes are read from this server. A variable that is already set keeps its value, except with --override, or if\nthe planned value extends it (PATH=/opt/bin:$PATH).",
        "env > job.env     then: . ./job.env",
        "env -- ./all_reduce_perf -b 8 -e 8G -f 2 -g 1",
        "env --json",
        "env --tenant blue -- ./all_reduce_perf -b 8 -e 8G -f 2 -g 1     (if GPUs belong to several tenants)",
    )
    _host_file(env)
    env.add_argument(
        "--tenant",
        metavar="NAME",
        help="print the environment for jobs of this tenant, with only the tenant's NICs and GPUs; required if GPUs belong to several tenants",
    )
    _sysfs(env)
    form = env.add_mutually_exclusive_group()
    form.add_argument("--shell", action="store_true", help="print export lines (default)")
    form.add_argument("--json", action="store_true", help="print JSON")
    env.add_argument(
        "--tuner",
        action="store_true",
        help="also set RAILWEAVE_NET_TUNER=1: NCCL then chooses algorithms by the table in railweave's net plugin; use the option on all servers of a job or on none",
    )
    env.add_argument(
        "--override", action="store_true", help="use the values of host.json even for variables that are already set"
    )
    env.usage = f"{env.format_usage().removeprefix('usage: ').rstrip()} [-- COMMAND ...]"

    ping = verb(
        "rdma-ping",
        "send RDMA writes over every path to another server; print loss, round-trip times and dead paths",
        "Runs\nthe program railweave-rdma-ping, which comes with railweave's NCCL plugin, and passes all arguments to it.",
        "rdma-ping --server        (on H100-02)",
        "rdma-ping H100-02         (on the other server)",
        "rdma-ping --help",
    )
    ping.usage = "railweave host rdma-ping [ARGUMENT ...]"

    plugin = verb(
        "plugin",
        "show statistics of railweave's net plugin for NCCL on this server (stats), or check its setup (doctor)",
        "stats: bytes, rates\nand resends of the running processes, by direction, NIC, path color (group of uplinks, by destination address)\nand remote leaf; below, "
        "the processes at the other ends to which queue pairs died.\ndoctor: "
        "compares speed, MTU, addresses, DSCP, ECN, GPU memory, timeouts and variables with host.json, or\nwithout that file shows what there is. Exit code 1: an error was found.",
        "plugin stats --interval 2",
        "plugin stats --prometheus > /var/lib/node_exporter/textfile/railweave.prom",
        "env -- railweave host plugin doctor",
        "plugin doctor --compare H100-01.json H100-02.json   (doctor --json of other servers)",
    )
    plugin.add_argument(
        "what", choices=("stats", "doctor"), help="stats: statistics of running processes; doctor: checks of the setup"
    )
    _host_file(plugin)
    _sysfs(plugin)
    plugin.add_argument(
        "--interval",
        type=_seconds,
        default=1.0,
        metavar="SECONDS",
        help="stats only: time over which rates are measured (default: 1); 0 prints totals without rates",
    )
    plugin.add_argument(
        "--peers", action="store_true", help="stats only: all processes at the other ends, not only those with trouble"
    )
    plugin.add_argument(
        "--compare",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="doctor only: outputs of doctor --json on other servers, whose build of the plugin and colors must be the same",
    )
    shm = Path("/dev/shm")  # noqa: S108 - where the plugin's processes write; here it is only read
    plugin.add_argument(
        "--shm",
        type=Path,
        default=shm,
        metavar="DIRECTORY",
        help=f"stats only: folder to which processes with the plugin write their statistics (default: {shm})",
    )
    form = plugin.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument(
        "--prometheus",
        action="store_true",
        help="stats only: print totals in the format of node_exporter's textfile collector, for Prometheus",
    )

    metrics = verb(
        "metrics",
        "print counters of this server's NICs and of railweave's NCCL net plugin, for Prometheus",
        "The NICs are\nthose in host.json; the format is that of node_exporter's textfile collector. Counter names do not depend on the driver.",
        "metrics --out /var/lib/prometheus/node-exporter/railweave.prom --interval 15     (a systemd service)",
        "metrics --json",
    )
    _host_file(metrics)
    _sysfs(metrics)
    metrics.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the counters to this file; if that fails, the file stays as it was (default: print them)",
    )
    metrics.add_argument(
        "--interval",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="with --out: write the file again after each interval of this length; on SIGTERM, remove the file and exit (default: write once)",
    )
    metrics.add_argument(
        "--shm",
        type=Path,
        default=shm,
        metavar="DIRECTORY",
        help=f"folder to which processes with the net plugin write their statistics (default: {shm})",
    )
    metrics.add_argument("--json", action="store_true", help="print JSON")

    zipapp = verb(
        "zipapp",
        "write `railweave host` as one executable file, for servers without railweave",
        "The servers need Python 3.9 or newer\nand iproute2.",
        "zipapp railweave-host.pyz",
    )
    zipapp.add_argument(
        "file", type=Path, metavar="FILE", help="file to write; if that fails, an earlier file stays as it was"
    )
    zipapp.add_argument("--json", action="store_true", help="print JSON")
    return top


def _host_file(verb: ArgumentParser) -> None:
    given = os.environ.get("RAILWEAVE_HOST_FILE")
    verb.add_argument(
        "--host-file",
        type=Path,
        default=Path(given) if given else HOST_FILE,
        metavar="FILE",
        help=f"file host.json, the plan of this server, which `railweave build` wrote (default: $RAILWEAVE_HOST_FILE, else {HOST_FILE})",
    )


def _generic(verb: ArgumentParser, help: str) -> None:  # noqa: A002 - argparse's word
    verb.add_argument("--generic", action="store_true", help=help)


def _state(
    verb: ArgumentParser,
    names_help: str = f"file to write the names of routing tables into, for iproute2 (default: the file of an earlier `apply`, else {files.RT_TABLES_FILE})",
) -> None:
    _state_file(verb)
    verb.add_argument(
        "--names-file",
        type=Path,
        metavar="FILE",
        help=names_help,
    )


def _state_file(verb: ArgumentParser) -> None:
    verb.add_argument(
        "--state-file",
        type=Path,
        default=STATE_FILE,
        metavar="FILE",
        help=f"file in which railweave records its changes on this server (the journal), so that `undo` can reverse them (default: {STATE_FILE})",
    )


def _root(verb: ArgumentParser, when: str = "") -> None:
    verb.add_argument(
        "--root",
        type=Path,
        metavar="DIR",
        help=f"{when}root folder of a server image to work on; commands run in it by chroot, and it contains the journal (default: this server)",
    )


def _wait(
    verb: ArgumentParser,
    words: str = "longest time to wait until links are up and addresses exist (default: 0); exit 1 if any is still missing then",
) -> None:
    verb.add_argument(
        "--wait",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help=words,
    )


def _sysfs(verb: ArgumentParser) -> None:
    verb.add_argument(
        "--sysfs",
        type=Path,
        default=SYSFS,
        metavar="DIR",
        help="folder to read instead of /sys, the kernel's sysfs (default: /sys)",
    )


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _duration(text: str) -> float:
    number, unit = (text[:-1], text[-1]) if text[-1:] in set("smh") else (text, "s")
    try:
        seconds = _seconds(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except ArgumentTypeError:
        raise ArgumentTypeError(f"{text!r} is not a time such as 60s, 5m or 1h") from None
    if not seconds:
        raise ArgumentTypeError(f"{text!r}: nothing grows in no time; give a time such as 60s, 5m or 1h")
    return seconds


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e7:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value
