//! The engine as a Python class.

use std::ops::RangeInclusive;

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use railweave_sim::config::Config;
use railweave_sim::engine::Engine;
use railweave_sim::fault::{Change, Timeline};
use railweave_sim::flow::Tables;
use railweave_sim::packet::Ps;
use railweave_sim::series::Series;
use railweave_sim::topology::Topology;
use railweave_sim::traffic::Traffic;
use railweave_sim::work::Work;

use crate::arrays::{Given as Argument, Numbers, Perhaps, wrong};
use crate::network::Forwarding;
use crate::released::{released, stopped};
use crate::series::Collector;
use crate::traffic::Sending;
use crate::{changes, counters, network, parameters, traffic};

/// The latest moment that can be simulated: far from where times would run over.
pub const END: Ps = 1 << 62;

/// How long the intervals of series may be: 1 ns to 1000 s.
const EVERY: RangeInclusive<Ps> = 1_000..=1_000_000_000_000_000;

/// What engines are made of, as Python gives it: copies, for it is looked at without the interpreter.
pub struct Given {
    pub config: Config,
    pub profiles: Vec<Config>,
    /// The profile of each node.
    pub of: Vec<u16>,
    /// Ports of switches without PFC, and without marking.
    pub without: [Vec<u32>; 2],
    topology: Topology,
    forwarding: Forwarding,
    sending: Sending,
    changes: Option<Numbers<u64>>,
}

/// What engines are made of, after a look at all of it.
pub struct Input {
    pub topology: Topology,
    pub tables: Tables,
    pub traffic: Traffic,
    pub timeline: Vec<(Ps, Change)>,
}

/// A parameter set of DCQCN, parameters by name, profiles, and which each node has.
type Parameters<'a, 'py> =
    (Option<&'a str>, Option<&'a Bound<'py, PyDict>>, &'a [Bound<'py, PyDict>], Perhaps<'a, 'py>);

impl Given {
    /// Read all arguments.
    pub fn read<'a, 'py>(
        (kinds, cables): (Argument<'a, 'py>, Argument<'a, 'py>),
        forwarding: (Argument<'a, 'py>, Argument<'a, 'py>, Argument<'a, 'py>, Perhaps<'a, 'py>),
        (queue_pairs, limits, messages): (Argument<'a, 'py>, Perhaps<'a, 'py>, Argument<'a, 'py>),
        waits: traffic::Waits<'a, 'py>,
        changes: Perhaps<'a, 'py>,
        (dcqcn, parameters, profiles, profile): Parameters<'a, 'py>,
        (without_pfc, without_ecn): (Perhaps<'a, 'py>, Perhaps<'a, 'py>),
    ) -> PyResult<Self> {
        let (topology, host_speed_mbps) = network::topology(kinds, cables)?;
        let forwarding = Forwarding::read(&topology, forwarding)?;
        let config = parameters::config(dcqcn, parameters, host_speed_mbps)?;
        let (profiles, of) = parameters::profiles(config, profiles, profile, topology.kinds.len())?;
        let without = [
            network::switch_ports("without_pfc", without_pfc, &topology)?,
            network::switch_ports("without_ecn", without_ecn, &topology)?,
        ];
        let sending = Sending::read(queue_pairs, limits, messages, waits)?;
        let changes = Numbers::perhaps("changes", &[None, Some(5)], changes)?;
        Ok(Given { config, profiles, of, without, topology, forwarding, sending, changes })
    }

    /// Look at what was read. It needs no interpreter.
    pub fn input(self, work: &mut Work<'_>) -> PyResult<Input> {
        let topology = self.topology;
        let (tables, entries) = network::tables(&topology, self.forwarding, work)?;
        let (traffic, owners) = traffic::traffic(self.sending, (&topology, &tables, self.config.host.mtu), work)?;
        let timeline = match &self.changes {
            Some(given) => changes::changes(given, &topology, (&tables.fib, &entries, &owners), &self.config.host)?,
            None => Vec::new(),
        };
        Ok(Input { topology, tables, traffic, timeline })
    }
}

#[pyclass(module = "railweave._sim")]
pub struct PacketEngine {
    engine: Engine,
    ports: usize,
    now: Ps,
    collector: Option<Collector>,
    /// What series need to begin, until the first run: the network, the traffic and the MTU.
    begin: Option<(Topology, Traffic, u32)>,
    setup_steps: u64,
}

#[pymethods]
impl PacketEngine {
    #[new]
    #[pyo3(signature = (*, kinds, cables, group, groups, members, queue_pairs, messages, after_start=None, after=None, after_delay_ps=None, after_of=None,
        limits=None, changes=None, dcqcn=Some("connectx"), parameters=None, profiles=vec![], profile=None, without_pfc=None, without_ecn=None))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn new(
        py: Python<'_>,
        kinds: &Bound<'_, PyAny>,
        cables: &Bound<'_, PyAny>,
        group: &Bound<'_, PyAny>,
        groups: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
        queue_pairs: &Bound<'_, PyAny>,
        messages: &Bound<'_, PyAny>,
        after_start: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
        after_delay_ps: Option<&Bound<'_, PyAny>>,
        after_of: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, PyAny>>,
        changes: Option<&Bound<'_, PyAny>>,
        dcqcn: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
        profiles: Vec<Bound<'_, PyDict>>,
        profile: Option<&Bound<'_, PyAny>>,
        without_pfc: Option<&Bound<'_, PyAny>>,
        without_ecn: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut given = Given::read(
            (kinds, cables),
            (group, groups, members, None),
            (queue_pairs, limits, messages),
            (after_start, after, after_delay_ps, after_of),
            changes,
            (dcqcn, parameters, &profiles, profile),
            (without_pfc, without_ecn),
        )?;
        let (engine, setup_steps) = released(py, move |work| {
            let (config, mtu) = (given.config, given.config.host.mtu);
            let (profiles, of, without) = (
                std::mem::take(&mut given.profiles),
                std::mem::take(&mut given.of),
                std::mem::take(&mut given.without),
            );
            let Input { topology, tables, traffic, timeline } = given.input(work)?;
            let engine = Engine::set_up((config, profiles, &of), &topology, tables.fib, &traffic, work);
            let engine = engine.map_err(stopped)?.with_changes(Timeline::new(timeline));
            let engine = engine.without_pfc(&without[0]).without_ecn(&without[1]);
            Ok((engine, topology, traffic, mtu))
        })
        .ended()?;
        let (engine, topology, traffic, mtu) = engine;
        let ports = topology.wires.len();
        Ok(PacketEngine { engine, ports, now: 0, collector: None, begin: Some((topology, traffic, mtu)), setup_steps })
    }

    #[pyo3(signature = (every_ps, *, ports=true, queues=true, queue_pairs=true, of_ports=None))]
    fn sample_every(
        &mut self,
        every_ps: u64,
        ports: bool,
        queues: bool,
        queue_pairs: bool,
        of_ports: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let Some((topology, traffic, mtu)) = &self.begin else {
            return Err(wrong("sample_every", "the engine ran already: say what to collect before"));
        };
        if !EVERY.contains(&every_ps) {
            return Err(wrong("every_ps", format!("{every_ps} is not within {} and {}", EVERY.start(), EVERY.end())));
        }
        let mut of = match of_ports {
            None => (0..self.ports as u32).collect(),
            Some(given) => {
                let given = Numbers::<u32>::read("of_ports", &[None], given)?;
                for (row, &port) in given.slice().iter().enumerate() {
                    given.one_of(row, "it", port, self.ports, "ports")?;
                }
                given.slice().to_vec()
            }
        };
        of.sort_unstable();
        of.dedup();
        let mut series = Series::new(every_ps);
        if ports || queues {
            series = series.of_ports(topology, of, ports, queues);
        }
        if queue_pairs {
            series = series.of_queue_pairs(traffic, *mtu);
        }
        self.collector = Some(Collector::new(series));
        Ok(())
    }

    fn run(&mut self, py: Python<'_>, until_ps: u64) -> PyResult<()> {
        if !(self.now..=END).contains(&until_ps) {
            return Err(wrong("until_ps", format!("{until_ps} is not within now ({}) and 2^62", self.now)));
        }
        self.begin = None;
        let (engine, collector) = (&mut self.engine, &mut self.collector);
        let ran = released(py, |work| match collector {
            Some(collector) => collector.run(engine, until_ps, work),
            None => engine.run_while(until_ps, work),
        });
        self.now = ran.done.err().unwrap_or(until_ps);
        ran.raised.map_or(Ok(()), Err)
    }

    fn series<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match &mut self.collector {
            Some(collector) => collector.take(py, &self.engine, self.now),
            None => Err(wrong("series", "nothing is collected: call sample_every before the first run")),
        }
    }

    #[getter]
    fn setup_steps(&self) -> u64 {
        self.setup_steps
    }

    #[getter]
    fn now_ps(&self) -> u64 {
        self.now
    }

    #[getter]
    fn next_ps(&self) -> Option<u64> {
        Some(self.engine.next()).filter(|&next| next != Ps::MAX)
    }

    #[getter]
    fn arrived(&self) -> usize {
        self.engine.arrivals().iter().filter(|&&at| at != Ps::MAX).count()
    }

    fn arrivals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.engine.arrivals().to_pyarray(py)
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counters::counters(py, &self.engine.counters)
    }

    fn port_counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ports: Vec<_> = (0..self.ports).map(|port| self.engine.port_counters(port, self.now)).collect();
        counters::port_counters(py, &ports)
    }
}
