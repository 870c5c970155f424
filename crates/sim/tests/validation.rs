//! What docs/validation.md says of the engine, as far as it can be asserted: the rows of the EVPN report's congestion
//! table, a deadlock and what breaks it, and DCQCN at its model's fixed point.

use std::collections::BTreeMap;

use railweave_sim::config::{Config, Ecn, Vxlan, Watchdog};
use railweave_sim::dcqcn::Dcqcn;
use railweave_sim::engine::Engine;
use railweave_sim::input::network::Network;
use railweave_sim::input::topology_file;
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::topology::{Cable, NodeKind, Topology};
use railweave_sim::traffic::Traffic;

const US: Ps = 1_000_000;
const MS: Ps = 1000 * US;

fn network(name: &str, text: &str) -> Network {
    topology_file::network(name, text).expect("the file is right")
}

fn engine(config: Config, network: &Network, flows: &[(String, String, u64)]) -> Engine {
    let host = |name: &str| network.host(name).expect("a host of the file");
    let traffic = Traffic::flows(flows.iter().map(|(src, dst, bytes)| (host(src), host(dst), *bytes, 0)));
    let (profiles, of) = network.profiles(&config).expect("the file is right");
    Engine::with_profiles(config, profiles, &of, &network.topology, Fib::shortest(&network.topology), &traffic)
}

/// Marks and pauses by switch and kind of neighbor, such as `leaf1>spine`.
type Places = BTreeMap<String, u64>;

struct Counts {
    marked: Places,
    pauses: Places,
    cnps: u64,
    dropped: u64,
}

const SPINES: [&str; 4] = ["spine1>leaf", "spine2>leaf", "spine3>leaf", "spine4>leaf"];

/// Sixteen queue pairs for each pair of tester ports, for so long.
fn congest(pairs: &[(String, String)], until: Ps, reacts: bool, vxlan: Option<Vxlan>) -> Counts {
    let network = network("evpn-bed.txt", include_str!("../../../examples/raw/evpn-bed.txt"));
    let mut config = Config::default();
    config.switch.vxlan = vxlan;
    if !reacts {
        config.host.dcqcn = None;
    }
    let flows: Vec<_> =
        pairs.iter().flat_map(|(src, dst)| (0..16).map(|_| (src.clone(), dst.clone(), 12_500_000))).collect();
    let mut engine = engine(config, &network, &flows);
    engine.run(until);
    let topology = &network.topology;
    let (mut marked, mut pauses) = (Places::new(), Places::new());
    for (port, wire) in topology.wires.iter().enumerate() {
        let node = topology.owner[port] as usize;
        if topology.kinds[node] == NodeKind::Switch {
            let peer =
                topology.names[wire.peer_node as usize].trim_end_matches(|c: char| c == '-' || c.is_ascii_digit());
            let place = format!("{}>{peer}", topology.names[node]);
            let counters = engine.port_counters(port, until);
            for (places, number) in [(&mut marked, counters.ecn_ce_packets), (&mut pauses, counters.pfc_tx)] {
                if number > 0 {
                    *places.entry(place.clone()).or_default() += number;
                }
            }
        }
    }
    let counters = engine.counters;
    Counts { marked, pauses, cnps: counters.cnps, dropped: counters.dropped_ingress + counters.dropped_egress }
}

fn testers(leaf: u32, numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("ixia{leaf}-{number}")).collect()
}

fn at_first_leaf() -> Vec<(String, String)> {
    testers(1, 0..12).into_iter().zip([2, 3, 4].into_iter().flat_map(|leaf| testers(leaf, 0..4))).collect()
}

fn at_spine() -> Vec<(String, String)> {
    [1, 3, 4].into_iter().flat_map(|leaf| testers(leaf, 0..4)).zip(testers(2, 0..12)).collect()
}

fn at_last_leaf() -> Vec<(String, String)> {
    testers(1, 0..4).into_iter().map(|source| (source, "ixia2-0".to_owned())).collect()
}

fn tunnel(copy_out: bool) -> Option<Vxlan> {
    Some(Vxlan { overhead: 70, copy_in: true, copy_out })
}

fn places(counted: &Places) -> Vec<&str> {
    counted.keys().map(String::as_str).collect()
}

/// Table 8 of the EVPN report, "Congestion Management in the Fabric": PFC goes back hop by hop from where the congestion
/// is, and marks begin there. Testers do not react, so pauses reach them.
#[test]
fn pauses_go_back_from_where_the_congestion_is() {
    for vxlan in [None, tunnel(true)] {
        let first = congest(&at_first_leaf(), 4 * MS, false, vxlan);
        assert_eq!(places(&first.pauses), ["leaf1>ixia"]);
        assert_eq!(places(&first.marked), ["leaf1>spine"]);

        let spine = congest(&at_spine(), 4 * MS, false, vxlan);
        let expected = [["leaf1>ixia", "leaf3>ixia", "leaf4>ixia"].as_slice(), SPINES.as_slice()].concat();
        assert_eq!(places(&spine.pauses), expected, "and the last leaf pauses nobody");
        assert!(SPINES.iter().all(|spine_port| spine.marked[*spine_port] > 0));
        assert!(!spine.marked.keys().any(|place| place.starts_with("leaf2")));

        let last = congest(&at_last_leaf(), 4 * MS, false, vxlan);
        let expected = [["leaf1>ixia", "leaf2>spine"].as_slice(), SPINES.as_slice()].concat();
        assert_eq!(places(&last.pauses), expected);
        assert!(last.marked["leaf2>ixia"] > last.marked.values().sum::<u64>() / 4);

        assert_eq!([first.dropped, spine.dropped, last.dropped], [0; 3]);
    }
}

#[test]
fn marks_of_a_spine_are_on_the_tunnel_and_those_of_leaves_on_the_packet() {
    // What is not copied at the end of the tunnel does not reach the receiver. Half a millisecond is before pauses have
    // spread, so that nobody else marks.
    for (pairs, without_copy) in [(at_first_leaf(), true), (at_spine(), false), (at_last_leaf(), true)] {
        assert!(congest(&pairs, MS / 2, true, tunnel(true)).cnps > 0);
        let hidden = congest(&pairs, MS / 2, true, tunnel(false));
        assert!(hidden.marked.values().sum::<u64>() > 0);
        assert_eq!(hidden.cnps > 0, without_copy);
    }
}

/// Two hosts at each of five switches send to those two switches on, all one way around.
fn ring(ecn: Ecn, watchdog: Option<Watchdog>) -> Engine {
    let network = network("ring.txt", include_str!("../../../examples/raw/ring.txt"));
    let mut config = Config::default();
    config.switch.classes[3].ecn = ecn;
    config.switch.watchdog = watchdog;
    config.host.timeout = MS;
    let flows: Vec<_> = (0..5)
        .flat_map(|at| ["a", "b"].map(|host| (format!("{host}{at}"), format!("{host}{}", (at + 2) % 5), 4_000_000)))
        .collect();
    let mut engine = engine(config, &network, &flows);
    engine.run(10 * MS);
    engine
}

#[test]
fn buffers_that_wait_for_each_other_stop_the_ring_and_the_watchdog_breaks_it() {
    let late = Ecn::Bytes { min: 100_000, max: 400_000, most: 65536 / 5 };
    let mut stuck = ring(late, None);
    let before = stuck.counters.delivered;
    stuck.run(150 * MS);
    assert_eq!(stuck.counters.delivered, before, "nothing moves any more");
    assert!(stuck.arrivals().contains(&Ps::MAX) && stuck.counters.pauses > 0);
    assert_eq!(stuck.counters.dropped_ingress + stuck.counters.dropped_egress, 0);
    for drop in [true, false] {
        let mut broken = ring(late, Some(Watchdog { poll: MS, detection: 2, recovery: 2 * MS, drop }));
        broken.run(150 * MS);
        assert!(!broken.arrivals().contains(&Ps::MAX), "all arrives, drop: {drop}");
        assert!(broken.counters.watchdog_acts >= 5);
        assert_eq!(broken.counters.dropped_watchdog > 0, drop);
    }
    let early = Ecn::Bytes { min: 20_000, max: 80_000, most: 65536 / 5 };
    let mut free = ring(early, None);
    free.run(150 * MS);
    assert_eq!(free.counters.pauses, 0, "marking in time leaves nothing to wait for");
    assert!(!free.arrivals().contains(&Ps::MAX));
}

/// The parameters of DCQCN's paper, at 40 Gb/s with 1 KiB packets.
fn published() -> Config {
    let mut config = Config::default();
    config.host.mtu = 1024;
    config.host.dcqcn = Some(Dcqcn {
        g: 1.0 / 256.0,
        alpha_timer: 55 * US,
        cut_interval: 0,
        clamp_target: true,
        max_cut: 0.5,
        increase_timer: 55 * US,
        byte_counter: 10_000_000,
        threshold: 5,
        additive_mbps: 40.0,
        hyper_mbps: 40.0,
        minimum_mbps: 1.0,
        cnp_interval: 50 * US,
    });
    config.switch.classes[3].ecn = Ecn::Bytes { min: 5000, max: 200_000, most: 65536 / 10 };
    config
}

/// Bytes that the queue holds where the fluid model rests (docs/validation.md): cuts and increases cancel out when
/// packets of `flows` equal flows are marked with this chance.
fn fixed_point(flows: u32) -> f64 {
    const TAU: f64 = 50e-6;
    const TIMER: f64 = 55e-6;
    let line = 40e9 / 8.0 / 1106.0;
    let share = line / f64::from(flows);
    let growth = |p: f64| {
        let hazard = -(1.0 - p).ln() * share;
        let notified = 1.0 / (TAU + 1.0 / hazard);
        let expiries =
            |every: f64, after: f64| (-hazard * ((after + 1.0) * every - TAU)).exp() / (1.0 - (-hazard * every).exp());
        let bytes = 1e7 / 1086.0 / share;
        let increases = notified * (expiries(TIMER, 0.0) + expiries(bytes, 0.0));
        let additive = notified * (expiries(TIMER, 5.0) + expiries(bytes, 5.0));
        let alpha = notified / (notified + notified * expiries(TIMER, 0.0));
        let apart = 40e6 / 8.0 / 1106.0 * additive / notified;
        apart / 2.0 * increases - share * alpha / 2.0 * notified
    };
    let (mut low, mut high) = (1e-9, 0.1);
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if growth(middle) > 0.0 { low = middle } else { high = middle }
    }
    5000.0 + low / 0.1 * 195_000.0
}

#[test]
fn dcqcn_holds_the_queue_where_its_fluid_model_rests() {
    for flows in [4u32, 8] {
        let mut nodes: Vec<_> = (0..=flows).map(|host| (format!("h{host}"), NodeKind::Host)).collect();
        nodes.push(("switch".to_owned(), NodeKind::Switch));
        let cables: Vec<_> = (0..=flows).map(|a| Cable { a, b: flows + 1, rate_mbps: 40_000, delay: US }).collect();
        let topology = Topology::new(nodes, &cables);
        let traffic = Traffic::flows((0..flows).map(|src| (src, flows, 1 << 40, 0)));
        let mut engine = Engine::new(published(), &topology, Fib::shortest(&topology), &traffic);
        let to_host = topology.first[flows as usize + 1] as usize + flows as usize;
        let sent = |engine: &Engine, now| -> Vec<f64> {
            (0..flows as usize)
                .map(|host| engine.port_counters(topology.first[host] as usize, now).tx_bytes as f64)
                .collect()
        };
        engine.run(40 * MS);
        let before = sent(&engine, 40 * MS);
        let mut held = 0.0;
        for sample in 1..=3000 {
            let now = 40 * MS + sample * 20 * US;
            engine.run(now);
            held += engine.port_counters(to_host, now).queued_bytes as f64 / 3000.0;
        }
        let ratio = held / fixed_point(flows);
        assert!(ratio > 0.85 && ratio < 1.35, "{flows} flows: {held} bytes, {ratio} of the model");
        let rates: Vec<f64> =
            sent(&engine, 100 * MS).iter().zip(&before).map(|(after, before)| after - before).collect();
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let jain = sum * sum / (f64::from(flows) * squares);
        assert!(jain > 0.98, "{flows} flows: Jain's index {jain}");
        assert!(sum * 8.0 * 1106.0 / 1086.0 > 0.97 * 40e9 * 0.06, "the line is used");
    }
}
