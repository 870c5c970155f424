//! Long work without the interpreter, which other threads have meanwhile; signals end it.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use railweave_sim::work::{Stopped, Work};

/// How often it is asked for signals: for that the thread waits for the interpreter, which another thread may be using.
const EVERY: Duration = Duration::from_millis(100);

/// What came of some work, and how many steps it took.
pub struct Released<T> {
    pub done: T,
    pub steps: u64,
    /// What a signal's handler raised: the work was stopped, or is over. Handlers run in the main thread alone.
    pub raised: Option<PyErr>,
}

/// Do work that can be stopped without holding the interpreter.
pub fn released<T: Send>(py: Python<'_>, act: impl FnOnce(&mut Work<'_>) -> T + Send) -> Released<T> {
    py.detach(|| {
        let (mut asked, mut raised) = (Instant::now(), None);
        let mut stop = || {
            if raised.is_none() && asked.elapsed() >= EVERY {
                raised = Python::attach(|py| py.check_signals()).err();
                asked = Instant::now();
            }
            raised.is_some()
        };
        let mut work = Work::new(&mut stop);
        let done = act(&mut work);
        let steps = work.steps();
        Released { done, steps, raised }
    })
}

impl<T> Released<PyResult<T>> {
    /// What came of it and its steps, or what was wrong or raised.
    pub fn ended(self) -> PyResult<(T, u64)> {
        match self.raised {
            Some(error) => Err(error),
            None => self.done.map(|done| (done, self.steps)),
        }
    }
}

/// The error of work that was stopped. What the signal's handler raised goes before it.
pub fn stopped(_: Stopped) -> PyErr {
    PyKeyboardInterrupt::new_err(())
}
