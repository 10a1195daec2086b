//! Two associations without an [`Endpoint`](msctp_proto::Endpoint), as a WebRTC data channel has them: the
//! layer below connects two ends, and both begin at once. `cargo run -p msctp-proto --example single`

use std::error::Error;
use std::net::IpAddr;

use msctp_proto::{Association, Config, Event, LocalAddrs, OutMessage, PathAddr, RemoteAddrs};
use msctp_units::{Span, Time};

/// Delay of the link in each direction.
const DELAY: Span = Span::from_millis(20);
/// The SCTP port of WebRTC.
const PORT: u16 = 5000;

/// One end of the link. Its addresses only name the path: the layer below has the real ones.
struct End {
    name: &'static str,
    association: Association,
}

fn begin(name: &'static str, [own, peer]: [IpAddr; 2], seed: [u8; 32]) -> Result<End, Box<dyn Error>> {
    let local = LocalAddrs { port: PORT, addresses: vec![own] };
    let remote = RemoteAddrs { port: PORT, addresses: vec![peer] };
    let association = Association::connect(Time::ZERO, Config::default(), local, remote, seed)?;
    Ok(End { name, association })
}

impl End {
    /// Takes everything that the association has to send and to say. Returns the packets.
    fn drain(&mut self, now: Time) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
        let mut packets = Vec::new();
        let mut bytes = Vec::new();
        while self.association.poll_transmit(now, &mut bytes).is_some() {
            packets.push(std::mem::take(&mut bytes));
        }
        while let Some(event) = self.association.poll_event() {
            println!("{now} {}: {event:?}", self.name);
            if matches!(event, Event::Connected { .. }) {
                let data = format!("hello from {}", self.name).into();
                self.association.send(now, OutMessage { data, ..OutMessage::default() })?;
                packets.extend(self.drain(now)?);
            }
        }
        while let Some(message) = self.association.recv()? {
            println!("{now} {}: received {:?}", self.name, String::from_utf8_lossy(&message.data));
            if self.name == "a" {
                self.association.shutdown(now);
                packets.extend(self.drain(now)?);
            }
        }
        Ok(packets)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let addresses = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
    let [a, b] = addresses;
    // Seeds come from the operating system in a program.
    let mut ends = [begin("a", [a, b], [1; 32])?, begin("b", [b, a], [2; 32])?];
    // Packets in flight: their arrival, the receiver and the bytes.
    let mut link: Vec<(Time, usize, Vec<u8>)> = Vec::new();
    let mut now = Time::ZERO;
    loop {
        for (n, end) in ends.iter_mut().enumerate() {
            link.extend(end.drain(now)?.into_iter().map(|packet| (now + DELAY, 1 - n, packet)));
        }
        let timers = ends.iter().filter_map(|end| end.association.poll_timeout());
        let Some(next) = timers.chain(link.iter().map(|(at, ..)| *at)).min() else { break };
        now = now.max(next);
        let arrived = link.extract_if(.., |(at, ..)| *at <= now).collect::<Vec<_>>();
        for (_, receiver, mut packet) in arrived {
            let at = PathAddr { local: addresses[receiver], remote: addresses[1 - receiver] };
            ends[receiver].association.handle_datagram(now, at, &mut packet);
        }
        ends.iter_mut().for_each(|end| end.association.handle_timeout(now));
    }
    println!("{now}: both have ended");
    Ok(())
}
