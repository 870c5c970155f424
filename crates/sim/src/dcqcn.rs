//! DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 5 and figure 7).
//!
//! Timers are not events: what they would have done is worked out when the rate is next needed, in the order in which
//! they would have fired.

use crate::packet::Ps;

/// Parameters of DCQCN at sender and receiver. Rates in 10^6 bit/s.
#[derive(Clone, Copy, Debug)]
pub struct Dcqcn {
    /// Gain of alpha.
    pub g: f64,
    /// Time without a notification after which alpha decays by `1 - g`.
    pub alpha_timer: Ps,
    /// The rate is cut at most once in this time.
    pub cut_interval: Ps,
    /// Whether every cut takes the present rate as the new target, as published; else only one after an increase does,
    /// so that cuts in a row do not forget where the sender came from (the HPCC simulator; ConnectX's `clamp_tgt_rate` 0 is
    /// assumed to mean the same).
    pub clamp_target: bool,
    /// The largest cut, as a part of the rate.
    pub max_cut: f64,
    /// Rate-increase timer.
    pub increase_timer: Ps,
    /// Bytes after which the byte counter counts a stage.
    pub byte_counter: u64,
    /// Stages of fast recovery before the rate is probed.
    pub threshold: u32,
    /// Additive increase.
    pub additive_mbps: f64,
    /// Hyper increase.
    pub hyper_mbps: f64,
    /// The rate never falls below this.
    pub minimum_mbps: f64,
    /// The receiver sends a notification at most once in this time: for a queue pair, to an address or at all (`HostConfig::cnp_limit`).
    pub cnp_interval: Ps,
}

impl Dcqcn {
    /// ConnectX defaults (NVIDIA, DCQCN parameters page).
    pub fn connectx() -> Self {
        const US: Ps = 1_000_000;
        Dcqcn {
            g: 1.0 - 1019.0 / 1024.0,
            alpha_timer: US,
            cut_interval: 4 * US,
            clamp_target: false,
            max_cut: 0.5,
            increase_timer: 300 * US,
            byte_counter: 32767 * 64,
            threshold: 1,
            additive_mbps: 5.0,
            hyper_mbps: 50.0,
            minimum_mbps: 1.0,
            cnp_interval: 4 * US,
        }
    }
}

/// Timers that ran out more often than this at once are not followed one by one.
const MANY: u64 = 10_000;

/// Even stages after which the rate follows its target at the distance of a step, to all digits.
const SETTLED: u32 = 64;

/// A number to the power of another, in few multiplications (libm's differs between machines).
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

/// The state of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Current rate, 10^6 bit/s.
    pub rate: f64,
    target: f64,
    alpha: f64,
    line: f64,
    bytes: u64,
    next_alpha: Ps,
    next_increase: Ps,
    last_cut: Ps,
    timer_stage: u32,
    byte_stage: u32,
    /// Whether the rate was increased since the last cut.
    increased: bool,
    /// Whether a notification has ever come: before that the queue pair sends at line rate.
    limited: bool,
}

impl State {
    /// A queue pair at line rate.
    pub fn new(line_mbps: f64) -> Self {
        State {
            rate: line_mbps,
            target: line_mbps,
            alpha: 1.0,
            line: line_mbps,
            bytes: 0,
            next_alpha: 0,
            next_increase: 0,
            last_cut: 0,
            timer_stage: 0,
            byte_stage: 0,
            increased: true,
            limited: false,
        }
    }

    /// Whether the queue pair is below line rate.
    #[inline]
    pub fn limited(&self) -> bool {
        self.limited
    }

    /// When a packet of `bytes` on the wire that was begun at `start` has had its time: the timer raises the rate meanwhile.
    #[inline]
    pub fn passed(&self, p: &Dcqcn, start: Ps, bytes: u32) -> Ps {
        let bits = f64::from(bytes) * 8e6;
        let end = start + (bits / self.rate) as Ps;
        if end <= self.next_increase || !self.limited { end } else { self.passed_meanwhile(p, start, bits) }
    }

    fn passed_meanwhile(&self, p: &Dcqcn, start: Ps, bits: f64) -> Ps {
        let (mut state, mut now, mut left) = (*self, start, bits);
        for _ in 0..MANY {
            if state.next_increase >= now + (left / state.rate) as Ps || !state.limited {
                break;
            }
            left -= (state.next_increase - now) as f64 * state.rate;
            now = state.next_increase;
            state.raise(p, now);
        }
        now + (left / state.rate) as Ps
    }

    /// A notification came at `now`. Returns whether the rate changed.
    pub fn notified(&mut self, p: &Dcqcn, now: Ps) -> bool {
        if self.limited {
            self.advance(p, now);
            if now < self.last_cut + p.cut_interval {
                return false;
            }
        }
        if p.clamp_target || self.increased {
            self.target = self.rate;
        }
        self.increased = false;
        self.rate = (self.rate * (1.0 - (self.alpha / 2.0).min(p.max_cut))).max(p.minimum_mbps);
        self.alpha = (1.0 - p.g) * self.alpha + p.g;
        self.limited = true;
        self.bytes = 0;
        self.timer_stage = 0;
        self.byte_stage = 0;
        self.next_alpha = now + p.alpha_timer;
        self.next_increase = now + p.increase_timer;
        self.last_cut = now;
        true
    }

    /// `bytes` were sent at `now`: timers that ran out before, then the byte counter.
    #[inline]
    pub fn sent(&mut self, p: &Dcqcn, now: Ps, bytes: u64) {
        if !self.limited {
            return;
        }
        if now >= self.next_alpha || now >= self.next_increase {
            self.advance(p, now);
        }
        self.bytes += bytes;
        if self.bytes >= p.byte_counter {
            self.bytes -= p.byte_counter;
            self.byte_stage += 1;
            self.increase(p);
        }
    }

    fn advance(&mut self, p: &Dcqcn, now: Ps) {
        if now >= self.next_alpha {
            let steps = (now - self.next_alpha) / p.alpha_timer + 1;
            for _ in 0..steps.min(MANY) {
                self.alpha *= 1.0 - p.g;
                if self.alpha < 1e-12 {
                    self.alpha = 0.0;
                    break;
                }
            }
            self.alpha *= power(1.0 - p.g, steps.saturating_sub(MANY));
            self.next_alpha += steps * p.alpha_timer;
        }
        self.raise(p, now);
    }

    /// The increases of the timer until `now`. They do not depend on alpha.
    fn raise(&mut self, p: &Dcqcn, now: Ps) {
        while now >= self.next_increase && self.limited {
            self.next_increase += p.increase_timer;
            self.timer_stage = self.timer_stage.saturating_add(1);
            self.increase(p);
            self.increase_evenly(p, now);
        }
    }

    /// Where very many stages of the timer ran out, take at once those that all add the same: the byte counter stands
    /// still, and the rate has come to follow its target at the distance of a step.
    #[inline]
    fn increase_evenly(&mut self, p: &Dcqcn, now: Ps) {
        if now.saturating_sub(self.next_increase) < MANY.saturating_mul(p.increase_timer)
            || self.timer_stage < self.byte_stage.max(p.threshold).saturating_add(SETTLED)
        {
            return;
        }
        let fast = self.byte_stage.saturating_sub(p.threshold);
        let each = if fast > 0 { p.hyper_mbps * f64::from(fast) } else { p.additive_mbps };
        let due = (now - self.next_increase) / p.increase_timer;
        let steps = if each > 0.0 { due.min(((self.line - self.target) / each) as u64) } else { due };
        self.next_increase += steps * p.increase_timer;
        self.timer_stage = self.timer_stage.saturating_add(steps.min(u64::from(u32::MAX)) as u32);
        self.target += steps as f64 * each;
        self.rate += steps as f64 * each;
    }

    fn increase(&mut self, p: &Dcqcn) {
        self.increased = true;
        let (most, least) = (self.timer_stage.max(self.byte_stage), self.timer_stage.min(self.byte_stage));
        if least > p.threshold {
            self.target += p.hyper_mbps * f64::from(least - p.threshold);
        } else if most > p.threshold {
            self.target += p.additive_mbps;
        }
        self.target = self.target.min(self.line);
        self.rate = (self.rate + self.target) / 2.0;
        if self.line - self.rate < 1e-3 {
            *self = State::new(self.line);
        }
    }
}

/// The rate of a queue pair that is looked at again and again. Each look goes on from the last one, as long as the queue
/// pair itself has not changed: a queue pair that waits for seconds is looked at millions of times.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    from: State,
    raised: State,
}

impl Look {
    /// No look yet at a queue pair in this state.
    pub fn new(state: State) -> Self {
        Look { from: state, raised: state }
    }

    /// The rate of a queue pair in this state at `now`, 10^6 bit/s: after the timers that ran out meanwhile. `now` never falls.
    pub fn rate(&mut self, state: &State, p: &Dcqcn, now: Ps) -> f64 {
        if self.from != *state {
            *self = Look::new(*state);
        }
        if self.raised.limited {
            self.raised.raise(p, now);
        }
        self.raised.rate
    }
}
