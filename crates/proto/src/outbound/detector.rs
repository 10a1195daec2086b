//! [`LossDetector`]: detects lost chunks by miss indications (RFC 9260 §7.2.4) or by time (RACK,
//! RFC 8985 §6.2).
//!
//! [`super::loss`] acts on the losses. This file does not depend on packets.

use msctp_units::{Span, Time};

use super::chunk::{Fate, Outstanding};
use super::coverage::Coverage;
use super::differentiation::Differentiation;
use super::frto::Frto;
use super::gaps::Gaps;
use super::options::{OutboundConfig, SpuriousTimeouts};
use super::sack::Processing;
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{DUP_THRESH, Flow, Path, Sending};
use crate::rare::Rare;

/// RFC 9260 §7.2.4: the third miss indication starts a fast retransmit.
pub(super) const MISS_INDICATIONS: u8 = 3;
/// Transmissions that `acked_beyond_first` examines at most.
const MAX_EXAMINED: usize = 32;

/// Loss detection: its options and state.
#[derive(Debug)]
pub(super) struct LossDetector {
    /// Detects losses by RACK-TLP instead of miss indications.
    pub(super) rack: bool,
    /// Chunks of several paths are outstanding by design: considers only those of a path.
    pub(super) per_path: bool,
    /// Uses PRR in Fast Recovery (RFC 9937).
    pub(super) prr: bool,
    /// TLP.max_ack_delay (RFC 8985 §7.2).
    pub(super) max_ack_delay: Span,
    /// Classifies losses; `None`: every loss is congestion.
    pub(super) classifier: Option<Box<Differentiation>>,
    /// Checks T3-rtx expirations with F-RTO.
    pub(super) use_frto: bool,
    /// The F-RTO check in progress.
    pub(super) frto: Option<Frto>,
    /// Restarts the RTT estimator after a spurious T3-rtx expiration.
    pub(super) restart_rtt: bool,
    /// The path whose RTT estimator restarts, and the last TSN sent before the expiration.
    pub(super) rtt_restart: Option<(PathId, LongTsn)>,
    /// Chunks declared lost and not marked yet.
    pub(super) newly_lost: Vec<LongTsn>,
    /// The TSNs that the last SACK covers, and the chunks that it leaves open.
    pub(super) coverage: Rare<Coverage>,
}

impl LossDetector {
    pub(super) fn new(config: &OutboundConfig<'_>) -> Self {
        Self {
            rack: config.loss_recovery.uses_rack(),
            per_path: false,
            prr: config.loss_recovery.uses_prr(),
            max_ack_delay: config.sack_delay,
            classifier: Differentiation::new(config),
            use_frto: config.spurious_timeouts != SpuriousTimeouts::Ignore,
            frto: None,
            restart_rtt: config.spurious_timeouts == SpuriousTimeouts::UndoAndRestartRtt,
            rtt_restart: None,
            newly_lost: Vec::new(),
            coverage: Rare::default(),
        }
    }

    /// Appends the chunks that a SACK shows as lost on a path to `newly_lost`.
    #[inline]
    pub(super) fn detect(
        &mut self,
        processing: Processing,
        sent: &mut Outstanding,
        gaps: &Gaps,
        path: &mut Path,
    ) {
        if self.rack {
            self.find_late(processing.now, sent, gaps, path);
        } else if let Some(limit) = miss_limit(&path.flow, gaps, processing.advanced) {
            self.count_misses(sent, &mut path.flow, limit);
        }
    }

    /// Counts a miss indication for each transmission in a flow's log up to `limit`.
    ///
    /// Transmissions of chunks since acknowledged, retransmitted or fast retransmitted leave the log. Each is
    /// examined once, and each lost one at most three times.
    fn count_misses(&mut self, sent: &mut Outstanding, flow: &mut Flow, limit: Sending) {
        let log = &mut flow.log;
        // Those that stay move to the front of the log.
        let (mut examined, mut stay) = (0, 0);
        while let Some(&sending) = log.get(examined).filter(|sending| sending.number <= limit.number) {
            let waiting = sent
                .at_mut(sending.tsn)
                .filter(|chunk| chunk.fate == Fate::InFlight && chunk.number == sending.number);
            let Some(chunk) = waiting else {
                examined += 1;
                continue;
            };
            if sending.tsn >= limit.tsn {
                break;
            }
            examined += 1;
            // RFC 9260 §7.2.4 (5)
            if chunk.fast_retransmitted {
                continue;
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.7
            //# that are smaller than the highest-acknowledged TSN reported in the SACK chunk MUST be treated
            //# as "missing" by the sending endpoint. The number of "missing" reports for each outstanding
            //# DATA chunk MUST be recorded by the data sender
            chunk.misses = chunk.misses.saturating_add(1);
            if chunk.misses >= MISS_INDICATIONS {
                self.newly_lost.push(sending.tsn);
            } else {
                log[stay] = sending;
                stay += 1;
            }
        }
        if stay < examined {
            log.drain(stay..examined);
        }
    }

    /// Appends the chunks that are late at `now` to `newly_lost` (RFC 8985 §6.2 step 5).
    ///
    /// Arms the reordering timer for the next one. Each transmission is examined once, except the first that
    /// is not lost yet.
    pub(super) fn find_late(&mut self, now: Time, sent: &Outstanding, gaps: &Gaps, path: &mut Path) {
        let Some(rack) = &mut path.rack else { return };
        rack.reordering_timer = None;
        let Some(latest) = rack.latest else { return };
        let recovering = path.flow.recovery_exit.is_some() || rack.recovers_from_timeout();
        let sacked = match self.per_path {
            true => acked_beyond_first(sent, &path.flow),
            false => gaps.count(DUP_THRESH),
        };
        let wait = rack.rtt + rack.reordering_window(&path.rtt, recovering, sacked);
        while let Some(&sending) = path.flow.log.front().filter(|sending| sending.number < latest) {
            if sent.is_in_flight(&sending)
                && let Some(chunk) = sent.at(sending.tsn)
            {
                let lost_at = chunk.sent + wait;
                if lost_at > now {
                    rack.reordering_timer = Some(lost_at);
                    return;
                }
                match self.coverage.is_beyond(sending.tsn) {
                    true => self.coverage.unreported.push(sending.tsn),
                    false => self.newly_lost.push(sending.tsn),
                }
            }
            path.flow.log.pop_front();
        }
    }

    /// Moves the chunks set aside that the last SACK covers, and does not acknowledge, to `newly_lost`.
    pub(super) fn find_covered(&mut self, sent: &Outstanding) {
        while let Some(&tsn) = self.coverage.set_aside.first().filter(|tsn| !self.coverage.is_beyond(**tsn)) {
            self.coverage.set_aside.pop_first();
            if sent.at(tsn).is_some_and(|chunk| chunk.unreported && chunk.fate == Fate::Marked) {
                self.newly_lost.push(tsn);
            }
        }
    }
}

/// Returns how many chunks of a path were acknowledged behind the first one in flight; stops at `DUP_THRESH`.
fn acked_beyond_first(sent: &Outstanding, flow: &Flow) -> u64 {
    let beyond = flow.log.iter().skip_while(|sending| !sent.is_in_flight(sending));
    let known = beyond.take_while(|sending| sending.number <= flow.latest_acked).take(MAX_EXAMINED);
    let acked = known.filter(|sending| sent.is_acked(sending.tsn));
    acked.take(DUP_THRESH as usize).count() as u64
}

/// Returns the limit of miss indications: they count for lower TSNs whose last transmission is earlier.
///
/// Only chunks last sent on the same path count; RFC 9260 §7.2.4 compares TSNs over all paths. When data
/// moves to a faster path, its chunks overtake those in flight on the old one, and the RFC's rule would
/// declare these lost. Each path has its own window (§7.2) and its own Fast Recovery for the same reason.
/// This is stricter than the RFC, as §7 allows.
///
/// For chunks sent once, the order of transmissions is the order of TSNs. A retransmitted chunk gets a miss
/// indication only when a chunk sent after *the retransmission* was acknowledged.
fn miss_limit(flow: &Flow, gaps: &Gaps, advanced: bool) -> Option<Sending> {
    // "If an endpoint is in Fast Recovery and a SACK chunk arrives that advances the Cumulative TSN Ack
    // Point, the miss indications are incremented for all TSNs reported missing in the SACK chunk."
    if flow.ack.in_recovery
        && advanced
        && let Some(tsn) = gaps.highest()
    {
        return Some(Sending { number: flow.latest_acked, tsn });
    }
    // "Miss indications are incremented only for missing TSNs prior to the HTNA in the SACK chunk."
    flow.ack.htna
}
