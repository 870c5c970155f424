//! Whatever is written into a file or an option, the answer is a network, flows, a value, or an error: no panic.

use railweave_sim::config::Config;
use railweave_sim::hashing::mix;
use railweave_sim::input::{faults, flows, parameters, patterns, shapes, topology_file};

const TOPOLOGY: &str = "\
# a comment\n\
default link speed=400G delay=600ns length=30m\n\
default switch buffer=64MB alpha=8 ecn=400KB..1600KB@20%\n\
switch s0 seed=7 headroom=200KB class.3.service=strict\nswitch s1 watchdog=drop watchdog-poll=1ms\n\
host a\nhost b\nlink a s0\nlink s0 s1 cables=2 speed=1.6T\nlink b s1 delay=1us\n";

const FLOWS: &str = "src,dst,bytes,start_us\nh0,h1,8M,0\nh2,h3,4096,12.000001\n";

/// Bits of text that are put in.
const BITS: [&str; 16] =
    ["-", ".", ",", "=", ":", "@", "%", "..", "9999999999999999999999", "\n", "0", "é", "NaN", "1e9", "\u{0}", " "];

/// A text with some of it left out, doubled or replaced.
fn mutated(text: &str, seed: u64) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for step in 0..=seed % 4 {
        let draw = mix(seed, step);
        let place = (draw >> 8) as usize % (letters.len() + 1);
        let end = (place + (draw >> 40) as usize % 6).min(letters.len());
        match draw % 3 {
            0 => drop(letters.drain(place..end)),
            1 => letters.splice(place..place, letters[place..end].to_vec()).for_each(drop),
            _ => letters.splice(place..end, BITS[(draw >> 50) as usize % BITS.len()].chars()).for_each(drop),
        }
    }
    letters.into_iter().collect()
}

#[test]
fn files() {
    let star = shapes::network("--topology", "star:hosts=4").expect("a good shape");
    let (mut good, mut bad) = (0, 0);
    for seed in 0..20_000 {
        let network = topology_file::network("f", &mutated(TOPOLOGY, seed));
        let network = network.and_then(|network| network.profiles(&Config::default()));
        let read = flows::flows("f", mutated(FLOWS, seed).as_bytes(), &star);
        for fine in [network.is_ok(), read.is_ok()] {
            if fine { good += 1 } else { bad += 1 }
        }
    }
    assert!(good > 1000 && bad > 1000, "{good} good, {bad} bad");
}

#[test]
fn options() {
    let star = shapes::network("--topology", "star:hosts=4").expect("a good shape");
    let values: Vec<(String, String)> = parameters::all(&Config::default());
    for seed in 0..20_000 {
        let draw = mix(seed, 77) as usize;
        // switches of these sizes are laid out in no time, and larger ones are refused
        let shape = ["star:hosts=3,delay=50ns", "dumbbell:hosts=2,cables=3,speed=1T", "fat-tree:k=4"][draw % 3];
        _ = shapes::network("--topology", &mutated(shape, seed));
        let pattern = ["permutation:bytes=4MB,seed=1", "incast:degree=3,bytes=1MB", "all-to-all:bytes=8"][draw % 3];
        _ = patterns::flows("--traffic", &mutated(pattern, seed), &star);
        let fault =
            faults::FAULTS[draw % 6].1.replace("leaf0", "h0").replace("spine0", "switch").replace("cable=0,", "");
        _ = faults::faults("--fault", [mutated(&fault, seed).as_str()], &star);
        let (name, value) = &values[draw % values.len()];
        _ = parameters::set(&mut Config::default(), name, &mutated(value, seed));
        _ = parameters::set(&mut Config::default(), &mutated(name, seed), value);
    }
}
