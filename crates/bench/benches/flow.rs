//! How fast the flow engine is, from arrays to arrivals: an all-to-all of 512 and rings of 32,768.

#[path = "../../sim/tests/flow/networks.rs"]
mod networks;

use criterion::{Criterion, criterion_group, criterion_main};
use networks::{all_to_all, rails, rings};
use railweave_sim::balance::Balance;
use railweave_sim::config::Config;
use railweave_sim::flow::{FlowEngine, Options};
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::topology::Topology;
use railweave_sim::traffic::Traffic;

fn run(topology: &Topology, fib: &Fib, traffic: &Traffic, options: Options) -> Ps {
    let mut engine = FlowEngine::new(Config::default(), topology, fib.clone(), traffic, options);
    engine.run(Ps::MAX);
    let last = engine.arrivals().into_iter().max().expect("messages");
    if std::env::var_os("FLOW_FIGURES").is_some() {
        println!("classes {:?}, {} fills, last arrival {last} ps", engine.classes(), engine.fills);
    }
    last
}

fn collectives(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flow");
    group.sample_size(10);
    let traffic = all_to_all(512, 1 << 20);
    for (name, balance) in [("hash", Balance::Hash), ("spray", Balance::Spray)] {
        let (topology, fib) = rails(64, 8, 64, 64, balance);
        for post_cost in [0, 1_000_000] {
            let options = Options { post_cost, ..Options::default() };
            group.bench_function(format!("all-to-all of 512, {name}, post {post_cost} ps"), |bencher| {
                bencher.iter(|| run(&topology, &fib, &traffic, options));
            });
        }
    }
    group.finish();
}

fn large(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flow, 32,768 hosts");
    group.sample_size(10);
    for pairs in [1, 4] {
        let traffic = rings(4096, 8, pairs, 12, 1 << 18);
        for (name, balance) in [("hash", Balance::Hash), ("spray", Balance::Spray)] {
            let (topology, fib) = rails(4096, 8, 64, 32, balance);
            group.bench_function(format!("rings, {pairs} queue pairs, 12 steps, {name}"), |bencher| {
                bencher.iter(|| run(&topology, &fib, &traffic, Options::default()));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, collectives, large);
criterion_main!(benches);
