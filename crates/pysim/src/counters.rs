//! Counters under the names that `railweave sim --json` and switches have for them.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use railweave_sim::report::{Counters, PortCounters};

/// The counters of a run. Every field is named, so that none is forgotten.
pub fn counters<'py>(py: Python<'py>, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let Counters {
        data_hops,
        hops,
        delivered,
        useless,
        dropped_ingress,
        dropped_egress,
        retransmitted,
        marked,
        cnps,
        pauses,
        paused,
        timeouts,
        failed_queue_pairs,
        dropped_down,
        lost_on_wire,
        dropped_receiver,
        dropped_watchdog,
        watchdog_acts,
        unroutable,
        trace,
        sent,
        received,
    } = *counters;
    let dict = PyDict::new(py);
    for (name, value) in [
        ("sent_packets", sent),
        ("received_packets", received),
        ("data_packet_hops", data_hops),
        ("packet_hops", hops),
        ("delivered_packets", delivered),
        ("useless_packets", useless),
        ("dropped_ingress_full", dropped_ingress),
        ("dropped_egress_full", dropped_egress),
        ("dropped_no_route", unroutable),
        ("dropped_link_down", dropped_down),
        ("dropped_watchdog", dropped_watchdog),
        ("dropped_receiver", dropped_receiver),
        ("dropped_lost_on_wire", lost_on_wire),
        ("retransmitted_packets", retransmitted),
        ("timeouts", timeouts),
        ("failed_queue_pairs", failed_queue_pairs),
        ("ecn_marked_packets", marked),
        ("cnps", cnps),
        ("pfc_pauses", pauses),
        ("pfc_pause_ps", paused),
        ("pfc_watchdog_acts", watchdog_acts),
        ("trace_checksum", trace),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The counters of all ports, an array each.
pub fn port_counters<'py>(py: Python<'py>, ports: &[PortCounters]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let put = |name, of: fn(&PortCounters) -> u64| {
        let column: Vec<u64> = ports.iter().map(of).collect();
        dict.set_item(name, column.into_pyarray(py))
    };
    put("tx_bytes", |port| port.tx_bytes)?;
    put("ecn_ce_packets", |port| port.ecn_ce_packets)?;
    put("dropped_packets", |port| port.dropped_packets)?;
    put("pfc_tx", |port| port.pfc_tx)?;
    put("pfc_rx", |port| port.pfc_rx)?;
    put("paused_ps", |port| port.paused)?;
    put("queued_bytes", |port| port.queued_bytes)?;
    Ok(dict)
}
