//! What is under way between nodes.

use crate::hashing::mix;
use crate::packet::{Kind, Packet, Ps};
use crate::ring::Ring;
use crate::topology::{Topology, serialization};

mod ahead;

/// One direction of a cable with the packets on it. A cache line: every hop touches it.
#[derive(Debug)]
#[repr(align(64))]
struct Link {
    ps_per_byte: u64,
    delay: Ps,
    under_way: Ring,
    /// Bytes sent.
    bytes: u64,
    /// Chance of losing a packet, in 1/2^32.
    loss: u32,
    peer: u32,
    /// The bit of the peer's port, and the word it is in: 0 is `filled` of `Expected`, others count in `more` from 1.
    bit: u32,
}

const _: () = assert!(size_of::<Link>() == 64);

/// When a node must next be looked at, and by which of its ports packets are under way to it.
#[derive(Clone, Copy, Debug)]
struct Expected {
    wake: Ps,
    filled: u64,
}

/// A wire that packets are put on one after another.
pub struct Feed<'a> {
    link: &'a mut Link,
    /// When the first of them arrives; `Ps::MAX`: there is none yet.
    pub begins: Ps,
}

impl Feed<'_> {
    /// Put a packet on the wire at `start`. Returns when the port is free again.
    #[inline(always)]
    pub fn put(&mut self, packet: &Packet, start: Ps) -> Ps {
        self.put_marked(packet, 0, start)
    }

    /// The same with more flags.
    #[inline(always)]
    pub fn put_marked(&mut self, packet: &Packet, flags: u8, start: Ps) -> Ps {
        let free = start + serialization(packet.bytes, self.link.ps_per_byte);
        let at = free + self.link.delay;
        self.link.bytes += u64::from(packet.bytes);
        let copy = self.link.under_way.push(packet);
        copy.at = at;
        if flags != 0 {
            copy.flags |= flags;
        }
        self.begins = self.begins.min(at);
        free
    }
}

/// Whether chance takes a packet; PFC frames are spared, for a lost one would stop the port for good.
#[cold]
fn loses(loss: u32, port: usize, at: Ps, (qp, psn, kind): (u32, u32, Kind)) -> bool {
    let own = u64::from(qp) << 32 | u64::from(psn) ^ (kind as u64) << 30;
    kind != Kind::Pfc && (mix(at ^ (port as u64) << 40, own) >> 32) < u64::from(loss)
}

/// Packets on every wire.
#[derive(Debug)]
pub struct Wires {
    links: Vec<Link>,
    /// The port at the other end of each port.
    other: Vec<u32>,
    /// By node; ports from the 65th on have their bits in `more`.
    expected: Vec<Expected>,
    more: Vec<u64>,
    /// Where a node's words in `more` begin.
    further: Vec<u32>,
    /// Packets lost on a wire: by chance, or because it broke.
    pub lost: u64,
}

impl Wires {
    /// The wires of a topology, all empty.
    pub fn new(topology: &Topology) -> Self {
        let (mut more, mut further) = (Vec::new(), Vec::new());
        let mut places = vec![0; topology.wires.len()];
        for node in 0..topology.kinds.len() {
            further.push(more.len() as u32);
            let ports = topology.ports(node);
            for (place, port) in ports.clone().enumerate() {
                let word = if place < 64 { 0 } else { more.len() + place / 64 };
                places[port] = (word * 64 + place % 64) as u32;
            }
            more.resize(more.len() + (ports.len().max(1) - 1) / 64, 0);
        }
        let links = topology.wires.iter().map(|wire| Link {
            ps_per_byte: wire.ps_per_byte,
            delay: wire.delay,
            under_way: Ring::default(),
            bytes: 0,
            loss: 0,
            peer: wire.peer_node,
            bit: places[wire.peer as usize],
        });
        Wires {
            links: links.collect(),
            other: topology.wires.iter().map(|wire| wire.peer).collect(),
            expected: vec![Expected { wake: Ps::MAX, filled: 0 }; topology.kinds.len()],
            more,
            further,
            lost: 0,
        }
    }

    /// Put a packet on the wire at `start`. Returns when the port is free again.
    pub fn send(&mut self, port: usize, packet: &Packet, start: Ps) -> Ps {
        self.put(port, packet, packet.ingress, start)
    }

    /// The same for a packet that came in by `ingress`, for where most packets come by.
    #[inline(always)]
    pub fn put(&mut self, port: usize, packet: &Packet, ingress: u16, start: Ps) -> Ps {
        let link = &mut self.links[port];
        let free = start + serialization(packet.bytes, link.ps_per_byte);
        let at = free + link.delay;
        link.bytes += u64::from(packet.bytes);
        if link.loss > 0 && loses(link.loss, port, at, (packet.qp, packet.psn, packet.kind)) {
            self.lost += 1;
            return free;
        }
        let copy = link.under_way.push(packet);
        (copy.at, copy.ingress) = (at, ingress);
        self.expect(port, at);
        free
    }

    /// A wire without losses, to put several packets on; `expect` is to be called with when the first arrives.
    #[inline(always)]
    pub fn feed(&mut self, port: usize) -> Feed<'_> {
        Feed { link: &mut self.links[port], begins: Ps::MAX }
    }

    /// Have the node at the other end of a port expect packets from `begins` on, of which there are some.
    #[inline(always)]
    pub fn expect(&mut self, port: usize, begins: Ps) {
        let link = &self.links[port];
        let expected = &mut self.expected[link.peer as usize];
        expected.wake = expected.wake.min(begins);
        if link.bit < 64 {
            expected.filled |= 1 << link.bit;
        } else {
            self.more[link.bit as usize / 64 - 1] |= 1 << (link.bit % 64);
        }
    }

    /// Lose everything that a port has on its wire.
    pub fn cut(&mut self, port: usize) {
        let under_way = std::mem::take(&mut self.links[port].under_way);
        let packets = (0..under_way.len()).map(|place| under_way.get(place));
        self.lost += packets.filter(|packet| packet.kind != Kind::Pfc).count() as u64;
    }

    /// Packets under way, PFC frames not counted.
    pub fn total_under_way(&self) -> u64 {
        let on = |ring: &Ring| (0..ring.len()).filter(|&place| ring.get(place).kind != Kind::Pfc).count() as u64;
        self.links.iter().map(|link| on(&link.under_way)).sum()
    }

    /// The port at the other end of a port's cable.
    pub fn other(&self, port: usize) -> usize {
        self.other[port] as usize
    }

    /// Bytes that a port has sent.
    pub fn bytes(&self, port: usize) -> u64 {
        self.links[port].bytes
    }

    /// Propagation delay of a port's wire.
    pub fn delay(&self, port: usize) -> Ps {
        self.links[port].delay
    }

    /// Picoseconds a byte takes on a port's wire, in units of 2^-16 ps.
    pub fn ps_per_byte(&self, port: usize) -> u64 {
        self.links[port].ps_per_byte
    }

    /// Run a port's wire at another rate.
    pub fn set_rate(&mut self, port: usize, ps_per_byte: u64) {
        self.links[port].ps_per_byte = ps_per_byte;
    }

    /// Whether a port's packets are lost by chance.
    #[inline]
    pub fn loses(&self, port: usize) -> bool {
        self.links[port].loss > 0
    }

    /// Lose packets of a port by chance.
    pub fn set_loss(&mut self, port: usize, loss: u32) {
        self.links[port].loss = loss;
    }

    /// The packets that a port has under way.
    #[inline]
    pub fn under_way(&mut self, port: usize) -> &mut Ring {
        &mut self.links[port].under_way
    }

    /// The packets under way to a port.
    #[inline]
    pub fn inbox(&mut self, port: usize) -> &mut Ring {
        &mut self.links[self.other[port] as usize].under_way
    }

    /// Take what arrives before `end` at any of a node's ports, of which the first is given, port by port and in order of time:
    /// `each` gets the packet and its port. Returns when the next one after that does, and of how many ports something was taken.
    #[inline(always)]
    pub fn take_before(
        &mut self,
        node: usize,
        first: usize,
        ports: usize,
        end: Ps,
        mut each: impl FnMut(&Packet, usize),
    ) -> (Ps, usize) {
        let (mut next, mut count) = (Ps::MAX, 0);
        for word in 0..ports.div_ceil(64) {
            let mut bits = *self.filled(node, word);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let port = word * 64 + bit as usize;
                let inbox = self.inbox(first + port);
                let mut at = inbox.next();
                if at < end {
                    at = inbox.take_before(end, |packet| each(packet, port));
                    count += 1;
                }
                next = next.min(at);
                if at == Ps::MAX {
                    *self.filled(node, word) &= !(1 << bit);
                }
            }
        }
        (next, count)
    }

    /// By which of a node's ports packets are under way; 64 ports a word.
    #[inline]
    pub fn filled(&mut self, node: usize, word: usize) -> &mut u64 {
        if word == 0 { &mut self.expected[node].filled } else { &mut self.more[self.further[node] as usize + word - 1] }
    }

    /// When a node has something to do; `Ps::MAX`: never.
    #[inline]
    pub fn wake(&mut self, node: usize) -> &mut Ps {
        &mut self.expected[node].wake
    }

    /// The first moment at which a node has something to do.
    #[inline]
    pub fn next(&self) -> Ps {
        self.expected.iter().map(|one| one.wake).min().unwrap_or(Ps::MAX)
    }
}
