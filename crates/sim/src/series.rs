//! Series: what ports, queues and queue pairs did in each interval of a run.
//!
//! A run that stops at the times of a series gives the same result as one that does not. Rows with nothing to say are left
//! out.

use crate::dcqcn::Look;
use crate::engine::Engine;
use crate::packet::Ps;
use crate::report::PortCounters;
use crate::topology::Topology;
use crate::traffic::Traffic;

mod payload;

use payload::Payload;

/// The most rows that are kept, 70 bytes each: a series ends with them.
pub const MOST_ROWS: usize = 10_000_000;

/// What ports did, a row for each interval and port. All columns are as long.
#[derive(Clone, Debug, Default)]
pub struct PortSeries {
    /// When the interval ends.
    pub time: Vec<Ps>,
    /// The port, counted over all nodes.
    pub port: Vec<u32>,
    /// Frame bytes sent, without gaps.
    pub tx_bytes: Vec<u64>,
    /// The same as a part of what the link can carry, at the rate the topology gives it.
    pub utilisation: Vec<f64>,
    /// Bytes that wait in its queues at the end.
    pub queued_bytes: Vec<u64>,
    /// Packets marked with congestion experienced.
    pub ecn_ce_packets: Vec<u64>,
    /// Packets dropped that wanted to leave by the port.
    pub dropped_packets: Vec<u64>,
    /// PFC pauses sent to the neighbor.
    pub pfc_tx: Vec<u64>,
    /// PFC pauses received from the neighbor.
    pub pfc_rx: Vec<u64>,
    /// For how long the neighbor paused at least one class.
    pub paused: Vec<Ps>,
}

/// What queues of switches hold, a row for each time and queue that is not empty.
#[derive(Clone, Debug, Default)]
pub struct QueueSeries {
    /// When.
    pub time: Vec<Ps>,
    /// The port, counted over all nodes.
    pub port: Vec<u32>,
    /// The class.
    pub class: Vec<u8>,
    /// Bytes that wait.
    pub queued_bytes: Vec<u64>,
}

/// What queue pairs did, a row for each interval and queue pair that has something under way.
#[derive(Clone, Debug, Default)]
pub struct FlowSeries {
    /// When the interval ends.
    pub time: Vec<Ps>,
    /// The queue pair.
    pub qp: Vec<u32>,
    /// Payload that arrived in order.
    pub delivered_bytes: Vec<u64>,
    /// The rate that congestion control lets its sender send at, at the end, 10^6 bit/s.
    pub rate_mbps: Vec<f64>,
}

/// A port that is looked at, as it was at the last sample.
#[derive(Clone, Debug)]
struct Watched {
    port: u32,
    /// Picoseconds a byte takes, in units of 2^-16 ps.
    ps_per_byte: u64,
    before: PortCounters,
}

/// A queue pair that is looked at, as it was at the last sample.
#[derive(Clone, Debug)]
struct WatchedFlow {
    messages: Payload,
    /// Payload that had arrived.
    arrived: u64,
    rate: Option<Look>,
}

/// Series of a run.
#[derive(Clone, Debug)]
pub struct Series {
    every: Ps,
    last: Ps,
    next: Ps,
    watched: Vec<Watched>,
    /// By queue pair.
    flows: Vec<WatchedFlow>,
    /// Of ports, where they are wanted.
    pub ports: Option<PortSeries>,
    /// Of queues, where they are wanted.
    pub queues: Option<QueueSeries>,
    /// Of queue pairs, where they are wanted.
    pub queue_pairs: Option<FlowSeries>,
}

impl Series {
    /// No series yet, of intervals of this length, which is not 0.
    pub fn new(every: Ps) -> Self {
        Series {
            every,
            last: 0,
            next: every,
            watched: Vec::new(),
            flows: Vec::new(),
            ports: None,
            queues: None,
            queue_pairs: None,
        }
    }

    /// Look at these ports, counted over all nodes: at what they do, at what their queues hold, or both.
    pub fn of_ports(
        mut self,
        topology: &Topology,
        ports: impl IntoIterator<Item = u32>,
        counters: bool,
        queues: bool,
    ) -> Self {
        let watch = |port: u32| Watched {
            port,
            ps_per_byte: topology.wires[port as usize].ps_per_byte,
            before: PortCounters::default(),
        };
        self.watched = ports.into_iter().map(watch).collect();
        self.ports = counters.then(PortSeries::default);
        self.queues = queues.then(QueueSeries::default);
        self
    }

    /// Look at every queue pair of this traffic.
    pub fn of_queue_pairs(mut self, traffic: &Traffic, mtu: u32) -> Self {
        let watch = |messages| WatchedFlow { messages, arrived: 0, rate: None };
        self.flows = Payload::of(traffic, mtu).into_iter().map(watch).collect();
        self.queue_pairs = Some(FlowSeries::default());
        self
    }

    /// When the next sample is due; `Ps::MAX`: never.
    pub fn next(&self) -> Ps {
        self.next
    }

    /// Where the series ends: the last sample.
    pub fn end(&self) -> Ps {
        self.last
    }

    /// How many rows there are in all.
    pub fn rows(&self) -> usize {
        let ports = self.ports.as_ref().map_or(0, |series| series.time.len());
        let queues = self.queues.as_ref().map_or(0, |series| series.time.len());
        ports + queues + self.queue_pairs.as_ref().map_or(0, |series| series.time.len())
    }

    /// Whether it ended before the run, for it has `MOST_ROWS`.
    pub fn full(&self) -> bool {
        self.rows() >= MOST_ROWS
    }

    /// Take a sample at `now`, the limit of the engine's last run.
    pub fn sample(&mut self, engine: &Engine, now: Ps) {
        if now <= self.last || self.full() {
            return;
        }
        let before = self.rows();
        self.sample_ports(engine, now);
        self.sample_queues(engine, now);
        self.sample_flows(engine, now);
        let next = (now / self.every + 1).saturating_mul(self.every);
        let quiet = self.rows() == before;
        // where nothing waits nothing changes before the engine's next step
        let until = if quiet && engine.next() != Ps::MAX { engine.next() / self.every * self.every } else { 0 };
        self.next = if self.full() { Ps::MAX } else { next.max(until) };
        self.last = now;
    }

    fn sample_ports(&mut self, engine: &Engine, now: Ps) {
        let Some(series) = &mut self.ports else { return };
        let length = (now - self.last) as f64;
        for watched in &mut self.watched {
            let (port, before) = (watched.port as usize, watched.before);
            let mut after = engine.port_counters(port, now);
            // a frame counts as far as it was sent; where the rate rose meanwhile, more than was left seems to be
            after.tx_bytes = (after.tx_bytes.saturating_sub(engine.unsent_bytes(port, now))).max(before.tx_bytes);
            watched.before = after;
            let change = PortCounters {
                tx_bytes: after.tx_bytes - before.tx_bytes,
                ecn_ce_packets: after.ecn_ce_packets - before.ecn_ce_packets,
                dropped_packets: after.dropped_packets - before.dropped_packets,
                pfc_tx: after.pfc_tx - before.pfc_tx,
                pfc_rx: after.pfc_rx - before.pfc_rx,
                paused: after.paused - before.paused,
                queued_bytes: after.queued_bytes,
            };
            if change == PortCounters::default() {
                continue;
            }
            let busy = (u128::from(change.tx_bytes) * u128::from(watched.ps_per_byte)) as f64 / 65536.0;
            series.time.push(now);
            series.port.push(watched.port);
            series.tx_bytes.push(change.tx_bytes);
            series.utilisation.push(busy / length);
            series.queued_bytes.push(change.queued_bytes);
            series.ecn_ce_packets.push(change.ecn_ce_packets);
            series.dropped_packets.push(change.dropped_packets);
            series.pfc_tx.push(change.pfc_tx);
            series.pfc_rx.push(change.pfc_rx);
            series.paused.push(change.paused);
        }
    }

    fn sample_queues(&mut self, engine: &Engine, now: Ps) {
        let Some(series) = &mut self.queues else { return };
        for watched in &self.watched {
            for (class, bytes) in engine.queues(watched.port as usize).filter(|queue| queue.1 > 0) {
                series.time.push(now);
                series.port.push(watched.port);
                series.class.push(class);
                series.queued_bytes.push(bytes);
            }
        }
    }

    fn sample_flows(&mut self, engine: &Engine, now: Ps) {
        let Some(series) = &mut self.queue_pairs else { return };
        for (qp, flow) in self.flows.iter_mut().enumerate() {
            let state = engine.queue_pair(qp);
            let arrived = flow.messages.bytes(state.delivered);
            if arrived == flow.arrived && !state.waits {
                continue;
            }
            series.time.push(now);
            series.qp.push(qp as u32);
            series.delivered_bytes.push(arrived - std::mem::replace(&mut flow.arrived, arrived));
            series.rate_mbps.push(engine.rate(qp, &mut flow.rate, now));
        }
    }
}
