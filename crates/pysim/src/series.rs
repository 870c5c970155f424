//! Series: collected while the engine runs, handed out as arrays that take over the memory of the columns.

use numpy::{Element, IntoPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use railweave_sim::engine::Engine;
use railweave_sim::packet::Ps;
use railweave_sim::series::{FlowSeries, PortSeries, QueueSeries, Series};
use railweave_sim::work::Work;

/// What is collected.
pub struct Collector {
    series: Series,
    /// Nothing happens any more, and what did is in the series.
    over: bool,
}

impl Collector {
    /// Nothing is collected yet.
    pub fn new(series: Series) -> Self {
        Collector { series, over: false }
    }

    /// Run the engine up to a moment, and take the samples that are due. Where the work is stopped, the error is up to when it
    /// ran.
    pub fn run(&mut self, engine: &mut Engine, until: Ps, work: &mut Work<'_>) -> Result<(), Ps> {
        while !self.over && self.series.next() <= until {
            let now = self.series.next();
            engine.run_while(now, work)?;
            self.series.sample(engine, now);
            self.over = engine.next() == Ps::MAX;
        }
        engine.run_while(until, work)
    }

    /// The series up to `now`, the limit of the engine's last run, and where they end. They begin anew.
    pub fn take<'py>(&mut self, py: Python<'py>, engine: &Engine, now: Ps) -> PyResult<Bound<'py, PyDict>> {
        let ended = |series: &Series| series.next() == Ps::MAX; // it has its most rows
        if !self.over && !ended(&self.series) {
            self.series.sample(engine, now);
        }
        let all = PyDict::new(py);
        all.set_item("end_ps", if ended(&self.series) { self.series.end() } else { now })?;
        if let Some(series) = &mut self.series.ports {
            all.set_item("ports", ports(py, std::mem::take(series))?)?;
        }
        if let Some(series) = &mut self.series.queues {
            all.set_item("queues", queues(py, std::mem::take(series))?)?;
        }
        if let Some(series) = &mut self.series.queue_pairs {
            all.set_item("queue_pairs", queue_pairs(py, std::mem::take(series))?)?;
        }
        Ok(all)
    }
}

fn put<T: Element>(dict: &Bound<'_, PyDict>, name: &str, column: Vec<T>) -> PyResult<()> {
    dict.set_item(name, column.into_pyarray(dict.py()))
}

/// Every column is named, here and below, so that none is forgotten.
fn ports(py: Python<'_>, series: PortSeries) -> PyResult<Bound<'_, PyDict>> {
    let PortSeries {
        time,
        port,
        tx_bytes,
        utilisation,
        queued_bytes,
        ecn_ce_packets,
        dropped_packets,
        pfc_tx,
        pfc_rx,
        paused,
    } = series;
    let dict = PyDict::new(py);
    put(&dict, "time_ps", time)?;
    put(&dict, "port", port)?;
    put(&dict, "tx_bytes", tx_bytes)?;
    put(&dict, "utilisation", utilisation)?;
    put(&dict, "queued_bytes", queued_bytes)?;
    put(&dict, "ecn_ce_packets", ecn_ce_packets)?;
    put(&dict, "dropped_packets", dropped_packets)?;
    put(&dict, "pfc_tx", pfc_tx)?;
    put(&dict, "pfc_rx", pfc_rx)?;
    put(&dict, "paused_ps", paused)?;
    Ok(dict)
}

fn queues(py: Python<'_>, series: QueueSeries) -> PyResult<Bound<'_, PyDict>> {
    let QueueSeries { time, port, class, queued_bytes } = series;
    let dict = PyDict::new(py);
    put(&dict, "time_ps", time)?;
    put(&dict, "port", port)?;
    put(&dict, "class", class)?;
    put(&dict, "queued_bytes", queued_bytes)?;
    Ok(dict)
}

fn queue_pairs(py: Python<'_>, series: FlowSeries) -> PyResult<Bound<'_, PyDict>> {
    let FlowSeries { time, qp, delivered_bytes, rate_mbps } = series;
    let dict = PyDict::new(py);
    put(&dict, "time_ps", time)?;
    put(&dict, "queue_pair", qp)?;
    put(&dict, "delivered_bytes", delivered_bytes)?;
    put(&dict, "rate_mbps", rate_mbps)?;
    Ok(dict)
}
