//! The packet engine as the Python module `railweave._sim`. `src/railweave/_sim.pyi` says what is in it.

mod command;

use pyo3::prelude::*;

#[pymodule]
mod _sim {
    #[pymodule_export]
    use crate::command::command;
}
