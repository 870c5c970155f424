"""What stands in configurations that nobody asked for: as little as is safe."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

from railweave.model.device.build import device_config
from railweave.model.device.management import Services, User
from railweave.model.intent.addresses import Pools
from railweave.model.intent.addressing import Addressing
from railweave.model.intent.tenants import Overlay
from railweave.systems import system
from tests.conftest import example
from tests.retarget import retargeted


def test_eos_has_no_root_and_no_ssh_beside_management() -> None:
    found = system("eos").lines(device_config(retargeted("h100-rlb", "eos"), "stripe1-leaf1", "eos"))
    assert "no aaa root" in found
    assert not any(one.startswith("aaa root") for one in found)
    assert {"management ssh / shutdown", "management ssh / vrf MGMT / no shutdown"} <= set(found)
    gaps = system("eos").gaps(device_config(retargeted("h100-rlb", "eos"), "stripe1-leaf1", "eos"))
    assert "eos-no-root" in {one.id for one in gaps}  # the file has a password for it


def test_eos_reports_the_account_admin_unless_the_file_sets_its_password() -> None:
    config = device_config(retargeted("h100-rlb", "eos"), "stripe1-leaf1", "eos")
    assert config.management.users
    for users, open_admin in (
        (config.management.users, True),
        ({"admin": User("super-user", "secret:admin")}, False),
        ({}, False),  # the check no-login reports a file without users
    ):
        ids = {
            gap.id for gap in system("eos").gaps(replace(config, management=replace(config.management, users=users)))
        }
        assert ("eos-open-admin" in ids) is open_admin


def test_clients_of_gnmi_on_sonic_have_certificates() -> None:
    """The server has an authority to know them by, and asks (sonic-buildimage, gnmi-native.sh)."""
    config = device_config(retargeted("h100-rlb", "sonic"), "stripe1-leaf1", "sonic")
    services = replace(config.management.services, grpc_certificate="secret:pem")
    found = system("sonic").lines(replace(config, management=replace(config.management, services=services)))
    assert "GNMI|gnmi client_auth true" in found
    assert "GNMI|certs ca_crt /etc/sonic/telemetry/client-ca.cer" in found


def test_netconf_of_junos_is_strict_where_that_is_asked_for() -> None:
    config = device_config(example("h100-rlb"), "stripe1-leaf1")
    assert "system services netconf ssh" in system("junos").lines(config)
    assert "system services netconf rfc-compliant" not in system("junos").lines(config)
    strict = replace(config, management=replace(config.management, services=Services(netconf_rfc_compliant=True)))
    assert "system services netconf rfc-compliant" in system("junos").lines(strict)


def test_default_pools_are_local_and_apart() -> None:
    """Addresses that nobody assigns are in fd00::/8 (RFC 4193, section 3.1)."""
    overlay = Overlay(vtep="ipv6")
    pools = [ip_network(one) for one in (Addressing().server_pool, Pools().fabric_links, overlay.loopbacks)]
    assert all(one.subnet_of(ip_network("fd00::/8")) for one in pools if one.version == 6)
    assert not any(one.overlaps(other) for one in pools for other in pools if one is not other)
