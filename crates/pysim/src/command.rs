//! The command line of the engine, inside Python's process.

use std::ffi::OsString;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Run the command under the name of a program; returns its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, program: &str, words: Vec<OsString>) -> PyResult<u8> {
    let words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    let code = py.detach(|| railweave_sim::command::run(program, words));
    // Python is told of signals too. One that came during the run was for the run, and the exit code says so.
    match py.check_signals() {
        Err(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok(code),
    }
}
