//! The parsers of forwarding, and the connections' state under any sequence of messages: no panic.
#![no_main]

use msctp_forward::frame::kind;
use msctp_forward::proxy::{parse_datagram, parse_greeting, parse_socks};
use msctp_forward::{Event, Limits, Mux, Read, Role, Rules};
use msctp_units::Time;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = (parse_greeting(bytes), parse_socks(bytes), parse_datagram(bytes));
    let _ = std::str::from_utf8(bytes).map(Rules::parse);
    let mut mux = Mux::new(Role::Server, Limits::default());
    let mut rest = bytes;
    // Each message: stream, kind, length, payload.
    while let [stream, letter, len, tail @ ..] = rest {
        let (data, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = tail;
        let ppid = kind(b"OADECU?"[usize::from(letter % 7)]);
        if mux.handle(Time::ZERO, u16::from(stream % 8), ppid, data.to_vec().into()).is_err() {
            return;
        }
        while let Some(event) = mux.poll_event() {
            match event {
                Event::Open(number, _) if letter & 0x40 == 0 => mux.accept(number),
                Event::Readable(number) => match mux.read(number) {
                    Read::Data(data) => mux.consumed(Time::ZERO, number, data.len()),
                    Read::Finished => mux.finish(number),
                    Read::Failed(_) => mux.release(number),
                    Read::Pending => {}
                },
                _ => {}
            }
        }
        while mux.poll_transmit().is_some() {}
    }
});
