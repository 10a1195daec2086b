//! The trace as names and values, for writers. One place lists the fields of every kind. It formats nothing
//! itself.

use core::net::IpAddr;

use msctp_congestion::classifier::Cause;
use msctp_proto::{Direction, PathId, PrimaryCause, TraceKind};
use msctp_units::{Rate, Span};
use msctp_wire::ChunkType;

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A count, or a quantity in the unit at the end of the field's name: `_ns`, `_bps`, `_ppm`, else bytes.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Word(&'static str),
    /// A name that is built at run time.
    Text(String),
    /// A path.
    Path(PathId),
    /// A value that is unknown or absent.
    Nothing,
}

macro_rules! values {
    ($($type:ty: $value:ident => $converted:expr;)*) => {$(
        impl From<$type> for Value {
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
        PrimaryCause::Policy(_) => "policy",
        PrimaryCause::Link => "link",
        PrimaryCause::LinkDown => "link-down",
    });
    Cause: cause => Self::Word(match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    });
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

/// Converts a slow-start threshold. The largest value becomes none.
fn threshold(ssthresh: u64) -> Value {
    if ssthresh == u64::MAX { Value::Nothing } else { Value::Number(ssthresh) }
}

fn text(value: &impl ToString) -> Value {
    Value::Text(value.to_string())
}

/// Calls `$give` with each field's name and value.
macro_rules! fields {
    ($give:ident; $($name:ident $(: $value:expr)?),* $(,)?) => {
        { $( $give(stringify!($name), fields!(@ $name $($value)?)); )* }
    };
    (@ $name:ident) => { (*$name).into() };
    (@ $name:ident $value:expr) => { $value };
}

/// Returns `value` in place of a name or fields. Tests fail on a kind that this file lacks.
fn unknown<T>(kind: &TraceKind, value: T) -> T {
    debug_assert!(false, "no name and no fields for {kind:?}");
    value
}

/// Returns the name of the kind in files.
pub fn name(kind: &TraceKind) -> &'static str {
    match kind {
        TraceKind::State { .. } => "state",
        TraceKind::Window { .. } => "window",
        TraceKind::Rtt { .. } => "rtt",
        TraceKind::T3Timeout { .. } => "t3-timeout",
        TraceKind::FastRetransmit { .. } => "fast-retransmit",
        TraceKind::Marked { .. } => "marked",
        TraceKind::EcnReduction { .. } => "ecn-reduction",
        TraceKind::LossProbe { .. } => "loss-probe",
        TraceKind::Silence { .. } => "silence",
        TraceKind::Verdict { .. } => "verdict",
        TraceKind::SpuriousTimeout { .. } => "spurious-timeout",
        TraceKind::RttStartedOver { .. } => "rtt-started-over",
        TraceKind::Estimate { .. } => "estimate",
        TraceKind::PathAdded { .. } => "path-added",
        TraceKind::PathRemoved { .. } => "path-removed",
        TraceKind::PathState { .. } => "path-state",
        TraceKind::Primary { .. } => "primary",
        TraceKind::StartState { .. } => "start-state",
        TraceKind::Probing { .. } => "probing",
        TraceKind::PathCost { .. } => "path-cost",
        TraceKind::Bicast { .. } => "bicast",
        TraceKind::Data { .. } => "data",
        TraceKind::Sack { .. } => "sack",
        TraceKind::Control { .. } => "control",
        TraceKind::PolicyNote { .. } => "policy-note",
        TraceKind::Adjusted { .. } => "adjusted",
        TraceKind::LocalAddress { .. } => "local-address",
        _ => unknown(kind, "unknown"),
    }
}

/// Visits every field by name, in a fixed order.
pub fn fields(kind: &TraceKind, mut give: impl FnMut(&'static str, Value)) {
    match kind {
        TraceKind::State { from, to } => fields!(give; from: text(from), to: text(to)),
        TraceKind::Window { path, cwnd, ssthresh, flight_size, partial_bytes_acked } => {
            fields!(give; path, cwnd, ssthresh: threshold(*ssthresh), flight_size, partial_bytes_acked);
        }
        TraceKind::Rtt { path, sample, srtt, rto } => {
            fields!(give; path, sample_ns: (*sample).into(), srtt_ns: (*srtt).into(), rto_ns: (*rto).into());
        }
        TraceKind::T3Timeout { path, rto } => fields!(give; path, rto_ns: (*rto).into()),
        TraceKind::FastRetransmit { path, tsn } | TraceKind::EcnReduction { path, tsn } => {
            fields!(give; path, tsn);
        }
        TraceKind::Marked { path, tsn } => fields!(give; path, tsn),
        TraceKind::LossProbe { path, tsn } => fields!(give; path, tsn),
        TraceKind::Silence { path, by } => fields!(give; path, by),
        TraceKind::Verdict { path, tsn, cause } => fields!(give; path, tsn, cause),
        TraceKind::SpuriousTimeout { path } => fields!(give; path),
        TraceKind::RttStartedOver { path, sample, .. } => fields!(give; path, sample_ns: (*sample).into()),
        TraceKind::Estimate { path, capacity, available, min_rtt, loss_ppm } => fields!(
            give; path, capacity_bps: (*capacity).into(), available_bps: (*available).into(),
            min_rtt_ns: (*min_rtt).into(), loss_ppm,
        ),
        TraceKind::PathAdded { path, at } => {
            fields!(give; path, local: at.local.into(), remote: at.remote.into());
        }
        TraceKind::PathRemoved { path } => fields!(give; path),
        TraceKind::PathState { path, from, to } => fields!(give; path, from: text(from), to: text(to)),
        TraceKind::Primary { from, to, cause } => {
            let grounds = if let PrimaryCause::Policy(grounds) = cause { Some(*grounds) } else { None };
            let (carried, promised) = grounds.map_or((None, None), |of| (of.carried, of.promised));
            let why = grounds.map_or(Value::Nothing, |grounds| Value::Word(grounds.why.word()));
            fields!(give; from, to, cause, why: why, carried_bps: carried.into(), promised_bps: promised.into());
        }
        TraceKind::StartState { path, cwnd, ssthresh } | TraceKind::Adjusted { path, cwnd, ssthresh } => {
            fields!(give; path, cwnd, ssthresh: threshold(*ssthresh));
        }
        TraceKind::Probing { path, on } => fields!(give; path, on),
        TraceKind::PathCost { path, backup, metered } => fields!(give; path, backup, metered),
        TraceKind::Bicast { to } => fields!(give; to),
        TraceKind::Data { direction, path, tsn, len, again } => {
            fields!(give; direction, path, tsn, len, again);
        }
        TraceKind::Sack { direction, path, cum_tsn_ack, a_rwnd, gap_blocks, duplicates } => {
            fields!(give; direction, path, cum_tsn_ack, a_rwnd, gap_blocks, duplicates);
        }
        TraceKind::Control { direction, path, chunk_type, len } => {
            fields!(give; direction, path, chunk: text(&ChunkType(*chunk_type)), len);
        }
        TraceKind::PolicyNote { name, address, value } => {
            fields!(give; note: Value::Word(name), address, value);
        }
        TraceKind::LocalAddress { address, added } => fields!(give; address, added),
        _ => unknown(kind, ()),
    }
}

#[cfg(test)]
mod tests {
    use msctp_proto::handover::{Grounds, Why};

    use super::*;

    fn written(kind: TraceKind) -> String {
        let mut line = name(&kind).to_owned();
        fields(&kind, |name, value| line += &format!(" {name}={value:?}"));
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
        let grounds = Grounds { promised: Some(Rate::from_kbps(7)), ..Why::Better.into() };
        let primary =
            TraceKind::Primary { from: path, to: PathId::new(4), cause: PrimaryCause::Policy(grounds) };
        assert!(written(primary).ends_with(
            "cause=Word(\"policy\") why=Word(\"better\") carried_bps=Nothing promised_bps=Number(7000)"
        ));
    }
}
