//! Small networks: regular ones and random graphs, with cables of differing speeds and delays.

use railweave_sim::packet::Ps;
use railweave_sim::topology::{Cable, NodeKind, Topology};

use super::draw::Draw;

/// Speeds in 10^6 bit/s: the least and the most that the input takes, and some between.
pub const SPEEDS: [u64; 7] = [400_000, 100_000, 1_600_000, 1, 1_000, 25_000, 10_000_000];

/// Delays: those of racks and rows, and the least and the most that the input takes.
const DELAYS: [Ps; 7] = [1_000_000, 50_000, 0, 1, 5_000, 100_000_000, 1_000_000_000_000];

/// How the bytes of a speed are timed: picoseconds a byte, in units of 2^-16 ps.
pub fn ps_per_byte(mbps: u64) -> u64 {
    (8_000_000 << 16) / mbps
}

/// A network, and whether its shortest paths go up and then down.
pub fn topology(draw: &mut Draw<'_>) -> (Topology, bool) {
    let (rate_mbps, delay) = (draw.one_of(&SPEEDS), draw.one_of(&DELAYS));
    let cable = |a, b| Cable { a, b, rate_mbps, delay };
    let mut up_down = true;
    let mut topology = match draw.within(0, 4) {
        0 => {
            let hosts = draw.within(2, 8) as u32;
            laid_out(hosts, 1, &(0..hosts).map(|host| cable(host, hosts)).collect::<Vec<_>>())
        }
        1 => {
            let [leaves, spines, each] = [draw.within(1, 3) as u32, draw.within(1, 3) as u32, draw.within(2, 3) as u32];
            let (hosts, links) = (leaves * each, draw.within(1, 2));
            let mut cables: Vec<_> = (0..hosts).map(|host| cable(host, hosts + host / each)).collect();
            for leaf in 0..leaves {
                for spine in 0..spines {
                    cables.extend((0..links).map(|_| cable(hosts + leaf, hosts + leaves + spine)));
                }
            }
            laid_out(hosts, leaves + spines, &cables)
        }
        2 => Topology::fat_tree(draw.one_of(&[4, 2]), rate_mbps, delay),
        3 => laid_out(2, 0, &[cable(0, 1)]),
        _ => {
            up_down = false;
            let (hosts, switches) = (draw.within(2, 6) as u32, draw.within(1, 6) as u32);
            let mut one = |below: u32| hosts + draw.within(0, u64::from(below) - 1) as u32;
            let mut cables: Vec<_> = (0..hosts).map(|host| cable(host, one(switches))).collect();
            cables.extend((1..switches).map(|switch| cable(hosts + switch, one(switch))));
            for _ in 0..one(8) - hosts {
                let (a, b) = (one(switches), one(switches));
                if a != b {
                    cables.push(cable(a, b));
                }
            }
            laid_out(hosts, switches, &cables)
        }
    };
    for _ in 0..draw.within(0, 6) {
        let port = draw.within(0, topology.wires.len() as u64 - 1) as usize;
        let (mbps, delay) = (draw.one_of(&SPEEDS), draw.one_of(&DELAYS));
        for end in [port, topology.wires[port].peer as usize] {
            topology.wires[end].ps_per_byte = ps_per_byte(mbps);
            topology.wires[end].delay = delay;
        }
    }
    (topology, up_down)
}

fn laid_out(hosts: u32, switches: u32, cables: &[Cable]) -> Topology {
    let kind = |node| if node < hosts { NodeKind::Host } else { NodeKind::Switch };
    Topology::new((0..hosts + switches).map(|node| (format!("n{node}"), kind(node))).collect(), cables)
}

/// The ports of switches.
pub fn switch_ports(topology: &Topology) -> impl Iterator<Item = u32> {
    let of_switch = |port: &u32| topology.kinds[topology.owner[*port as usize] as usize] == NodeKind::Switch;
    (0..topology.wires.len() as u32).filter(of_switch)
}
