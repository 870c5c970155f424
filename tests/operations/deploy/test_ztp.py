"""First boot: what new switches get by serial number, DHCP text that the real servers take, and a web server that knows who asks."""

from __future__ import annotations

import json
import shutil
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from railweave import InputError, api
from railweave.analysis.checks.devices import saved
from railweave.api.deploying import deploy_ztp
from railweave.cli import main
from railweave.model.device.build import device_config
from railweave.operations.deploy.changes import change
from railweave.operations.deploy.ztp import serving
from railweave.operations.deploy.ztp.making import FirstBootFiles
from railweave.operations.deploy.ztp.serving import LOG, Server
from railweave.systems import system
from tests.operations.deploy.test_rollout import SMALL

URL = "http://172.20.0.2:8080"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJ1 netops@site"
HASH = "$6$salt$hash-of-netops"
LEAF, SERIAL = "stripe1-leaf1", "AB123"
MODELS = {
    "junos": "qfx5240-64od",
    "eos": "arista-7060x6-64pe",
    "sonic": "z9864f-on",
    "dell_sonic": "z9864f-on",
    "frr": "qfx5240-64od",
}
MANAGEMENT = f"management:\n  users: {{netops: {{password: secret:netops, ssh_keys: ['{KEY}']}}}}\n"
BOOTFILES = {
    "junos": "/AB123/junos.conf",
    "eos": f"{URL}/AB123/eos.conf",
    "sonic": f"{URL}/AB123/ztp.json",
    "dell_sonic": f"{URL}/AB123/ztp.json",
    "frr": f"{URL}/AB123/first-boot.sh",
}
SERIALS = {LEAF: SERIAL, "stripe1-leaf2": "AB1234", "spine1": "XY9"}


def fabric_of(folder: Path, nos: str, serials: dict[str, str] = SERIALS) -> Path:
    """A fabric file with an inventory of serial numbers, and a file of secrets beside it."""
    path = folder / "fabric.yaml"
    path.write_text(SMALL.replace("qfx5240-64od, nos: junos", f"{MODELS[nos]}, nos: {nos}") + MANAGEMENT)
    rows = "".join(f"{name},,{serial}\n" for name, serial in serials.items())
    path.with_name("fabric.inventory.csv").write_text(f"device,interface,serial\n{rows}")
    path.with_name("secrets.yaml").write_text(f"netops: {HASH}\n")
    path.with_name("secrets.yaml").chmod(0o600)
    return path


def made_of(folder: Path, nos: str, **options: object) -> FirstBootFiles:
    fabric = fabric_of(folder, nos)
    return deploy_ztp(fabric, folder / "out", URL, secrets=folder / "secrets.yaml", **options)  # type: ignore[arg-type]


def leaf_of(made: FirstBootFiles) -> dict[str, str]:
    return dict(next(one for one in made.devices if one.name == LEAF).files)


@pytest.mark.parametrize("nos", MODELS)
def test_every_switch_with_a_serial_number_gets_its_files(tmp_path: Path, nos: str) -> None:
    made = made_of(tmp_path, nos)
    assert {one.serial for one in made.devices} == set(SERIALS.values())
    assert made.without == {"spine2": "the inventory has no serial number of it"}
    for one in made.devices:
        assert {path.name for path in (tmp_path / "out" / one.serial).iterdir()} == set(one.files)
        text = "".join(one.files.values())
        assert one.ip in text or nos == "frr", "a Linux router keeps the address of DHCP"
        assert KEY in text or nos == "dell_sonic", "its renderer says that it leaves keys out"
        assert HASH in text
        assert "<secret:" not in text
        for name in one.files:
            assert stat.S_IMODE((tmp_path / "out" / one.serial / name).stat().st_mode) == 0o600
    texts = [(tmp_path / "out" / name).read_text() for name in ("kea-dhcp4.conf", "dnsmasq.conf")]
    assert all(BOOTFILES[nos] in text and HASH not in text for text in texts)


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "frr"])
def test_the_least_configuration_is_read_back_and_has_no_routing(tmp_path: Path, nos: str) -> None:
    least, whole = (leaf_of(made_of(tmp_path, nos, whole=one)) for one in (False, True))
    reader = system(nos).reader
    assert reader is not None
    files = {"frr": ["first-boot.sh"], "sonic": ["config_db.json", "frr.conf"]}.get(nos, [f"{nos}.conf"])
    routed = [any("bgp {" in texts[name] or "router bgp" in texts[name] for name in files) for texts in (least, whole)]
    assert routed == [False, True]
    assert sum(map(len, least.values())) < sum(map(len, whole.values()))
    if nos != "frr":
        found = reader.read({name: least[name] for name in files})
        assert found.config.name == LEAF
        up = [one for one in found.config.interfaces if one.enabled]
        assert {one.peer for one in up} == {"spine1", "spine2"}, (
            "LLDP shows the cables to switches, and servers get nothing"
        )
        assert not any(one.addresses for one in up)
        assert found.config.management.lldp
        assert not found.config.gateways
        assert not found.config.bgp or not found.config.bgp.groups


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic"])
def test_after_its_first_boot_a_switch_can_be_brought_to_its_design(tmp_path: Path, nos: str) -> None:
    """EOS is told by eAPI, which its design switches on and a change never switches off."""
    booted = leaf_of(made_of(tmp_path, nos))
    network = api.load(tmp_path / "fabric.yaml")
    config = device_config(network, LEAF)
    wanted = {name: text for name, text in system(nos).files(config).items() if name in booted}
    running = {name: booted[name] for name in wanted}
    own = saved({LEAF: config}, {LEAF: running})
    found = change(LEAF, nos, running, wanted, lambda: own[LEAF])
    assert found
    lines = [str(one) for commands in found.commands.values() for one in commands]
    assert not any("http-commands" in one and one.strip().startswith("no ") for one in lines)
    if nos == "eos":
        assert "management api http-commands" in found.target["eos.conf"]


def test_eos_is_told_by_eapi(tmp_path: Path) -> None:
    assert (
        "management api http-commands\n   no shutdown\n   vrf MGMT\n      no shutdown\n"
        in leaf_of(made_of(tmp_path, "eos"))["eos.conf"]
    )


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.validator
@pytest.mark.skipif(shutil.which("kea-dhcp4") is None, reason="no kea-dhcp4: apt install kea-dhcp4-server")
def test_kea_takes_the_text(tmp_path: Path, nos: str) -> None:
    made_of(tmp_path, nos)
    for interface in ("*", "lo"):
        made_of(tmp_path, nos, interface=interface)
        ran = subprocess.run(
            ["kea-dhcp4", "-t", str(tmp_path / "out/kea-dhcp4.conf")], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.validator
@pytest.mark.skipif(shutil.which("dnsmasq") is None, reason="no dnsmasq: apt install dnsmasq-base")
def test_dnsmasq_takes_the_text(tmp_path: Path, nos: str) -> None:
    made_of(tmp_path, nos)
    words = ["dnsmasq", "--test", f"--conf-file={tmp_path}/out/dnsmasq.conf"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_junos_is_told_by_option_43(tmp_path: Path) -> None:
    """Sub-options 01, 03, 05 and, with an image, 00 (Juniper documentation), each as code, length, text."""
    image = tmp_path / "junos-evo.iso"
    image.write_bytes(b"image")
    made = made_of(tmp_path, "junos", image=[f"junos={image}"])
    [options] = [one.options for one in made.devices if one.name == LEAF]
    assert options.vendor == {0: "/images/junos-evo.iso", 1: "/AB123/junos.conf", 3: "http", 5: "8080"}
    assert (options.server_name, options.tftp_server) == ("172.20.0.2", "172.20.0.2")
    text = (tmp_path / "out/kea-dhcp4.conf").read_text()
    assert b"\x00\x15/images/junos-evo.iso\x01\x11/AB123/junos.conf\x03\x04http\x05\x048080".hex() in text


@pytest.mark.parametrize("nos", ["eos", "sonic", "dell_sonic"])
def test_an_image_is_checked_before_it_is_installed(tmp_path: Path, nos: str) -> None:
    """The script's own lines are run with a curl that brings another file."""
    image = tmp_path / "image-1.bin"
    image.write_bytes(b"image")
    files = leaf_of(made_of(tmp_path, nos, image=[f"{nos}={image}"]))
    script = next(text for text in files.values() if "sha256sum" in text)
    lines = [one for one in script.splitlines() if one.startswith("curl") or "sha256sum" in one][:2]
    assert "/images/image-1.bin" in lines[0]
    for content, status in ((b"image", 0), (b"another", 1)):
        place = tmp_path / "fetched"
        to = lines[0].split(" -o ")[1].split()[0]
        checked = "\n".join(['curl() { cp "$BROUGHT" "$3"; }', *(one.replace(to, str(place)) for one in lines)])
        (tmp_path / "brought").write_bytes(content)
        ran = subprocess.run(
            ["bash", "-c", checked], env={"PATH": "/usr/bin:/bin", "BROUGHT": str(tmp_path / "brought")}, check=False
        )
        assert ran.returncode == status
        assert place.exists() == (status == 0)


LOSSLESS = "buffer init lossless"
SWITCH = """#!/bin/sh
# A switch: what it has saved and what runs on it are files; restarting ends whatever runs there.
case "$1" in
-c) cat "$STATE/running"; exit 0 ;;
esac
while read -r line <&3; do
  echo "$line" >> "$STATE/typed"
  case "$line" in
  "write memory") touch "$STATE/saved" ;;
  "%s")
    read -r answer
    [ "$answer" = y ] && [ "$(cat "$STATE/answers")" = yes ] && [ -e "$STATE/saved" ] || exit 0
    [ -e "$STATE/broken" ] || echo "$line" >> "$STATE/running"
    kill -9 "$PPID"
    exit 0 ;;
  esac
done 3< "$1"
"""


def test_dell_waits_for_the_restart_that_its_lossless_buffers_ask_for(tmp_path: Path) -> None:
    """ZTP carries out a section that was in progress again after a restart (sonic-net/sonic-ztp, ``ztp-engine.py``)."""
    files = leaf_of(made_of(tmp_path, "dell_sonic", whole=True))
    names = sorted(json.loads(files["ztp.json"])["ztp"])
    assert names == ["02-prepare", "03-configuration"]
    typed = files["prepare.cli"].splitlines()
    assert typed[-1] == LOSSLESS, "what is typed after it is lost"
    assert "write memory" in typed[typed.index("interface-naming standard") : -1], "what is not saved before it is lost"
    assert LOSSLESS not in files["sonic.cli"]


@pytest.mark.parametrize(
    ("answers", "broken", "runs"), [(True, False, [-9, 0]), (True, True, [-9, 1]), (False, False, [1])]
)
def test_dell_prepares_once(tmp_path: Path, answers: bool, broken: bool, runs: list[int]) -> None:
    """The script on a switch that restarts, on one that loses its buffers, and on one that no answer reaches."""
    files = leaf_of(made_of(tmp_path, "dell_sonic", whole=True))
    state = tmp_path / "state"
    (state / "bin").mkdir(parents=True)
    commands = {
        "sonic-cli": SWITCH % LOSSLESS,
        "curl": f'#!/bin/sh\ncp "{tmp_path}/out/{SERIAL}/$(basename "$4")" "$3"\n',
        "sleep": "#!/bin/sh\n",
    }
    for name, text in commands.items():
        (state / "bin" / name).write_text(text)
        (state / "bin" / name).chmod(0o755)
    (state / "running").write_text("interface-naming standard\n")
    (state / "answers").write_text("yes" if answers else "no")
    if broken:
        (state / "broken").touch()
    script = tmp_path / "prepare.sh"
    script.write_text(files["prepare.sh"].replace("/tmp/", f"{state}/").replace("/host/", f"{state}/"))  # noqa: S108
    environment = {"PATH": f"{state}/bin:/usr/bin:/bin", "STATE": str(state)}
    for status in runs:
        ran = subprocess.run(["sh", script], env=environment, check=False, capture_output=True)
        assert ran.returncode == status, ran.stderr
    assert (state / "typed").read_text().splitlines().count(LOSSLESS) == 1
    assert not (state / "railweave-prepared").exists()


def test_every_script_is_one(tmp_path: Path) -> None:
    for nos in MODELS:
        for name, text in leaf_of(made_of(tmp_path, nos)).items():
            if text.startswith("#!"):
                ran = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
                assert (ran.returncode, ran.stderr) == (0, ""), f"{nos} {name}"


@pytest.mark.parametrize(
    ("serials", "url", "secrets", "said"),
    [
        ({}, URL, True, "none of these switches has a serial number in the inventory"),
        ({LEAF: "AB1", "spine1": "AB1"}, URL, True, "have the same serial number AB1"),
        ({LEAF: "AB 1'"}, URL, True, "is not a valid serial number"),
        (SERIALS, URL, False, "needs the values of netops"),
        (SERIALS, "ftp://172.20.0.2", True, "is no address of a server"),
        (SERIALS, "http://server.example:80", True, "is no address of a server"),
    ],
)
def test_what_cannot_boot_is_refused(
    tmp_path: Path, serials: dict[str, str], url: str, secrets: bool, said: str
) -> None:
    fabric = fabric_of(tmp_path, "junos", serials)
    with pytest.raises(InputError, match=said):
        deploy_ztp(fabric, tmp_path / "out", url, secrets=tmp_path / "secrets.yaml" if secrets else None)
    assert not (tmp_path / "out").exists()


def test_files_of_a_device_that_is_gone_are_removed(tmp_path: Path) -> None:
    made_of(tmp_path, "junos")
    fabric = fabric_of(tmp_path, "junos", {LEAF: "NEW1"})
    deploy_ztp(fabric, tmp_path / "out", URL, secrets=tmp_path / "secrets.yaml")
    assert not (tmp_path / "out" / SERIAL / "junos.conf").exists()
    assert (tmp_path / "out" / "NEW1" / "junos.conf").exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path, "junos")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="out: exists and was not written by railweave deploy ztp"):
        deploy_ztp(fabric, tmp_path / "out", URL, secrets=tmp_path / "secrets.yaml")
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["thesis.txt"]
    with pytest.raises(InputError, match=r"thesis\.txt: it cannot be read as a folder"):
        deploy_ztp(fabric, tmp_path / "out" / "thesis.txt", URL, secrets=tmp_path / "secrets.yaml")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, Server]]:
    with Server(folder, ("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", server
        finally:
            server.shutdown()
            thread.join()


def asked(url: str, **headers: str) -> tuple[int, bytes]:
    request = Request(url, headers={name.replace("_", "-"): text for name, text in headers.items()})  # noqa: S310 - loopback
    try:
        with urlopen(request) as answer:  # noqa: S310
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def test_known_devices_get_their_files_and_nobody_else_anything(tmp_path: Path) -> None:
    image = tmp_path / "EOS.swi"
    image.write_bytes(b"image")
    made = made_of(tmp_path, "eos", image=[f"eos={image}"])
    with served(tmp_path / "out") as (url, _):
        assert asked(f"{url}/AB123/eos.conf") == (200, leaf_of(made)["eos.conf"].encode())
        assert asked(f"{url}/AB123/eos.conf", X_Arista_Serial="AB123")[0] == 200
        assert asked(f"{url}/images/EOS.swi") == (200, b"image")
        refused = [
            f"{url}/ZZ999/eos.conf",
            f"{url}/AB123/../XY9/eos.conf",
            f"{url}/first-boot.json",
            f"{url}/AB123/",
            f"{url}/kea-dhcp4.conf",
            f"{url}/AB123/secrets.yaml",
        ]
        assert [asked(one)[0] for one in refused] == [404] * len(refused)
        assert asked(f"{url}/AB123/eos.conf", X_Arista_Serial="XY9")[0] == 404
        image.write_bytes(b"another")
        assert asked(f"{url}/images/EOS.swi")[0] == 404
    log = (tmp_path / "out" / LOG).read_text()
    assert "/ZZ999/eos.conf: nothing given: unknown serial number ZZ999" in log
    assert "XY9 asks for the files of AB123" in log
    assert "its checksum has changed" in log
    assert f"given to {LEAF} (AB123)" in log


def sent(url: str, data: bytes) -> bytes:
    """What the server answers to bytes that may be no request."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as own:
        own.sendall(data)
        answer = b""
        with suppress(OSError):
            while part := own.recv(65536):
                answer += part
        return answer


def test_whatever_one_device_asks_the_others_get_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serving, "HEADERS_S", 0.3)
    monkeypatch.setattr(serving, "SENDING_S", 0.5)
    image = tmp_path / "EOS.swi"
    image.write_bytes(b"0" * (32 << 20))
    made_of(tmp_path, "eos", image=[f"eos={image}"])
    with served(tmp_path / "out") as (url, server):
        for data in (
            b"\x00\xff\xfe\r\n\r\n",
            b"GET " + b"/" * 100_000 + b" HTTP/1.0\r\n\r\n",
            b"GET / HTTP/1.0\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
            b"GET http://[ HTTP/1.0\r\n\r\n",
            b"HEAD /\xff/\x80 HTTP/9.9\r\n\r\n",
            b"GET /AB123/eos.conf HTTP/1.0\r\nX",  # without an end
        ):
            assert b" 200 " not in sent(url, data)
        server.record["devices"]["AB124"] = []  # of a wrong type, as a damaged record has it
        assert sent(url, b"GET /AB124/eos.conf HTTP/1.0\r\n\r\n") == b""
        host, port = server.server_address[:2]
        with socket.create_connection((str(host), port)) as slow:
            slow.sendall(b"GET /images/EOS.swi HTTP/1.0\r\n\r\n")
            time.sleep(1)
            received = 0
            with suppress(OSError):
                while part := slow.recv(1 << 20):
                    received += len(part)
        assert received < 32 << 20
        assert asked(f"{url}/AB123/eos.conf")[0] == 200
    assert "the request was not answered: TypeError" in (tmp_path / "out" / LOG).read_text()
    assert "Traceback" not in capsys.readouterr().err


def test_the_log_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_LOG", 2000)
    made_of(tmp_path, "eos")
    said: list[str] = []
    with Server(tmp_path / "out", ("127.0.0.1", 0), said.append) as server:
        for _ in range(100):
            server.note("x" * 10_000)
        assert max(map(len, said)) < 400
        assert sum(one.stat().st_size for one in (tmp_path / "out").glob(f"{LOG}*")) < 5000
        (tmp_path / "out" / LOG).unlink(missing_ok=True)
        (tmp_path / "out" / LOG).mkdir()
        server.note("a line")
        assert said[-1].startswith(f"{LOG} cannot be written")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


def test_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fabric = fabric_of(tmp_path, "sonic")
    words = ["deploy", "ztp", str(fabric), "-o", str(tmp_path / "out"), "--secrets", str(tmp_path / "secrets.yaml")]
    for more, code in ((["--url", URL, "--json"], 0), (["--url", URL], 0), ([], 2), (["--serve", "nowhere"], 2)):
        monkeypatch.setattr("sys.argv", ["railweave", *words, *more])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == code
        printed = capsys.readouterr()
        if "--json" in more:
            assert json.loads(printed.out)["devices"][SERIAL]["name"] == LEAF
            assert HASH not in printed.out
        elif not code:
            assert "AB123: stripe1-leaf1, sonic" in printed.out
            assert "spine2 is left out" in printed.err
