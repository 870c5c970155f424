"""Each key that ``avd.json`` sets, held against what AVD's schema says of it: its range, pattern, words, and what it means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import designed
from tests.systems.form_corpus import covering

from railweave.errors import InputError
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.systems.eos import render as eos
from railweave.systems.eos import validator
from railweave.systems.eos.avd.qos import FLOWSET_TABLES
from railweave.systems.eos.render.management import SEVERITIES
from railweave.systems.eos.render.ports import speed
from railweave.systems.eos.render.qos import threshold

pyavd = pytest.importorskip("pyavd")
schemas = pytest.importorskip("pyavd._schema.avdschema")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

NAMES = frozenset(
    [
        "acl_name",
        "as",
        "auth_passphrase",
        "both",
        "certificate",
        "community",
        "contact",
        "description",
        "dns_domain",
        "export",
        "file",
        "host",
        "hostname",
        "instance",
        "import",
        "ip_address",
        "ip_address_virtual",
        "ip_virtual_router_mac_address",
        "ipv6_access_group_in",
        "ipv6_address",
        "ipv6_addresses",
        "ipv6_prefix",
        "isis_enable",
        "key",
        "large_communities",
        "level",
        "location",
        "login",
        "management_address",
        "name",
        "net",
        "next_hop",
        "peer_filter",
        "peer_group",
        "prefix",
        "priv_passphrase",
        "profile",
        "rd",
        "remote_as",
        "route_map",
        "route_map_in",
        "route_map_out",
        "route_targets",
        "router_id",
        "secondary_ssh_key",
        "secret",
        "service_profile",
        "sha512_password",
        "source_interface",
        "ssh_key",
        "ssl_profile",
        "timezone",
        "active_profile",
        "update_source",
        "username",
        "vrf",
        "group",
        "preferred_lifetime",
        "valid_lifetime",
        "allowed_vlan",
    ]
)
"""The last words of keys whose strings the design or the operator gives: names, addresses, numbers, secrets, texts for people."""

WORDS: dict[str, set[str]] = {
    "aaa_authorization.policy.local_default_role": {"network-admin", "network-operator"},
    "local_users.role": {"network-admin", "network-operator"},
    "management_api_gnmi.provider": {"eos-native"},
    "router_bgp.peer_groups.send_community": {"all"},
    "router_bgp.vlans.redistribute_routes": {"learned"},
    "router_bgp.vrfs.route_targets.export.address_family": {"evpn"},
    "router_bgp.vrfs.route_targets.import.address_family": {"evpn"},
    "snmp_server.users.auth": {"sha256"},
    "snmp_server.users.priv": {"aes"},
}
"""Keys for which AVD's schema lists no words although EOS has few: what railweave may write there."""

MEANS = {
    "ethernet_interfaces.bfd.interval": "in milliseconds",
    "ethernet_interfaces.bfd.min_rx": "in milliseconds",
    "management_ssh.idle_timeout": "in minutes",
    "priority_flow_control.watchdog.polling_interval": "in seconds",
    "priority_flow_control.watchdog.recovery_time": "in seconds",
    "priority_flow_control.watchdog.timeout": "in seconds",
    "qos.map.dscp": "to traffic-class 1",
    "qos.map.traffic_class": "to dscp 32",
    "qos_profiles.uc_tx_queues.shape.rate": "1-100 percent",
    "platform.trident.mmu.headroom_pool.unit": "default is bytes",
    "router_bgp.peer_groups.bfd_timers.interval": "in milliseconds",
    "router_bgp.peer_groups.bfd_timers.min_rx": "in milliseconds",
    "router_bgp.peer_groups.ebgp_multihop": "Time-to-live in range of hops",
    "router_bgp.peer_groups.maximum_routes": "0 means unlimited",
    "tacacs_servers.hosts.timeout": "in seconds",
    "vlan_interfaces.ipv6_nd.prefixes.preferred_lifetime": "in seconds",
    "vlan_interfaces.ipv6_nd.prefixes.valid_lifetime": "in seconds",
    "vxlan_interface.vxlan1.vxlan.qos.ecn_propagation": "ECN marking to/from encapsulated packets",
}
"""Words of a key's description that its value rests on: units, and what a number stands for."""

LOW_AND_HIGH = {
    "underlay.bfd.minimum_interval": ("1ms", "255s"),
    "underlay.bfd.multiplier": (1, 255),
    "underlay.maximum_ecmp": (4, 1024),
    "router_advertisements.prefix_valid_lifetime": ("1s", "4294967295s"),
    "router_advertisements.prefix_preferred_lifetime": ("0s", "4294967295s"),
    "router_advertisements.router_lifetime": ("0s", "9000s"),
    "qos.classes.no-loss.ecn.min_bytes": (1, 4_000_000),
    "qos.classes.no-loss.ecn.max_bytes": (2, 5_000_000),
    "qos.classes.no-loss.ecn.max_probability": (0, 100),
    "qos.classes.no-loss.bandwidth": (1, 90),
    "qos.classes.no-loss.dynamic_threshold": (0, 10),
    "qos.buffers.headroom": (1, 10),
    "qos.buffers.ingress_dynamic_threshold": (0, 10),
    "qos.pfc.watchdog.poll_interval": ("1ms", "1s"),
    "qos.pfc.watchdog.detection": (1, 10),
    "qos.pfc.watchdog.recovery": ("100ms", "1500ms"),
    "load_balancing.dlb.flowset_table_size": (256, 32768),
    "mtu.fabric": (9100, 9228),
    "mtu.irb": (9000, 9000),
}
"""Numbers of a fabric that reach keys of AVD: the least and the most that the fabric file takes."""


@cache
def keys() -> dict[str, tuple[Mapping[str, Any], set[Any]]]:
    """Every key that is set on switches that have every form between them: what the schema says of it, and its values."""
    found: dict[str, tuple[Mapping[str, Any], set[Any]]] = {}
    schema = schemas.AvdSchema(schema_id="eos_cli_config_gen").subschema([])
    for config in covering("eos"):
        for key, said, value in _leaves(json.loads(eos.files(config)["avd.json"]), schema, ""):
            found.setdefault(key, (said, set()))[1].add(value)
    return found


def _leaves(data: Any, schema: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _leaves(value, schema["keys"][name], f"{key}.{name}" if key else name)
    elif isinstance(data, list):
        for value in data:
            yield from _leaves(value, schema["items"], key)
    else:
        yield key, schema, data


def test_values_are_within_what_the_schema_says() -> None:
    for key, (said, values) in keys().items():
        for value in values:
            if said["type"] == "int":
                assert said.get("min", value) <= value <= said.get("max", value), key
            if "pattern" in said:
                assert re.fullmatch(said["pattern"], str(value)), (key, value)
            if "valid_values" in said:
                assert value in said["valid_values"], (key, value)


def test_what_the_schema_leaves_open_is_known() -> None:
    """A string that the schema does not constrain is a name, one of EOS's words, or free text, which is counted as unread."""
    for key, (said, values) in keys().items():
        if said["type"] != "str" or said.keys() & {"valid_values", "pattern", "format"}:
            continue
        last = key.rpartition(".")[2]
        kinds = [last == validator.EOS_CLI, key in validator.FREE_TEXT, key in WORDS, last in NAMES]
        if key in validator.FREE_TEXT:  # also where its last word is one of names
            kinds = kinds[1:2]
        assert sum(kinds) == 1, f"{key}: say in FREE_TEXT, WORDS or NAMES what its strings are: {sorted(values)[:2]}"
        if key in WORDS:
            assert values <= WORDS[key], key


def test_descriptions_say_what_values_mean() -> None:
    have = keys()
    assert sorted(MEANS.keys() - have.keys()) == [], "a key that nothing sets"
    for key, words in MEANS.items():
        assert words in " ".join(have[key][0]["description"].split()), key


def test_flowset_sizes_are_those_of_the_description() -> None:
    said = keys()["ip_hardware.fib.load_balance_distribution.dynamic.flow_set_size"][0]
    sizes = {int(size): int(number) for number, size in re.findall(r"(\d): .*? of (\d+) entries", said["description"])}
    assert sizes == FLOWSET_TABLES
    assert (said["min"], said["max"]) == (min(sizes.values()), max(sizes.values()))
    assert catalog().systems["eos"].maximum_flowsets == max(sizes)


def test_every_word_that_can_be_chosen_is_in_the_schema() -> None:
    """Words of tables that no example uses up: severities, thresholds, ciphers, speeds of the catalog's ports."""
    have = keys()
    assert set(SEVERITIES.values()) <= set(have["logging.trap"][0]["valid_values"])
    thresholds = {threshold(index) for index in range(11)}
    assert thresholds <= set(have["platform.trident.mmu.queue_profiles.unicast_queues.threshold"][0]["valid_values"])
    speeds = set(have["ethernet_interfaces.speed"][0]["valid_values"])
    port = covering("eos")[0].interfaces[0]
    for group in (group for model in catalog().switches.values() if "eos" in model.systems for group in model.ports):
        runs = [
            (group.speed_gbps, group.lanes),
            *((one.speed_gbps, group.lanes // one.channels) for one in group.breakouts),
        ]
        for gbps, lanes in runs:
            assert speed(replace(port, speed_gbps=gbps, lanes=lanes)) in speeds


FABRIC = """
name: limits
fabrics:
  backend:
    topology: {{stripes: 1, leaves_per_stripe: 2, spines: 2, links_per_spine: 2, oversubscription: 4}}
    leaf: {{device: "arista-7060x6-64pe"}}
    spine: {{device: "arista-7060x6-64pe"}}
    {more}
servers: [{{names: "h[1-2]", model: h100-8gpu-cx7, stripe: stripe1}}]
"""


def _nested(values: Mapping[str, object]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, value in values.items():
        part = found
        *above, last = field.split(".")
        for step in above:
            part = part.setdefault(step, {})
        part[last] = value
    return found


def _built(folder: Path, values: Mapping[str, object]) -> DeviceConfig:
    parts = {"load_balancing": {"mode": "dlb-flowlet"}} | _nested(values)
    parts["load_balancing"] = {"mode": "dlb-flowlet"} | parts["load_balancing"]
    parts["qos"] = parts.get("qos", {})
    more = "\n    ".join(f"{name}: {json.dumps(part)}" for name, part in parts.items())
    network, _ = designed(folder, FABRIC.format(more=more))
    return device_config(network, "stripe1-leaf1")


def _refused(folder: Path, values: Mapping[str, object]) -> set[str]:
    """The fields that the design names in its refusals."""
    try:
        _built(folder, values)
    except InputError as error:
        found = {
            field
            for field in values
            if any(field.rpartition(".")[2] in f"{one.what} {one.fix}" for one in error.problems)
        }
        if not found:
            raise
        return found
    return set()


@pytest.mark.parametrize("end", [0, 1], ids=["least", "most"])
def test_build_refuses_what_the_schema_does(end: int, tmp_path: Path) -> None:
    """With every number at an end of what the fabric file takes, what is left after the design's refusals is right for AVD."""
    values = {field: ends[end] for field, ends in LOW_AND_HIGH.items()}
    while refused := _refused(tmp_path, values):
        values = {field: value for field, value in values.items() if field not in refused}
    config = _built(tmp_path, values)
    result = pyavd.validate_structured_config(json.loads(eos.files(config)["avd.json"]))
    assert [str(one) for one in result.validation_result.violations] == []
    assert len(values) >= len(LOW_AND_HIGH) / 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("underlay.bfd.multiplier", 2),
        ("underlay.bfd.minimum_interval", "49ms"),
        ("underlay.maximum_ecmp", 601),
        ("qos.classes.no-loss.ecn.max_probability", 0),
    ],
)
def test_a_number_outside_is_refused_with_its_line(field: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{field.rpartition('.')[2]} is .*must be .* on Arista EOS"):
        _built(tmp_path, {field: value})
    off = {"underlay.bfd.enabled": False, "underlay.bfd.multiplier": 2}
    if "bfd" in field:
        assert _built(tmp_path, off).bgp
