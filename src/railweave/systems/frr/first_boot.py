"""First boot of a Linux router with FRRouting. DHCP option 67 names a script.

Linux itself has no first-boot function for routers, so the router's image runs ``first-boot-client.sh`` once. This
script sends a DHCP request with option 60 ``railweave;SERIAL``, downloads the file that option 67 names, and runs it.
The router keeps its DHCP address, which is always the same for a device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.first_boot import Options, Place, SerialOption, logins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig

SERIAL_OPTIONS = (SerialOption(60, ";", "railweave;"),)
HEADERS = ("X-Serial-Number",)
TAKES_IMAGE = False
_SCRIPT = "first-boot.sh"
CLIENT = """#!/bin/sh
# Written by railweave deploy ztp. Run once at first boot: first-boot-client.sh INTERFACE [SERIAL]
# udhcpc calls it again with a word (deconfig, bound, renew) and what DHCP gave in variables.
case "$1" in
deconfig) ip address flush dev "$interface"; ip link set "$interface" up; exit ;;
bound)
  ip address add "$ip/$mask" dev "$interface" || exit 1
  [ -z "$router" ] || ip route replace default via "${router%% *}" dev "$interface"
  printf '%s\\n' "${bootfile:-$boot_file}" > "$FIRST_BOOT_FOLDER/bootfile"
  exit ;;
renew|leasefail|nak) exit ;;
esac
serial=${2:-$(cat /sys/class/dmi/id/product_serial)}
FIRST_BOOT_FOLDER=$(mktemp -d) || exit 1
export FIRST_BOOT_FOLDER
udhcpc -i "$1" -V "railweave;$serial" -O bootfile -s "$0" -n -q -t "${FIRST_BOOT_TRIES:-60}" -T 2 || exit 1
[ -s "$FIRST_BOOT_FOLDER/bootfile" ] || { echo 'DHCP named no file' >&2; exit 1; }
script=$FIRST_BOOT_FOLDER/first-boot.sh
if command -v curl > /dev/null; then curl -fsS -H "X-Serial-Number: $serial" -o "$script" "$(cat "$FIRST_BOOT_FOLDER/bootfile")"
else busybox wget -q --header "X-Serial-Number: $serial" -O "$script" "$(cat "$FIRST_BOOT_FOLDER/bootfile")"; fi || exit 1
${FIRST_BOOT_RUN:-sh} "$script"
"""
_HEAD = "#!/bin/sh\n# Written by railweave deploy ztp.\nset -e\n"
_FILES = """etc=${{FRR_ETC:-/etc/frr}}
cat > "$etc/frr.conf" <<'END-OF-FILE'
{text}END-OF-FILE
chown frr:frr "$etc/frr.conf" 2> /dev/null || true
chmod 640 "$etc/frr.conf"
"""
_FILTERS = """cat > /etc/nftables.conf <<'END-OF-FILE'
{text}END-OF-FILE
nft -f /etc/nftables.conf
"""
_START = """if [ -d /run/systemd/system ] && [ -z "$RAILWEAVE_LAB" ]; then
  hostname {name} && echo {name} > /etc/hostname
  sed -i -E 's/^(bgpd|bfdd|isisd|ospfd|ospf6d)=no/\\1=yes/' "$etc/daemons"
  systemctl restart frr
else vtysh -b > /dev/null; fi
"""


def files(config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return two scripts by file name: the script with the whole configuration, and the script that downloads it.

    The router's image contains the second script. ``rendered`` has the configuration files by name, and ``place`` is the server from which
    the device downloads its files.
    """
    script = _HEAD
    del place
    script += _FILES.format(text=rendered["frr.conf"])
    if "nftables.conf" in rendered:
        script += _FILTERS.format(text=rendered["nftables.conf"])
    if users := logins(config.management.users, config.management.root_password, "sudo,frrvty"):
        script += f'if [ -z "$RAILWEAVE_LAB" ]; then  # the routers of a lab share one file of users\n{users}fi\n'
    return {_SCRIPT: script + _START.format(name=config.name), "first-boot-client.sh": CLIENT}


def options(place: Place) -> Options:
    """Return the DHCP options, with the URL of the script as boot file.

    ``place`` is the server from which the device downloads its files.
    """
    return Options(f"{place.url}/{_SCRIPT}")
