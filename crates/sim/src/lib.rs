//! Engines for RoCEv2 networks: one of packets, one of flows.

pub mod balance;
pub mod buffer;
pub mod command;
pub mod config;
pub mod dcqcn;
pub mod engine;
pub mod fault;
pub mod flow;
pub mod hashing;
pub mod host;
pub mod input;
pub mod known;
pub mod packet;
pub mod port;
pub mod report;
pub mod reroute;
pub mod ring;
pub mod routing;
pub mod series;
pub mod switch;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod wires;
pub mod work;
