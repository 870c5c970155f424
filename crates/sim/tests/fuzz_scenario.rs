//! The fuzz target's scenarios on bytes of no meaning: no panic, no packet lost, no run without end.

mod scenario;

use railweave_sim::routing::mix;
use scenario::{Scenario, keeps_the_laws};

#[test]
fn random_scenarios_keep_the_laws() {
    // SCENARIOS=1000000 cargo test --release --test fuzz_scenario: as long as one likes
    let count = std::env::var("SCENARIOS").map_or(3000, |count| count.parse().expect("SCENARIOS is a number"));
    let (mut ended, mut sums) = (0, [0u64; 11]);
    for index in 0..count {
        let bytes: Vec<u8> = (0..64).flat_map(|word| mix(index, word).to_le_bytes()).collect();
        let run = std::panic::catch_unwind(|| keeps_the_laws(&Scenario::new(&bytes)));
        let run = run.unwrap_or_else(|_| panic!("scenario {index} breaks a law, see above"));
        ended += u64::from(run.ended);
        let c = run.counters;
        for (sum, part) in sums.iter_mut().zip([
            c.dropped_ingress,
            c.dropped_egress,
            c.dropped_down,
            c.dropped_watchdog,
            c.unroutable,
            c.lost_on_wire,
            c.pauses,
            c.marked,
            c.cnps,
            c.timeouts,
            c.retransmitted,
        ]) {
            *sum += part;
        }
    }
    assert!(ended * 4 > count, "{ended} of {count} runs ended by themselves");
    assert!(sums.iter().all(|&sum| sum > 0), "some mechanism was never used: {sums:?}");
}
