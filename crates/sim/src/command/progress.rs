//! How far a run is, on standard error: one line that is written over on a terminal, a line now and then in a log.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::packet::Ps;

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// Links crossed by packets.
    pub hops: u64,
    /// Payload that arrived.
    pub bytes: u64,
    /// Payload there is.
    pub total: u64,
    /// Simulated time.
    pub now: Ps,
}

/// What shows progress.
#[derive(Debug)]
pub struct Progress {
    every: Option<Duration>,
    terminal: bool,
    begin: Instant,
    last: Instant,
    shown: bool,
}

impl Progress {
    /// Progress to standard error, or none.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let every = Duration::from_secs(if terminal { 1 } else { 10 });
        let now = Instant::now();
        Progress { every: if quiet { None } else { Some(every) }, terminal, begin: now, last: now, shown: false }
    }

    /// Show a standing, if it is time to.
    pub fn show(&mut self, standing: impl FnOnce() -> Standing) {
        if self.every.is_none_or(|every| self.last.elapsed() < every) {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        let line = line(&standing(), self.begin.elapsed());
        // what cannot be written to standard error cannot be reported there either
        if self.terminal {
            _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        } else {
            _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// Clear the line on a terminal.
    pub fn end(&mut self) {
        if self.shown && self.terminal {
            _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// A standing as text. The rest takes as long as what was done, by payload.
pub fn line(standing: &Standing, elapsed: Duration) -> String {
    let part = standing.bytes as f64 / standing.total.max(1) as f64;
    let left =
        if standing.bytes == 0 { "?".to_owned() } else { span(elapsed.as_secs_f64() * (1.0 / part - 1.0).max(0.0)) };
    format!(
        "{:.1} % of payload, {:.1} M packet hops, {:.3} ms simulated, {} left",
        part * 100.0,
        standing.hops as f64 / 1e6,
        standing.now as f64 / 1e9,
        left
    )
}

fn span(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else if seconds < 5400.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}
