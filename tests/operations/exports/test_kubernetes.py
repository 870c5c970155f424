"""NIC settings, node addresses, secondary networks and test jobs for Kubernetes."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from ipaddress import ip_interface, ip_network
from typing import Any

import pytest

from railweave.model.device.host import host_config
from railweave.operations.exports import kubernetes, node_networks
from railweave.operations.exports.placement import placements
from railweave.outputs.rendering.host.netplan import document as netplan
from tests.conftest import EXAMPLES, example
from tests.operations.exports.read import documents, objects

GPU_NETWORKS = sorted(
    path.stem
    for path in EXAMPLES.glob("*.yaml")
    if not path.stem.startswith("scale-") and path.stem != "frontend-mixed"
)


def _of_kind(name: str, kind: str) -> list[dict[str, Any]]:
    return [written for written in objects(kubernetes.files(example(name))) if written["kind"] == kind]


def _rule(mapping: dict[str, Any], source: str, to: str, table: str) -> tuple[str, str, int, int | None]:
    networks = [str(ip_interface(mapping[key]).network) if key in mapping else "" for key in (source, to)]
    return (networks[0], networks[1], mapping[table], mapping.get("priority"))


@pytest.mark.parametrize("name", GPU_NETWORKS)
def test_nmstate_sets_what_netplan_sets(name: str) -> None:
    """Of each server: the MTU, addresses, SLAAC, routes and rules of its NICs, read from both forms."""
    network = example(name)
    files = kubernetes.files(network)
    for place in placements(network):
        states = [
            written["spec"]["desiredState"]
            for folder in ("nmstate", f"nmstate-gpus/{place.fabric}")
            for written in documents(files.get(f"{folder}/{place.server.lower()}.yaml", ""))
        ]
        interfaces = {interface["name"]: interface for state in states for interface in state["interfaces"]}
        routes = [route for state in states for route in state.get("routes", {"config": []})["config"]]
        rules = [rule for state in states for rule in state.get("route-rules", {"config": []})["config"]]
        expected: Any = netplan(host_config(network, place.server))["network"]
        ethernets = expected.get("ethernets", {})
        assert interfaces.keys() == ethernets.keys()
        expected_rules = []
        for netdev, settings in ethernets.items():
            interface = interfaces[netdev]
            assert interface["mtu"] == settings["mtu"]
            assert interface["ipv6"].get("autoconf", False) is settings.get("accept-ra", False)
            addresses = {
                f"{address['ip']}/{address['prefix-length']}"
                for family in ("ipv4", "ipv6")
                for address in interface[family].get("address", [])
            }
            assert addresses == set(settings.get("addresses", []))
            mine = {
                (
                    "default" if route["destination"] in {"0.0.0.0/0", "::/0"} else route["destination"],
                    route.get("next-hop-address"),
                    route.get("table-id"),
                )
                for route in routes
                if route["next-hop-interface"] == netdev
            }
            assert mine == {(route["to"], route.get("via"), route.get("table")) for route in settings.get("routes", [])}
            expected_rules += [_rule(rule, "from", "to", "table") for rule in settings.get("routing-policy", [])]
        assert sorted(_rule(rule, "ip-from", "ip-to", "route-table") for rule in rules) == sorted(expected_rules)


def test_a_default_route_has_the_family_of_its_gateway() -> None:
    network = example("multitenancy-lab")
    (policy,) = documents(kubernetes.files(network)["nmstate-gpus/backend/h100-01.yaml"])
    for route in policy["spec"]["desiredState"]["routes"]["config"]:
        assert route["destination"] == ("::/0" if ":" in route["next-hop-address"] else "0.0.0.0/0")


def test_nics_whose_advertisements_the_kernel_handles_are_left_to_it() -> None:
    config = replace(host_config(example("h100-rlb"), "H100-01"), advertisements_by="kernel")
    assert node_networks.files({"h100-01": (config, "backend")}) == {}
    mixed = replace(config, nics=(config.nics[0], *(replace(nic, slaac=False) for nic in config.nics[1:])))
    text = node_networks.files({"h100-01": (mixed, "backend")})["nmstate-gpus/backend/h100-01.yaml"]
    assert "kernel handles their router advertisements: gpu0_eth." in text
    (policy,) = documents(text)
    state = policy["spec"]["desiredState"]
    assert "gpu0_eth" not in {interface["name"] for interface in state["interfaces"]}
    assert "gpu0_eth" not in {route["next-hop-interface"] for route in state["routes"]["config"]}


def test_pools_give_the_addresses_of_the_design() -> None:
    """nv-ipam gives a pod the address of its node's prefix that is not the gateway: it is the NIC's in the design."""
    network = example("arista-h200-512")
    pools = {pool["metadata"]["name"]: pool["spec"] for pool in _of_kind("arista-h200-512", "CIDRPool")}
    assert len(pools) == 8
    for place in placements(network):
        for nic in host_config(network, place.server).nics_of("backend"):
            spec = pools[f"backend-rail{nic.rail}-ipv4"]
            (allocation,) = [entry for entry in spec["staticAllocations"] if entry["nodeName"] == place.server]
            prefix = ip_network(allocation["prefix"])
            free = [str(address) for address in prefix if str(address) != allocation["gateway"]]
            assert free == [nic.addresses[0].address]
            assert allocation["gateway"] == nic.addresses[0].gateway
            assert prefix.subnet_of(ip_network(spec["cidr"]))  # type: ignore[arg-type]
            assert prefix.prefixlen == spec["perNodeNetworkPrefix"]
            ((expression,),) = [term["matchExpressions"] for term in spec["nodeSelector"]["nodeSelectorTerms"]]
            assert place.server in expression["values"]


def test_a_network_names_its_pool_and_a_resource_that_the_device_plugin_has() -> None:
    files = kubernetes.files(example("evpn-server-isolation"))
    written = objects(files)
    pools = {pool["metadata"]["name"] for pool in written if pool["kind"] == "CIDRPool"}
    (plugin,) = [item for item in written if item["kind"] == "ConfigMap"]
    resources = {
        f"{resource['resourcePrefix']}/{resource['resourceName']}": resource["selectors"][0]["pfNames"]
        for resource in json.loads(plugin["data"]["config.json"])["resourceList"]
    }
    networks = [item for item in written if item["kind"] == "NetworkAttachmentDefinition"]
    assert len(networks) == 16  # eight rails, each with an interface name of H100 servers and one of MI300X servers
    used: set[str] = set()
    for item in networks:
        resource = item["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"]
        assert len(resources.pop(resource)) == 1
        plugins = json.loads(item["spec"]["config"])["plugins"]
        assert [plugin["type"] for plugin in plugins] == ["host-device", "sbr", "tuning", "rdma"]
        used |= set(plugins[0]["ipam"]["poolName"].split(","))
    assert (used, resources) == (pools, {})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("h100-rlb", "a NIC has an address and a routing table for each path color"),
        ("mi300x-leaf-24", "a CIDRPool gives a node its own prefix"),
        ("dci-50km", "a CIDRPool gives a node its own prefix"),
    ],
)
def test_why_pods_cannot_have_the_addresses_of_a_design(name: str, reason: str) -> None:
    files = kubernetes.files(example(name))
    assert reason in files["pod-networks.txt"]
    assert {"device-plugin.yaml", "cidr-pools.yaml"}.isdisjoint(files)
    (job,) = documents(files["mpijob.yaml"])
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["hostNetwork"] is True


def test_pods_make_their_addresses_from_advertisements_if_servers_do() -> None:
    (config, *_) = [
        json.loads(item["spec"]["config"]) for item in _of_kind("sonic-mi355x", "NetworkAttachmentDefinition")
    ]
    host_device, tuning, rdma = config["plugins"]
    assert (host_device["ipam"], rdma) == ({}, {"type": "rdma"})
    assert tuning["mtu"] == 9000
    assert tuning["sysctl"]["net.ipv6.conf.IFNAME.accept_ra"] == "1"
    assert tuning["sysctl"]["net.ipv6.conf.IFNAME.addr_gen_mode"] == "0"


def test_settings_of_nvidia_nics() -> None:
    (template,) = _of_kind("h100-rlb", "NicConfigurationTemplate")
    assert template["spec"]["nodeSelector"] == {
        "railweave/fabric": "backend",
        "railweave/server-model": "h100-8gpu-cx7",
    }
    assert template["spec"]["nicSelector"] == {"nicType": "1021"}
    settings = template["spec"]["template"]
    qos = settings["roceOptimized"]["qos"]
    # DSCP 26 x 4 + ECT(0), priority 3 without loss; ECN as the switches mark.
    assert (qos["trust"], qos["pfc"], qos["tos"]) == ("dscp", "0,0,0,1,0,0,0,0", 106)
    assert qos["ecn"] == {"enabled": True, "priority": 3}
    flash = {option["name"]: option["value"] for option in settings["rawNvConfig"]}
    assert flash["CNP_DSCP_P1"] == "48"
    assert not any(option.startswith("LINK_TYPE") for option in flash)
    assert "spectrumXOptimized" not in settings


def test_templates_that_would_select_the_same_nics_are_not_applied() -> None:
    """A ConnectX-6 Dx on the frontend and another on the storage fabric need different settings, and have one device ID."""
    text = kubernetes.files(example("aidc-three-fabrics"))["nic-configuration.yaml"]
    selected = [
        (item["spec"]["nodeSelector"]["railweave/server-model"], item["spec"]["nicSelector"]["nicType"])
        for item in documents(text)
    ]
    assert len(set(selected)) == len(selected)
    assert ("dgx-h100-aidc", "101d") not in selected
    assert (
        "# Not applied: servers dgx-h100-aidc have NICs of type 101d with different settings on the fabrics frontend, storage."
        in text
    )
    assert "# NICs of storage: stor0_eth" in text
    commented = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    fabrics = [
        document["metadata"]["name"]
        for document in documents(commented[commented.index("\n---\n") :].replace("\nNICs of", "\n#"))
    ]
    assert fabrics == ["backend2-dgx-h100-aidc-101d-frontend", "backend2-dgx-h100-aidc-101d-storage"]


def test_amd_servers_have_no_template() -> None:
    assert "nic-configuration.yaml" not in kubernetes.files(example("mi300x-leaf-31"))


def test_a_job_has_the_environment_of_the_design_without_gid_indexes() -> None:
    network = example("h100-rlb")
    (job,) = _of_kind("h100-rlb", "MPIJob")
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    environment = {variable["name"]: variable["value"] for variable in launcher["env"]}
    designed = {
        variable.name: variable.value for variable in host_config(network, "H100-01").job if not variable.resolve
    }
    del designed["LD_LIBRARY_PATH"]
    assert environment == designed
    assert environment["NCCL_IB_ADDR_RANGE"] == "fc00::/16"
    words = shlex.split(launcher["args"][0].partition("exec ")[2])
    exported = {words[number + 1] for number, word in enumerate(words) if word == "-x"}
    assert exported == {*environment, "LD_LIBRARY_PATH"}
    for item in _of_kind("sonic-mi355x", "MPIJob"):
        text = json.dumps(item)
        assert "GID_INDEX" not in text
        assert "amd.com/gpu" in text


def test_jobs_of_tenants_stay_on_their_servers() -> None:
    jobs = {
        job["metadata"]["name"]: job["spec"]["mpiReplicaSpecs"]["Worker"]
        for job in _of_kind("arista-h200-512", "MPIJob")
    }
    selectors = {name: worker["template"]["spec"]["nodeSelector"]["railweave/tenant"] for name, worker in jobs.items()}
    assert sorted(selectors.values()) == ["climate", "language"]


def test_servers_whose_gpus_belong_to_several_tenants_have_no_job() -> None:
    text = kubernetes.files(example("evpn-gpu-isolation"))["mpijob.yaml"]
    assert documents(text) == []
    assert "# No job for h100-01, h100-02, h100-03, h100-04:" in text
