//! A run, in slices: between them it can show progress, and be interrupted.
//!
//! How long a slice is follows the clock on the wall; the result does not, because the engine's does not depend on
//! where it stops in between. Whatever ends a run early is looked at at fixed simulated times only.

use std::time::Instant;

use super::interrupt::Interrupt;
use super::progress::{Progress, Standing};
use super::setup::Setup;
use crate::config::Config;
use crate::engine::Engine;
use crate::fault::{Fault, Timeline};
use crate::input::InputError;
use crate::packet::Ps;
use crate::report::Counters;
use crate::reroute;
use crate::routing::Fib;
use crate::series::Series;
use crate::traffic::Traffic;
use crate::work::{Stopped, Work};

/// A run in which nothing is delivered for so many retransmission timeouts is stuck.
const PATIENCE: u64 = 100;

/// A slice takes about this long.
const SLICE_S: f64 = 0.05;

/// It has at least so many of the engine's windows, which it cuts where it ends, unless that is longer than `CUT`.
const WINDOWS: Ps = 8;

/// Windows that are cut to this length still hold many packets.
const CUT: Ps = 10_000_000;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All flows finished.
    Finished,
    /// Nothing more happens, or nothing is delivered any more.
    Stuck,
    /// The given time came.
    Until,
    /// A signal came, the one of this number.
    Interrupted(i32),
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// When each flow had arrived whole; `Ps::MAX`: it did not.
    pub arrivals: Vec<Ps>,
    /// Parameters, but for what the topology file says of switches.
    pub config: Config,
    /// Counters.
    pub counters: Counters,
    /// Simulated time: when the last flow finished, or where the run ended before.
    pub time: Ps,
    /// How long the engine ran, seconds.
    pub run_s: f64,
    /// What was collected on the way, where anything was wanted.
    pub series: Option<Series>,
}

/// Run a setup.
///
/// # Errors
/// Where the engine cannot take it.
pub fn simulate(setup: &Setup, interrupt: &Interrupt, progress: &mut Progress) -> Result<Outcome, InputError> {
    let config = setup.config;
    let mut traffic = Traffic::flows(setup.flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes, flow.start)));
    traffic.messages.iter_mut().for_each(|message| message.verb = setup.verb);
    let profiles = setup.network.profiles(&config)?;
    let mut stop = || interrupt.signal().is_some();
    let mut work = Work::new(&mut stop);
    let Ok(mut engine) = engine(setup, (config, profiles), &traffic, &mut work) else {
        let end = End::Interrupted(interrupt.signal().unwrap_or_default());
        let (arrivals, counters) = (vec![Ps::MAX; setup.flows.len()], Counters::default());
        return Ok(Outcome { end, arrivals, config, counters, time: 0, run_s: 0.0, series: None });
    };
    let mut series = setup.series.series(&setup.network.topology, &traffic, setup.config.host.mtu);
    let begin = Instant::now();
    let starts = setup.flows.iter().map(|flow| flow.start);
    let ends = setup.faults.iter().flat_map(|fault| [fault.at, fault.until]).filter(|&time| time != Ps::MAX);
    // what is stuck before may go on then
    let last = starts.chain(ends.map(|end| end.saturating_add(setup.reroute.unwrap_or(0)))).max().unwrap_or(0);
    let total = setup.flows.iter().fold(0u64, |sum, flow| sum.saturating_add(flow.bytes));
    let patience = PATIENCE * setup.config.host.timeout;
    let until = setup.until.unwrap_or(Ps::MAX);
    let least = engine.window().saturating_mul(WINDOWS).min(CUT);
    let (mut reached, mut slice) = (0, least.max(1_000_000));
    let (mut look, mut delivered) = (last.saturating_add(patience), u64::MAX);
    let end = loop {
        if let Some(signal) = interrupt.signal() {
            break End::Interrupted(signal);
        }
        let done = if engine.arrivals().contains(&Ps::MAX) { None } else { Some(End::Finished) };
        if let Some(done) = done
            && (reached == until || engine.next() == Ps::MAX)
        {
            break done; // nothing is under way any more
        }
        if reached == until {
            break End::Until;
        }
        if reached == look {
            if engine.counters.delivered == delivered {
                break done.unwrap_or(End::Stuck);
            }
            delivered = engine.counters.delivered;
            look = look.saturating_add(patience);
        }
        let (sample, own) = (series.as_ref().map_or(Ps::MAX, Series::next), reached.saturating_add(slice));
        let (limit, watch) = (look.min(until).min(sample).min(own), Instant::now());
        let ran =
            if series.is_some() { engine.run_while(limit, &mut work) } else { engine.advance_while(limit, &mut work) };
        reached = ran.err().unwrap_or(limit);
        if let Some(series) = &mut series
            && reached == sample
        {
            series.sample(&engine, limit);
        }
        let took = watch.elapsed().as_secs_f64();
        if limit == own && took < SLICE_S / 2.0 {
            slice = slice.saturating_mul(2);
        } else if took > SLICE_S * 2.0 {
            slice = (slice / 2).max(least);
        }
        progress.show(|| {
            let counters = &engine.counters;
            let bytes = (counters.delivered * u64::from(setup.config.host.mtu)).min(total);
            Standing { hops: counters.hops, bytes, total, now: reached }
        });
    };
    progress.end();
    if let Some(series) = &mut series {
        // slices end by the clock on the wall: an interval in which nothing more happens is brought to its end
        let over = engine.next() == Ps::MAX && end == End::Finished && series.end() < reached;
        series.sample(&engine, if over { series.next().min(until) } else { reached });
    }
    let arrivals = engine.arrivals().to_vec();
    let time = if end == End::Finished { arrivals.iter().copied().max().unwrap_or(0) } else { reached };
    Ok(Outcome { end, arrivals, config, counters: engine.counters, time, run_s: begin.elapsed().as_secs_f64(), series })
}

fn engine(
    setup: &Setup,
    (config, (profiles, of)): (Config, (Vec<Config>, Vec<u16>)),
    traffic: &Traffic,
    work: &mut Work<'_>,
) -> Result<Engine, Stopped> {
    let topology = &setup.network.topology;
    let mut fib = Fib::find_shortest(topology, work)?;
    let mut changes = Fault::changes(&setup.faults);
    if let Some(delay) = setup.reroute {
        changes.extend(reroute::follow(&mut fib, topology, &setup.faults, delay, work)?);
    }
    let fib = fib.balanced(setup.balance);
    let engine = Engine::set_up((config, profiles, &of), topology, fib, traffic, work)?;
    Ok(engine.with_changes(Timeline::new(changes)))
}
