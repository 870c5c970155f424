//! Ctrl-C and SIGTERM: a run ends at the next opportunity and prints what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Which signal came, if any.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Catch signals from now on. A second one ends the process at once.
    ///
    /// # Errors
    /// Where the operating system refuses.
    pub fn catch() -> std::io::Result<Self> {
        let interrupt = Interrupt::default();
        let once = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // in this order: the first signal finds `once` false and then sets it
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&once))?;
            flag::register(signal, Arc::clone(&once))?;
            flag::register_usize(signal, Arc::clone(&interrupt.signal), signal as usize)?;
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
