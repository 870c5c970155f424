//! The engine of flows as a Python class: it takes what the packet engine takes.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use railweave_sim::fault::Change;
use railweave_sim::flow::{Bound as Bind, FlowEngine as Engine, Options};
use railweave_sim::packet::Ps;

use crate::arrays::wrong;
use crate::engine::{END, Given, Input};
use crate::released::{released, stopped};

#[pyclass(module = "railweave._sim")]
pub struct FlowEngine {
    engine: Engine,
    now: Ps,
    setup_steps: u64,
}

#[pymethods]
impl FlowEngine {
    #[new]
    #[pyo3(signature = (*, kinds, cables, group, groups, members, queue_pairs, messages, column=None, after_start=None, after=None,
        after_delay_ps=None, after_of=None, changes=None, dcqcn=Some("connectx"), parameters=None, profiles=vec![], profile=None, without_pfc=None, without_ecn=None, efficiency=1.0, tolerance=0.01, fold=true))]
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
        column: Option<&Bound<'_, PyAny>>,
        after_start: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
        after_delay_ps: Option<&Bound<'_, PyAny>>,
        after_of: Option<&Bound<'_, PyAny>>,
        changes: Option<&Bound<'_, PyAny>>,
        dcqcn: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
        profiles: Vec<Bound<'_, PyDict>>,
        profile: Option<&Bound<'_, PyAny>>,
        without_pfc: Option<&Bound<'_, PyAny>>,
        without_ecn: Option<&Bound<'_, PyAny>>,
        efficiency: f64,
        tolerance: f64,
        fold: bool,
    ) -> PyResult<Self> {
        if !(efficiency > 0.0 && efficiency <= 1.0) {
            return Err(wrong("efficiency", format!("{efficiency} is not above 0 and at most 1")));
        }
        if !(0.0..=1.0).contains(&tolerance) {
            return Err(wrong("tolerance", format!("{tolerance} is not within 0 and 1")));
        }
        let mut given = Given::read(
            (kinds, cables),
            (group, groups, members, column),
            (queue_pairs, None, messages),
            (after_start, after, after_delay_ps, after_of),
            changes,
            (dcqcn, parameters, &profiles, profile),
            (without_pfc, without_ecn),
        )?;
        let (engine, setup_steps) = released(py, move |work| {
            let config = given.config;
            let (profiles, of) = (std::mem::take(&mut given.profiles), std::mem::take(&mut given.of));
            let Input { topology, tables, traffic, timeline } = given.input(work)?;
            // a change makes differ what behaved the same
            let fold = fold && timeline.is_empty();
            let options = Options { efficiency, post_cost: config.host.post_cost, tolerance, fold };
            let engine = Engine::set_up((config, &profiles, &of), &topology, tables, traffic, options, work);
            engine.map_err(stopped)?.with_changes(timeline).map_err(|change| {
                let what = if matches!(change, Change::Loss(..)) { "lost packets" } else { "pauses" };
                PyValueError::new_err(format!("changes: flows know nothing of {what}: use the packet engine"))
            })
        })
        .ended()?;
        Ok(FlowEngine { engine, now: 0, setup_steps })
    }

    fn run(&mut self, py: Python<'_>, until_ps: u64) -> PyResult<()> {
        if !(self.now..=END).contains(&until_ps) {
            return Err(wrong("until_ps", format!("{until_ps} is not within now ({}) and 2^62", self.now)));
        }
        let engine = &mut self.engine;
        let ran = released(py, |work| engine.run_while(until_ps, work));
        self.now = ran.done.err().unwrap_or(until_ps);
        ran.raised.map_or(Ok(()), Err)
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
    fn next_ps(&mut self) -> Option<u64> {
        Some(self.engine.next_event()).filter(|&next| next != Ps::MAX)
    }

    #[getter]
    fn classes(&self) -> (usize, usize) {
        self.engine.classes()
    }

    #[getter]
    fn arrived(&self) -> usize {
        self.engine.arrived()
    }

    fn arrivals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        py.detach(|| self.engine.arrivals()).into_pyarray(py)
    }

    fn link_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        py.detach(|| self.engine.link_bytes()).into_pyarray(py)
    }

    fn bottlenecks(&self, py: Python<'_>) -> Vec<(&'static str, Option<u32>, u64)> {
        let found = py.detach(|| self.engine.bottlenecks());
        let named = |(bound, time)| match bound {
            Bind::Link(port) => ("link", Some(port), time),
            Bind::Window => ("window", None, time),
            Bind::Post => ("post", None, time),
        };
        found.into_iter().map(named).collect()
    }
}
