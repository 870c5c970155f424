//! Ctrl-C and SIGTERM: a run ends at the next opportunity and prints what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

/// Which signal came, if any. Signals are caught until it is dropped: a program that has others runs after it.
#[derive(Debug, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    actions: Vec<SigId>,
}

impl Interrupt {
    /// Catch signals from now on. A second one ends the process at once.
    ///
    /// # Errors
    /// Where the operating system refuses.
    pub fn catch() -> std::io::Result<Self> {
        let mut interrupt = Interrupt::default();
        let once = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // in this order: the first signal finds `once` false and then sets it
            interrupt.actions.push(flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&once))?);
            interrupt.actions.push(flag::register(signal, Arc::clone(&once))?);
            let number = Arc::clone(&interrupt.signal);
            interrupt.actions.push(flag::register_usize(signal, number, signal as usize)?);
        }
        Ok(interrupt)
    }

    /// The number of the signal that came.
    pub fn signal(&self) -> Option<i32> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for action in self.actions.drain(..) {
            low_level::unregister(action);
        }
    }
}
