"""``make trial NAME=netbox`` and ``NAME=nautobot``: the export to a real server and the inventory from it. Their figures go into docs.

``python -m tests.operations.exports.inventories.trial netbox|nautobot [PART or EXAMPLE ...]`` (root, ``tools/inventory-server.sh``). Every
example is exported to a server with an empty database: plan, apply, plan. Then h100-rlb to servers that people have used, with a
changed design, and with exports that are killed. Then its import files by the pages of NetBox, and its inventory back. Ends with
``netbox-trial: ok`` or ``nautobot-trial: ok``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from railweave.operations.exports.inventories.netbox import KINDS
from railweave.operations.exports.inventories.objects import slug
from railweave.writing import write_file
from tests.conftest import EXAMPLES, ROOT
from tests.operations.exports.inventories.scripts import SCRIPTS, Scripts
from tests.operations.exports.inventories.server import NAUTOBOT, NETBOX, Program, Server, serving
from tests.printed_json import RECORD

PROGRAMS = {program.target: program for program in (NETBOX, NAUTOBOT)}
IMPORT = """
import json, sys
from pathlib import Path
from django.contrib.auth import get_user_model
from django.test import Client
client = Client()
client.force_login(get_user_model().objects.get(username="railweave"))
for name, path, form in json.loads(sys.argv[1] if len(sys.argv) > 1 else Path("/srv/imports.json").read_text()):
    text = Path("/srv/imports", name).read_text()
    answer = client.post(f"/{path}/import/", {"import_method": "direct", "data": text, "format": form, "csv_delimiter": ","})
    if answer.status_code != 302:
        import re
        page = answer.content.decode()
        print(name, answer.status_code, re.findall(r"Record \\d+[^<]*|Unexpected[^<]*|Row \\d+[^<]*", page)[:5])
"""


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def synced(server: Server, fabric: Path | str, *words: str) -> tuple[dict[str, Any], float]:
    """Export to the server; give the result and the seconds."""
    begin = time.monotonic()
    done = server.railweave("export", server.program.target, fabric, "--url", server.url, "--json", *words, check=False)
    assert done.returncode in {0, 1}, f"{done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    result = json.loads(done.stdout)
    assert "counts" in result, result
    if RECORD:  # for tools/output_schemas.py
        row = json.dumps({"verb": f"export {server.program.target}", "output": result})
        with Path(RECORD, f"{server.program.target}.jsonl").open("a") as file:
            file.write(f"{row}\n")
    return result, time.monotonic() - begin


def state(server: Server) -> dict[str, Any]:
    """All objects of the server, by their names."""
    result = json.loads(server.shell(SCRIPTS[server.program.target].state))
    deleted = [
        entry for entry in result["deleted"] if not entry.startswith(("cabletermination", "cabletocabletermination"))
    ]
    assert deleted == [], f"something was deleted: {deleted}"
    return result["state"]


def exported(program: Program, name: str) -> list[str]:
    """Plan, apply and plan of an example on an empty server, as a row of the table."""
    with serving(program) as server:
        fabric = EXAMPLES / f"{name}.yaml"
        planned, plan_s = synced(server, fabric)
        applied, apply_s = synced(server, fabric, "--apply")
        again, again_s = synced(server, fabric)
        assert planned["counts"] == applied["counts"], (planned["counts"], applied["counts"])
        assert not again["changes"], again["changes"][:5]
        assert not again["notes"], again["notes"]
        state(server)
    count = sum(row["create"] for row in applied["counts"].values())
    cables = applied["counts"].get("cable", {"create": 0})["create"]
    say(
        f"{name}: {count} objects, {cables} of them cables: plan {plan_s:.1f} s, apply {apply_s:.0f} s ({applied['requests']} requests), second plan empty in {again_s:.1f} s"
    )
    return [
        f"| {name} | {count:,} | {cables:,} | {plan_s:.1f} | {apply_s:.0f} | {applied['requests']:,} | {again_s:.1f} |"
    ]


def changed(program: Program, folder: Path) -> list[str]:
    """A server with objects that people made; then a design with one more server and cables in other ports."""
    fabric = folder / "h100-rlb.yaml"
    for ending in ("yaml", "inventory.csv", "lock"):
        shutil.copy(EXAMPLES / f"h100-rlb.{ending}", folder)
    scripts = SCRIPTS[program.target]
    with serving(program) as server:
        server.shell(scripts.by_hand)
        before = json.loads(server.shell(scripts.hand_made))
        first, _ = synced(server, fabric, "--apply")
        _unchanged(server, before)
        reported = [note for note in first["notes"] if "not made by railweave" in note or "left out" in note]
        assert len(reported) >= 5, first["notes"]
        second, _ = synced(server, fabric)
        assert not second["changes"], second["changes"][:5]
        say(f"by hand: {len(before)} objects untouched, {len(reported)} differences reported")
        text = fabric.read_text().replace('names: "H100-[03-04]"', 'names: "H100-[03-05]"')
        text += """
overrides:
  cables:
    - {between: ["H100-01:gpu0_eth", stripe1-leaf1], ports: {stripe1-leaf1: "et-0/0/16:1"}}
    - {between: ["H100-02:gpu0_eth", stripe1-leaf1], ports: {stripe1-leaf1: "et-0/0/16:0"}}
    - {between: ["H100-01:gpu1_eth", stripe1-leaf2], ports: {stripe1-leaf2: "et-0/0/30:0"}}
"""
        fabric.write_text(text)
        planned, _ = synced(server, fabric)
        about = {
            " ".join(change["name"].split()[:1])
            for change in planned["changes"]
            if change["kind"] in {"device", "cable"}
        }
        assert about == {"H100-05", "H100-01", "H100-02"}, about
        moved = [change for change in planned["changes"] if change["kind"] == "cable" and change["action"] == "update"]
        assert len(moved) == 3, moved
        counts = {kind: row["create"] for kind, row in planned["counts"].items() if row["create"]}
        applied, _ = synced(server, fabric, "--apply")
        assert applied["counts"] == planned["counts"], applied["counts"]
        last, _ = synced(server, fabric)
        assert not last["changes"], last["changes"][:5]
        _unchanged(server, before)
        say(f"changed design: {counts} to create, {len(moved)} cables moved, nothing else")
        adopted, _ = synced(server, fabric, "--apply", "--adopt")
        empty, _ = synced(server, fabric)
        assert adopted["changes"], "nothing was adopted"
        assert not empty["changes"], empty["changes"][:5]
        assert not any("not made by" in note for note in empty["notes"]), empty["notes"]
        say(f"--adopt: {len(adopted['changes'])} changes, then none")
        state(server)
    return [
        f"| objects made by hand | {len(before)} unchanged, {len(reported)} differences reported |",
        f"| a server added, three cables moved | {sum(counts.values())} objects created, {len(moved)} changed |",
    ]


def _unchanged(server: Server, before: list[Any]) -> None:
    after = json.loads(server.shell(SCRIPTS[server.program.target].hand_made))
    lost = [entry for entry in before if entry not in after]
    assert not lost, f"objects that railweave did not make have changed: {lost}"


def killed(program: Program, _folder: Path) -> list[str]:
    """Exports that SIGKILL ends, at each of several moments, and the state after the last one beside an export without any."""
    fabric = EXAMPLES / "h100-rlb.yaml"
    kills = SCRIPTS[program.target].kills
    with serving(program) as server:
        synced(server, fabric, "--apply")
        wanted = state(server)
    with serving(program) as server:
        repeated = sum(_kill_at(server, fabric, moment) for moment in kills)
        for _ in range(4):  # NetBox may still be busy with the last request of the killed one
            done = server.railweave(
                "export", server.program.target, fabric, "--url", server.url, "--apply", "-q", check=False
            )
            if done.returncode == 0:
                break
            repeated += 1
            assert "run the command again" in done.stderr, done.stderr
            time.sleep(3)
        there = state(server)
        for kind, names in wanted.items():
            assert there[kind] == names, (kind, sorted(set(there[kind]) ^ set(names))[:6])
        last, _ = synced(server, fabric)
        assert not last["changes"], last["changes"][:5]
    say(f"killed {len(kills)} times, ended the same; {repeated} exports had to be repeated")
    return [f"| killed at {len(kills)} moments | the same objects in the end |"]


def _kill_at(server: Server, fabric: Path, moment: str) -> int:
    """Kill an export in the middle of a request. Gives the number of exports that ended before, by an error."""
    for failed in range(4):
        process = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                server.namespace,
                sys.executable,
                "-m",
                "railweave",
                "export",
                server.program.target,
                str(fabric),
                "--url",
                server.url,
                "--apply",
            ],
            env={**os.environ, **server.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith(moment):
                time.sleep(0.7)  # in the middle of the next request
                process.send_signal(signal.SIGKILL)
                break
        if process.wait() == -signal.SIGKILL:
            return failed
        text = "".join(lines)
        assert "run the command again" in text, f"it ended before {moment}: {text[-800:]}"
        time.sleep(3)  # NetBox was still busy with the last request of the killed one
    raise AssertionError(f"no export came to {moment}")


def imported(program: Program, folder: Path, name: str) -> int:
    """Import the files of an example by NetBox's pages; a plan must then find nothing to do. Gives the number of rows."""
    files = folder / f"csv-{name}"
    subprocess.run(
        [sys.executable, "-m", "railweave", "export", "netbox", EXAMPLES / f"{name}.yaml", "-o", files],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    paths = {slug(kind.many): kind.path for kind in KINDS.values()}
    tables = [(file.name, paths[file.stem.partition("-")[2]], "csv") for file in sorted(files.glob("*.csv"))]
    types = [(str(file.relative_to(files)), "dcim/device-types", "yaml") for file in sorted(files.rglob("*.yaml"))]
    shutil.rmtree(program.site / "srv" / "imports", ignore_errors=True)
    shutil.copytree(files, program.site / "srv" / "imports")
    with serving(program) as server:
        (program.site / "srv" / "imports.json").write_text(json.dumps(tables))
        refused = server.shell(IMPORT)
        assert refused == "", refused
        planned, _ = synced(server, EXAMPLES / f"{name}.yaml")
        other = [
            change for change in planned["changes"] if (change["kind"], [*change["fields"]]) != ("interface", ["vrf"])
        ]
        assert not other, other[:5]
        assert not planned["notes"], planned["notes"]
        if planned["changes"]:
            say(
                f"{name}: {len(planned['changes'])} interfaces get their VRF, which the page of interfaces takes by its route distinguisher only"
            )
    with serving(program) as server:
        makers = [row for row in tables if row[1] == "dcim/manufacturers"]
        tags = [row for row in tables if row[1] == "extras/tags"]
        (program.site / "srv" / "imports.json").write_text(json.dumps([*tags, *makers, *types]))
        refused = server.shell(IMPORT)
        assert refused == "", refused
        count = server.shell(
            "from dcim.models import DeviceType, InterfaceTemplate; print(DeviceType.objects.count(), InterfaceTemplate.objects.count())"
        )
        say(f"{name}: device types and ports by YAML: {count.strip()}")
    rows = sum(file.read_text().count("\n") - 1 for file in files.glob("*.csv"))
    say(f"{name}: {rows} rows of {len(tables)} tables imported by NetBox's pages, then the plan is empty")
    return rows


def inventory(program: Program, folder: Path) -> list[str]:
    """Serial numbers and MAC addresses that people enter in NetBox, and the inventory that is filled in with them."""
    fabric = folder / "inventoried.yaml"
    shutil.copy(EXAMPLES / "h100-rlb.yaml", fabric)
    shutil.copy(EXAMPLES / "h100-rlb.inventory.csv", folder / "inventoried.inventory.csv")
    scripts = SCRIPTS[program.target]
    with serving(program) as server:
        synced(server, fabric, "--apply")
        server.shell(scripts.entered)
        words = ("inventory", f"from-{program.target}", fabric, "--url", server.url)
        shown = server.railweave(*words, check=False)
        assert shown.returncode == 1, shown.stderr
        assert f"a0:88:c2:ff:ff:ff in {scripts.name}; the inventory stays" in shown.stdout, shown.stdout[-600:]
        server.railweave(*words, "--write")
        text = (folder / "inventoried.inventory.csv").read_text()
        assert (text.count(",SN0"), text.count("a0:88:c2:00:00:")) == (24, 29), text
        again = server.railweave(*words)
        assert "nothing new" in again.stdout, again.stdout
        planned, _ = synced(server, fabric)
        kinds = {change["kind"] for change in planned["changes"]}
        assert kinds <= scripts.of_macs, planned["changes"][:5]
        assert all(change["kind"] != "device" for change in planned["changes"])
    say(
        f"inventory: 24 serial numbers and 29 MAC addresses read back, one contradiction reported; the design then has {len(planned['changes'])} more objects: {sorted(kinds)}"
    )
    return [f"| `inventory from-{program.target}` | 24 serial numbers, 29 MAC addresses, one contradiction reported |"]


def refused(program: Program, _folder: Path) -> list[str]:
    """An object that the server refuses: the export says which and why, and continues when the reason is gone. Tokens without rights."""
    fabric = EXAMPLES / "three-vendors.yaml"
    scripts = SCRIPTS[program.target]
    with serving(program) as server:
        server.shell(scripts.in_the_way)
        words = ("export", program.target, fabric, "--url", server.url, "-q")
        first = server.railweave(*words, "--apply", check=False)
        assert first.returncode == 2, first.stdout
        assert scripts.occupied in first.stderr, first.stderr
        assert scripts.until_then in first.stderr, first.stderr
        server.shell(f"{scripts.models}Device.objects.get(name='in-the-way').delete()")
        server.railweave(*words, "--apply")
        server.railweave(*words)  # exit code 0: nothing to do
        for token, message in scripts.tokens:
            env = dict.fromkeys(server.environment, token)
            done = server.run(sys.executable, "-m", "railweave", *words, env=env, check=False)
            assert done.returncode == 2, done.stdout
            assert message in done.stderr, done.stderr
    say("refused: the object and the reason are named, and the next run completes it; tokens without rights are named")
    return ["| a taken rack unit | named; the next run completes the export |"]


def renamed(program: Program, folder: Path) -> list[str]:
    """A device and an interface that have other names in NetBox, found by rack position and by cable; a device in another unit."""
    fabric = folder / "three-vendors.yaml"
    for ending in ("yaml", "lock"):
        shutil.copy(EXAMPLES / f"three-vendors.{ending}", folder)
    scripts = SCRIPTS[program.target]
    with serving(program) as server:
        synced(server, fabric, "--apply")
        server.shell(scripts.renames)
        words = ("inventory", f"from-{program.target}", fabric, "--url", server.url)
        shown = server.railweave(*words, "--write").stdout
        assert f"{scripts.name} calls the device at rack K1 unit 1 old-name; rename one of them" in shown, shown
        assert f"fra1-spine1: {scripts.name} has it in rack K1 unit 44, the fabric file in rack K1 unit 46" in shown, (
            shown
        )
        text = (folder / "three-vendors.inventory.csv").read_text()
        assert "fra1-h100-01,,,SN-OLD" in text, text
        assert "fra1-h100-02,gpu0_eth,,,ens1f0" in text, text
    say("names: a device found by its rack position, an interface by its cable, a rack unit that differs reported")
    return ["| a device and an interface renamed | found by rack position and cable |"]


def pages(program: Program, folder: Path) -> list[str]:
    """The import files of three examples."""
    rows = {name: imported(program, folder, name) for name in ("h100-rlb", "three-vendors", "multitenancy-lab")}
    counts = ", ".join(f"{name}: {count} rows" for name, count in rows.items())
    return [f"| import pages | {counts} |"]


PARTS = {part.__name__: part for part in (changed, killed, inventory, renamed, refused, pages)}


def main() -> int:
    """All parts. Gives the exit status."""
    program, words = PROGRAMS[sys.argv[1]], sys.argv[2:]
    scripts: Scripts = SCRIPTS[program.target]
    if why := program.missing():
        say(f"{program.target}-trial: cannot run here: {why}")
        return 1
    parts = [name for name in PARTS if (name in words or not words) and (name != "pages" or program is NETBOX)]
    names = [word for word in words if word not in PARTS] if words else scripts.networks
    try:
        with tempfile.TemporaryDirectory() as place:
            facts = [fact for part in parts for fact in PARTS[part](program, Path(place))]
        table = [line for name in names for line in exported(program, name)]
    except (AssertionError, subprocess.SubprocessError) as wrong:
        say(f"{wrong}\n{program.target}-trial: failed")
        return 1
    _write_page(program, table, facts, whole=not words)
    say(f"{program.target}-trial: ok")
    return 0


def _write_page(program: Program, table: list[str], facts: list[str], *, whole: bool) -> None:
    """Write the tables into the page of the export if they are whole, and else print them."""
    begin, end = (f"<!-- {program.target}-trial: {word} -->" for word in ("begin", "end"))
    head = [
        "| network | objects | cables | plan, s | apply, s | requests | second plan, s |",
        "|---|---|---|---|---|---|---|",
    ]
    lines = [*head, *table, "", "| | |", "|---|---|", *facts]
    file = ROOT / "docs" / "export" / f"{program.target}.md"
    page = file.read_text(encoding="utf-8") if whole else ""
    if begin not in page:
        say("\n".join(lines))
        return
    before, _, rest = page.partition(begin)
    write_file(file, "\n".join([f"{before}{begin}", *lines, f"{end}{rest.partition(end)[2]}"]))


if __name__ == "__main__":
    sys.exit(main())
