//! Any bytes are a scenario, and its run keeps the laws.
#![no_main]

#[path = "../../tests/reference/mod.rs"]
mod reference;
#[path = "../../tests/scenario/mod.rs"]
mod scenario;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    _ = scenario::keeps_the_laws(&scenario::Scenario::new(bytes));
});
