//! The engines as the Python module `railweave._sim`. `src/railweave/_sim.pyi` says what is in it.

mod arrays;
mod changes;
mod command;
mod counters;
mod engine;
mod flow;
mod network;
mod parameters;
mod released;
mod series;
mod traffic;

use pyo3::pymodule;

#[pymodule]
mod _sim {
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::engine::PacketEngine;
    #[pymodule_export]
    use crate::flow::FlowEngine;

    use crate::{changes, network, traffic};
    use pyo3::prelude::*;

    /// The codes that arrays are written in.
    #[pymodule_init]
    fn codes(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let codes = network::CODES.iter().chain(&traffic::CODES).chain(&changes::CODES);
        codes.into_iter().try_for_each(|&(name, code)| module.add(name, code))
    }
}
