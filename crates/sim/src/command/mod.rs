//! The command `railweave-sim`, which is `railweave sim` too: raw topologies and flows in, a table or JSON out.

mod interrupt;
pub mod options;
pub mod progress;
pub mod result;
pub mod series;
pub mod setup;
pub mod simulate;
mod table;
mod whole;

use std::io::Write;
use std::time::Instant;

use crate::config::Config;
use crate::input::{InputError, parameters};
use crate::series::MOST_ROWS;
use interrupt::Interrupt;
use options::Given;
use progress::Progress;
use setup::Setup;
use simulate::{End, Outcome};

/// All flows finished.
pub const GOOD: u8 = 0;
/// The run ended with flows unfinished.
pub const UNFINISHED: u8 = 1;
/// Bad input, or bad use.
pub const BAD_INPUT: u8 = 2;

/// Do what the words of a command line say, under the name by which the user knows the program. Returns the exit code:
/// one of the above, or 128 and the number of the signal that ended the run (130 for Ctrl-C).
pub fn run(program: &str, words: impl IntoIterator<Item = String>) -> u8 {
    match try_run(program, words) {
        Ok(code) => code,
        Err(error) => {
            // what cannot be written to standard error cannot be reported there either
            _ = writeln!(std::io::stderr(), "{program}: {error}");
            BAD_INPUT
        }
    }
}

fn try_run(program: &str, words: impl IntoIterator<Item = String>) -> Result<u8, InputError> {
    let begin = Instant::now();
    let given = Given::read(words)?;
    if given.has("--help") {
        return print(&given, &options::help(program));
    }
    if given.has("--version") {
        return print(&given, &format!("{program} {}\n", env!("CARGO_PKG_VERSION")));
    }
    if given.has("--help-parameters") {
        return print(&given, &parameters::table(&Config::default()));
    }
    let caught = Interrupt::catch();
    let interrupt =
        caught.map_err(|error| InputError::new("signals", error.to_string(), "they cannot be caught here"))?;
    let setup = Setup::read(&given)?;
    given.value("--output").map_or(Ok(()), |file| whole::check("--output", file))?;
    let outcome = simulate::simulate(&setup, &interrupt, &mut Progress::new(given.has("--quiet")))?;
    let result = result::Result::new(&setup, &outcome, begin.elapsed().as_secs_f64());
    let text = if given.has("--json") {
        serde_json::to_string_pretty(&result).expect("numbers and text only") + "\n"
    } else {
        table::table(&result)
    };
    print(&given, &text)?;
    write_series(&setup, &outcome)?;
    let unfinished = result.flows.iter().filter(|flow| flow.fct_us.is_none()).count();
    if unfinished > 0 {
        let (all, why) = (result.flows.len(), result.end);
        _ = writeln!(std::io::stderr(), "{program}: {unfinished} of {all} flows did not finish ({why})");
    }
    Ok(match outcome.end {
        End::Finished => GOOD,
        End::Stuck | End::Until => UNFINISHED,
        End::Interrupted(signal) => 128 + signal as u8,
    })
}

/// Write the series that are wanted. They say so where they do not cover the whole run.
fn write_series(setup: &Setup, outcome: &Outcome) -> Result<(), InputError> {
    let Some(series) = &outcome.series else { return Ok(()) };
    let full = format!("the series has its most rows, {MOST_ROWS}");
    let partial = match outcome.end {
        _ if series.full() => Some(full.as_str()),
        End::Interrupted(_) => Some("interrupted"),
        End::Finished | End::Stuck | End::Until => None,
    };
    if series.full() {
        let at = series.end() as f64 / 1e6;
        _ = writeln!(
            std::io::stderr(),
            "railweave-sim: {full}, at {at} us; give a longer --series-every, or --series-of"
        );
    }
    setup.series.write(series, (&setup.network, &setup.flows), partial)
}

/// Write the result to where it is wanted.
fn print(given: &Given, text: &str) -> Result<u8, InputError> {
    let (place, written) = match given.value("--output") {
        Some(file) => (file, whole::write(file, |out| out.write_all(text.as_bytes()))),
        None => ("standard output", std::io::stdout().write_all(text.as_bytes())),
    };
    written.map(|()| GOOD).map_err(|error| InputError::new(place, error.to_string(), "nothing was written"))
}
