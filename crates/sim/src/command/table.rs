//! The result as a short table for people.

use super::result::Result;

/// A result in a few lines.
pub fn table(result: &Result) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut times: Vec<f64> = result.flows.iter().filter_map(|flow| flow.fct_us).collect();
    times.sort_by(f64::total_cmp);
    let (count, done) = (result.flows.len(), times.len());
    rows.push((
        "flows",
        if done == count { count.to_string() } else { format!("{count}, {} unfinished", count - done) },
    ));
    // nearest rank: the smallest time within which that part of the flows finished
    let rank = |part: f64| times[((part * done as f64).ceil() as usize).clamp(1, done) - 1];
    if done > 0 {
        let (least, half, late, most) = (rank(0.0), rank(0.5), rank(0.99), rank(1.0));
        let text = format!("min {least:.3}, median {half:.3}, p99 {late:.3}, max {most:.3}");
        rows.push(("completion, us", text));
        let finished = result.flows.iter().filter(|flow| flow.fct_us.is_some());
        let bytes: u64 = finished.map(|flow| flow.bytes).sum();
        let first = result.flows.iter().map(|flow| flow.start_us).fold(f64::MAX, f64::min);
        let mut rates: Vec<f64> =
            result.flows.iter().filter_map(|flow| Some(flow.bytes as f64 / flow.fct_us? / 125.0)).collect();
        rates.sort_by(f64::total_cmp);
        let all = bytes as f64 / (result.time_us - first).max(1e-6) / 125.0;
        let (least, half) = (rates[0], rates[(done - 1) / 2]);
        rows.push(("goodput, Gb/s", format!("{all:.2} in all; a flow: min {least:.2}, median {half:.2}")));
    }
    rows.push(("simulated, us", format!("{:.3} ({})", result.time_us, result.end)));
    let hops = format!("{} of data, {} in all", result.data_packet_hops, result.packet_hops);
    rows.push(("packet hops", hops));
    let reasons = result.dropped_by_reason.iter().filter(|drop| *drop.1 > 0);
    let reasons: Vec<String> = reasons.map(|(reason, count)| format!("{reason} {count}")).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    let packets = format!(
        "{} delivered, {} dropped{reasons}, {} sent again, {} useless",
        result.delivered_packets, result.dropped_packets, result.retransmitted_packets, result.useless_packets
    );
    rows.push(("packets", packets));
    let marks = format!("{} marked, {} CNPs, {} timeouts", result.ecn_marked_packets, result.cnps, result.timeouts);
    rows.push(("congestion", marks));
    rows.push((
        "PFC",
        format!(
            "{} pauses, {:.3} us; {} acts of the watchdog",
            result.pfc_pauses, result.pfc_pause_us, result.pfc_watchdog_acts
        ),
    ));
    let speed = result.data_packet_hops as f64 / result.wall_s.max(1e-9) / 1e6;
    let memory = result.peak_memory_MB.map_or(String::new(), |memory| format!(", {memory:.1} MB"));
    rows.push(("speed", format!("{speed:.2} M data hops/s, {:.3} s{memory}", result.wall_s)));
    rows.push(("trace", format!("{} (seed {})", result.trace_checksum, result.seed)));
    rows.iter().map(|(name, text)| format!("{name:<16}{text}\n")).collect()
}
