//! [`Controller`]: the congestion window of one path.
//!
//! This file has the trait and its plain data; each controller has a file of its own.

use core::fmt;

use msctp_units::{Rate, Span, Time};

use crate::coupled::CoupledPaths;
use crate::delivery::{DeliverySample, LostPacket};

/// The congestion window of one path (RFC 9260 §7). One per (local, remote) address pair.
///
/// The association calls exactly one of [`on_ack`](Self::on_ack), [`on_loss`](Self::on_loss) and
/// [`on_idle`](Self::on_idle) per event, in the order the events happen. When one SACK both acknowledges new
/// data and starts fast recovery, `on_ack` comes first (RFC 9260 §7.2.4, note).
pub trait Controller: fmt::Debug + Send {
    /// Returns the controller's name, for traces and messages.
    fn name(&self) -> &'static str;

    /// Returns the current control variables.
    fn window(&self) -> Window;

    /// Returns whether at most one packet may be in flight, whatever the window (RFC 9260 §7.2.1, §7.2.3).
    ///
    /// True from a T3-rtx expiry until the next acknowledgement of data on the path.
    fn one_packet_in_flight(&self) -> bool;

    /// Handles a SACK that newly acknowledged data of this path, or left none of it outstanding.
    fn on_ack(&mut self, ack: &Ack);

    /// Returns whether the controller models delivery and needs a [`DeliverySample`] per SACK.
    ///
    /// The sender then keeps a [`DeliveryRate`](crate::DeliveryRate) for the path, which costs memory and
    /// time per packet.
    fn models_delivery(&self) -> bool {
        false
    }

    /// Returns whether the controller is in slow start or Startup.
    fn is_starting(&self) -> bool {
        let window = self.window();
        window.cwnd < window.ssthresh
    }

    /// Handles a delivery rate sample, before [`on_ack`](Self::on_ack) for the same SACK.
    ///
    /// Called only if the controller [models delivery](Self::models_delivery).
    fn on_delivery(&mut self, _sample: &DeliverySample) {}

    /// Handles one lost packet, with the next SACK and before [`on_delivery`](Self::on_delivery).
    ///
    /// Called only if the controller [models delivery](Self::models_delivery). [`on_loss`](Self::on_loss)
    /// reports the loss event.
    fn on_packet_lost(&mut self, _now: Time, _lost: &LostPacket) {}

    /// Returns whether growth depends on the association's other paths
    /// ([`on_other_paths`](Self::on_other_paths)).
    fn is_coupled(&self) -> bool {
        false
    }

    /// Handles the state of the other paths that carry data, before [`on_ack`](Self::on_ack) for the same
    /// SACK.
    ///
    /// Called only if the controller [is coupled](Self::is_coupled).
    fn on_other_paths(&mut self, _others: CoupledPaths) {}

    /// Handles a loss event: data sent on this path was declared lost.
    fn on_loss(&mut self, loss: &Loss);

    /// Handles the end of fast recovery: all data up to the exit point is acknowledged (RFC 9260 §7.2.4 (6)).
    /// By default nothing changes.
    fn on_recovery_exit(&mut self, _now: Time) {}

    /// Undoes the last [`LossKind::Timeout`], which was spurious: the data arrived (F-RTO, RFC 5682).
    ///
    /// Restores the saved window and threshold, with the state that makes the window grow (RFC 4015 §3.2
    /// (6)).
    ///
    /// Does nothing if no timeout was reported, or if another loss, idle decay, a start or a reset followed
    /// it. A series of timeouts without an acknowledgement between them is undone as one. A window that has
    /// since grown beyond the saved one stays.
    ///
    /// RFC 4015 sets cwnd to what is in flight plus at most an initial window instead of the old cwnd,
    /// against bursts: the caller limits how fast the restored window fills. By default nothing is undone.
    fn on_spurious_timeout(&mut self, _now: Time) {}

    /// Handles `idle_rtos` more whole RTOs without data sent on this path (RFC 9260 §7.2.1, last bullet).
    ///
    /// Needs no timer. Before sending on a path with nothing outstanding, divide the time since the last data
    /// sent, or since the last call if later, by the path's RTO, and pass the quotient. Zero has no effect;
    /// one call per RTO equals one late call.
    fn on_idle(&mut self, idle_rtos: u64);

    /// Restarts the path with the window that a handover policy chose. Discards recovery and idle state.
    ///
    /// `start.cwnd` below 1 PMDCS is raised to it.
    fn start(&mut self, start: &StartState);

    /// Restarts the path at a bandwidth that was just measured, without searching for it (RFC 9959).
    ///
    /// `flight_size`: bytes in flight on the path. The first window is paced and covers one round trip. The
    /// measurement applies no longer than that: a loss, or the delivery of the first round trip, replaces it.
    /// By default the window is half of the bandwidth-delay product, which is the threshold.
    fn resume(&mut self, measured: &Measured, _flight_size: u64) {
        let saved_cwnd = measured.bandwidth.bytes_in(measured.rtt_min);
        let pacing_rate = Some(measured.bandwidth.mul_ratio(1, 2));
        self.start(&StartState { cwnd: saved_cwnd / 2, ssthresh: Some(saved_cwnd), pacing_rate });
    }

    /// Sets window and threshold of a running path; recovery, back-off and idle time are kept.
    ///
    /// `cwnd` below 1 PMDCS is raised to it. The default implementation restarts the path, which discards
    /// them.
    fn adjust(&mut self, cwnd: u64, ssthresh: u64) {
        self.start(&StartState { cwnd, ssthresh: Some(ssthresh), pacing_rate: self.pacing_rate() });
    }

    /// Returns to the initial window and threshold (RFC 9260 §7.2.5: a route or code point change).
    fn reset(&mut self);

    /// Sets the path's PMDCS: the largest DATA chunk, in bytes, that fits its PMTU.
    ///
    /// The initial window follows until data is acknowledged; later only increments and floors do.
    fn on_pmtu(&mut self, pmdcs: u64);

    /// Returns the rate at which to space packets on the IP wire, or `None`, the default, for window-limited
    /// bursts. A rate below 12 kbit/s counts as that.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

/// The control variables of RFC 9260 §7.2, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window, at least 1 PMDCS.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` stands for "arbitrarily high".
    pub ssthresh: u64,
    /// Bytes acknowledged towards the next step of congestion avoidance (RFC 9260 §7.2.2).
    pub partial_bytes_acked: u64,
}

/// One SACK's report about one path. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Time at which the SACK arrived.
    pub now: Time,
    /// DATA chunks sent on this path and newly acknowledged, by the cumulative TSN or by gap blocks: header,
    /// data and padding.
    pub bytes_acked: u64,
    /// Bytes of the path's chunks that the SACK reports as duplicate TSNs; 0 if their sizes are no longer
    /// known. RFC 9260 §7.2.2 counts it in congestion avoidance.
    pub duplicate_bytes: u64,
    /// The path's `flight_size` just before this SACK was processed.
    pub flight_size_before: u64,
    /// True if the SACK advanced the Cumulative TSN Ack Point. RFC 9260 does not require it (RFC 4960 §7.2.1
    /// did).
    pub cum_tsn_advanced: bool,
    /// True if the association was in fast recovery when the SACK arrived.
    pub in_fast_recovery: bool,
    /// True if no data sent on this path is outstanding after this SACK.
    pub nothing_outstanding: bool,
    /// Round-trip time that this SACK measured on data without retransmission, if any.
    pub rtt: Option<Span>,
    /// The path's smoothed round-trip time, this SACK's included; `None` before the first measurement.
    pub srtt: Option<Span>,
    /// True if the SACK arrived on another path, so that `rtt` combines one direction of each. While two
    /// paths carry data, most data of the slower one is acknowledged on the other.
    pub answered_elsewhere: bool,
}

/// A loss event on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Time at which the loss was detected.
    pub now: Time,
    /// Means of detection.
    pub kind: LossKind,
    /// Bytes outstanding on the path at the detection, the lost ones included.
    pub flight_size: u64,
}

/// How a loss was detected. Kinds that one controller treats alike stay distinct for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// The third miss indication made the association *enter* fast recovery (RFC 9260 §7.2.4 (2)). It is not
    /// reported for losses found during fast recovery.
    Gap,
    /// T3-rtx expired (RFC 9260 §6.3.3 E1, §7.2.3).
    Timeout,
    /// The network marked packets instead of dropping them; at most once per window of data.
    Ecn,
}

/// The state a handover policy gives a path after a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartState {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `None` uses that of a new path.
    pub ssthresh: Option<u64>,
    /// Pacing rate of the first window, in bit/s on the IP wire; `None`: no pacing. It ends with the first
    /// acknowledgement of data on the path, one round trip later: from then on acknowledgements clock the
    /// sender.
    pub pacing_rate: Option<Rate>,
}

/// A measurement of a path before data moves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Bandwidth in bit/s of IP packets, not zero.
    pub bandwidth: Rate,
    /// Round-trip time without a queue.
    pub rtt_min: Span,
}

/// Parameters of a path for its controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerConfig {
    /// The path's PMDCS in bytes: the largest DATA chunk, header and padding included, that fits its PMTU.
    pub pmdcs: u64,
    /// The remote address's family: RFC 9260 §7.2.1 gives each its own initial window.
    pub ip_version: IpVersion,
    /// The window before the first data.
    pub initial_window: InitialWindow,
    /// The threshold before the first loss in bytes; `None`: arbitrarily high, as RFC 9260 §7.2.1 says.
    pub initial_ssthresh: Option<u64>,
}

impl ControllerConfig {
    /// Returns RFC 9260's initial window and threshold for a path with this PMDCS (bytes).
    pub const fn rfc9260(pmdcs: u64, ip_version: IpVersion) -> Self {
        Self { pmdcs, ip_version, initial_window: InitialWindow::Rfc9260, initial_ssthresh: None }
    }

    /// Returns the initial window in bytes, at least 1 PMDCS.
    pub fn initial_cwnd(&self) -> u64 {
        self.initial_window.bytes(self.pmdcs, self.ip_version)
    }
}

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// Returns the family of `address`.
    pub const fn of(address: &core::net::IpAddr) -> Self {
        match address {
            core::net::IpAddr::V4(_) => Self::V4,
            core::net::IpAddr::V6(_) => Self::V6,
        }
    }
}

/// The window before the first data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialWindow {
    /// min(4·PMDCS, max(2·PMDCS, 4404)) bytes to an IPv4 address, 4344 instead of 4404 to IPv6 (RFC 9260
    /// §7.2.1).
    #[default]
    Rfc9260,
    /// A number of full DATA chunks.
    Packets(u64),
    /// A number of bytes.
    Bytes(u64),
}

impl InitialWindow {
    /// Returns the window in bytes on a path with this PMDCS (bytes), at least 1 PMDCS.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
    //# The initial cwnd before data transmission MUST be set to min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if
    //# the peer address is an IPv4 address
    pub fn bytes(self, pmdcs: u64, ip_version: IpVersion) -> u64 {
        let bytes = match self {
            // RFC 9260 §7.2.1, first bullet
            Self::Rfc9260 => {
                let floor = match ip_version {
                    IpVersion::V4 => 4404,
                    IpVersion::V6 => 4344,
                };
                pmdcs.saturating_mul(4).min(pmdcs.saturating_mul(2).max(floor))
            }
            Self::Packets(packets) => pmdcs.saturating_mul(packets),
            Self::Bytes(bytes) => bytes,
        };
        bytes.max(pmdcs)
    }
}
