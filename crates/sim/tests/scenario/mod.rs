//! Scenarios drawn from bytes, and the laws that every run must keep. The fuzz target and the tests share them.

mod changes;
mod draw;
mod laws;
mod network;
mod settings;
mod traffic;

use railweave_sim::balance::Balance;
use railweave_sim::config::Config;
use railweave_sim::engine::Engine;
use railweave_sim::fault::{Change, Timeline};
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::topology::Topology;
use railweave_sim::traffic::Traffic;

pub use laws::keeps_the_laws;

/// Everything that a run needs, and where it may be cut.
pub struct Scenario {
    /// Parameters.
    pub config: Config,
    /// Nodes and cables.
    pub topology: Topology,
    /// Whether shortest paths go up and then down, so that pauses cannot wait for one another in a circle.
    pub up_down: bool,
    /// Forwarding tables.
    pub fib: Fib,
    /// What is sent.
    pub traffic: Traffic,
    /// What happens to the network.
    pub changes: Vec<(Ps, Change)>,
    /// How far a slice of the run goes.
    pub slice: Ps,
    /// Ports of switches without PFC, and without marking.
    pub without: [Vec<u32>; 2],
}

impl Scenario {
    /// The scenario that some bytes stand for. All bytes stand for one.
    pub fn new(bytes: &[u8]) -> Self {
        let mut draw = draw::Draw::new(bytes);
        let (topology, up_down) = network::topology(&mut draw);
        let config = settings::config(&mut draw);
        let balance = draw.one_of(&[Balance::Hash, Balance::Spray, Balance::Packet, Balance::Flowlet]);
        let fib = Fib::shortest(&topology).balanced(balance);
        let traffic = traffic::traffic(&mut draw, topology.hosts().len() as u64, config.host.mtu);
        let changes = changes::changes(&mut draw, &topology, &config, &fib);
        let slice = 1 << draw.within(0, 30);
        let without = [0; 2].map(|_| {
            let some = draw.once_in(3);
            network::switch_ports(&topology).filter(|_| some && draw.once_in(2)).collect()
        });
        Scenario { config, topology, up_down, fib, traffic, changes, slice, without }
    }

    /// An engine at the beginning of it.
    pub fn engine(&self) -> Engine {
        Engine::new(self.config, &self.topology, self.fib.clone(), &self.traffic)
            .with_changes(Timeline::new(self.changes.clone()))
            .without_pfc(&self.without[0])
            .without_ecn(&self.without[1])
    }
}
