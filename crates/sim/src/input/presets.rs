//! Parameters that belong together.

use crate::config::{Config, Ecn, LOSSLESS, LOSSY, SwitchConfig};
use crate::dcqcn::Dcqcn;

/// The speed that the HPCC simulator's figures are for, 10^6 bit/s.
const HPCC_SPEED: u64 = 25_000;

/// Divide a switch's buffer as a Junos switch does: lossless ingress 80 % and lossless egress all of it, lossy 10 % each;
/// the rest is headroom.
pub fn divide_buffer(switch: &mut SwitchConfig, bytes: u64) {
    switch.ingress_pool[LOSSLESS] = bytes / 5 * 4;
    switch.ingress_pool[LOSSY] = bytes / 10;
    switch.egress_pool[LOSSLESS] = bytes;
    switch.egress_pool[LOSSY] = bytes / 10;
}

/// Without PFC: the data class is lossy, and has the pools that lossless classes had.
pub fn lossy(config: &mut Config) {
    let switch = &mut config.switch;
    switch.classes[usize::from(config.host.data_class)].lossless = false;
    switch.ingress_pool.swap(LOSSY, LOSSLESS);
    switch.egress_pool.swap(LOSSY, LOSSLESS);
}

/// DCQCN as the HPCC simulator (Li et al., SIGCOMM 2019; github.com/alibaba-edu/High-Precision-Congestion-Control) sets
/// it for NICs of this speed, marking included: packets are marked when they leave their queue, and the notification is a
/// flag on the acknowledgement. It has no byte counter; from the third stage of its timer on it adds its hyper increase,
/// the same each time, which is the additive increase here, from the second on.
pub fn hpcc(config: &mut Config, host_speed_mbps: u64) {
    const US: u64 = 1_000_000;
    let scale = host_speed_mbps as f64 / HPCC_SPEED as f64;
    let mut dcqcn = Dcqcn::connectx();
    dcqcn.g = 1.0 / 256.0;
    dcqcn.alpha_timer = US;
    dcqcn.cut_interval = 4 * US;
    dcqcn.max_cut = 0.5;
    dcqcn.increase_timer = 300 * US;
    dcqcn.byte_counter = u64::MAX;
    dcqcn.threshold = 1;
    dcqcn.additive_mbps = 50.0 * scale;
    dcqcn.hyper_mbps = 50.0 * scale;
    dcqcn.minimum_mbps = 100.0;
    config.host.dcqcn = Some(dcqcn);
    config.host.cnp_on_ack = true;
    config.switch.classes[usize::from(config.host.data_class)].ecn_at_dequeue = true;
    let kilobytes = |number: u64| number * 1000 * host_speed_mbps / HPCC_SPEED;
    config.switch.classes[usize::from(config.host.data_class)].ecn =
        Ecn::Bytes { min: kilobytes(100), max: kilobytes(400), most: 65536 / 5 };
}

/// DCQCN-P: marking with a chance that grows from threshold to threshold, and NICs that expect it. Thresholds are those
/// of the Thor2 guide's 400G example (Arista: 1000 to 3000 KB, 20 %). What such a NIC does on a notification is not public:
/// ConnectX's reaction is assumed.
pub fn dcqcn_p(config: &mut Config) {
    config.host.dcqcn = Some(Dcqcn::connectx());
    config.switch.classes[usize::from(config.host.data_class)].ecn =
        Ecn::Bytes { min: 1_000_000, max: 3_000_000, most: 65536 / 5 };
}
