//! Flow files: `src,dst,bytes,start_us`, a flow a line, as CSV (RFC 4180): a field may stand in quotes.

use super::error::{InputError, Wrong};
use super::nearest::suggestion;
use super::network::Network;
use super::units::{self, Decimal};
use crate::packet::Ps;

/// Columns of a flow file.
pub const COLUMNS: [&str; 4] = ["src", "dst", "bytes", "start_us"];

/// The most bytes a flow may have: its packets of the smallest MTU are counted in 32 bits.
pub const MOST_BYTES: u64 = 1_000_000_000_000;

/// The latest start.
pub const LATEST: Ps = 1_000_000_000_000_000;

/// A flow: bytes from one host (by place among the hosts) to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload.
    pub bytes: u64,
    /// When it starts.
    pub start: Ps,
}

/// The flows of a file's content.
///
/// # Errors
/// Where it is wrong; the error says in which line.
pub fn flows(file: &str, content: &[u8], network: &Network) -> Result<Vec<Flow>, InputError> {
    let text = std::str::from_utf8(content).map_err(|error| {
        let line = content[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        InputError::new(format!("{file}:{line}"), "the file is not UTF-8", "save it as UTF-8 text")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text); // spreadsheets write a byte order mark
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true) // a line with too many fields, or too few, is told of here
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut order = None;
    let mut flows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| InputError::new(file, error.to_string(), "write a flow a line"))?;
        let fields: Vec<&str> = record.iter().collect();
        if fields == [""] || fields[0].starts_with('#') {
            continue; // blanks alone, or a comment behind some
        }
        let at = |wrong: Wrong| wrong.at(format!("{file}:{}", line_of(text, &record)));
        match order {
            None => order = Some(columns(&fields).map_err(at)?),
            Some(order) => flows.push(flow(&fields, order, network).map_err(at)?),
        }
    }
    if order.is_none() {
        let right = "begin with the line src,dst,bytes,start_us";
        return Err(InputError::new(format!("{file}:1"), "the file is empty", right));
    }
    if flows.is_empty() {
        return Err(InputError::new(file, "there is no flow in it", "add a line such as h0,h1,8M,0"));
    }
    Ok(flows)
}

/// The line of a record. Its position is that of blank lines and comments before it.
fn line_of(text: &str, record: &csv::StringRecord) -> usize {
    let begin = record.position().map_or(0, |position| position.byte() as usize);
    let before = text[begin..].lines().take_while(|line| line.trim().is_empty() || line.starts_with('#')).count();
    text[..begin].matches('\n').count() + before + 1
}

/// Where each of `COLUMNS` stands.
fn columns(names: &[&str]) -> Result<[usize; 4], Wrong> {
    let mut order = [usize::MAX; 4];
    for (place, name) in names.iter().enumerate() {
        let Some(column) = COLUMNS.iter().position(|one| one == name) else {
            if !names.iter().any(|name| COLUMNS.contains(name)) {
                let what = format!("{:?} is no header", names.join(","));
                return Err(Wrong::new(what, "begin with the line src,dst,bytes,start_us"));
            }
            let right = suggestion(name, COLUMNS);
            return Err(Wrong::new(format!("there is no column {name:?}"), right));
        };
        if order[column] != usize::MAX {
            return Err(Wrong::new(format!("column {name} is there twice"), "give it once"));
        }
        order[column] = place;
    }
    match order.iter().position(|&place| place == usize::MAX) {
        None => Ok(order),
        Some(missing) => {
            let what = format!("column {} is missing", COLUMNS[missing]);
            Err(Wrong::new(what, "the columns are src,dst,bytes,start_us, in any order"))
        }
    }
}

fn flow(fields: &[&str], order: [usize; 4], network: &Network) -> Result<Flow, Wrong> {
    if fields.len() != order.len() {
        if fields.iter().all(|field| COLUMNS.contains(field)) {
            return Err(Wrong::new("the header is there twice", "leave this line out"));
        }
        let what = format!("{} fields, and the header has {}", fields.len(), order.len());
        return Err(Wrong::new(what, "write a field for each column"));
    }
    let [src, dst, bytes, start] = order.map(|place| fields[place]);
    if [src, dst, bytes, start] == COLUMNS {
        return Err(Wrong::new("the header is there twice", "leave this line out"));
    }
    let (from, to) = (network.host(src)?, network.host(dst)?);
    pair(network, from, to).map_err(|what| Wrong::new(what, "name two hosts that links join"))?;
    Ok(Flow { src: from, dst: to, bytes: flow_bytes(bytes)?, start: start_us(start)? })
}

/// Whether one host can send to another.
fn pair(network: &Network, src: u32, dst: u32) -> Result<(), String> {
    let name = |host: u32| &network.topology.names[network.topology.hosts()[host as usize] as usize];
    if src == dst {
        return Err(format!("src and dst are both {:?}", name(src)));
    }
    if network.joined(src, dst) {
        Ok(())
    } else {
        Err(format!("no links lead from {:?} to {:?}", name(src), name(dst)))
    }
}

/// The bytes of a flow.
///
/// # Errors
/// Where they are none, nothing or too much.
pub fn flow_bytes(text: &str) -> Result<u64, Wrong> {
    match units::size(text)? {
        0 => Err(Wrong::new("a flow of 0 bytes", "give 1 byte or more")),
        bytes @ 1..=MOST_BYTES => Ok(bytes),
        _ => Err(Wrong::new(format!("a flow of {text} bytes is too large"), "give 1TB (10^12 bytes) at most")),
    }
}

fn start_us(text: &str) -> Result<Ps, Wrong> {
    let right = "give microseconds, such as 0, 12 or 0.000001";
    let wrong = |what: &str| Err(Wrong::new(format!("start_us {text:?} {what}"), right));
    match units::decimal(text, 1_000_000) {
        Ok(start) if start <= LATEST => Ok(start),
        Ok(_) | Err(Decimal::TooLarge) => wrong("is later than 1000 seconds"),
        Err(Decimal::NoNumber) => wrong("is no number"),
        Err(Decimal::Negative) => wrong("is negative"),
        Err(Decimal::TooFine) => wrong("is finer than a picosecond"),
    }
}
