//! Raw input: topologies, flows and parameters, from the command line and from files.
//!
//! A user's mistake gives an [`InputError`]: where it is, what is wrong, and what would be right.

mod error;
pub mod faults;
pub mod flows;
mod nearest;
pub mod network;
mod parameter_list;
pub mod parameters;
pub mod patterns;
pub mod presets;
pub mod shapes;
pub mod spec;
pub mod topology_file;
pub mod units;
pub mod value;

pub use error::{InputError, Wrong};
pub use nearest::{nearest, suggestion};
