//! The flow engine's rates: what arithmetic says, and the laws of max-min fairness on random networks.

#[path = "flow/networks.rs"]
#[allow(dead_code)] // its collectives are for other tests
mod networks;
mod reference;
#[allow(dead_code, unused_imports)] // the laws are the packet engine's
mod scenario;

use networks::DELAY;
use railweave_sim::balance::Balance;
use railweave_sim::config::Config;
use railweave_sim::fault::Change;
use railweave_sim::flow::{Bound, FlowEngine, Options};
use railweave_sim::hashing::mix;
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::topology::{Cable, NodeKind, Topology, ps_per_byte};
use railweave_sim::traffic::Traffic;
use scenario::Scenario;

const GBPS: f64 = 1.0 / 8000.0; // 10^9 bit/s in bytes a picosecond
const EXACT: Options = Options { efficiency: 1.0, post_cost: 0, tolerance: 0.0, fold: true };

/// Parameters under which acknowledgements take next to nothing.
fn config() -> Config {
    let mut config = Config::default();
    config.host.ack_every = u16::MAX;
    config
}

/// So many hosts, then switches, joined by cables of rates in 10^9 bit/s.
fn network(hosts: u32, switches: u32, cables: &[(u32, u32, u64)]) -> Topology {
    let kind = |node| if node < hosts { NodeKind::Host } else { NodeKind::Switch };
    let nodes = (0..hosts + switches).map(|node| (format!("n{node}"), kind(node))).collect();
    let cable = |&(a, b, gbps)| Cable { a, b, rate_mbps: gbps * 1000, delay: DELAY };
    Topology::new(nodes, &cables.iter().map(cable).collect::<Vec<_>>())
}

fn engine(topology: &Topology, traffic: &Traffic, options: Options) -> FlowEngine {
    FlowEngine::new(config(), topology, Fib::shortest(topology), traffic, options)
}

fn assert_near(measured: f64, wanted: f64, part: f64, what: &str) {
    assert!((measured - wanted).abs() <= wanted * part, "{what}: {measured}, not {wanted}");
}

#[test]
fn a_line_of_switches_is_shared_as_in_the_textbook() {
    // three switches in a row; the flow over both cables is held by the slower, and leaves the faster to the other
    let cables =
        [(0, 6, 400), (1, 6, 400), (2, 7, 400), (3, 7, 400), (4, 8, 400), (5, 8, 400), (6, 7, 400), (7, 8, 200)];
    let topology = network(6, 3, &cables);
    let bytes = 100_000_000;
    let traffic = Traffic::flows([(0, 4, bytes, 0), (1, 2, bytes, 0), (3, 5, bytes, 0)]);
    let mut engine = engine(&topology, &traffic, EXACT);
    engine.run(1_000_000);
    for (rate, gbps) in engine.rates().into_iter().zip([100.0, 300.0, 100.0]) {
        assert_near(rate, gbps * GBPS, 1e-4, "rate");
    }
    engine.run(Ps::MAX);
    // the second ends first; then the others are still held by the slow cable
    let wire = bytes as f64 / 4096.0 * 4178.0;
    for (at, gbps) in engine.arrivals().into_iter().zip([100.0, 300.0, 100.0]) {
        assert_near(at as f64, wire / (gbps * GBPS), 1e-3, "arrival");
    }
    let slow = topology.first[7 + 1] - 1;
    let [(bound, time)] = engine.bounds(0)[..] else { panic!("{:?}", engine.bounds(0)) };
    assert_eq!(bound, Bound::Link(slow), "the last port of the middle switch");
    assert_near(time as f64, wire / (100.0 * GBPS), 1e-3, "time");
    assert_eq!(engine.bottlenecks()[0].0, Bound::Link(slow));
}

#[test]
fn what_ends_leaves_its_share_to_the_others() {
    let cables: Vec<_> = (0..3).map(|host| (host, 3, 400)).collect();
    let topology = network(3, 1, &cables);
    let traffic = Traffic::flows([(0, 2, 4096 * 1000, 0), (1, 2, 4096 * 3000, 0)]);
    let mut engine = engine(&topology, &traffic, EXACT);
    engine.run(Ps::MAX);
    let packet = 4178 * 20;
    let arrivals = engine.arrivals().into_iter().map(|at| at - 2 * DELAY - packet).collect::<Vec<_>>();
    // half the line until the first has its 1000 packets, then all of it: 4000 packets on one line in the end
    assert_near(arrivals[0] as f64, (2000 * packet) as f64, 1e-4, "first");
    assert_near(arrivals[1] as f64, (4000 * packet) as f64, 1e-4, "second");
}

#[test]
fn efficiency_windows_and_posting_bind() {
    let topology = network(3, 1, &[(0, 2 + 1, 400), (1, 3, 400), (2, 3, 400)]);
    let traffic = Traffic::flows([(0, 1, 4096 * 10_000, 0)]);
    let time = |config: Config, options: Options| {
        let mut engine = FlowEngine::new(config, &topology, Fib::shortest(&topology), &traffic, options);
        engine.run(Ps::MAX);
        (engine.arrivals()[0] as f64, engine.bounds(0))
    };
    let line = time(config(), EXACT).0;
    assert_near(time(config(), Options { efficiency: 0.5, ..EXACT }).0, 2.0 * line, 2e-3, "half the efficiency");
    let mut small = config();
    small.host.window = 8;
    // two wires each way, and a packet and its acknowledgement stored on each of two
    let round_trip = (4 * DELAY + 2 * (4178 + 86) * 20) as f64;
    let (at, bounds) = time(small, EXACT);
    assert_near(at, 10_000.0 / 8.0 * round_trip, 1e-3, "a window each round trip");
    assert_eq!(bounds[0].0, Bound::Window);
    // three messages ready at once, each posted a microsecond after the one before and shorter than that
    let short = Traffic::flows((0..3).map(|_| (0, 1, 4096, 0)));
    let posts = Options { post_cost: 1_000_000, ..EXACT };
    let mut engine = engine(&topology, &short, posts);
    engine.run(Ps::MAX);
    let way = 2 * DELAY + 2 * (4178 + 16) * 20;
    for (number, at) in engine.arrivals().into_iter().enumerate() {
        assert!(at.abs_diff((number as Ps + 1) * 1_000_000 + way) < 5_000, "message {number} at {at}");
    }
    assert_eq!(engine.bounds(2)[0], (Bound::Post, 3_000_000));
}

#[test]
fn spraying_uses_all_members_and_a_dead_one_stops_it() {
    // two leaves, four spines of 100G each: hashed, a flow has one of them
    let mut cables = vec![(0, 2, 400), (1, 3, 400)];
    cables.extend((4..8).flat_map(|spine| [(2, spine, 100), (3, spine, 100)]));
    let topology = network(2, 6, &cables);
    let traffic = Traffic::flows([(0, 1, 4096 * 1000, 0)]);
    for (balance, gbps) in [(Balance::Hash, 100.0), (Balance::Spray, 400.0), (Balance::Packet, 400.0)] {
        let fib = Fib::shortest(&topology).balanced(balance);
        let mut engine = FlowEngine::new(config(), &topology, fib, &traffic, EXACT);
        engine.run(1_000_000);
        assert_near(engine.rates()[0], gbps * GBPS, 1e-4, "rate");
    }
    let dead = topology.first[4];
    let run = |changes: Vec<(Ps, Change)>| {
        let fib = Fib::shortest(&topology).balanced(Balance::Spray);
        let mut engine = FlowEngine::new(config(), &topology, fib, &traffic, EXACT)
            .with_changes(changes)
            .expect("they can be shown");
        engine.run(Ps::MAX);
        engine.arrivals()[0]
    };
    let whole = run(vec![]);
    let (down, up) = (20_000_000, 50_000_000);
    let later = run(vec![(down, Change::LinkDown(dead)), (up, Change::LinkUp(dead))]);
    assert!(later.abs_diff(whole + (up - down)) <= 2, "{later}, and {whole} without");
    assert_eq!(run(vec![(down, Change::LinkDown(dead))]), Ps::MAX);
    let slower = run(vec![(0, Change::Rate(dead, ps_per_byte(50_000)))]);
    assert_near(
        slower as f64,
        2.0 * whole as f64,
        0.03,
        "each member has a quarter of the data, so the slowest decides",
    );
    let lost = FlowEngine::new(config(), &topology, Fib::shortest(&topology), &traffic, EXACT);
    assert_eq!(lost.with_changes(vec![(0, Change::Loss(dead, 1))]).err(), Some(Change::Loss(dead, 1)));
}

/// A random scenario of the packet engine's, at a rate and with parameters that leave rates to links alone.
fn drawn(index: u64) -> Scenario {
    let bytes: Vec<u8> = (0..64).flat_map(|word| mix(index, word).to_le_bytes()).collect();
    let mut scenario = Scenario::new(&bytes);
    scenario.config.host.ack_every = u16::MAX;
    scenario.config.host.window = u32::MAX;
    scenario
}

fn flows(scenario: &Scenario, options: Options) -> FlowEngine {
    FlowEngine::new(scenario.config, &scenario.topology, scenario.fib.clone(), &scenario.traffic, options)
}

/// No link carries more than it can, and whoever sends has a full link on which nobody is faster: the definition of max-min
/// fair rates (Bertsekas and Gallager, section 6.5.2).
fn rates_are_fair(scenario: &Scenario, engine: &FlowEngine) -> bool {
    let rates = engine.rates();
    let paths: Vec<_> = (0..rates.len() as u32).map(|qp| engine.path(qp)).collect();
    let ports = scenario.topology.wires.len();
    let (mut load, mut fastest) = (vec![0.0; ports], vec![0.0f64; ports]);
    for (path, &rate) in paths.iter().zip(&rates) {
        for &(port, share) in path {
            load[port as usize] += rate * share;
            fastest[port as usize] = fastest[port as usize].max(rate);
        }
    }
    let capacity = |port: usize| 65536.0 / scenario.topology.wires[port].ps_per_byte as f64;
    for (port, &load) in load.iter().enumerate() {
        assert!(load <= capacity(port) * (1.0 + 1e-9), "port {port} carries {load} of {}", capacity(port));
    }
    for (path, &rate) in paths.iter().zip(&rates).filter(|one| *one.1 > 0.0) {
        let holds = |port: usize| load[port] >= capacity(port) * (1.0 - 1e-4) && fastest[port] <= rate * (1.0 + 1e-9);
        assert!(path.iter().any(|&(port, _)| holds(port as usize)), "nothing holds a rate of {rate} on {path:?}");
    }
    rates.iter().any(|&rate| rate > 0.0)
}

#[test]
fn random_rates_are_max_min_fair_at_all_times() {
    let mut busy = 0;
    for index in 0..2000 {
        let scenario = drawn(index);
        let mut engine = flows(&scenario, EXACT);
        let mut steps = 0;
        while engine.next_event() != Ps::MAX {
            let now = engine.next_event();
            engine.run(now + 1);
            assert!(engine.next_event() > now, "scenario {index}: time stands still at {now}");
            busy += u64::from(rates_are_fair(&scenario, &engine));
            steps += 1;
            assert!(steps < 10_000, "scenario {index} has no end");
        }
        let arrivals = engine.arrivals();
        for (message, &at) in scenario.traffic.messages.iter().zip(&arrivals) {
            let ready = message.after.iter().map(|wait| arrivals[wait.message as usize]).max().unwrap_or(0);
            assert!(at != Ps::MAX && at > ready.saturating_add(message.start), "scenario {index}: {message:?} at {at}");
        }
        // stopping changes nothing; neither does simulating once what behaves the same, but for rounding
        let mut whole = flows(&scenario, EXACT);
        whole.run(Ps::MAX);
        assert_eq!(whole.arrivals(), arrivals, "scenario {index}");
        let mut single = flows(&scenario, Options { fold: false, ..EXACT });
        single.run(Ps::MAX);
        for (one, other) in single.arrivals().into_iter().zip(&arrivals) {
            assert!(one.abs_diff(*other) <= 100 + other / 1_000_000_000, "scenario {index}: {one} and {other}");
        }
        let sent: f64 = whole.link_bytes().iter().sum();
        let again: f64 = single.link_bytes().iter().sum();
        assert_near(sent, again, 1e-6, "bytes");
    }
    assert!(busy > 5000, "{busy} moments at which something is sent");
}

#[test]
fn random_changes_come_to_an_end() {
    let mut changed = 0;
    for index in 0..2000 {
        let scenario = drawn(index);
        let kept = |change: &(Ps, Change)| !matches!(change.1, Change::Loss(..) | Change::Storm(..));
        let changes: Vec<_> = scenario.changes.iter().copied().filter(kept).collect();
        changed += changes.len();
        let start =
            || flows(&scenario, EXACT).with_changes(changes.clone()).expect("those that it cannot show are left out");
        let (mut whole, mut parts) = (start(), start());
        whole.run(Ps::MAX);
        while parts.next_event() != Ps::MAX {
            let now = parts.next_event();
            parts.run(now + 1);
            assert!(parts.next_event() > now, "scenario {index}: time stands still at {now}");
        }
        assert_eq!(whole.arrivals(), parts.arrivals(), "scenario {index}");
        for qp in 0..scenario.traffic.pairs.len() as u32 {
            whole.bounds(qp);
        }
    }
    assert!(changed > 500, "{changed} changes");
}
