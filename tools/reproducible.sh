#!/usr/bin/env bash
# Settings by which two builds of one commit give the same bytes, wherever the checkout is: `. tools/reproducible.sh`.
#
# Times in archives are that of the last commit, and paths in the compiled engine begin with /railweave, /cargo and /rust.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || stat --format=%Y Cargo.toml)}
RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$PWD=/railweave --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$(rustc --print sysroot)=/rust"
export SOURCE_DATE_EPOCH RUSTFLAGS
umask 022
