//! How fast the engine is: permutations on fat trees, in packet hops of data a second.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use railweave_sim::config::Config;
use railweave_sim::engine::Engine;
use railweave_sim::input::patterns;
use railweave_sim::input::shapes;
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::traffic::Traffic;

fn permutation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("permutation");
    group.sample_size(10);
    for (k, hosts, bytes) in [(4, 16, "4MB"), (8, 128, "1MB")] {
        for delay in ["1us", "50ns"] {
            let network =
                shapes::network("--topology", &format!("fat-tree:k={k},delay={delay}")).expect("a good shape");
            let flows = patterns::flows("--traffic", &format!("permutation:bytes={bytes}"), &network);
            let flows = flows.expect("a good pattern");
            let traffic = Traffic::flows(flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes, flow.start)));
            let fib = Fib::shortest(&network.topology);
            let engine = || Engine::new(Config::default(), &network.topology, fib.clone(), &traffic);
            let run = |mut engine: Engine| {
                engine.run(Ps::MAX);
                engine
            };
            group.throughput(Throughput::Elements(run(engine()).counters.data_hops));
            let name = format!("{hosts} x {bytes}, {delay}");
            group.bench_function(name, |bencher| bencher.iter_batched(engine, run, BatchSize::PerIteration));
        }
    }
    group.finish();
}

criterion_group!(benches, permutation);
criterion_main!(benches);
