//! The trace as names and values, for writers. One place lists the fields of every kind. It formats nothing
//! itself.

use core::net::IpAddr;

use msctp_congestion::classifier::Cause;
use msctp_units::{Rate, Span};
use msctp_wire::ChunkType;

use crate::addr::PathId;
use crate::trace::{Direction, PrimaryCause, TraceKind};

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceValue {
    /// A count, or a quantity in the unit that the field's name ends with: `_ns`, `_bps`, `_ppm`, else bytes.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Word(&'static str),
    /// A name that is put together.
    Text(String),
    /// A path.
    Path(PathId),
    /// Not known, or not there.
    Nothing,
}

macro_rules! values {
    ($($type:ty: $value:ident => $converted:expr;)*) => {$(
        impl From<$type> for TraceValue {
            fn from($value: $type) -> Self {
                $converted
            }
        }
    )*};
}

values! {
    u64: number => Self::Number(number);
    u32: number => Self::Number(number.into());
    u16: number => Self::Number(number.into());
    u8: number => Self::Number(number.into());
    bool: flag => Self::Flag(flag);
    Span: span => Self::Number(span.as_nanos());
    Rate: rate => Self::Number(rate.as_bps());
    PathId: path => Self::Path(path);
    IpAddr: address => Self::Text(address.to_string());
    Direction: direction => Self::Word(match direction {
        Direction::Out => "out",
        Direction::In => "in",
    });
    PrimaryCause: cause => Self::Word(match cause {
        PrimaryCause::Local => "application",
        PrimaryCause::Peer => "peer",
        PrimaryCause::Failover => "failover",
        PrimaryCause::Switchover => "switchover",
        PrimaryCause::Removed => "removed",
        PrimaryCause::Policy => "policy",
    });
    Cause: cause => Self::Word(match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    });
}

impl<T: Into<Self>> From<Option<T>> for TraceValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

/// Converts a slow-start threshold; the largest value becomes none.
fn threshold(ssthresh: u64) -> TraceValue {
    if ssthresh == u64::MAX { TraceValue::Nothing } else { TraceValue::Number(ssthresh) }
}

fn text(value: &impl ToString) -> TraceValue {
    TraceValue::Text(value.to_string())
}

/// Calls `$give` with each field's name and value.
macro_rules! fields {
    ($give:ident; $($name:ident $(: $value:expr)?),* $(,)?) => {
        { $( $give(stringify!($name), fields!(@ $name $($value)?)); )* }
    };
    (@ $name:ident) => { (*$name).into() };
    (@ $name:ident $value:expr) => { $value };
}

impl TraceKind {
    /// Returns the name of the kind in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::State { .. } => "state",
            Self::Window { .. } => "window",
            Self::Rtt { .. } => "rtt",
            Self::T3Timeout { .. } => "t3-timeout",
            Self::FastRetransmit { .. } => "fast-retransmit",
            Self::Marked { .. } => "marked",
            Self::EcnReduction { .. } => "ecn-reduction",
            Self::LossProbe { .. } => "loss-probe",
            Self::Silence { .. } => "silence",
            Self::Verdict { .. } => "verdict",
            Self::SpuriousTimeout { .. } => "spurious-timeout",
            Self::RttStartedOver { .. } => "rtt-started-over",
            Self::Estimate { .. } => "estimate",
            Self::PathAdded { .. } => "path-added",
            Self::PathRemoved { .. } => "path-removed",
            Self::PathState { .. } => "path-state",
            Self::Primary { .. } => "primary",
            Self::StartState { .. } => "start-state",
            Self::Probing { .. } => "probing",
            Self::Bicast { .. } => "bicast",
            Self::Data { .. } => "data",
            Self::Sack { .. } => "sack",
            Self::Control { .. } => "control",
            Self::PolicyNote { .. } => "policy-note",
            Self::Adjusted { .. } => "adjusted",
            Self::LocalAddress { .. } => "local-address",
        }
    }

    /// Visits every field by name, in a fixed order.
    pub fn fields(&self, mut give: impl FnMut(&'static str, TraceValue)) {
        match self {
            Self::State { from, to } => fields!(give; from: text(from), to: text(to)),
            Self::Window { path, cwnd, ssthresh, flight_size, partial_bytes_acked } => {
                fields!(give; path, cwnd, ssthresh: threshold(*ssthresh), flight_size, partial_bytes_acked);
            }
            Self::Rtt { path, sample, srtt, rto } => {
                fields!(give; path, sample_ns: (*sample).into(), srtt_ns: (*srtt).into(), rto_ns: (*rto).into());
            }
            Self::T3Timeout { path, rto } => fields!(give; path, rto_ns: (*rto).into()),
            Self::FastRetransmit { path, tsn } | Self::EcnReduction { path, tsn } => fields!(give; path, tsn),
            Self::Marked { path, tsn } => fields!(give; path, tsn),
            Self::LossProbe { path, tsn } => fields!(give; path, tsn),
            Self::Silence { path, by } => fields!(give; path, by),
            Self::Verdict { path, tsn, cause } => fields!(give; path, tsn, cause),
            Self::SpuriousTimeout { path } => fields!(give; path),
            Self::RttStartedOver { path, sample, .. } => fields!(give; path, sample_ns: (*sample).into()),
            Self::Estimate { path, capacity, available, min_rtt, loss_ppm } => fields!(
                give; path, capacity_bps: (*capacity).into(), available_bps: (*available).into(),
                min_rtt_ns: (*min_rtt).into(), loss_ppm,
            ),
            Self::PathAdded { path, at } => {
                fields!(give; path, local: at.local.into(), remote: at.remote.into());
            }
            Self::PathRemoved { path } => fields!(give; path),
            Self::PathState { path, from, to } => fields!(give; path, from: text(from), to: text(to)),
            Self::Primary { from, to, cause } => fields!(give; from, to, cause),
            Self::StartState { path, cwnd, ssthresh } | Self::Adjusted { path, cwnd, ssthresh } => {
                fields!(give; path, cwnd, ssthresh: threshold(*ssthresh));
            }
            Self::Probing { path, on } => fields!(give; path, on),
            Self::Bicast { to } => fields!(give; to),
            Self::Data { direction, path, tsn, len, again } => {
                fields!(give; direction, path, tsn, len, again);
            }
            Self::Sack { direction, path, cum_tsn_ack, a_rwnd, gap_blocks, duplicates } => {
                fields!(give; direction, path, cum_tsn_ack, a_rwnd, gap_blocks, duplicates);
            }
            Self::Control { direction, path, chunk_type, len } => {
                fields!(give; direction, path, chunk: text(&ChunkType(*chunk_type)), len);
            }
            Self::PolicyNote { name, address, value } => {
                fields!(give; note: TraceValue::Word(name), address, value);
            }
            Self::LocalAddress { address, added } => fields!(give; address, added),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: TraceKind) -> String {
        let mut line = kind.name().to_owned();
        kind.fields(|name, value| line += &format!(" {name}={value:?}"));
        line
    }

    #[test]
    fn fields_have_names_and_units_and_unknown_values_are_nothing() {
        let path = PathId::new(3);
        let window = TraceKind::Window {
            path,
            cwnd: 4380,
            ssthresh: u64::MAX,
            flight_size: 0,
            partial_bytes_acked: 7,
        };
        assert_eq!(
            written(window),
            format!(
                "window path=Path({path:?}) cwnd=Number(4380) ssthresh=Nothing flight_size=Number(0) partial_bytes_acked=Number(7)"
            )
        );
        let heartbeat = TraceKind::Control {
            direction: Direction::Out,
            path: None,
            chunk_type: ChunkType::HEARTBEAT.0,
            len: 40,
        };
        assert_eq!(
            written(heartbeat),
            "control direction=Word(\"out\") path=Nothing chunk=Text(\"HEARTBEAT\") len=Number(40)"
        );
        let primary = TraceKind::Primary { from: path, to: PathId::new(4), cause: PrimaryCause::Policy };
        assert!(written(primary).ends_with("cause=Word(\"policy\")"));
    }
}
