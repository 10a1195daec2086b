//! Chunks that several tests build by hand.

use msctp_wire::{Data, DataFlags, Init, Params, Ppid, Ssn, StreamId, Tsn, VerificationTag};

/// Returns an INIT without parameters.
pub fn bare_init() -> Init<'static> {
    Init {
        initiate_tag: VerificationTag::new(5),
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(9),
        params: Params::EMPTY,
    }
}

/// Returns a complete message on stream 0.
pub fn data(tsn: Tsn, ssn: u16) -> Data<'static> {
    stream_data(tsn, 0, ssn)
}

/// Returns a complete message on any stream; its payload protocol identifier is its number.
pub fn stream_data(tsn: Tsn, stream: u16, ssn: u16) -> Data<'static> {
    Data {
        tsn,
        stream: StreamId::new(stream),
        ssn: Ssn::new(ssn),
        ppid: Ppid::new(u32::from(ssn)),
        flags: DataFlags::UNFRAGMENTED,
        payload: b"x",
    }
}
