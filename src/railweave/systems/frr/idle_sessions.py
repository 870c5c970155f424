"""BGP sessions that FRR leaves idle after failures, for example after the two ends had no address family in common.

After each failure, FRR doubles the time until it tries to connect again, up to two minutes (FRRouting/frr bgpd/bgp_fsm.c).
On FRR 10.3, a session that had failed for 100 s came up only 32 s after the cause was removed. ``clear bgp`` ends this
waiting time. One end is enough, because an idle end accepts connections.
"""

from __future__ import annotations

WAKE = """wake() {
  frr -c 'show bgp vrf all neighbors' 2> /dev/null | awk '
    /^Instance / {vrf = $2; sub(/:$/, "", vrf)}
    /^BGP neighbor (is|on) / {peer = $4; sub(/[:,]$/, "", peer)}
    /^ *BGP state = Idle/ {print (vrf == "" || vrf == "default" ? "" : "vrf " vrf " ") peer}
  ' | while read -r session; do frr -c "clear bgp $session" > /dev/null 2>&1 < /dev/null; done
  true
}
"""
"""A shell function that makes every idle session connect now. It needs a function ``frr`` that runs ``vtysh``."""
