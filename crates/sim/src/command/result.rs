//! The result of a run, with the names that `--json` prints.

use std::collections::BTreeMap;

use serde::Serialize;

use super::setup::Setup;
use super::simulate::{End, Outcome};
use crate::input::parameters;
use crate::packet::Ps;

/// What `--json` prints. Names and meanings are fixed; docs/engine.md has them too.
#[derive(Clone, Debug, Serialize)]
#[allow(non_snake_case, reason = "MB is the unit's name, and a fixed name of the output")]
pub struct Result {
    /// The engine: packet.
    pub engine: &'static str,
    /// Whether every flow finished and nothing interrupted the run.
    pub complete: bool,
    /// Why the run ended: finished, stuck, until, interrupted.
    pub end: &'static str,
    /// Simulated time: when the last flow finished, or where the run ended before.
    pub time_us: f64,
    /// Links crossed by data packets, counted when they arrive at the other end.
    pub data_packet_hops: u64,
    /// Links crossed by any packet but PFC's.
    pub packet_hops: u64,
    /// What a plain event-driven engine would have handled: an arrival and a departure for every packet hop.
    pub events: u64,
    /// Time the engine ran, reading of input excluded, seconds.
    pub wall_s: f64,
    /// How long the command had run when the result was there, seconds.
    pub process_s: f64,
    /// Largest resident memory of the process, 10^6 bytes; null where the system does not say.
    pub peak_memory_MB: Option<f64>,
    /// Data packets that reached their host and were taken.
    pub delivered_packets: u64,
    /// Data packets that reached their host and were of no use (twice, or out of order).
    pub useless_packets: u64,
    /// Packets dropped by switches or lost on wires, for whatever reason.
    pub dropped_packets: u64,
    /// The same, by reason.
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Queue pairs that gave up after `host.retries`.
    pub failed_queue_pairs: u64,
    /// Packets marked by switches.
    pub ecn_marked_packets: u64,
    /// Congestion notification packets sent.
    pub cnps: u64,
    /// PFC pauses sent.
    pub pfc_pauses: u64,
    /// Sum of the durations of pauses that ended, over all ports and classes.
    pub pfc_pause_us: f64,
    /// Times the PFC watchdog acted.
    pub pfc_watchdog_acts: u64,
    /// A sum over all arrivals of packets; the same for the same input on every machine.
    pub trace_checksum: String,
    /// Seed of hashes and marking.
    pub seed: u64,
    /// Every parameter, as `--set` takes it.
    pub parameters: BTreeMap<String, String>,
    /// Flows in the order in which they were given.
    pub flows: Vec<FlowResult>,
}

/// A flow of the result.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
    /// Payload.
    pub bytes: u64,
    /// When it started.
    pub start_us: f64,
    /// From its start until its last byte had arrived; null: it did not finish.
    pub fct_us: Option<f64>,
}

fn us(time: Ps) -> f64 {
    time as f64 / 1e6
}

impl Result {
    /// The result of a run.
    pub fn new(setup: &Setup, outcome: &Outcome, process_s: f64) -> Self {
        let counters = &outcome.counters;
        let names = setup.network.host_names();
        let name = |host: u32| names[host as usize].to_owned();
        let flow = |(flow, &arrival): (&crate::input::flows::Flow, &Ps)| FlowResult {
            src: name(flow.src),
            dst: name(flow.dst),
            bytes: flow.bytes,
            start_us: us(flow.start),
            fct_us: if arrival == Ps::MAX { None } else { Some(us(arrival - flow.start)) },
        };
        let drops = [
            ("ingress_full", counters.dropped_ingress),
            ("egress_full", counters.dropped_egress),
            ("no_route", counters.unroutable),
            ("link_down", counters.dropped_down),
            ("watchdog", counters.dropped_watchdog),
            ("receiver", counters.dropped_receiver),
            ("lost_on_wire", counters.lost_on_wire),
        ];
        Result {
            engine: "packet",
            complete: outcome.end == End::Finished,
            end: match outcome.end {
                End::Finished => "finished",
                End::Stuck => "stuck",
                End::Until => "until",
                End::Interrupted(_) => "interrupted",
            },
            time_us: us(outcome.time),
            data_packet_hops: counters.data_hops,
            packet_hops: counters.hops,
            events: 2 * counters.hops,
            wall_s: outcome.run_s,
            process_s,
            peak_memory_MB: peak_memory_mb(),
            delivered_packets: counters.delivered,
            useless_packets: counters.useless,
            dropped_packets: drops.iter().map(|drop| drop.1).sum(),
            dropped_by_reason: drops.into(),
            retransmitted_packets: counters.retransmitted,
            timeouts: counters.timeouts,
            failed_queue_pairs: counters.failed_queue_pairs,
            ecn_marked_packets: counters.marked,
            cnps: counters.cnps,
            pfc_pauses: counters.pauses,
            pfc_pause_us: us(counters.paused),
            pfc_watchdog_acts: counters.watchdog_acts,
            trace_checksum: format!("{:016x}", counters.trace),
            seed: outcome.config.seed,
            parameters: parameters::all(&outcome.config).into_iter().collect(),
            flows: setup.flows.iter().zip(&outcome.arrivals).map(flow).collect(),
        }
    }
}

/// Largest resident memory of this process, 10^6 bytes (Linux).
fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
