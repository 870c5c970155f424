//! Setting parameters by name, and printing them.

use super::error::Wrong;
use super::nearest::suggestion;
pub use super::parameter_list::{PARAMETERS, Parameter, SHORT};
use super::presets;
use super::value::{Kind, Value};
use crate::config::{CLASSES, Config, Ecn};

/// The parameter of a name, and its class.
fn find(name: &str) -> Option<(&'static Parameter, usize)> {
    let mut parts: Vec<&str> = name.split('.').collect();
    let mut class = 0;
    if let ["class", number, _] = parts[..] {
        class = number.parse().ok().filter(|&class| class < CLASSES)?;
        parts[1] = "N";
    }
    let name = parts.join(".");
    PARAMETERS.iter().find(|one| one.name == name).map(|one| (one, class))
}

/// Set the parameter of a name.
///
/// # Errors
/// Where there is none of that name, or its value is none or absurd.
pub fn set(config: &mut Config, name: &str, text: &str) -> Result<(), Wrong> {
    let named = |wrong: Wrong| Wrong::new(format!("{name}: {}", wrong.what), wrong.right);
    if name == "buffer" {
        let Value::Whole(bytes) = Kind::Size(100_000, 100_000_000_000).read(text).map_err(named)? else {
            return Ok(());
        };
        presets::divide_buffer(&mut config.switch, bytes);
        return Ok(());
    }
    let data = config.host.data_class;
    let full = match name {
        "alpha" => format!("class.{data}.egress-alpha"),
        "ecn" | "lossless" => format!("class.{data}.{name}"),
        _ => name.to_owned(),
    };
    let Some((parameter, class)) = find(&full) else {
        let right = suggestion(name, PARAMETERS.iter().map(|one| one.name).chain(SHORT.map(|short| short.0)));
        return Err(Wrong::new(format!("there is no parameter {name:?}"), right));
    };
    if (parameter.get)(config, class).is_none() {
        let (what, right) = if full.starts_with("dcqcn") {
            ("there is no DCQCN", "give --cc dcqcn")
        } else {
            ("what it belongs to is off", "set switch.watchdog or switch.vxlan before it")
        };
        return Err(Wrong::new(format!("{name} is of no use: {what}"), right));
    }
    let value = parameter.kind.read(text).map_err(named)?;
    (parameter.set)(config, class, value);
    Ok(())
}

/// Whether parameters fit together, once all of them are set.
///
/// # Errors
/// Where they do not.
pub fn check(config: &Config) -> Result<(), Wrong> {
    let (min, max) = (config.dlb.min, config.dlb.max);
    if min >= max {
        return Err(Wrong::new(
            format!("dlb.min ({min}%) is not below dlb.max ({max}%)"),
            "give a dlb.max above dlb.min",
        ));
    }
    let (buffer, xoff) = (config.host.receive_buffer, config.host.receive_xoff);
    if xoff > buffer {
        let what = format!("host.receive-xoff ({xoff}) is beyond host.receive-buffer ({buffer})");
        return Err(Wrong::new(what, "give a host.receive-xoff that the buffer holds"));
    }
    for (number, class) in config.switch.classes.iter().enumerate() {
        if class.ecn_at_dequeue && matches!(class.ecn, Ecn::Percent { .. }) {
            let what = format!("class.{number} marks at dequeue, by percent");
            return Err(Wrong::new(what, "give thresholds in bytes, or mark at enqueue"));
        }
    }
    Ok(())
}

/// The full name of a parameter that a topology file gives a switch: `headroom` is `switch.headroom`.
///
/// # Errors
/// Where switches have no such parameter.
pub fn switch_name(key: &str) -> Result<String, Wrong> {
    if key == "seed" || key.starts_with("class.") && find(key).is_some() || SHORT.iter().any(|short| short.0 == key) {
        return Ok(key.to_owned());
    }
    let name = format!("switch.{key}");
    if find(&name).is_some() {
        return Ok(name);
    }
    let own = PARAMETERS.iter().filter_map(|one| one.name.strip_prefix("switch."));
    let known: Vec<&str> = SHORT.iter().map(|short| short.0).chain(own).chain(["seed"]).collect();
    Err(Wrong::new(format!("switches have no {key:?}"), suggestion(key, known)))
}

/// Name and value of every parameter of a configuration.
pub fn all(config: &Config) -> Vec<(String, String)> {
    let mut list = Vec::new();
    for parameter in PARAMETERS {
        let classes = if parameter.name.contains(".N.") { 0..CLASSES } else { 0..1 };
        for class in classes {
            if let Some(value) = (parameter.get)(config, class) {
                let name = parameter.name.replace(".N.", &format!(".{class}."));
                list.push((name, parameter.kind.text(value)));
            }
        }
    }
    list
}

/// The table of all parameters (Markdown), with their values in a configuration.
pub fn table(config: &Config) -> String {
    let mut text = "| parameter | standard | range | meaning |\n|---|---|---|---|\n".to_owned();
    for parameter in PARAMETERS {
        let class = usize::from(config.host.data_class);
        let value = (parameter.get)(config, class).map_or("–".to_owned(), |value| parameter.kind.text(value));
        let of = if parameter.name.contains(".N.") { format!(" (class {class})") } else { String::new() };
        let range = parameter.kind.range();
        text += &format!("| `{}` | {value}{of} | {range} | {} |\n", parameter.name, parameter.meaning);
    }
    for (name, meaning) in SHORT {
        text += &format!("| `{name}` | | | short for several, or of the data class: {meaning} |\n");
    }
    text
}
