//! The flow engine beside the packet engine without congestion control, where pauses keep queues from losing anything: how
//! far the two are from each other, and that they take the same paths.

#[path = "flow/networks.rs"]
#[allow(dead_code)] // not all of its collectives are small enough
mod networks;

use networks::{DELAY, RATE, all_to_all, rails, rings};
use railweave_sim::balance::Balance;
use railweave_sim::config::{Config, Ecn, Recovery};
use railweave_sim::engine::Engine;
use railweave_sim::flow::{FlowEngine, Options};
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::topology::Topology;
use railweave_sim::traffic::Traffic;

const EXACT: Options = Options { efficiency: 1.0, post_cost: 0, tolerance: 0.0, fold: true };

fn config() -> Config {
    let mut config = Config::default();
    config.host.dcqcn = None;
    config.switch.classes[3].ecn = Ecn::Off;
    // what spraying reorders is not lost
    (config.host.recovery, config.host.reorder) = (Recovery::Selective, 4000);
    config
}

/// The last arrivals in both engines, and the mean over messages of how far arrivals are apart, as part of the last.
fn both(config: Config, topology: &Topology, fib: &Fib, traffic: &Traffic, options: Options) -> (Ps, Ps, f64) {
    let mut packets = Engine::new(config, topology, fib.clone(), traffic);
    packets.run(Ps::MAX);
    let mut flows = FlowEngine::new(config, topology, fib.clone(), traffic, options);
    flows.run(Ps::MAX);
    let c = &packets.counters;
    assert_eq!(c.dropped_ingress + c.dropped_egress + c.retransmitted, 0, "nothing is lost");
    let (packets, flows) = (packets.arrivals(), flows.arrivals());
    let last = |arrivals: &[Ps]| *arrivals.iter().max().expect("messages");
    let apart: f64 = packets.iter().zip(&flows).map(|(&one, &other)| one.abs_diff(other) as f64).sum();
    (last(packets), last(&flows), apart / flows.len() as f64 / last(packets) as f64)
}

/// `most`: how far the last arrival, and the mean arrival, may be from the packet engine's, as parts of the last.
fn close(what: &str, config: Config, network: &(Topology, Fib), traffic: &Traffic, most: (f64, f64)) {
    let (packets, flows, mean) = both(config, &network.0, &network.1, traffic, EXACT);
    let last = flows as f64 / packets as f64 - 1.0;
    println!("{what}: last arrival {last:+.4} of the packet engine's, mean difference {mean:.4}");
    assert!(last.abs() <= most.0 && mean <= most.1, "{what}: {flows} and {packets} by packets, mean {mean}");
}

#[test]
fn small_cases_are_close_to_packets() {
    let fat_tree = |balance| {
        let topology = Topology::fat_tree(4, RATE, DELAY);
        let fib = Fib::shortest(&topology).balanced(balance);
        (topology, fib)
    };
    let shift = |by: u32| Traffic::flows((0..16).map(|src| (src, (src + by) % 16, 4 << 20, 0)));
    // only a host's own line counts; at random, packets of two hosts meet all the same
    close("permutation, sprayed", config(), &fat_tree(Balance::Spray), &shift(4), (0.07, 0.05));
    // ports are graded by samples 16 us apart, and the run takes 115 us: between samples many choose the same port
    close("permutation, best port for every packet", config(), &fat_tree(Balance::Packet), &shift(4), (0.25, 0.2));
    let incast = Traffic::flows((1..9).map(|src| (src, 0, 2 << 20, 0)));
    // pauses are for ports and not for flows: shares are unequal until the end
    close("incast of 8", config(), &fat_tree(Balance::Spray), &incast, (0.01, 0.15));
    let one_leaf = rails(8, 1, 8, 1, Balance::Hash);
    close("all-to-all of 8 on a leaf", config(), &one_leaf, &all_to_all(8, 1 << 20), (0.005, 0.01));
    let two_stripes = rails(8, 2, 4, 4, Balance::Hash);
    close("rings of 8, 20 steps", config(), &two_stripes, &rings(8, 2, 2, 20, 1 << 18), (0.005, 0.005));
    let short = rings(8, 2, 1, 20, 4096);
    close("rings of 8, 20 steps of one packet", config(), &two_stripes, &short, (0.005, 0.005));
    // collisions: pauses spread to flows that do not take the full link
    close("permutation, hashed", config(), &fat_tree(Balance::Hash), &shift(5), (0.13, 0.12));
    let mut window = config();
    window.host.window = 8;
    close("permutation, window of 8", window, &fat_tree(Balance::Spray), &shift(4), (0.01, 0.01));
}

#[test]
fn ports_carry_the_same_bytes() {
    let mut config = config();
    config.host.ack_every = u16::MAX;
    let (topology, fib) = rails(16, 2, 4, 4, Balance::Hash);
    let traffic = all_to_all(32, 64 << 10);
    let mut packets = Engine::new(config, &topology, fib.clone(), &traffic);
    packets.run(Ps::MAX);
    let mut flows = FlowEngine::new(config, &topology, fib, &traffic, EXACT);
    flows.run(Ps::MAX);
    let mut uneven = std::collections::BTreeSet::new();
    for (port, bytes) in flows.link_bytes().into_iter().enumerate() {
        // frames without the gap; besides, an acknowledgement for every message back
        let measured = packets.port_counters(port, Ps::MAX).tx_bytes as f64;
        let frames = bytes / 4179.0 * 4159.0;
        assert!((measured - frames).abs() <= 0.005 * frames + 66.0 * 1000.0, "port {port}: {measured}, flows {frames}");
        uneven.insert((frames / 65536.0) as u64);
    }
    assert!(uneven.len() > 5, "hashes spread flows unevenly: {uneven:?}");
}

#[test]
fn a_tolerance_costs_no_more_than_it_says() {
    let (topology, fib) = rails(16, 2, 4, 4, Balance::Hash);
    let traffic = all_to_all(32, 1 << 20);
    let last = |options: Options| {
        let mut engine = FlowEngine::new(config(), &topology, fib.clone(), &traffic, options);
        engine.run(Ps::MAX);
        (*engine.arrivals().iter().max().expect("messages") as f64, engine.fills)
    };
    for post_cost in [0, 500_000] {
        let (exact, fills) = last(Options { post_cost, ..EXACT });
        for tolerance in [0.01, 0.05] {
            let (near, fewer) = last(Options { post_cost, tolerance, ..EXACT });
            assert!((near / exact - 1.0).abs() <= 2.0 * tolerance, "{near} for {exact} at {tolerance}");
            assert!(fewer < fills, "{fewer} of {fills} fills");
        }
    }
}
