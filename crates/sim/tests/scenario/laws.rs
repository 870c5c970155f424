//! What must hold of every run.

use railweave_sim::balance::Balance;
use railweave_sim::engine::Engine;
use railweave_sim::fault::{Change, Timeline};
use railweave_sim::packet::Ps;
use railweave_sim::report::Counters;

use super::Scenario;
use crate::reference::Reference;

/// Slices, and packets sent or forwarded, after which a run is left as it is.
const MOST_SLICES: u32 = 2_000;
const MOST_WORK: u64 = 10_000;

/// The clock's own end is not reached: a queue pair that tries without end at the longest timeout would get there in 1,845 tries.
const MOST_TIME: Ps = Ps::MAX / 2;

/// Periods of sampling that a run may last: while a queue waits, every one of them is worked out.
const MOST_SAMPLES: u64 = 20_000;

/// Samples of all switches that the plain engine may be made to take: every one is an event to it.
const MOST_PLAIN_SAMPLES: u64 = 50_000;

/// A network that loses nothing delivers something in so many times the longest that a sender may be silent.
const PATIENCE: u64 = 100;

/// A run that kept the laws.
#[allow(dead_code)] // the fuzz target has no use for it
pub struct Run {
    /// Whether it came to its end: nothing happens any more.
    pub ended: bool,
    /// What it counted.
    pub counters: Counters,
}

/// See that the plain engine gives the same.
///
/// # Panics
/// Where it does not.
fn agrees(scenario: &Scenario, engine: &Engine, limit: Ps) {
    let profiles = (vec![scenario.config], vec![0; scenario.topology.kinds.len()]);
    let timeline = Timeline::new(scenario.changes.clone());
    let (topology, fib) = (&scenario.topology, scenario.fib.clone());
    let plain = Reference::new(scenario.config, profiles, topology, fib, &scenario.traffic, timeline);
    let mut plain = plain.without(&scenario.without[0], &scenario.without[1]);
    plain.run(limit);
    assert_eq!(plain.counters, engine.counters, "the plain engine against slices");
    assert_eq!(plain.arrivals(), engine.arrivals(), "the plain engine against slices");
}

/// Run a scenario and see that it keeps the laws.
///
/// # Panics
/// Where it does not.
pub fn keeps_the_laws(scenario: &Scenario) -> Run {
    let mut engine = scenario.engine();
    let looks_at_load = scenario.fib.looks_at_load();
    let horizon = if looks_at_load { MOST_SAMPLES * scenario.config.dlb.period } else { MOST_TIME };
    let (mut limit, mut delivered, mut progress) = (0, 0, 0);
    for slice in 0..MOST_SLICES {
        if engine.next() >= horizon || engine.counters.hops + engine.counters.sent >= MOST_WORK {
            break;
        }
        limit = (engine.next() + scenario.slice).min(horizon);
        engine.run(limit);
        assert!(engine.next() >= limit, "it was to run until {limit}, and stands at {}", engine.next());
        if slice % 16 == 0 {
            nothing_is_lost(&engine);
        }
        if engine.counters.delivered > delivered {
            (delivered, progress) = (engine.counters.delivered, limit);
        }
    }
    nothing_is_lost(&engine);
    let ended = engine.next() == Ps::MAX;
    messages_are_in_order(scenario, &engine);
    // What a queue pair that gave up still had to send never arrives.
    let gave_up = engine.counters.failed_queue_pairs > 0;
    assert!(!gave_up || scenario.config.host.retries < u32::MAX, "a queue pair gave up that was to try without end");
    if ended && !stands_still(scenario) {
        let missing = engine.arrivals().contains(&Ps::MAX);
        assert!(gave_up || !missing, "it ended, and messages are missing: {:?}", engine.arrivals());
        assert_eq!(engine.inside(), Some(0), "it ended, and packets are inside");
    } else if !ended && loses_nothing(scenario, &engine.counters) {
        let silent = limit.saturating_sub(progress.max(last_start(scenario)));
        assert!(silent <= patience(scenario), "nothing was delivered for {silent} ps, with nothing lost");
    }
    // the same at once as in slices, and a second time
    let mut whole = scenario.engine();
    whole.run(limit);
    assert_eq!(whole.counters, engine.counters, "in one go against slices");
    assert_eq!(whole.arrivals(), engine.arrivals(), "in one go against slices");
    let samples = limit / scenario.config.dlb.period * scenario.topology.kinds.len() as u64;
    if !looks_at_load || samples < MOST_PLAIN_SAMPLES {
        agrees(scenario, &engine, limit);
    }
    Run { ended, counters: engine.counters }
}

/// Every packet that a host made was received, dropped for a reason, lost on a wire, or is inside.
fn nothing_is_lost(engine: &Engine) {
    let c = &engine.counters;
    let inside = engine.inside().expect("a switch's buffer counts what waits in it");
    let dropped = c.dropped_ingress + c.dropped_egress + c.dropped_down + c.dropped_watchdog + c.unroutable;
    assert_eq!(c.sent, c.received + dropped + c.lost_on_wire + inside, "{inside} inside, {c:?}");
    assert!(c.delivered + c.useless + c.dropped_receiver <= c.received, "{c:?}");
}

/// Messages arrive after they were allowed to start, and no packet counts twice.
fn messages_are_in_order(scenario: &Scenario, engine: &Engine) {
    let arrivals = engine.arrivals();
    let mut packets = 0;
    for (message, &at) in scenario.traffic.messages.iter().zip(arrivals) {
        packets += message.bytes.div_ceil(u64::from(scenario.config.host.mtu)).max(1);
        let ready = message.after.iter().map(|wait| arrivals[wait.message as usize]).max().unwrap_or(0);
        if at != Ps::MAX {
            assert!(ready != Ps::MAX && at >= ready + message.start, "{message:?} arrived at {at}, before its time");
        }
    }
    let delivered = engine.counters.delivered;
    assert!(delivered <= packets, "{delivered} of {packets} packets delivered");
    if !arrivals.contains(&Ps::MAX) {
        assert_eq!(delivered, packets, "all messages arrived");
    }
}

/// Whether somebody may wait for good with nothing sent: a cable is broken, somebody pauses without end, or a changed route sends
/// packets in a circle, in which pauses wait for one another.
fn stands_still(scenario: &Scenario) -> bool {
    scenario.changes.iter().any(|change| {
        matches!(change.1, Change::LinkDown(_) | Change::NodeDown(_) | Change::Storm(.., true) | Change::Route { .. })
    })
}

/// Whether nothing can be lost, stopped for good or stuck in a circle.
fn loses_nothing(scenario: &Scenario, c: &Counters) -> bool {
    let classes = &scenario.config.switch.classes;
    let host = &scenario.config.host;
    scenario.up_down
        && scenario.changes.is_empty()
        && classes[usize::from(host.data_class)].lossless
        && c.dropped_ingress + c.dropped_egress + c.dropped_watchdog == 0
        // which class is served at all is up to the services, where there are two
        && host.data_class == host.cnp_class
        && scenario.fib.groups.iter().all(|group| group.balance == Balance::Hash)
}

fn last_start(scenario: &Scenario) -> Ps {
    scenario.traffic.messages.iter().map(|message| message.start).fold(0, Ps::saturating_add)
}

/// How long nothing may be delivered where nothing is lost.
fn patience(scenario: &Scenario) -> Ps {
    let host = &scenario.config.host;
    let slowest = scenario.topology.wires.iter().map(|wire| wire.delay + wire.serialization(10_000)).max().unwrap_or(0);
    let least = host.dcqcn.map_or(1e9, |dcqcn| dcqcn.minimum_mbps);
    let gap = (10_000.0 * 8e6 / least) as Ps;
    let posting = scenario.traffic.messages.len() as Ps * host.post_cost;
    PATIENCE * (host.timeout + gap + 100 * slowest) + posting
}
