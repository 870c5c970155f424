//! Parameters.

use crate::balance::Dlb;
use crate::dcqcn::Dcqcn;
use crate::packet::Ps;

/// Traffic classes of a port: egress queues, and PFC priorities.
pub const CLASSES: usize = 8;

/// How many classes traffic can use at once.
pub const LANES: usize = 4;

/// The classes that traffic uses, numbered from 0 in their order: inside the engine a class is its lane, since the bytes
/// that a packet touches decide the speed.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// How many there are.
    pub count: usize,
    of: [u8; CLASSES],
}

impl Lanes {
    /// The lanes of the classes in `used`, a bit each.
    ///
    /// # Panics
    /// Where they are more than `LANES`.
    pub fn new(used: u8) -> Self {
        let mut lanes = Lanes { count: used.count_ones() as usize, of: [u8::MAX; CLASSES] };
        assert!(lanes.count <= LANES, "{} classes are in use, {LANES} can be", lanes.count);
        let classes = (0..CLASSES).filter(|class| used >> class & 1 == 1);
        for (lane, class) in classes.enumerate() {
            lanes.of[class] = lane as u8;
        }
        lanes
    }

    /// The lane of a class; None: it is not in use.
    pub fn of(&self, class: u8) -> Option<u8> {
        self.of.get(usize::from(class)).copied().filter(|&lane| lane != u8::MAX)
    }

    /// The classes in use, and their lanes.
    pub fn classes(self) -> impl Iterator<Item = (u8, u8)> {
        (0..CLASSES as u8).filter_map(move |class| self.of(class).map(|lane| (class, lane)))
    }

    /// Parameters with lanes for classes.
    pub fn apply(&self, config: &Config) -> Config {
        let mut own = *config;
        for class in 0..CLASSES as u8 {
            if let Some(lane) = self.of(class) {
                own.switch.classes[usize::from(lane)] = config.switch.classes[usize::from(class)];
            }
        }
        let lane = |class| self.of(class).unwrap_or(0);
        own.host.data_class = lane(config.host.data_class);
        own.host.cnp_class = lane(config.host.cnp_class);
        own
    }
}

/// The two pools of a shared buffer (lossless and lossy traffic do not take from each other).
pub const LOSSY: usize = 0;
/// The pool of lossless classes.
pub const LOSSLESS: usize = 1;

/// When a queue marks packets as having met congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Never.
    Off,
    /// By queue length in bytes: from `min` on with a chance that grows to `most` (in 1/65536) at `max`, then always.
    Bytes {
        /// Marking begins.
        min: u64,
        /// Everything is marked.
        max: u64,
        /// Chance just below `max`, in 1/65536.
        most: u64,
    },
    /// The same by fill level, in percent of the queue's present share of the buffer.
    Percent {
        /// Marking begins.
        min: u64,
        /// Everything is marked.
        max: u64,
        /// Chance just below `max`, in 1/65536.
        most: u64,
    },
}

/// How a port serves a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Before every class that is not strict, and before strict classes of lower number.
    Strict,
    /// Deficit round robin with this weight (Shreedhar and Varghese, SIGCOMM 1995).
    Weighted(u32),
}

/// One traffic class on a switch.
#[derive(Clone, Copy, Debug)]
pub struct ClassConfig {
    /// Whether the sender is paused in time (PFC), so that nothing is dropped.
    pub lossless: bool,
    /// How ports serve it.
    pub service: Service,
    /// Share of the free egress pool a queue may take, in 1/1024.
    pub egress_alpha: u64,
    /// Marking.
    pub ecn: Ecn,
    /// Whether a packet is marked by what its queue holds when it leaves, not when it comes.
    pub ecn_at_dequeue: bool,
}

/// The PFC watchdog: it looks at paused queues at every multiple of `poll`.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    /// Time between looks.
    pub poll: Ps,
    /// Looks in a row that find a queue paused with something in it, before the watchdog acts.
    pub detection: u8,
    /// How long it acts.
    pub recovery: Ps,
    /// Whether it drops what is in the queue and what comes for it; else it sends it, whatever the neighbor says.
    pub drop: bool,
}

impl Default for Watchdog {
    /// Junos: 100 ms, two looks, 200 ms, drop.
    fn default() -> Self {
        const MS: Ps = 1_000_000_000;
        Watchdog { poll: 100 * MS, detection: 2, recovery: 200 * MS, drop: true }
    }
}

/// VXLAN between leaves (RFC 7348): what comes from a host and goes to another switch is put into a tunnel.
#[derive(Clone, Copy, Debug)]
pub struct Vxlan {
    /// Bytes that the tunnel adds to a frame: 50 over IPv4, 70 over IPv6.
    pub overhead: u16,
    /// Whether the tunnel's header says that the packet can be marked, as the packet itself does (RFC 6040).
    pub copy_in: bool,
    /// Whether a mark on the tunnel's header is carried over to the packet at the end.
    pub copy_out: bool,
}

/// How a switch buffers and pauses.
#[derive(Clone, Copy, Debug)]
pub struct SwitchConfig {
    /// Ingress pools, bytes: lossy, lossless.
    pub ingress_pool: [u64; 2],
    /// Egress pools, bytes: lossy, lossless.
    pub egress_pool: [u64; 2],
    /// Guaranteed to every ingress port and class beside its pool, bytes.
    pub reserved: u64,
    /// Headroom of every ingress port and lossless class, bytes.
    pub headroom: u64,
    /// Share of the free ingress pool that an ingress port and class may take, in 1/1024: lossy, lossless.
    pub ingress_alpha: [u64; 2],
    /// XON: how far below XOFF, bytes.
    pub xon_offset: u64,
    /// Classes.
    pub classes: [ClassConfig; CLASSES],
    /// What breaks a queue that has been paused for too long.
    pub watchdog: Option<Watchdog>,
    /// Tunnels between the switches that have hosts.
    pub vxlan: Option<Vxlan>,
}

impl SwitchConfig {
    /// A bit for every class that is marked when it leaves.
    pub fn marked_late(&self) -> u8 {
        (0..LANES).filter(|&class| self.classes[class].ecn_at_dequeue).map(|class| 1 << class).sum()
    }

    /// A bit for every strict class.
    pub fn strict(&self) -> u8 {
        (0..LANES).filter(|&class| self.classes[class].service == Service::Strict).map(|class| 1 << class).sum()
    }
}

/// How a sender recovers from loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The receiver takes packets in order only, and the sender goes back to the first that is missing.
    GoBackN,
    /// The receiver takes packets in any order, and the sender sends again what is missing.
    Selective,
}

/// Which notifications of a receiver have a least time between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CnpLimit {
    /// Those of a queue pair.
    #[default]
    QueuePair,
    /// Those to an address of a sender.
    Address,
    /// All that leave its port.
    Port,
}

/// The transport of hosts.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// Payload of a full packet, bytes.
    pub mtu: u32,
    /// Header bytes of a data packet's frame.
    pub header: u16,
    /// Frame length of an acknowledgement.
    pub ack_bytes: u16,
    /// Frame length of a congestion notification packet.
    pub cnp_bytes: u16,
    /// An acknowledgement every so many packets, and at the end of a message.
    pub ack_every: u16,
    /// Packets a queue pair may have outstanding.
    pub window: u32,
    /// How a sender recovers from loss.
    pub recovery: Recovery,
    /// Selective recovery: how far ahead of the next in order a packet may come before the gap is reported. Where the
    /// fabric reorders (spraying), 0 reports gaps that are none.
    pub reorder: u32,
    /// Whether every packet of a write carries a RETH, as where adaptive routing delivers out of order.
    pub reth_on_every_packet: bool,
    /// Retransmission timeout.
    pub timeout: Ps,
    /// Timeouts without news after which a queue pair sends once more; the one after these ends it.
    pub retries: u32,
    /// Class of data and acknowledgements.
    pub data_class: u8,
    /// Class of congestion notification packets.
    pub cnp_class: u8,
    /// Congestion control.
    pub dcqcn: Option<Dcqcn>,
    /// Whether the receiver notifies by a flag on the acknowledgement (the HPCC simulator), not by a packet.
    pub cnp_on_ack: bool,
    /// Between which notifications `Dcqcn::cnp_interval` is the least time.
    pub cnp_limit: CnpLimit,
    /// What a NIC's proxy takes to prepare a message (NCCL's network proxy): it does one after another.
    pub post_cost: Ps,
    /// Receive buffer, bytes: it fills where the host takes packets more slowly than they come.
    pub receive_buffer: u64,
    /// What it holds when the neighbor is paused, bytes; it is resumed at half of that.
    pub receive_xoff: u64,
}

/// Everything that is not topology or traffic.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Switches.
    pub switch: SwitchConfig,
    /// Hosts.
    pub host: HostConfig,
    /// Dynamic load balancing, where a group uses it.
    pub dlb: Dlb,
    /// Seed of hashes and marking.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        let plain = ClassConfig {
            lossless: false,
            service: Service::Weighted(1),
            egress_alpha: 1024,
            ecn: Ecn::Off,
            ecn_at_dequeue: false,
        };
        let mut classes = [plain; CLASSES];
        let ecn = Ecn::Bytes { min: 400_000, max: 1_600_000, most: 65536 / 5 };
        classes[3] =
            ClassConfig { lossless: true, service: Service::Weighted(17), egress_alpha: 8 << 10, ecn, ..plain };
        classes[6].service = Service::Strict;
        Config {
            switch: SwitchConfig {
                ingress_pool: [6 << 20, 51 << 20],
                egress_pool: [6 << 20, 64 << 20],
                reserved: 4096,
                headroom: 200_000,
                ingress_alpha: [8 << 10, 1024],
                xon_offset: 3 * 4178,
                classes,
                watchdog: None,
                vxlan: None,
            },
            host: HostConfig {
                mtu: 4096,
                header: 62,
                ack_bytes: 66,
                cnp_bytes: 78,
                ack_every: 1,
                window: u32::MAX,
                recovery: Recovery::GoBackN,
                reorder: 0,
                reth_on_every_packet: false,
                timeout: 4_000_000_000,
                retries: u32::MAX,
                data_class: 3,
                cnp_class: 6,
                dcqcn: Some(Dcqcn::connectx()),
                cnp_on_ack: false,
                cnp_limit: CnpLimit::QueuePair,
                post_cost: 0,
                receive_buffer: 1 << 20,
                receive_xoff: 512 << 10,
            },
            dlb: Dlb::default(),
            seed: 1,
        }
    }
}
