#!/bin/sh
# A spine fails while flows cross it; forwarding follows 2 ms later, and what was lost is sent again after a timeout.
cd "$(dirname "$0")/../.." || exit
exec target/release/railweave-sim --topology examples/raw/two-leaves.txt --flows examples/raw/flows.csv \
    --fault node-down:node=spine1,at=50us --reroute 2ms --series dead-spine.csv --series-of leaf0,leaf1 "$@"
