"""What the trial does on a server by hand: Python with the models of NetBox and of Nautobot, and the words that their servers answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scripts:
    """The scripts and words of one product.

    - ``models``: imports the models. The other scripts:
    - ``by_hand``: makes objects as people do. ``hand_made``: prints the objects with the names and values of their fields.
    - ``state``: prints all objects by their names, and what was deleted.
    - ``entered``: enters serial numbers and MAC addresses. ``of_macs``: the kinds that a design with new MAC addresses changes.
    - ``renames``: gives a device and an interface other names, and a device another unit.
    - ``in_the_way``: puts a device where one of the design belongs, and makes a user without rights.
    - ``occupied``, ``until_then``: the words of the export then. ``tokens``: those for tokens without rights and without a user.
    - ``kills``: the lines of an export after which it is killed.
    """

    name: str
    models: str
    networks: tuple[str, ...]
    by_hand: str
    hand_made: str
    state: str
    entered: str
    of_macs: frozenset[str]
    renames: str
    in_the_way: str
    occupied: str
    until_then: str
    tokens: tuple[tuple[str, str], ...]
    kills: tuple[str, ...]


_DUMP = """
kept = []
for model in MODELS:
    for entry in json.loads(serializers.serialize("json", model.objects.all())):
        fields = {n: v for n, v in entry["fields"].items() if not n.startswith(("_", "cable")) and not n.endswith("_count") and n not in SERVERS}
        kept.append([entry["model"], entry["pk"], fields])
print(json.dumps(kept))
"""
NETBOX = Scripts(
    name="NetBox",
    models="from dcim.models import *\n",
    networks=(
        "h100-rlb", "three-vendors", "sonic-mi355x", "multitenancy-lab", "evpn-functional", "evpn-server-isolation", "frontend-mixed", "dci-50km",
        "two-planes", "mi300x-leaf-24", "aidc-three-fabrics", "arista-h200-512",
    ),
    by_hand="""
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
""",
    hand_made="""
import json
from django.core import serializers
from dcim.models import *
from ipam.models import *
MODELS = (Site, Rack, Manufacturer, DeviceType, DeviceRole, Platform, Device, Interface, Cable, Prefix, IPAddress, VLAN, VRF, ASN, RIR)
SERVERS = {"last_updated"}
"""
    + _DUMP,
    state="""
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
""",
    entered="""
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
""",
    of_macs=frozenset({"IP address", "primary MAC address", "MAC address"}),
    renames="""
from dcim.models import *
Device.objects.filter(name="fra1-h100-01").update(name="old-name", serial="SN-OLD")
Interface.objects.filter(device__name="fra1-h100-02", name="gpu0_eth").update(name="ens1f0")
spine = Device.objects.get(name="fra1-spine1")
spine.position = 44
spine.save()
""",
    in_the_way="""
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
""",
    occupied="device fra1-h100-01: position: U1.0 is already occupied",
    until_then="until then created or changed: 1 tag, 1 rack, ",
    tokens=(("0" * 40, "You do not have permission"), ("1" * 40, "Invalid v1 token")),
    kills=("devices: reading", "interfaces: 100 of", "cables: reading", "IP addresses: 100 of"),
)  # fmt: skip
_NAUTOBOT = """
import json
from django.core import serializers
from django.contrib.contenttypes.models import ContentType
from nautobot.dcim.models import *
from nautobot.ipam.models import *
from nautobot.extras.models import ObjectChange, Role, Status
active = Status.objects.get(name="Active")
"""
NAUTOBOT = Scripts(
    name="Nautobot",
    models=_NAUTOBOT,
    networks=(
        "h100-rlb", "three-vendors", "multitenancy-lab", "evpn-functional", "dci-50km", "two-planes",
    ),
    by_hand=_NAUTOBOT + """
hall = LocationType.objects.create(name="Hall")
hall.content_types.set([ContentType.objects.get_for_model(model) for model in (Device, Rack, VLANGroup, VLAN, Prefix)])
site = Location.objects.create(name="site1", location_type=hall, status=active, description="by hand")
maker = Manufacturer.objects.create(name="Juniper Networks", description="by hand")
kind = DeviceType.objects.create(manufacturer=maker, model="qfx5240-64od", u_height=4)
machine = DeviceType.objects.create(manufacturer=maker, model="a server")
role = Role.objects.create(name="Compute", color="ff0000")
role.content_types.set([ContentType.objects.get_for_model(Device)])
common = {"location": site, "role": role, "status": active}
server = Device.objects.create(name="H100-02", device_type=machine, serial="HAND-1", **common)
Interface.objects.create(device=server, name="gpu0_eth", type="other", mtu=1500, status=active)
ends = []
for name in ("office-1", "office-2"):
    device = Device.objects.create(name=name, device_type=kind, **common)
    ends.append(Interface.objects.create(device=device, name="et-0/0/0", type="400gbase-x-osfp", status=active))
connected = Status.objects.get(name="Connected")
Cable(termination_a=ends[0], termination_b=ends[1], label="by hand", status=connected).save()
leaf = Device.objects.create(name="stripe2-leaf1", device_type=kind, **common)
port = Interface.objects.create(device=leaf, name="et-0/0/0:0", type="400gbase-x-osfp", status=active)
loop = Interface.objects.create(device=leaf, name="loop", type="other", status=active)
Cable(termination_a=port, termination_b=loop, label="test loop", status=connected).save()
space = Namespace.objects.get(name="Global")
Prefix.objects.create(prefix="172.20.0.0/24", description="by hand", namespace=space, status=active)
IPAddress.objects.create(address="172.20.0.10/24", description="by hand", namespace=space, status=active)
""",
    # The server itself chooses the parents of prefixes and addresses.
    hand_made=_NAUTOBOT + """
MODELS = (LocationType, Location, Rack, Manufacturer, DeviceType, Platform, Device, Interface, Cable, CableToCableTermination, Prefix, IPAddress, IPAddressToInterface, VLAN, VRF)
SERVERS = {"last_updated", "parent"}
""" + _DUMP,
    state=_NAUTOBOT + """
def ends(cable):
    return sorted(f"{t.termination.device.name} {t.termination.name}" for t in cable.terminations.all())
def tags(thing):
    return sorted(thing.tags.names())
def at(address):
    return sorted(f"{i.device.name} {i.name}" for i in address.interfaces.all())
def vrfs(thing):
    return sorted(vrf.name for vrf in thing.vrfs.all())
state = {
    "devices": sorted(f"{d.name} {d.location} {d.rack} {d.position} {d.device_type} {d.role} {d.serial} {d.primary_ip4} {vrfs(d)} {tags(d)}" for d in Device.objects.all()),
    "interfaces": sorted(f"{i.device.name} {i.name} {i.type} {i.speed} {i.mtu} {i.untagged_vlan} {i.mac_address} {i.vrf} {tags(i)}" for i in Interface.objects.all()),
    "cables": sorted(f"{c.label} {c.type} {c.length} {c.length_unit} {ends(c)} {tags(c)}" for c in Cable.objects.all()),
    "addresses": sorted(f"{a.address} {a.role} {at(a)} {tags(a)}" for a in IPAddress.objects.all()),
    "prefixes": sorted(f"{p.prefix} {p.vlan} {p.type} {vrfs(p)} {p.parent} {tags(p)}" for p in Prefix.objects.all()),
    "others": sorted(f"{type(o).__name__} {o}" for m in (LocationType, Location, Rack, Manufacturer, DeviceType, Role, Status, Platform, VLANGroup, VLAN, VRF) for o in m.objects.all()),
}
deleted = [f"{c.changed_object_type.model} {c.object_repr}" for c in ObjectChange.objects.filter(action="delete")]
print(json.dumps({"state": state, "deleted": deleted}))
""",
    entered=_NAUTOBOT + """
for number, device in enumerate(Device.objects.order_by("name")):
    device.serial = f"SN{number:04d}"
    device.save()
nics = [i for i in Interface.objects.filter(device__name__startswith="H100").order_by("device__name", "name") if not i.mac_address]
for number, nic in enumerate(nics):
    nic.mac_address = f"A0:88:C2:00:00:{number:02X}"
    nic.save()
other = Interface.objects.get(device__name="H100-01", name="gpu0_eth")
other.mac_address = "A0:88:C2:FF:FF:FF"
other.save()
""",
    of_macs=frozenset({"IP address", "interface of address", "interface"}),
    renames=_NAUTOBOT + """
Device.objects.filter(name="fra1-h100-01").update(name="old-name", serial="SN-OLD")
Interface.objects.filter(device__name="fra1-h100-02", name="gpu0_eth").update(name="ens1f0")
spine = Device.objects.get(name="fra1-spine1")
spine.position = 44
spine.save()
""",
    in_the_way=_NAUTOBOT + """
from django.contrib.auth import get_user_model
from nautobot.users.models import Token
hall = LocationType.objects.create(name="Hall")
hall.content_types.set([ContentType.objects.get_for_model(model) for model in (Device, Rack, VLANGroup, VLAN, Prefix)])
site = Location.objects.create(name="site1", location_type=hall, status=active)
rack = Rack.objects.create(name="K1", location=site, u_height=48, status=active)
kind = DeviceType.objects.create(manufacturer=Manufacturer.objects.create(name="x"), model="x", u_height=1)
role = Role.objects.create(name="x")
role.content_types.set([ContentType.objects.get_for_model(Device)])
Device.objects.create(name="in-the-way", location=site, rack=rack, position=3, face="front", device_type=kind, role=role, status=active)
Token.objects.create(user=get_user_model().objects.create_user("reader", password="reader-reader-1"), key="0" * 40)
""",
    occupied="device fra1-h100-01: position: U1 is already occupied",
    until_then="until then created or changed: 1 tag, 3 roles, 1 rack, ",
    tokens=(("0" * 40, "You do not have permission"), ("1" * 40, "Invalid token")),
    kills=("devices: reading", "interfaces: 100 of", "cables: 25 of", "IP addresses: 50 of", "interfaces of addresses: 25 of"),
)  # fmt: skip
SCRIPTS = {"netbox": NETBOX, "nautobot": NAUTOBOT}
