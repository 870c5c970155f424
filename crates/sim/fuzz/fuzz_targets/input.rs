//! Any text is a network, flows, a value, or an error: no panic. The first byte says what the text is taken for.
#![no_main]

use railweave_sim::config::Config;
use railweave_sim::input::{flows, parameters, patterns, shapes, topology_file};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let star = || shapes::network("--topology", "star:hosts=4").expect("a good shape");
    let text = String::from_utf8_lossy(bytes);
    match kind % 5 {
        0 => drop(topology_file::network("f", &text).and_then(|network| network.profiles(&Config::default()))),
        1 => _ = flows::flows("f", bytes, &star()),
        2 => text.lines().for_each(parameter_list(&mut Config::default())),
        3 => _ = shapes::network("--topology", &text),
        _ => _ = patterns::flows("--traffic", &text, &star()),
    }
});

/// Lines of `NAME=VALUE`. What is printed of parameters reads as the same again.
fn parameter_list(config: &mut Config) -> impl FnMut(&str) {
    move |line| {
        let Some((name, text)) = line.split_once('=') else { return };
        if parameters::set(config, name, text).is_ok() {
            _ = parameters::check(config);
            let printed = parameters::all(config);
            let mut again = *config;
            for (name, text) in &printed {
                parameters::set(&mut again, name, text).unwrap_or_else(|wrong| panic!("{name}={text}: {}", wrong.what));
            }
            assert_eq!(parameters::all(&again), printed);
        }
    }
}
