//! What arithmetic says must come out.

use railweave_sim::config::{CnpLimit, Config, Ecn, Recovery, Vxlan, Watchdog};
use railweave_sim::dcqcn::{Dcqcn, State};
use railweave_sim::engine::Engine;
use railweave_sim::fault::{Change, Timeline};
use railweave_sim::packet::Ps;
use railweave_sim::report::PortCounters;
use railweave_sim::routing::Fib;
use railweave_sim::topology::{Cable, NodeKind, Topology};
use railweave_sim::traffic::{Message, QueuePair, Traffic, Verb, Wait};

const US: Ps = 1_000_000;
const RATE: u64 = 400_000;
const PS_PER_BYTE: Ps = 20;
/// Frame and gap of a full packet over IPv4: 4096 + 62 + 20 bytes.
const FULL: Ps = 4178 * PS_PER_BYTE;

/// The RDMA extended header that the first packet of a write has.
const RETH: Ps = 16 * PS_PER_BYTE;

/// Hosts on one switch.
fn star(hosts: u32, delay: Ps) -> Topology {
    let mut nodes: Vec<_> = (0..hosts).map(|host| (format!("h{host}"), NodeKind::Host)).collect();
    nodes.push(("switch".to_owned(), NodeKind::Switch));
    let cables: Vec<_> = (0..hosts).map(|a| Cable { a, b: hosts, rate_mbps: RATE, delay }).collect();
    Topology::new(nodes, &cables)
}

fn without_control() -> Config {
    let mut config = Config::default();
    config.host.dcqcn = None;
    config.switch.classes[3].ecn = Ecn::Off;
    config
}

fn run(config: Config, topology: &Topology, traffic: &Traffic) -> Engine {
    let mut engine = Engine::new(config, topology, Fib::shortest(topology), traffic);
    engine.run(Ps::MAX);
    engine
}

#[test]
fn one_flow_has_the_line_less_headers() {
    let topology = star(2, US);
    let packets = 1000;
    let engine = run(without_control(), &topology, &Traffic::flows([(0, 1, packets * 4096, 0)]));
    // the last packet leaves after all others, and is stored and forwarded once; so is the RDMA header of the first,
    // which delays all that follow
    assert_eq!(engine.arrivals(), [packets * FULL + FULL + 2 * RETH + 2 * US]);
    assert_eq!(engine.counters.delivered, packets);
}

#[test]
fn a_window_gives_its_bytes_per_round_trip() {
    let topology = star(2, 10 * US);
    let mut config = without_control();
    config.host.window = 16;
    let packets = 1600;
    let engine = run(config, &topology, &Traffic::flows([(0, 1, packets * 4096, 0)]));
    // a packet there and its acknowledgement (66 + 20 bytes) back, each over two wires
    let round_trip = 2 * (FULL + 10 * US) + 2 * (86 * PS_PER_BYTE + 10 * US);
    let measured = engine.arrivals()[0];
    let rounds = packets / 16 - 1;
    // the RDMA header of the first packet delays everything twice: it is stored and forwarded
    assert_eq!(measured, 2 * RETH + rounds * round_trip + 15 * FULL + 2 * (FULL + 10 * US));
}

#[test]
fn flows_into_one_host_share_its_line_equally() {
    for flows in [2u32, 3, 8, 16] {
        let topology = star(flows + 1, US);
        let bytes = 4096 * 500;
        let engine = run(without_control(), &topology, &Traffic::flows((0..flows).map(|src| (src, flows, bytes, 0))));
        let arrivals = engine.arrivals();
        let last = *arrivals.iter().max().unwrap();
        let ideal = u64::from(flows) * 500 * FULL;
        assert!(last >= ideal, "faster than the line: {last} < {ideal}");
        assert!(last - ideal <= 2 * US + 2 * FULL, "{flows} flows: {last} against {ideal}");
        let first = *arrivals.iter().min().unwrap();
        assert!(first * 100 > last * 90, "{flows} flows end between {first} and {last}");
        assert_eq!(engine.counters.dropped_ingress + engine.counters.dropped_egress, 0);
    }
}

#[test]
fn incast_into_a_lossless_class_drops_nothing_where_headroom_fits() {
    let topology = star(17, US);
    let mut config = without_control();
    config.switch.ingress_pool = [1 << 20, 2 << 20];
    config.switch.egress_pool = [1 << 20, 32 << 20];
    // what can arrive after a pause is sent: two delays of line rate, a packet at each end, the pause frame
    config.switch.headroom = 2 * US / PS_PER_BYTE + 2 * 4178 + 84 + 4178;
    let traffic = Traffic::flows((0..16).map(|src| (src, 16, 4096 * 1000, 0)));
    let engine = run(config, &topology, &traffic);
    assert!(engine.counters.pauses > 0);
    assert_eq!(engine.counters.dropped_ingress + engine.counters.dropped_egress, 0);
    assert_eq!(engine.counters.delivered, 16_000);
    // and the same with a tenth of it does drop
    config.switch.headroom /= 10;
    let engine = run(config, &topology, &traffic);
    assert!(engine.counters.dropped_ingress > 0);
    assert_eq!(engine.counters.delivered, 16_000, "go-back-N brings everything in the end");
}

#[test]
fn what_comes_in_by_a_port_without_pfc_is_dropped_and_nobody_is_paused_by_it() {
    let topology = star(3, US);
    let mut config = without_control();
    config.switch.ingress_pool = [1 << 20, 1 << 20];
    config.host.timeout = 200 * US;
    let traffic = Traffic::flows((1..3).map(|src| (src, 0, 4_000_000, 0)));
    let run = |without: &[u32]| {
        let engine = Engine::new(config, &topology, Fib::shortest(&topology), &traffic);
        let mut engine = engine.without_pfc(without);
        engine.run(Ps::MAX);
        assert!(engine.arrivals().iter().all(|&at| at < Ps::MAX));
        [engine.counters.dropped_ingress, engine.counters.pauses, engine.port_counters(4, Ps::MAX).pfc_tx]
    };
    let [dropped, pauses, _] = run(&[]);
    assert!(dropped == 0 && pauses > 0);
    // one sender of two is paused, the other is not; ports of the switch begin at 3
    let [dropped, pauses, by_port] = run(&[4]);
    assert!(dropped > 0 && pauses > 0 && by_port == 0);
    let [dropped, pauses, _] = run(&[3, 4, 5]);
    assert!(dropped > 0 && pauses == 0);
}

#[test]
fn a_port_without_pfc_does_not_listen_and_one_without_ecn_does_not_mark() {
    let topology = star(2, US);
    let mut config = without_control();
    config.switch.classes[3].ecn = Ecn::Bytes { min: 0, max: 0, most: 65536 };
    let traffic = Traffic::flows([(0, 1, 4_000_000, 0)]);
    let run = |pfc: &[u32], ecn: &[u32]| {
        let storm = Timeline::new(vec![(0, Change::Storm(1, 3, true)), (900 * US, Change::Storm(1, 3, false))]);
        let engine = Engine::new(config, &topology, Fib::shortest(&topology), &traffic).with_changes(storm);
        let mut engine = engine.without_pfc(pfc).without_ecn(ecn);
        engine.run(Ps::MAX);
        (engine.arrivals()[0], engine.counters.marked)
    };
    let (paused, marked) = run(&[], &[]);
    assert!(paused > 900 * US && marked > 0);
    let (at, marked) = run(&[3], &[2]);
    assert!(at < 200 * US && marked > 0);
    assert_eq!(run(&[3], &[3]), (at, 0));
}

#[test]
fn ecn_comes_before_pfc_with_sane_thresholds_and_after_it_with_bad_ones() {
    let topology = star(9, US);
    let traffic = Traffic::flows((0..8).map(|src| (src, 8, 4096 * 4000, 0)));
    let sane = run(Config::default(), &topology, &traffic);
    assert!(sane.counters.marked > 0 && sane.counters.cnps > 0);
    assert_eq!(sane.counters.pauses, 0);
    let mut config = Config::default();
    config.switch.ingress_alpha[1] = 4; // an ingress port may hold 1/256 of what is free: far below the ECN threshold
    config.switch.classes[3].ecn = Ecn::Bytes { min: 20 << 20, max: 40 << 20, most: 65536 };
    let bad = run(config, &topology, &traffic);
    assert!(bad.counters.pauses > 0);
    assert_eq!(bad.counters.marked, 0);
}

#[test]
fn notifications_have_an_interval_by_port_by_address_or_by_queue_pair() {
    let topology = star(9, US);
    // two queue pairs from each of four hosts
    let traffic = Traffic::flows((0..8).map(|place| (place / 2, 8, 4096 * 500, 0)));
    let mut config = Config::default();
    config.switch.classes[3].ecn = Ecn::Bytes { min: 0, max: 1, most: 65536 }; // every packet that waits is marked
    let mut notified = |limit: CnpLimit| {
        config.host.cnp_limit = limit;
        let engine = run(config, &topology, &traffic);
        let intervals = engine.arrivals().iter().max().unwrap() / (4 * US) + 1;
        (engine.counters.cnps, intervals)
    };
    let (by_port, intervals) = notified(CnpLimit::Port);
    assert!(by_port > 1 && by_port <= intervals, "{by_port} notifications in {intervals} intervals");
    let (by_address, intervals) = notified(CnpLimit::Address);
    assert!(by_address > by_port && by_address <= 4 * intervals);
    let (by_queue_pair, intervals) = notified(CnpLimit::QueuePair);
    assert!(by_queue_pair > by_address && by_queue_pair <= 8 * intervals);
}

#[test]
fn a_message_waits_for_those_it_names() {
    let topology = star(2, US);
    let pairs = vec![QueuePair { src: 0, dst: 1, to: 1, back: 0 }, QueuePair { src: 1, dst: 0, to: 0, back: 1 }];
    let message = |qp, start, after: &[(u32, Ps)]| {
        let after = after.iter().map(|&(message, delay)| Wait { message, delay }).collect();
        Message { verb: Verb::Send, qp, bytes: 4096, start, after }
    };
    let messages = vec![message(0, 0, &[]), message(1, 2 * US, &[(0, US)]), message(0, 0, &[(1, 0)])];
    let engine = run(without_control(), &topology, &Traffic { pairs, messages, limits: vec![] });
    let one_way = 2 * (FULL + US);
    // the third message goes out behind the acknowledgement of the second
    let ack = 86 * PS_PER_BYTE;
    assert_eq!(engine.arrivals(), [one_way, 2 * one_way + 3 * US, 3 * one_way + 3 * US + ack]);
}

#[test]
fn selective_recovery_sends_again_only_what_was_lost() {
    let topology = star(2, US);
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        let mut config = without_control();
        config.host.recovery = recovery;
        let traffic = Traffic::flows([(0, 1, 4096 * 2000, 0)]);
        let timeline = Timeline::new(vec![
            (20 * US, Change::Loss(topology.first[0], u32::MAX / 50)),
            (40 * US, Change::Loss(topology.first[0], 0)),
        ]);
        let mut engine = Engine::new(config, &topology, Fib::shortest(&topology), &traffic).with_changes(timeline);
        engine.run(Ps::MAX);
        assert_eq!(engine.counters.delivered, 2000);
        let (lost, again) = (engine.counters.lost_on_wire, engine.counters.retransmitted);
        assert!(lost > 0);
        match recovery {
            Recovery::Selective => assert!(again <= lost + 2, "{again} sent again for {lost} lost"),
            Recovery::GoBackN => assert!(again > 2 * lost, "{again} sent again for {lost} lost"),
        }
    }
}

#[test]
fn a_rate_that_rises_ends_the_wait_of_a_packet_that_was_begun_at_a_lower_one() {
    let mut parameters = Dcqcn::connectx();
    let cut_down = |parameters: &Dcqcn| {
        let mut state = State::new(RATE as f64);
        (0..30).for_each(|cut| assert!(state.notified(parameters, cut * 4 * US)));
        assert!((state.rate - parameters.minimum_mbps).abs() < 1e-9);
        state.passed(parameters, 120 * US, 4178)
    };
    // the timer, 300 us after the last cut, brings half the line
    let risen = (29 * 4 + 300) * US;
    let passed = cut_down(&parameters);
    assert!(passed >= risen && passed < risen + 2 * FULL + US / 1000, "{passed}");
    // without it, a packet takes its 33 ms at 1 Mb/s
    parameters.increase_timer = 1_000_000 * US;
    assert_eq!(cut_down(&parameters), 120 * US + 4178 * 8 * US);
}

/// Two leaves with a cable between them, a host on each.
fn pair_of_leaves() -> Topology {
    let nodes =
        [("a", NodeKind::Host), ("b", NodeKind::Host), ("leaf1", NodeKind::Switch), ("leaf2", NodeKind::Switch)];
    let nodes = nodes.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    let cable = |a, b| Cable { a, b, rate_mbps: RATE, delay: US };
    Topology::new(nodes, &[cable(0, 2), cable(1, 3), cable(2, 3)])
}

#[test]
fn a_tunnel_costs_its_header_between_leaves_only() {
    let topology = pair_of_leaves();
    let traffic = Traffic::flows([(0, 1, 4096, 0)]);
    let plain = run(without_control(), &topology, &traffic).arrivals()[0];
    let mut config = without_control();
    config.switch.vxlan = Some(Vxlan { overhead: 70, copy_in: true, copy_out: true });
    let tunnelled = run(config, &topology, &traffic).arrivals()[0];
    assert_eq!(tunnelled - plain, 70 * PS_PER_BYTE);
}

#[test]
fn a_mark_in_the_tunnel_reaches_the_receiver_only_where_it_is_copied() {
    // Two leaves with two hosts each, a spine, and a leaf with one: the cable from the spine to that is the bottleneck, or,
    // with four hosts on the first leaf, the cable from that to the spine.
    let vxlan = |copy_in, copy_out| Some(Vxlan { overhead: 50, copy_in, copy_out });
    for (of_first, at_spine) in [(2, true), (4, false)] {
        let mut nodes: Vec<_> = (0..5).map(|host| (format!("h{host}"), NodeKind::Host)).collect();
        nodes.extend(["leaf1", "leaf2", "leaf3", "spine"].map(|name| (name.to_owned(), NodeKind::Switch)));
        let cable = |a, b, rate_mbps| Cable { a, b, rate_mbps, delay: US };
        let mut cables: Vec<_> = (0..4).map(|host| cable(host, if host < of_first { 5 } else { 6 }, RATE)).collect();
        cables.push(cable(4, 7, 4 * RATE));
        cables.extend([cable(5, 8, if at_spine { 4 * RATE } else { RATE }), cable(6, 8, 4 * RATE)]);
        cables.push(cable(7, 8, if at_spine { RATE } else { 4 * RATE }));
        let topology = Topology::new(nodes, &cables);
        let traffic = Traffic::flows((0..4).map(|src| (src, 4, 4096 * 2000, 0)));
        for (copy_in, copy_out) in [(true, true), (true, false), (false, true)] {
            let mut config = Config::default();
            config.switch.vxlan = vxlan(copy_in, copy_out);
            let counters = run(config, &topology, &traffic).counters;
            // the first leaf marks the packet itself, the spine only the tunnel's header
            assert_eq!(counters.marked > 0, copy_in || !at_spine);
            assert_eq!(counters.cnps > 0, copy_in && copy_out || !at_spine);
        }
    }
}

#[test]
fn the_watchdog_breaks_a_storm_and_nothing_else_does() {
    let topology = star(3, US);
    let storm = |config: Config| {
        // h2 pauses its port for good; h0 sends to it, and to h1
        let traffic = Traffic::flows([(0, 2, 4096 * 3000, 0), (0, 1, 4096 * 100, 300 * US)]);
        let timeline = Timeline::new(vec![(US, Change::Storm(topology.first[2], 3, true))]);
        let mut engine = Engine::new(config, &topology, Fib::shortest(&topology), &traffic).with_changes(timeline);
        engine.run(30_000 * US);
        engine
    };
    let mut config = without_control();
    config.switch.ingress_pool[1] = 2 << 20;
    let stuck = storm(config);
    assert_eq!(stuck.arrivals()[1], Ps::MAX, "the pause spreads to h0, which cannot reach h1 either");
    config.switch.watchdog = Some(Watchdog { poll: 100 * US, detection: 2, recovery: 40_000 * US, drop: true });
    let broken = storm(config);
    assert!(broken.arrivals()[1] < 2_000 * US, "h1 is reached once the queue is dropped");
    assert_eq!(broken.counters.watchdog_acts, 1);
    assert!(broken.counters.dropped_watchdog > 0);
}

#[test]
fn a_slow_receiver_gets_its_own_rate_and_pauses_the_switch() {
    let topology = star(2, US);
    let packets = 2000;
    let slow = |bytes: u64| {
        let mut config = without_control();
        config.host.receive_buffer = bytes;
        let changes = vec![(0, Change::Receive(topology.first[1], (4 * PS_PER_BYTE) << 16))];
        let traffic = Traffic::flows([(0, 1, packets * 4096, 0)]);
        let mut engine =
            Engine::new(config, &topology, Fib::shortest(&topology), &traffic).with_changes(Timeline::new(changes));
        engine.run(Ps::MAX);
        let port = engine.port_counters(topology.first[1] as usize, engine.arrivals()[0]);
        (engine.arrivals()[0], engine.counters, port)
    };
    let (end, counters, port) = slow(1 << 20);
    // a quarter of the line, and no gap between frames inside the host
    let ideal = packets * 4158 * 4 * PS_PER_BYTE;
    assert!(end > ideal && end < ideal + 10 * US, "{end} against {ideal}");
    assert_eq!((counters.dropped_receiver, counters.retransmitted), (0, 0));
    assert!(port.pfc_tx > 0);
    let (_, counters, _) = slow(512 << 10); // nothing is left for what is under way
    assert!(counters.dropped_receiver > 0 && counters.retransmitted > 0);
    assert_eq!(counters.delivered, packets);
}

#[test]
fn a_switch_that_fails_loses_what_it_has_and_works_again() {
    let topology = star(3, US);
    let switch = 3;
    let changes = vec![
        (20 * US, Change::NodeDown(switch)),
        (25 * US, Change::LinkDown(topology.first[0])),
        (30 * US, Change::NodeUp(switch)), // one of its cables stays broken
        (5000 * US, Change::LinkUp(topology.first[0])),
    ];
    let traffic = Traffic::flows([(0, 2, 2_000_000, 0), (1, 2, 2_000_000, 0)]);
    let mut engine = Engine::new(without_control(), &topology, Fib::shortest(&topology), &traffic)
        .with_changes(Timeline::new(changes));
    engine.run(Ps::MAX);
    let (first, second) = (engine.arrivals()[0], engine.arrivals()[1]);
    let alone = 2_000_000 / 4096 * FULL;
    assert!(second > 30 * US && second < 30 * US + 2 * alone, "{second}: goes on when the switch is up again");
    assert!(first > 5000 * US && first < 5000 * US + alone + 10 * US, "{first}: once its cable works");
    assert!(engine.counters.dropped_down > 0 && engine.counters.lost_on_wire > 0);
}

#[test]
fn counters_of_ports_add_up() {
    let topology = Topology::fat_tree(4, RATE, US);
    let mut config = Config::default();
    config.switch.ingress_pool = [1 << 20, 1 << 20];
    config.switch.egress_pool = [1 << 20, 1 << 20];
    config.switch.headroom = 20_000;
    let traffic = Traffic::flows((1..16).map(|src| (src, 0, 1_000_000, 0)));
    let mut engine = Engine::new(config, &topology, Fib::shortest(&topology), &traffic);
    engine.run(40 * US);
    let ports: Vec<_> = (0..topology.wires.len()).map(|port| engine.port_counters(port, 40 * US)).collect();
    let (c, sum) = (engine.counters, |of: fn(&PortCounters) -> u64| ports.iter().map(of).sum::<u64>());
    assert_eq!(sum(|port| port.ecn_ce_packets), c.marked);
    assert_eq!(sum(|port| port.dropped_packets), c.dropped_ingress + c.dropped_egress);
    assert_eq!(sum(|port| port.pfc_tx), c.pauses);
    assert!(sum(|port| port.queued_bytes) > 0 && c.marked > 0 && c.pauses > 0);
    let received = sum(|port| port.pfc_rx); // some are under way
    assert!(received > 0 && received <= c.pauses);
    assert!(sum(|port| port.paused) > 0);
    engine.run(Ps::MAX);
    assert!((0..ports.len()).all(|port| engine.port_counters(port, 100_000 * US).queued_bytes == 0));
}

#[test]
fn a_message_waits_for_what_arrived_at_other_nics_of_its_server() {
    let topology = star(4, US);
    // hosts 2 and 3 are NICs of one server: 3 sends on what 2 got, a little after the later of both arrivals
    let (to_2, to_3, on) = (
        QueuePair { src: 0, dst: 2, to: 2, back: 0 },
        QueuePair { src: 1, dst: 3, to: 3, back: 1 },
        QueuePair { src: 3, dst: 0, to: 0, back: 3 },
    );
    let message = |qp, bytes, after: Vec<Wait>| Message { verb: Verb::Send, qp, bytes, start: 0, after: after.into() };
    let waits = vec![Wait { message: 0, delay: 5 * US }, Wait { message: 1, delay: 2 * US }];
    let messages = vec![message(0, 4096, vec![]), message(1, 40_960, vec![]), message(2, 4096, waits)];
    let mut config = without_control();
    config.host.post_cost = US / 2;
    let engine = run(config, &topology, &Traffic { pairs: vec![to_2, to_3, on], messages, limits: vec![] });
    let [first, second, third] = engine.arrivals()[..] else { panic!("three messages") };
    assert_eq!((first, second), (US / 2 + 2 * (FULL + US), US / 2 + 11 * FULL + 2 * US));
    // the proxy of host 3 prepares it, and it leaves behind the acknowledgement of the second
    assert_eq!(third, (first + 5 * US).max(second + 2 * US) + US / 2 + 2 * (FULL + US));
}
