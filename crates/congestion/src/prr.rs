//! [`Prr`]: Proportional Rate Reduction (RFC 9937, earlier RFC 6937) for fast recovery.
//!
//! It limits sending so that the bytes in flight fall to the threshold within a round trip, evenly. It takes
//! byte counts and sees no sequence numbers. The [`Controller`](crate::Controller) chooses the threshold, and
//! the sender chooses what to send.

/// An acknowledgement during recovery, or the one that starts it. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrrAck {
    /// DeliveredData: newly delivered bytes, acknowledged cumulatively or by gap blocks. Without selective
    /// acknowledgements RFC 9937 counts a packet per duplicate and subtracts them from the next advance.
    pub delivered: u64,
    /// inflight (RFC 6675's pipe, SCTP's flight_size) after the acknowledgement was processed and losses were
    /// marked.
    pub in_flight: u64,
    /// safeACK: the acknowledgement advanced the cumulative point and indicated no further loss.
    pub safe: bool,
}

/// State of one recovery.
#[derive(Clone, Debug)]
pub struct Prr {
    ssthresh: u64,
    recover_fs: u64,
    smss: u64,
    /// prr_delivered
    delivered: u64,
    /// prr_out
    out: u64,
    allowance: u64,
}

impl Prr {
    /// Starts recovery towards a flight of `ssthresh`.
    ///
    /// `recover_fs` is RecoverFS: the bytes outstanding at the start. It excludes data that earlier gap
    /// blocks acknowledged, and includes data that the starting acknowledgement does. `smss` is the size of a
    /// full packet.
    pub fn new(ssthresh: u64, recover_fs: u64, smss: u64) -> Self {
        Self { ssthresh, recover_fs: recover_fs.max(1), smss, delivered: 0, out: 0, allowance: 0 }
    }

    /// Handles an acknowledgement and returns SndCnt, the number of bytes that may be sent now.
    ///
    /// The window during recovery is the flight plus SndCnt.
    pub fn on_ack(&mut self, ack: &PrrAck) -> u64 {
        self.delivered = self.delivered.saturating_add(ack.delivered);
        self.allowance = if ack.in_flight > self.ssthresh {
            // the proportional part: DIV_ROUND_UP(prr_delivered · ssthresh, RecoverFS) − prr_out
            let share = u128::from(self.delivered) * u128::from(self.ssthresh);
            let share = share.div_ceil(u128::from(self.recover_fs)).saturating_sub(u128::from(self.out));
            u64::try_from(share).unwrap_or(u64::MAX)
        } else {
            // PRR-CRB: as much as was delivered
            let mut count = self.delivered.saturating_sub(self.out).max(ack.delivered);
            if ack.safe {
                // PRR-SSRB: as slow start
                count = count.saturating_add(self.smss);
            }
            count.min(self.ssthresh - ack.in_flight)
        };
        if self.out == 0 {
            // RFC 9937 forces the fast retransmit upon entering recovery when SndCnt is 0. In bytes a part of
            // a packet is as little: it would hold the retransmission back.
            self.allowance = self.allowance.max(self.smss);
        }
        self.allowance
    }

    /// Counts sent data, new or retransmitted.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out = self.out.saturating_add(bytes);
        self.allowance = self.allowance.saturating_sub(bytes);
    }

    /// Returns the bytes that may still be sent before the next acknowledgement.
    pub fn allowance(&self) -> u64 {
        self.allowance
    }

    /// Returns the window after recovery.
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    fn send_all(prr: &mut Prr, in_flight: &mut u64) -> u64 {
        let packets = prr.allowance() / SMSS;
        for _ in 0..packets {
            prr.on_sent(SMSS);
        }
        *in_flight += packets * SMSS;
        packets
    }

    /// RFC 6937 §3.1: the first packet of a window of 20 is lost, and the window is to be halved. One packet
    /// leaves for every two acknowledgements, and the flight equals the threshold after a round trip.
    #[test]
    fn one_loss_brings_the_flight_down_evenly() {
        // Packet 1 is lost; 2 to 4 gave duplicate acknowledgements, the third of which starts recovery and
        // marks it lost.
        let mut prr = Prr::new(10 * SMSS, 18 * SMSS, SMSS);
        let mut in_flight = 17 * SMSS;
        let mut sent = Vec::new();
        prr.on_ack(&PrrAck { delivered: SMSS, in_flight: 16 * SMSS, safe: false });
        in_flight -= SMSS;
        sent.push(send_all(&mut prr, &mut in_flight));
        assert_eq!(sent, [1], "the retransmission");
        for _ in 0..16 {
            in_flight -= SMSS;
            prr.on_ack(&PrrAck { delivered: SMSS, in_flight, safe: false });
            sent.push(send_all(&mut prr, &mut in_flight));
        }
        assert!(sent.windows(2).all(|pair| pair[0] + pair[1] <= 2 && pair[0] <= 1), "{sent:?}");
        assert!(sent.windows(3).all(|three| three.iter().sum::<u64>() >= 1), "no pause: {sent:?}");
        assert!(in_flight.abs_diff(10 * SMSS) <= SMSS, "{in_flight}: {sent:?}");
    }

    /// RFC 6937 §3.1, second example: after many losses the flight is below the threshold at once.
    #[test]
    fn after_many_losses_it_conserves_packets_or_grows_as_slow_start() {
        for (safe, expected) in [(false, 1), (true, 2)] {
            let mut prr = Prr::new(10 * SMSS, 20 * SMSS, SMSS);
            prr.on_ack(&PrrAck { delivered: SMSS, in_flight: 4 * SMSS, safe: false });
            let mut in_flight = 4 * SMSS;
            assert_eq!(send_all(&mut prr, &mut in_flight), 1);
            in_flight -= SMSS;
            prr.on_ack(&PrrAck { delivered: SMSS, in_flight, safe });
            assert_eq!(send_all(&mut prr, &mut in_flight), expected, "safe {safe}");
        }
    }

    #[test]
    fn unused_allowance_is_kept() {
        let mut prr = Prr::new(10 * SMSS, 20 * SMSS, SMSS);
        for _ in 0..6 {
            prr.on_ack(&PrrAck { delivered: SMSS, in_flight: 15 * SMSS, safe: false });
        }
        assert_eq!(prr.allowance(), 3 * SMSS, "half of what was delivered");
        prr.on_sent(2 * SMSS);
        assert_eq!(prr.allowance(), SMSS);
        assert_eq!(prr.on_ack(&PrrAck { delivered: 0, in_flight: 15 * SMSS, safe: false }), SMSS);
        // Below the threshold the banked packets go as fast as the flight allows.
        assert_eq!(prr.on_ack(&PrrAck { delivered: SMSS, in_flight: 8 * SMSS, safe: false }), 2 * SMSS);
    }

    #[test]
    fn the_first_retransmission_is_never_held_back() {
        let mut prr = Prr::new(10 * SMSS, 20 * SMSS, SMSS);
        assert_eq!(prr.on_ack(&PrrAck { delivered: 0, in_flight: 15 * SMSS, safe: false }), SMSS);
        prr.on_sent(SMSS);
        assert_eq!(prr.on_ack(&PrrAck { delivered: 0, in_flight: 15 * SMSS, safe: false }), 0, "once");
    }

    proptest::proptest! {
        /// RFC 9937: above the threshold, the sender sends at most its share of the delivered data. Below it,
        /// the sender sends at most the delivered data plus a packet per safe acknowledgement, and never
        /// exceeds the threshold.
        #[test]
        fn bounds(
            ssthresh in 1u64..100_000, over in 1u64..100_000,
            acks in proptest::collection::vec((0u64..5_000, 0u64..150_000, proptest::bool::ANY, 0u8..4), 1..60),
        ) {
            let recover_fs = ssthresh + over;
            let mut prr = Prr::new(ssthresh, recover_fs, SMSS);
            let (mut delivered, mut out, mut bonus) = (0, 0, 0);
            for (number, (bytes, in_flight, safe, use_up)) in acks.into_iter().enumerate() {
                delivered += bytes;
                bonus += if safe { SMSS } else { 0 };
                let count = prr.on_ack(&PrrAck { delivered: bytes, in_flight, safe });
                let forced = if out == 0 { SMSS } else { 0 };
                if in_flight > ssthresh {
                    let share = (delivered * ssthresh).div_ceil(recover_fs);
                    proptest::prop_assert!(count <= share.saturating_sub(out).max(forced), "ack {number}");
                } else {
                    proptest::prop_assert!(in_flight + count <= ssthresh.max(in_flight + forced), "ack {number}");
                }
                proptest::prop_assert!(out + count <= delivered.max(out + bytes) + bonus + SMSS, "ack {number}");
                let sent = count / 3 * u64::from(use_up);
                prr.on_sent(sent);
                out += sent;
            }
        }

        #[test]
        fn extremes(ssthresh: u64, recover_fs: u64, smss: u64, delivered: u64, in_flight: u64, sent: u64) {
            let mut prr = Prr::new(ssthresh, recover_fs, smss);
            for safe in [false, true, true] {
                prr.on_ack(&PrrAck { delivered, in_flight, safe });
                prr.on_sent(sent);
            }
        }
    }
}
