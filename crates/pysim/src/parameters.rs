//! Parameters by name, as `--set` takes them.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use railweave_sim::config::Config;
use railweave_sim::input::{Wrong, parameters, presets};

use crate::arrays::{Numbers, wrong};

/// The parameters of all: a parameter set of DCQCN, or no congestion control, and what is given by name.
pub fn config(dcqcn: Option<&str>, given: Option<&Bound<'_, PyDict>>, host_speed_mbps: u64) -> PyResult<Config> {
    let mut config = Config::default();
    match dcqcn {
        None => config.host.dcqcn = None,
        Some("connectx") => {}
        Some("hpcc") => presets::hpcc(&mut config, host_speed_mbps),
        Some("dcqcn-p") => presets::dcqcn_p(&mut config),
        Some(other) => {
            return Err(wrong("dcqcn", format!("{other:?} is unknown: give connectx, hpcc, dcqcn-p or None")));
        }
    }
    set("parameters", &mut config, given)?;
    Ok(config)
}

fn set(place: &str, config: &mut Config, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, text) in given.into_iter().flatten() {
        let (Ok(name), Ok(text)) = (name.extract::<String>(), text.extract::<String>()) else {
            return Err(wrong(place, format!("{name:?}: {text:?}: give names and values as text")));
        };
        parameters::set(config, &name, &text).map_err(|error| refused(place, &name, &error))?;
    }
    parameters::check(config).map_err(|error| refused(place, "", &error))
}

/// What is wrong with a parameter, or with several together (no name); the exception has its name as `parameter`.
fn refused(place: &str, name: &str, error: &Wrong) -> PyErr {
    let told = wrong(place, format!("{}; {}", error.what, error.right));
    Python::attach(|py| told.value(py).setattr("parameter", name)).err().unwrap_or(told)
}

/// The profiles of switches, and which each node has. Without any, all are as `common` says.
pub fn profiles(
    common: Config,
    given: &[Bound<'_, PyDict>],
    profile: Option<&Bound<'_, PyAny>>,
    nodes: usize,
) -> PyResult<(Vec<Config>, Vec<u16>)> {
    let Some(profile) = profile else {
        return if given.is_empty() {
            Ok((vec![common], vec![0; nodes]))
        } else {
            Err(wrong("profile", "nothing says which node has which profile"))
        };
    };
    let mut profiles = Vec::new();
    for (number, own) in given.iter().enumerate() {
        let mut config = common;
        set(&format!("profiles[{number}]"), &mut config, Some(own))?;
        profiles.push(config);
    }
    let of = Numbers::<u16>::read("profile", &[Some(nodes)], profile)?;
    for (node, &one) in of.slice().iter().enumerate() {
        of.one_of(node, "it", one, profiles.len(), "profiles")?;
    }
    Ok((profiles, of.slice().to_vec()))
}
