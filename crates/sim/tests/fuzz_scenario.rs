//! The fuzz target's scenarios on bytes of no meaning: no panic, no packet lost, no run without end.

mod reference;
mod scenario;

use railweave_sim::hashing::mix;
use scenario::{Scenario, keeps_the_laws};

/// What the fuzz target found, and why it was wrong once.
const FOUND: [&str; 1] = [
    // PFC frames that waited did not keep a port from being taken for idle when its load was sampled
    "4225025eeeb0f596409778162994379b02ba27b4cca4df890f49a8f766861bb2823a7e759a39a66f206c38f414d237a7a623c37a3ef882010\
     97a8e0eefadd9dda83282338ca827e41ec7781629943702ba27070100000000000005b6df41104619e9219600b70c000000000000007f698119\
     ac3c0000a5bc29bbcb5e30f37b87fb20b6567d0e2fa3b9b215c2528c8a4bb04af4e2b2823a7e759a39a66f206c38f414d237a7a623c37a3ef88\
     21ff57a8e0eefadd9dda83282338ca827ce56d9d7ddb29cdc7656c1b947185e8e74d7c3ad133de43a9c452dd7861b431e0ee7a55a22b8039625\
     8f",
];

#[test]
fn what_was_found_stays_mended() {
    for digits in FOUND {
        let byte = |place: usize| u8::from_str_radix(&digits[place..place + 2], 16).expect("hexadecimal digits");
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        keeps_the_laws(&Scenario::new(&bytes));
    }
}

#[test]
fn random_scenarios_keep_the_laws() {
    // SCENARIOS=1000000 cargo test --release --test fuzz_scenario: as long as one likes
    let count = std::env::var("SCENARIOS").map_or(3000, |count| count.parse().expect("SCENARIOS is a number"));
    let (mut ended, mut reached, mut sums) = (0, 0, [0u64; 11]);
    for index in 0..count {
        let bytes: Vec<u8> = (0..64).flat_map(|word| mix(index, word).to_le_bytes()).collect();
        let run = std::panic::catch_unwind(|| keeps_the_laws(&Scenario::new(&bytes)));
        let run = run.unwrap_or_else(|_| panic!("scenario {index} breaks a law, see above"));
        ended += u64::from(run.ended);
        let c = run.counters;
        reached += u64::from(c.hops > 0);
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
    println!("{reached} of {count} scenarios sent packets over a cable, {ended} ended by themselves");
    assert!(reached * 2 > count, "{reached} of {count} scenarios sent packets over a cable");
    assert!(ended * 4 > count, "{ended} of {count} runs ended by themselves");
    assert!(sums.iter().all(|&sum| sum > 0), "some mechanism was never used: {sums:?}");
}
