"""``make trial NAME=netbox``: `railweave export netbox` and `inventory from-netbox` with a real NetBox. Its figures go into docs.

``python -m tests.operations.exports.inventories.trial [EXAMPLE ...]`` (root, ``tools/netbox.sh``). Every example is exported to a server
with an empty database: plan, apply, plan. Then h100-rlb to servers that people have used, with a changed design, and with exports
that are killed. Then its import files by the pages of NetBox, and its inventory back. Ends with ``netbox-trial: ok``.
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

from railweave.operations.exports.inventories.objects import KINDS, slug
from railweave.writing import write_file
from tests.conftest import EXAMPLES, ROOT
from tests.operations.exports.inventories.server import SITE, Netbox, missing, serving

PAGES = (ROOT / "docs" / "export" / "netbox.md",)
"""The pages that may have the table."""
BEGIN, END = "<!-- netbox-trial: begin -->", "<!-- netbox-trial: end -->"
NETWORKS = (
    "h100-rlb", "three-vendors", "sonic-mi355x", "multitenancy-lab", "evpn-functional", "evpn-server-isolation", "frontend-mixed", "dci-50km",
    "two-planes", "mi300x-leaf-24", "aidc-three-fabrics", "arista-h200-512",
)  # fmt: skip

BY_HAND = """
from dcim.models import *
from ipam.models import *
from extras.models import Tag
from django.contrib.contenttypes.models import ContentType
site = Site.objects.create(name="site1", slug="site1", description="by hand")
maker = Manufacturer.objects.create(name="Juniper Networks", slug="juniper", description="by hand")
kind = DeviceType.objects.create(manufacturer=maker, model="qfx5240-64od", slug="juniper-qfx5240-64od", u_height=4)
machine = DeviceType.objects.create(manufacturer=maker, model="a server", slug="a-server")
role = DeviceRole.objects.create(name="Compute", slug="compute", color="ff0000")
server = Device.objects.create(name="H100-02", site=site, device_type=machine, role=role, serial="HAND-1")
Interface.objects.create(device=server, name="gpu0_eth", type="other", mtu=1500)
ends = []
for name in ("office-1", "office-2"):
    device = Device.objects.create(name=name, site=site, device_type=kind, role=role)
    ends.append(Interface.objects.create(device=device, name="et-0/0/0", type="400gbase-x-osfp"))
Cable(a_terminations=[ends[0]], b_terminations=[ends[1]], label="by hand").save()
leaf = Device.objects.create(name="stripe2-leaf1", site=site, device_type=kind, role=role)
port = Interface.objects.create(device=leaf, name="et-0/0/0:0", type="400gbase-x-osfp")
Cable(a_terminations=[port], b_terminations=[Interface.objects.create(device=leaf, name="loop", type="other")], label="test loop").save()
Prefix.objects.create(prefix="172.20.0.0/24", description="by hand")
IPAddress.objects.create(address="172.20.0.10/24", description="by hand")
"""
STATE = """
import json
from dcim.models import *
from ipam.models import *
from core.models import ObjectChange
def ends(cable):
    return sorted(f"{t.termination.device.name} {t.termination.name}" for t in cable.terminations.all())
state = {
    "devices": sorted(f"{d.name} {d.site} {d.rack} {d.position} {d.device_type} {d.role} {d.serial} {d.primary_ip4}" for d in Device.objects.all()),
    "interfaces": sorted(f"{i.device.name} {i.name} {i.type} {i.speed} {i.mtu} {i.untagged_vlan} {i.primary_mac_address}" for i in Interface.objects.all()),
    "cables": sorted(f"{c.label} {c.type} {c.length} {c.profile} {ends(c)}" for c in Cable.objects.all()),
    "addresses": sorted(f"{a.address} {a.vrf} {a.role} {a.assigned_object.device.name if a.assigned_object else ''} {a.assigned_object}" for a in IPAddress.objects.all()),
    "prefixes": sorted(f"{p.prefix} {p.vrf} {p.vlan} {p.status}" for p in Prefix.objects.all()),
    "others": sorted(f"{type(o).__name__} {o}" for m in (Site, Rack, Manufacturer, DeviceType, DeviceRole, Platform, VLANGroup, VLAN, VRF, RIR, ASN, MACAddress) for o in m.objects.all()),
}
deleted = [f"{c.changed_object_type.model} {c.object_repr}" for c in ObjectChange.objects.filter(action="delete")]
print(json.dumps({"state": state, "deleted": deleted}))
"""
HAND_MADE = """
import json
from django.core import serializers
from dcim.models import *
from ipam.models import *
kept = []
for model in (Site, Rack, Manufacturer, DeviceType, DeviceRole, Platform, Device, Interface, Cable, Prefix, IPAddress, VLAN, VRF, ASN, RIR):
    for entry in json.loads(serializers.serialize("json", model.objects.exclude(tags__slug="railweave"))):
        fields = {n: v for n, v in entry["fields"].items() if not n.startswith(("_", "cable")) and not n.endswith("_count") and n != "last_updated"}
        kept.append([entry["model"], entry["pk"], fields])
print(json.dumps(kept))
"""
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


def synced(netbox: Netbox, fabric: Path | str, *words: str) -> tuple[dict[str, Any], float]:
    """Export to the server; give the result and the seconds."""
    begin = time.monotonic()
    done = netbox.railweave("export", "netbox", fabric, "--url", netbox.url, "--json", *words, check=False)
    assert done.returncode in {0, 1}, f"{done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    result = json.loads(done.stdout)
    assert "counts" in result, result
    return result, time.monotonic() - begin


def state(netbox: Netbox) -> dict[str, Any]:
    """All objects of the server, by their names."""
    result = json.loads(netbox.shell(STATE))
    deleted = [entry for entry in result["deleted"] if not entry.startswith("cabletermination")]
    assert deleted == [], f"something was deleted: {deleted}"
    return result["state"]


def exported(name: str) -> list[str]:
    """Plan, apply and plan of an example on an empty server, as a row of the table."""
    with serving() as netbox:
        fabric = EXAMPLES / f"{name}.yaml"
        planned, plan_s = synced(netbox, fabric)
        applied, apply_s = synced(netbox, fabric, "--apply")
        again, again_s = synced(netbox, fabric)
        assert planned["counts"] == applied["counts"], (planned["counts"], applied["counts"])
        assert not again["changes"], again["changes"][:5]
        assert not again["notes"], again["notes"]
        state(netbox)
    count = sum(row["create"] for row in applied["counts"].values())
    cables = applied["counts"].get("cable", {"create": 0})["create"]
    say(
        f"{name}: {count} objects, {cables} of them cables: plan {plan_s:.1f} s, apply {apply_s:.0f} s ({applied['requests']} requests), second plan empty in {again_s:.1f} s"
    )
    return [
        f"| {name} | {count:,} | {cables:,} | {plan_s:.1f} s | {apply_s:.0f} s | {applied['requests']:,} | empty, {again_s:.1f} s |"
    ]


def changed(folder: Path) -> list[str]:
    """A server with objects that people made; then a design with one more server and cables in other ports."""
    fabric = folder / "h100-rlb.yaml"
    for ending in ("yaml", "inventory.csv", "lock"):
        shutil.copy(EXAMPLES / f"h100-rlb.{ending}", folder)
    with serving() as netbox:
        netbox.shell(BY_HAND)
        before = json.loads(netbox.shell(HAND_MADE))
        first, _ = synced(netbox, fabric, "--apply")
        assert json.loads(netbox.shell(HAND_MADE)) == before, "an object that railweave did not make has changed"
        reported = [note for note in first["notes"] if "not made by railweave" in note or "left out" in note]
        assert len(reported) >= 5, first["notes"]
        second, _ = synced(netbox, fabric)
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
        planned, _ = synced(netbox, fabric)
        about = {
            " ".join(change["name"].split()[:1])
            for change in planned["changes"]
            if change["kind"] in {"device", "cable"}
        }
        assert about == {"H100-05", "H100-01", "H100-02"}, about
        moved = [change for change in planned["changes"] if change["kind"] == "cable" and change["action"] == "update"]
        assert len(moved) == 3, moved
        counts = {kind: row["create"] for kind, row in planned["counts"].items() if row["create"]}
        applied, _ = synced(netbox, fabric, "--apply")
        assert applied["counts"] == planned["counts"], applied["counts"]
        last, _ = synced(netbox, fabric)
        assert not last["changes"], last["changes"][:5]
        assert json.loads(netbox.shell(HAND_MADE)) == before
        say(f"changed design: {counts} to create, {len(moved)} cables moved, nothing else")
        adopted, _ = synced(netbox, fabric, "--apply", "--adopt")
        empty, _ = synced(netbox, fabric)
        assert adopted["changes"], "nothing was adopted"
        assert not empty["changes"], empty["changes"][:5]
        assert not any("not made by" in note for note in empty["notes"]), empty["notes"]
        say(f"--adopt: {len(adopted['changes'])} changes, then none")
        state(netbox)
    return [
        f"| objects made by hand | {len(before)}, unchanged; {len(reported)} differences reported |",
        f"| a server added, two cables swapped, one moved | {sum(counts.values())} objects created, {len(moved)} cables changed, nothing else; then the plan is empty |",
    ]


KILLS = ("devices: reading", "interfaces: 100 of", "cables: reading", "IP addresses: 100 of")


def killed() -> list[str]:
    """Exports that SIGKILL ends, at each of several moments, and the state after the last one beside an export without any."""
    fabric = EXAMPLES / "h100-rlb.yaml"
    with serving() as netbox:
        synced(netbox, fabric, "--apply")
        wanted = state(netbox)
    with serving() as netbox:
        repeated = sum(_kill_at(netbox, fabric, moment) for moment in KILLS)
        for _ in range(4):  # NetBox may still be busy with the last request of the killed one
            done = netbox.railweave("export", "netbox", fabric, "--url", netbox.url, "--apply", "-q", check=False)
            if done.returncode == 0:
                break
            repeated += 1
            assert "run the command again" in done.stderr, done.stderr
            time.sleep(3)
        there = state(netbox)
        for kind, names in wanted.items():
            assert there[kind] == names, (kind, sorted(set(there[kind]) ^ set(names))[:6])
        last, _ = synced(netbox, fabric)
        assert not last["changes"], last["changes"][:5]
    say(f"killed {len(KILLS)} times, ended the same; {repeated} exports had to be repeated")
    return [f"| killed with SIGKILL at {len(KILLS)} moments, and run again | the same objects as without a kill |"]


def _kill_at(netbox: Netbox, fabric: Path, moment: str) -> int:
    """Kill an export in the middle of a request. Gives the number of exports that ended before, by an error."""
    for failed in range(4):
        process = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                netbox.namespace,
                sys.executable,
                "-m",
                "railweave",
                "export",
                "netbox",
                str(fabric),
                "--url",
                netbox.url,
                "--apply",
            ],
            env={**os.environ, "NETBOX_TOKEN": netbox.token},
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


def imported(folder: Path, name: str) -> int:
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
    shutil.rmtree(SITE / "srv" / "imports", ignore_errors=True)
    shutil.copytree(files, SITE / "srv" / "imports")
    with serving() as netbox:
        (SITE / "srv" / "imports.json").write_text(json.dumps(tables))
        refused = netbox.shell(IMPORT)
        assert refused == "", refused
        planned, _ = synced(netbox, EXAMPLES / f"{name}.yaml")
        other = [
            change for change in planned["changes"] if (change["kind"], [*change["fields"]]) != ("interface", ["vrf"])
        ]
        assert not other, other[:5]
        assert not planned["notes"], planned["notes"]
        if planned["changes"]:
            say(
                f"{name}: {len(planned['changes'])} interfaces get their VRF, which the page of interfaces takes by its route distinguisher only"
            )
    with serving() as netbox:
        makers = [row for row in tables if row[1] == "dcim/manufacturers"]
        tags = [row for row in tables if row[1] == "extras/tags"]
        (SITE / "srv" / "imports.json").write_text(json.dumps([*tags, *makers, *types]))
        refused = netbox.shell(IMPORT)
        assert refused == "", refused
        count = netbox.shell(
            "from dcim.models import DeviceType, InterfaceTemplate; print(DeviceType.objects.count(), InterfaceTemplate.objects.count())"
        )
        say(f"{name}: device types and ports by YAML: {count.strip()}")
    rows = sum(file.read_text().count("\n") - 1 for file in files.glob("*.csv"))
    say(f"{name}: {rows} rows of {len(tables)} tables imported by NetBox's pages, then the plan is empty")
    return rows


def inventory(folder: Path) -> list[str]:
    """Serial numbers and MAC addresses that people enter in NetBox, and the inventory that is filled in with them."""
    fabric = folder / "inventoried.yaml"
    shutil.copy(EXAMPLES / "h100-rlb.yaml", fabric)
    shutil.copy(EXAMPLES / "h100-rlb.inventory.csv", folder / "inventoried.inventory.csv")
    with serving() as netbox:
        synced(netbox, fabric, "--apply")
        netbox.shell("""
from dcim.models import *
for number, device in enumerate(Device.objects.order_by("name")):
    device.serial = f"SN{number:04d}"
    device.save()
nics = Interface.objects.filter(device__name__startswith="H100", primary_mac_address=None).order_by("device__name", "name")
for number, nic in enumerate(nics):
    mac = MACAddress.objects.create(mac_address=f"A0:88:C2:00:00:{number:02X}", assigned_object=nic)
    nic.primary_mac_address = mac
    nic.save()
other = Interface.objects.get(device__name="H100-01", name="gpu0_eth")
other.primary_mac_address = MACAddress.objects.create(mac_address="A0:88:C2:FF:FF:FF", assigned_object=other)
other.save()
""")
        words = ("inventory", "from-netbox", fabric, "--url", netbox.url)
        shown = netbox.railweave(*words, check=False)
        assert shown.returncode == 1, shown.stderr
        assert "a0:88:c2:ff:ff:ff in NetBox; the inventory stays" in shown.stdout, shown.stdout[-600:]
        netbox.railweave(*words, "--write")
        text = (folder / "inventoried.inventory.csv").read_text()
        assert (text.count(",SN0"), text.count("a0:88:c2:00:00:")) == (24, 29), text
        again = netbox.railweave(*words)
        assert "nothing new" in again.stdout, again.stdout
        planned, _ = synced(netbox, fabric)
        kinds = {change["kind"] for change in planned["changes"]}
        assert kinds <= {"IP address", "primary MAC address", "MAC address"}, planned["changes"][:5]
        assert all(change["kind"] != "device" for change in planned["changes"])
    say(
        f"inventory: 24 serial numbers and 29 MAC addresses read back, one contradiction reported; the design then has {len(planned['changes'])} more objects: {sorted(kinds)}"
    )
    return [
        "| `inventory from-netbox` | 24 serial numbers and 29 MAC addresses entered in NetBox are read; one that contradicts the inventory is reported and stays |"
    ]


IN_THE_WAY = """
from dcim.models import *
from users.models import Token
from django.contrib.auth import get_user_model
site = Site.objects.create(name="site1", slug="site1")
rack = Rack.objects.create(name="K1", site=site, u_height=48)
maker = Manufacturer.objects.create(name="x", slug="x")
kind = DeviceType.objects.create(manufacturer=maker, model="x", slug="x", u_height=1)
role = DeviceRole.objects.create(name="x", slug="x", color="ff0000")
Device.objects.create(name="in-the-way", site=site, rack=rack, position=3, face="front", device_type=kind, role=role)
Token(user=get_user_model().objects.create_user("reader", password="reader-reader-1"), version=1, token="0" * 40).save()
"""


def refused() -> list[str]:
    """An object that NetBox refuses: the export says which and why, and continues when the reason is gone. Tokens without rights."""
    fabric = EXAMPLES / "three-vendors.yaml"
    with serving() as netbox:
        netbox.shell(IN_THE_WAY)
        words = ("export", "netbox", fabric, "--url", netbox.url, "-q")
        first = netbox.railweave(*words, "--apply", check=False)
        assert first.returncode == 2, first.stdout
        assert "device fra1-h100-01: position: U1.0 is already occupied" in first.stderr, first.stderr
        assert "until then created or changed: 1 tag, 1 rack, " in first.stderr, first.stderr
        netbox.shell("from dcim.models import Device; Device.objects.get(name='in-the-way').delete()")
        netbox.railweave(*words, "--apply")
        netbox.railweave(*words)  # exit code 0: nothing to do
        for token, message in (("0" * 40, "You do not have permission"), ("1" * 40, "Invalid v1 token")):
            done = netbox.run(sys.executable, "-m", "railweave", *words, env={"NETBOX_TOKEN": token}, check=False)
            assert done.returncode == 2, done.stdout
            assert message in done.stderr, done.stderr
    say("refused: the object and the reason are named, and the next run completes it; tokens without rights are named")
    return [
        "| a rack unit that is taken | the device and NetBox's reason are named; when the unit is free, the next run completes the export |"
    ]


def renamed(folder: Path) -> list[str]:
    """A device and an interface that have other names in NetBox, found by rack position and by cable; a device in another unit."""
    fabric = folder / "three-vendors.yaml"
    for ending in ("yaml", "lock"):
        shutil.copy(EXAMPLES / f"three-vendors.{ending}", folder)
    with serving() as netbox:
        synced(netbox, fabric, "--apply")
        netbox.shell("""
from dcim.models import *
Device.objects.filter(name="fra1-h100-01").update(name="old-name", serial="SN-OLD")
Interface.objects.filter(device__name="fra1-h100-02", name="gpu0_eth").update(name="ens1f0")
spine = Device.objects.get(name="fra1-spine1")
spine.position = 44
spine.save()
""")
        words = ("inventory", "from-netbox", fabric, "--url", netbox.url)
        shown = netbox.railweave(*words, "--write").stdout
        assert "NetBox calls the device at rack K1 unit 1 old-name; rename one of them" in shown, shown
        assert "fra1-spine1: NetBox has it in rack K1 unit 44, the fabric file in rack K1 unit 46" in shown, shown
        text = (folder / "three-vendors.inventory.csv").read_text()
        assert "fra1-h100-01,,,SN-OLD" in text, text
        assert "fra1-h100-02,gpu0_eth,,,ens1f0" in text, text
    say("names: a device found by its rack position, an interface by its cable, a rack unit that differs reported")
    return [
        "| a device and an interface renamed in NetBox | found by rack position and by cable; the names are reported and filled in |"
    ]


def main() -> int:
    """All parts. Gives the exit status."""
    if why := missing():
        say(f"netbox-trial: cannot run here: {why}")
        return 1
    names = sys.argv[1:] or list(NETWORKS)
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            facts = [*changed(folder), *killed(), *inventory(folder), *renamed(folder), *refused()]
            rows = {name: imported(folder, name) for name in ("h100-rlb", "three-vendors", "multitenancy-lab")}
            facts.append(
                f"| import files, by NetBox's own import pages | {', '.join(f'{name}: {count} rows' for name, count in rows.items())}; then the plan is empty |"
            )
        table = [line for name in names for line in exported(name)]
    except (AssertionError, subprocess.SubprocessError) as wrong:
        say(f"{wrong}\nnetbox-trial: failed")
        return 1
    if names == list(NETWORKS):
        head = [
            "| network | objects | of them cables | plan | apply | requests | second plan |",
            "|---|---|---|---|---|---|---|",
        ]
        for file in PAGES:
            page = file.read_text(encoding="utf-8") if file.exists() else ""
            if BEGIN in page:
                before, _, rest = page.partition(BEGIN)
                lines = [
                    f"{before}{BEGIN}",
                    *head,
                    *table,
                    "",
                    "| | |",
                    "|---|---|",
                    *facts,
                    f"{END}{rest.partition(END)[2]}",
                ]
                write_file(file, "\n".join(lines))
    say("netbox-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
