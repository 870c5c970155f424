"""``railweave deploy ztp``: what new switches get at their first boot."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.options import HARDWARE, JSON, QUIET
from railweave.cli.output import print_json, telling
from railweave.counting import counted


def ztp(
    fabric: Path = typer.Argument(..., help="Fabric file; NAME.inventory.csv beside it has the serial numbers."),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write. It holds secrets: only you can read it."),
    url: str | None = typer.Option(
        None, "--url", help="Where switches find the folder: http://ADDRESS:PORT. Without it, what --serve says."
    ),
    whole: bool = typer.Option(
        False, "--whole", help="The full configuration, not only what `deploy apply` needs to reach a switch."
    ),
    image: list[str] = typer.Option([], "--image", help="Image to run, as SYSTEM=FILE; may be repeated."),
    only: list[str] = typer.Option([], "--only", help="This switch alone; may be repeated."),
    interface: str = typer.Option("*", "--interface", help="Where the DHCP server listens; * for every interface."),
    serve: str | None = typer.Option(
        None, "--serve", help="ADDRESS:PORT: serve the folder there until Ctrl-C, to known serial numbers alone."
    ),
    secrets: Path | None = typer.Option(
        None, "--secrets", help="YAML file of NAME: value for the secrets that the configuration refers to."
    ),
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write what new switches get at their first boot, by serial number: files for a web server, and text for the DHCP servers ISC Kea and dnsmasq.

    Afterwards `deploy apply` reaches them. A switch without a serial number in the inventory is left out, and named.
    """
    from railweave.api.first_boot import deploy_ztp

    address = _address(serve) if serve else None
    if url is None and serve is None:
        raise typer.BadParameter("say where switches find the folder: --url, or --serve", param_hint="--url")
    with telling(quiet=quiet or as_json) as say:
        say("writing the files of each switch")
        made = deploy_ztp(
            fabric,
            output,
            url or f"http://{serve}",
            whole=whole,
            image=image,
            only=only,
            interface=interface,
            secrets=secrets,
            hardware=hardware,
        )
    if as_json:
        print_json(made.to_json())
    else:
        for one in made.devices:
            typer.echo(f"{one.serial}: {one.name}, {one.system}, {one.ip}, {counted(len(one.files), 'file')}")
        for name, why in made.without.items():
            typer.echo(f"{name} is left out: {why}", err=True)
        typer.echo(f"DHCP: {output}/kea-dhcp4.conf or {output}/dnsmasq.conf; files: {made.url}")
    if address:
        _serve(output, address)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is no ADDRESS:PORT", param_hint="--serve")
    return host, int(port)


def _serve(folder: Path, address: tuple[str, int]) -> None:
    from railweave.operations.deploy.ztp.serving import Server

    with Server(folder, address, lambda line: typer.echo(line, err=True)) as server:
        typer.echo(f"serving {folder} at {address[0]}:{server.server_address[1]}, until Ctrl-C", err=True)
        server.serve_forever()
