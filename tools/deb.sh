#!/usr/bin/env bash
# Make the Debian packages railweave-host (the program for servers) and railweave-nccl-net (the NCCL/RCCL plugin).
# usage: tools/deb.sh PYTHON PLUGIN_BUILD OUTPUT
# Needs dpkg-deb, and the plugin built. The same sources give the same bytes.
set -euo pipefail
umask 022  # dpkg-deb refuses folders that others cannot read
python=$1 plugin=$2 output=$3
command -v dpkg-deb > /dev/null || { echo "deb: skipped: there is no dpkg-deb"; exit 0; }
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
arch=$(dpkg --print-architecture)
triplet=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("MULTIARCH") or ".")')
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || date +%s)}
mkdir -p "$output"

package() {  # NAME ARCHITECTURE DEPENDS DESCRIPTION, of the files below $staging/NAME
  local root="$staging/$1"
  install -Dm644 LICENSE "$root/usr/share/doc/$1/copyright"
  mkdir -p "$root/DEBIAN"
  cat > "$root/DEBIAN/control" << CONTROL
Package: $1
Version: $version
Architecture: $2
Maintainer: The railweave authors <noreply@railweave.invalid>
Section: net
Priority: optional
Depends: $3
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Description: $4
CONTROL
  find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$root" "$output/$1_${version}_$2.deb" > /dev/null
  echo "$output/$1_${version}_$2.deb"
}

"$python" -m docs.man_pages "$staging/manual"
manual="$staging/manual/share"

host="$staging/railweave-host"
mkdir -p "$host/usr/bin"
"$python" -m railweave.host zipapp "$host/usr/bin/railweave-host" > /dev/null
chmod 755 "$host/usr/bin/railweave-host"
install -Dm644 "$manual/man/man1/railweave-host.1" "$host/usr/share/man/man1/railweave-host.1"
install -Dm644 "$manual/bash-completion/completions/railweave-host" "$host/usr/share/bash-completion/completions/railweave-host"
gzip -9n "$host/usr/share/man/man1/railweave-host.1"
package railweave-host all "python3 (>= 3.9), iproute2" "routes, rules, checks and job settings of a GPU server
 One program without dependencies: it applies the addresses, routing tables and
 rules that railweave designed for a server, checks whether the server is ready
 for a job, and takes its changes back."

net="$staging/railweave-nccl-net"
cmake=$(command -v cmake || echo "$(dirname "$python")/cmake")
DESTDIR="$net" "$cmake" --install "$plugin" --prefix /usr --strip > /dev/null
libraries=$(dirname "$(find "$net" -name libnccl-net-railweave.so)")
mv "$libraries" "$staging/lib"  # CMake does not put them into Debian's folder unless /usr was the prefix from the beginning
rm -rf "$net/usr/lib" "$net/usr/lib64"
mkdir -p "$net/usr/lib"
libraries="$net/usr/lib/$triplet"
mv "$staging/lib" "$libraries"
glibc=$(objdump -T "$libraries"/*.so "$net"/usr/bin/* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
gzip -9n "$net"/usr/share/man/man7/*.7
mkdir -p "$net/DEBIAN"
echo "activate-noawait ldconfig" > "$net/DEBIAN/triggers"
package railweave-nccl-net "$arch" "libc6 (>= ${glibc#GLIBC_})" "network plugin of railweave for NCCL and RCCL
 Puts each RDMA queue pair of a job on a path of its own. A job uses it where
 NCCL_NET_PLUGIN=railweave is set. With it comes railweave-rdma-ping."
