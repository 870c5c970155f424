//! The engine as a Python class.

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use railweave_sim::engine::Engine;
use railweave_sim::packet::Ps;

use crate::arrays::wrong;
use crate::{changes, counters, network, parameters, traffic};

/// The latest moment that can be simulated: far from where times would run over.
const END: Ps = 1 << 62;

#[pyclass(module = "railweave._sim")]
pub struct PacketEngine {
    engine: Engine,
    ports: usize,
    now: Ps,
}

#[pymethods]
impl PacketEngine {
    #[new]
    #[pyo3(signature = (*, kinds, cables, group, groups, members, queue_pairs, messages, after_start=None, after=None,
        changes=None, dcqcn=Some("connectx"), parameters=None, profiles=vec![], profile=None))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn new(
        kinds: &Bound<'_, PyAny>,
        cables: &Bound<'_, PyAny>,
        group: &Bound<'_, PyAny>,
        groups: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
        queue_pairs: &Bound<'_, PyAny>,
        messages: &Bound<'_, PyAny>,
        after_start: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
        changes: Option<&Bound<'_, PyAny>>,
        dcqcn: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
        profiles: Vec<Bound<'_, PyDict>>,
        profile: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (topology, host_speed_mbps) = network::topology(kinds, cables)?;
        let (fib, entries) = network::fib(&topology, group, groups, members)?;
        let config = parameters::config(dcqcn, parameters, host_speed_mbps)?;
        let (profiles, of) = parameters::profiles(config, &profiles, profile, topology.kinds.len())?;
        let sizes = (topology.hosts().len(), fib.addresses, config.host.mtu);
        let traffic = traffic::traffic(queue_pairs, messages, after_start, after, sizes)?;
        let timeline = match changes {
            Some(given) => changes::timeline(given, &topology, (&fib, &entries), &config.host)?,
            None => Default::default(),
        };
        let engine = Engine::with_profiles(config, profiles, &of, &topology, fib, &traffic).with_changes(timeline);
        Ok(PacketEngine { engine, ports: topology.wires.len(), now: 0 })
    }

    fn run(&mut self, py: Python<'_>, until_ps: u64) -> PyResult<()> {
        if !(self.now..=END).contains(&until_ps) {
            return Err(wrong("until_ps", format!("{until_ps} is not within now ({}) and 2^62", self.now)));
        }
        py.detach(|| self.engine.run(until_ps));
        self.now = until_ps;
        Ok(())
    }

    #[getter]
    fn now_ps(&self) -> u64 {
        self.now
    }

    #[getter]
    fn next_ps(&self) -> Option<u64> {
        Some(self.engine.next()).filter(|&next| next != Ps::MAX)
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
