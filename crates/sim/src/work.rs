//! Steps of long work. They are counted, and now and then it is asked whether to go on.
//!
//! A loop over messages, queue pairs, waits, nodes or entries takes a step for each. So a set-up or a run can be stopped
//! within a moment, and a test can count what a network of twice the size costs.

/// Steps between two questions: well below a millisecond, but for windows in which very many packets arrive.
const BETWEEN: u64 = 1 << 12;

/// The work was stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Work that can be stopped.
pub struct Work<'a> {
    steps: u64,
    ask_at: u64,
    stop: &'a mut dyn FnMut() -> bool,
}

impl<'a> Work<'a> {
    /// Work that ends when `stop` says so.
    pub fn new(stop: &'a mut dyn FnMut() -> bool) -> Self {
        Work { steps: 0, ask_at: BETWEEN, stop }
    }

    /// Steps until now.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Count so many more steps.
    ///
    /// # Errors
    /// Where the work is to be stopped.
    #[inline]
    pub fn step(&mut self, steps: usize) -> Result<(), Stopped> {
        self.steps += steps as u64;
        if self.steps < self.ask_at { Ok(()) } else { self.ask() }
    }

    #[cold]
    fn ask(&mut self) -> Result<(), Stopped> {
        self.ask_at = self.steps + BETWEEN;
        if (self.stop)() { Err(Stopped) } else { Ok(()) }
    }
}

/// Do work that is never stopped.
pub fn whole<T>(act: impl FnOnce(&mut Work<'_>) -> Result<T, Stopped>) -> T {
    act(&mut Work::new(&mut || false)).expect("it is never stopped")
}
