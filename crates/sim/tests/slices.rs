//! A run may stop anywhere and go on: the command does so to show progress, and where a signal comes.

use railweave_sim::balance::Balance;
use railweave_sim::config::Config;
use railweave_sim::engine::Engine;
use railweave_sim::flow::{FlowEngine, Options};
use railweave_sim::input::{patterns, shapes};
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::traffic::{Message, Traffic};
use railweave_sim::work::Work;

#[test]
fn stops_change_nothing() {
    let network = shapes::network("--topology", "fat-tree:k=4,delay=200ns").expect("a good shape");
    let flows = patterns::flows("--traffic", "all-to-all:bytes=100KB", &network).expect("a good pattern");
    let traffic = Traffic::flows(flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes, flow.start)));
    let mut config = Config::default();
    config.switch.ingress_pool[1] = 200_000; // so that there are pauses too
    for balance in [Balance::Hash, Balance::Flowlet] {
        let engine = || {
            let fib = Fib::shortest(&network.topology).balanced(balance);
            Engine::new(config, &network.topology, fib, &traffic)
        };
        let mut whole = engine();
        whole.run(Ps::MAX);
        assert!(whole.counters.pauses > 0 && whole.arrivals().iter().all(|&at| at != Ps::MAX));
        for slice in [1_000, 77_777, 1_000_000] {
            let mut parts = engine();
            let mut limit = 0;
            while parts.arrivals().contains(&Ps::MAX) {
                limit += slice;
                if limit / slice % 2 == 0 { parts.run(limit) } else { parts.advance(limit) }
            }
            parts.run(Ps::MAX);
            assert_eq!(parts.counters, whole.counters, "slices of {slice} ps");
            assert_eq!(parts.arrivals(), whole.arrivals(), "slices of {slice} ps");
        }
    }
}

#[test]
fn a_run_that_is_stopped_goes_on_as_if_it_was_not() {
    let network = shapes::network("--topology", "fat-tree:k=4,delay=200ns").expect("a good shape");
    let flows = patterns::flows("--traffic", "all-to-all:bytes=400KB", &network).expect("a good pattern");
    let traffic = Traffic::flows(flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes, flow.start)));
    let engine = || Engine::new(Config::default(), &network.topology, Fib::shortest(&network.topology), &traffic);
    let mut whole = engine();
    whole.run(Ps::MAX);
    let mut parts = engine();
    let (mut reached, mut stops) = (0, 0);
    while reached < Ps::MAX {
        let mut once = || true; // whenever it is asked
        let mut work = Work::new(&mut once);
        let ran =
            if stops % 2 == 0 { parts.run_while(Ps::MAX, &mut work) } else { parts.advance_while(Ps::MAX, &mut work) };
        let now = ran.err().unwrap_or(Ps::MAX);
        assert!(now > reached, "it went on from {reached} to {now}");
        // what is seen of it is of that moment
        let sent = |counters: &Engine| counters.counters.sent;
        let before = sent(&parts);
        parts.run(now);
        assert_eq!(sent(&parts), before, "all before {now} has happened");
        (reached, stops) = (now, stops + 1);
    }
    assert!(stops > 3, "{stops} stops");
    assert_eq!(parts.counters, whole.counters);
    assert_eq!(parts.arrivals(), whole.arrivals());
}

#[test]
fn flows_that_are_stopped_go_on_as_if_they_were_not() {
    let topology = shapes::network("--topology", "star:hosts=8").expect("a good shape").topology;
    let mut traffic = Traffic::flows((0..8).map(|src| (src, (src + 1) % 8, 1_000, 0)));
    for number in 0..8_000 {
        let bytes = 1 + u64::from(number % 7) * 999;
        traffic.messages.push(Message { qp: number % 8, bytes, ..traffic.messages[0].clone() });
    }
    let options = Options { post_cost: 10_000, fold: false, ..Options::default() };
    let engine = || FlowEngine::new(Config::default(), &topology, Fib::shortest(&topology), &traffic, options);
    let mut whole = engine();
    whole.run(Ps::MAX);
    let (mut parts, mut stops) = (engine(), 0);
    while let Err(now) = parts.run_while(Ps::MAX, &mut Work::new(&mut || true)) {
        assert!(parts.arrivals().iter().all(|&at| at == Ps::MAX || at < now), "what arrived did so before {now}");
        stops += 1;
    }
    assert!(stops > 3, "{stops} stops");
    assert_eq!((parts.arrivals(), parts.link_bytes()), (whole.arrivals(), whole.link_bytes()));
}
