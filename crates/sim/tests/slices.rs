//! A run may stop anywhere and go on: the command does so to show progress.

use railweave_sim::balance::Balance;
use railweave_sim::config::Config;
use railweave_sim::engine::Engine;
use railweave_sim::input::{patterns, shapes};
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::traffic::Traffic;

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
