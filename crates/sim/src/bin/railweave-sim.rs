//! The packet engine as a command; see docs/engine.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    ExitCode::from(railweave_sim::command::run("railweave-sim", words))
}
