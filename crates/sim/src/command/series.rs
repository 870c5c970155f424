//! The series of a run as CSV files.

use std::io::{Result, Write};

use super::options::Given;
use super::whole;
use crate::input::InputError;
use crate::input::flows::Flow;
use crate::input::network::Network;
use crate::input::value::{Kind, Value};
use crate::packet::Ps;
use crate::series::{FlowSeries, PortSeries, QueueSeries, Series};
use crate::topology::Topology;
use crate::traffic::Traffic;

/// Options that name a file of a series: of ports, of queues, of flows.
const FILES: [&str; 3] = ["--series", "--queue-series", "--flow-series"];

/// The standard length of an interval.
const EVERY: Ps = 10_000_000;

/// Lengths that an interval may have: 1 ns to 1000 s.
const INTERVALS: Kind = Kind::Time(1_000, 1_000_000_000_000_000);

/// Columns of each file.
const PORT_COLUMNS: &str =
    "time_us,node,port,peer,tx_bytes,utilisation,queued_bytes,ecn_ce_packets,dropped_packets,pfc_tx,pfc_rx,paused_us";
const QUEUE_COLUMNS: &str = "time_us,node,port,peer,class,queued_bytes";
const FLOW_COLUMNS: &str = "time_us,flow,src,dst,delivered_bytes,rate_gbps";

/// The series that are wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    files: [Option<String>; 3],
    every: Ps,
    ports: Vec<u32>,
}

impl Wanted {
    /// What options say of series.
    ///
    /// # Errors
    /// Where a file cannot be written, an interval is absurd, or a node is unknown.
    pub fn read(given: &Given, network: &Network) -> std::result::Result<Self, InputError> {
        let files = FILES.map(|option| given.value(option).map(str::to_owned));
        for (option, file) in FILES.iter().zip(&files) {
            file.iter().try_for_each(|file| whole::check(option, file))?;
        }
        let named: Vec<&str> = files.iter().flatten().map(String::as_str).chain(given.value("--output")).collect();
        if let Some(file) =
            named.iter().enumerate().find_map(|(place, file)| named[..place].contains(file).then_some(file))
        {
            let what = format!("{file} is to hold another output too");
            return Err(InputError::new("--series", what, "give every output a file of its own"));
        }
        for option in ["--series-every", "--series-of"] {
            if given.has(option) && files.iter().all(Option::is_none) {
                return Err(InputError::new(option, "there is no series", "give --series FILE.csv with it"));
            }
        }
        let every = match given.value("--series-every") {
            None => EVERY,
            Some(text) => match INTERVALS.read(text).map_err(|wrong| wrong.at("--series-every"))? {
                Value::Whole(every) => every,
                _ => EVERY,
            },
        };
        Ok(Wanted { files, every, ports: ports(given.value("--series-of"), network)? })
    }

    /// Collect what is wanted, if anything is.
    pub fn series(&self, topology: &Topology, traffic: &Traffic, mtu: u32) -> Option<Series> {
        let [ports, queues, flows] = self.files.each_ref().map(Option::is_some);
        if !(ports || queues || flows) {
            return None;
        }
        let mut series = Series::new(self.every);
        if ports || queues {
            series = series.of_ports(topology, self.ports.iter().copied(), ports, queues);
        }
        if flows {
            series = series.of_queue_pairs(traffic, mtu);
        }
        Some(series)
    }

    /// Write the files. `partial`: why the series do not cover the whole run.
    ///
    /// # Errors
    /// Where a file cannot be written; those before it are.
    pub fn write(
        &self,
        series: &Series,
        (network, flows): (&Network, &[Flow]),
        partial: Option<&str>,
    ) -> std::result::Result<(), InputError> {
        for (option, file) in FILES.iter().zip(&self.files) {
            let Some(file) = file else { continue };
            let content = |out: &mut dyn Write| {
                match *option {
                    "--series" => write_ports(out, series.ports.as_ref(), network)?,
                    "--queue-series" => write_queues(out, series.queues.as_ref(), network)?,
                    _ => write_flows(out, series.queue_pairs.as_ref(), network, flows)?,
                }
                match partial {
                    Some(why) => writeln!(out, "# partial: {why} at {} us", us(series.end())),
                    None => Ok(()),
                }
            };
            whole::write(file, content)
                .map_err(|error| InputError::new(*option, format!("{file}: {error}"), "the series was not written"))?;
        }
        Ok(())
    }
}

/// The ports of the nodes that are named, or all.
fn ports(nodes: Option<&str>, network: &Network) -> std::result::Result<Vec<u32>, InputError> {
    let topology = &network.topology;
    let Some(nodes) = nodes else { return Ok((0..topology.wires.len() as u32).collect()) };
    let mut ports = Vec::new();
    for name in nodes.split(',') {
        let node = network.node(name).map_err(|wrong| wrong.at("--series-of"))?;
        ports.extend(topology.ports(node as usize).map(|port| port as u32));
    }
    ports.sort_unstable();
    ports.dedup();
    Ok(ports)
}

fn us(time: Ps) -> f64 {
    time as f64 / 1e6
}

/// Node, port and peer, as columns.
fn place(network: &Network, port: u32) -> String {
    let topology = &network.topology;
    let node = topology.owner[port as usize] as usize;
    let peer = topology.wires[port as usize].peer_node as usize;
    format!("{},{},{}", topology.names[node], port - topology.first[node], topology.names[peer])
}

fn write_ports(out: &mut dyn Write, series: Option<&PortSeries>, network: &Network) -> Result<()> {
    writeln!(out, "{PORT_COLUMNS}")?;
    let Some(rows) = series else { return Ok(()) };
    for row in 0..rows.time.len() {
        writeln!(
            out,
            "{},{},{},{:.6},{},{},{},{},{},{}",
            us(rows.time[row]),
            place(network, rows.port[row]),
            rows.tx_bytes[row],
            rows.utilisation[row],
            rows.queued_bytes[row],
            rows.ecn_ce_packets[row],
            rows.dropped_packets[row],
            rows.pfc_tx[row],
            rows.pfc_rx[row],
            us(rows.paused[row]),
        )?;
    }
    Ok(())
}

fn write_queues(out: &mut dyn Write, series: Option<&QueueSeries>, network: &Network) -> Result<()> {
    writeln!(out, "{QUEUE_COLUMNS}")?;
    let Some(rows) = series else { return Ok(()) };
    for row in 0..rows.time.len() {
        let (time, place) = (us(rows.time[row]), place(network, rows.port[row]));
        writeln!(out, "{time},{place},{},{}", rows.class[row], rows.queued_bytes[row])?;
    }
    Ok(())
}

fn write_flows(out: &mut dyn Write, series: Option<&FlowSeries>, network: &Network, flows: &[Flow]) -> Result<()> {
    writeln!(out, "{FLOW_COLUMNS}")?;
    let Some(rows) = series else { return Ok(()) };
    let names = network.host_names();
    for row in 0..rows.time.len() {
        let (time, flow) = (us(rows.time[row]), &flows[rows.qp[row] as usize]);
        let (src, dst) = (names[flow.src as usize], names[flow.dst as usize]);
        let rate = rows.rate_mbps[row] / 1e3;
        writeln!(out, "{time},{},{src},{dst},{},{rate:.6}", rows.qp[row], rows.delivered_bytes[row])?;
    }
    Ok(())
}
