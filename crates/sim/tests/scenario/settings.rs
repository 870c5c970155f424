//! Parameters: any of the table's, with any value that the input takes.

use railweave_sim::config::{Config, Ecn, Service, Watchdog};
use railweave_sim::input::parameters::{PARAMETERS, check, set};
use railweave_sim::input::value::{Kind, Value};

use super::draw::Draw;

/// Parameters that fit together.
pub fn config(draw: &mut Draw<'_>) -> Config {
    let mut config = Config::default();
    if draw.once_in(3) {
        config.host.dcqcn = None;
    }
    if draw.once_in(2) {
        // a buffer that the little traffic here can fill
        for pool in config.switch.ingress_pool.iter_mut().chain(&mut config.switch.egress_pool) {
            *pool = draw.extreme(0, 1 << 20);
        }
        config.switch.headroom = draw.extreme(0, 1 << 20);
        config.switch.reserved = draw.extreme(0, 1 << 14);
    }
    if draw.once_in(8) {
        // one that looks while there is traffic: those of switches come once in 100 ms
        let (poll, recovery) = (draw.extreme(1_000_000, 1 << 30), draw.extreme(1_000_000, 1 << 30));
        config.switch.watchdog = Some(Watchdog { poll, detection: 1, recovery, drop: draw.once_in(2) });
    }
    for _ in 0..draw.within(0, 24) {
        let parameter = &PARAMETERS[draw.within(0, PARAMETERS.len() as u64 - 1) as usize];
        let class = draw.one_of(&[config.host.data_class, config.host.cnp_class]);
        let name = parameter.name.replace(".N.", &format!(".{class}."));
        let text = parameter.kind.text(value(draw, parameter.kind));
        let before = config;
        if let Err(wrong) = set(&mut config, &name, &text) {
            assert!(wrong.what.contains("is of no use"), "{name}={text}: {}", wrong.what);
        }
        if check(&config).is_err() {
            config = before; // it does not fit what is set already
        }
    }
    config
}

fn value(draw: &mut Draw<'_>, kind: Kind) -> Value {
    Value::Whole(match kind {
        Kind::Count(least, most) | Kind::Size(least, most) | Kind::Time(least, most) => draw.extreme(least, most),
        Kind::SizeOrNone(least, most) if draw.once_in(2) => draw.extreme(least, most),
        Kind::SizeOrNone(..) => u64::MAX,
        Kind::PowerOfTwo(least, most) => 1 << draw.within(u64::from(least.ilog2()), u64::from(most.ilog2())),
        Kind::CountOrNone(least) => draw.extreme(least, u64::from(u32::MAX)),
        Kind::Share(most) => draw.extreme(1, most << 10),
        Kind::Percent => draw.extreme(0, 100),
        Kind::Choice(words) => draw.within(0, words.len() as u64 - 1),
        Kind::Part => return Value::Real(real(draw, 0.0, 1.0)),
        Kind::Rate(least, most) => return Value::Real(real(draw, least, most)),
        Kind::Ecn => return Value::Ecn(ecn(draw)),
        Kind::Service if draw.once_in(2) => return Value::Service(Service::Strict),
        Kind::Service => return Value::Service(Service::Weighted(draw.extreme(1, 1000) as u32)),
    })
}

/// A bound, or a number between them of any order of magnitude down to a 10^9th.
fn real(draw: &mut Draw<'_>, least: f64, most: f64) -> f64 {
    least + (most - least) * (draw.extreme(0, 1_000_000_000) as f64 / 1e9)
}

fn ecn(draw: &mut Draw<'_>) -> Ecn {
    let mut thresholds = |most| {
        let max = draw.extreme(0, most);
        (draw.extreme(0, max), max, draw.extreme(0, 1 << 16))
    };
    let (by_bytes, by_percent) = (thresholds(1 << 20), thresholds(100));
    let most = by_bytes.2;
    match draw.within(0, 2) {
        0 => Ecn::Bytes { min: by_bytes.0, max: by_bytes.1, most },
        1 => Ecn::Percent { min: by_percent.0, max: by_percent.1, most },
        _ => Ecn::Off,
    }
}
