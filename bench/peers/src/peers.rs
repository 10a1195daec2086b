//! rtc-sctp and sctp-proto with their default options. One is a fork of the other, and they share the code
//! here where their interfaces still agree.

/// An end of a stack of that family. `$build` creates the endpoint (`true`: it listens), `$connect` begins an
/// association, `$handle` processes a packet, `$payload` extracts the packets from the output of
/// `poll_transmit`, and `$write` sends a message.
macro_rules! end {
    ($stack:ident, $build:expr, $connect:expr, $handle:expr, $payload:ident, $write:expr) => {
        use std::collections::VecDeque;
        use std::net::SocketAddr;
        use std::sync::Arc;
        use std::time::{Duration, Instant};

        use bytes::Bytes;
        use $stack::{
            Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event,
            Payload, PayloadProtocolIdentifier, ServerConfig,
        };

        use crate::pair::{End, MESSAGE, Pair, SEND_BUFFER};

        /// An endpoint and its associations.
        pub struct Node {
            endpoint: Endpoint,
            peer: SocketAddr,
            start: Instant,
            associations: Vec<(AssociationHandle, Association)>,
            /// Associations to poll.
            touched: Vec<usize>,
            connected: usize,
            stream_open: bool,
            message: Bytes,
            buffer: Vec<u8>,
        }

        /// Client and listening server.
        pub fn pair() -> Pair<Node> {
            let start = Instant::now();
            Pair::new(Node::new(start, false, MESSAGE), Node::new(start, true, MESSAGE))
        }

        impl Node {
            /// Returns a client or a listening server whose messages have `message` bytes. Time counts
            /// from `start`.
            pub fn new(start: Instant, listens: bool, message: usize) -> Self {
                let addresses: [SocketAddr; 2] =
                    [([127, 0, 0, 1], 5000).into(), ([127, 0, 0, 1], 5001).into()];
                let own = usize::from(listens);
                Self {
                    endpoint: $build(addresses[own], listens),
                    peer: addresses[1 - own],
                    start,
                    associations: Vec::new(),
                    touched: Vec::new(),
                    connected: 0,
                    stream_open: false,
                    message: Bytes::from(vec![0x5a; message]),
                    buffer: vec![0; message],
                }
            }

            fn touch(&mut self, index: usize) {
                if self.touched.last() != Some(&index) {
                    self.touched.push(index);
                }
            }

            fn take(&mut self, now: Instant, packet: Bytes) {
                let Some((handle, event)) = $handle(&mut self.endpoint, now, self.peer, packet) else {
                    return;
                };
                match event {
                    DatagramEvent::NewAssociation(association) => {
                        self.associations.push((handle, association));
                        self.touch(self.associations.len() - 1);
                    }
                    DatagramEvent::AssociationEvent(event) => {
                        // Handles are given in order and none is given back here.
                        self.associations[handle.0].1.handle_event(event);
                        self.touch(handle.0);
                    }
                    #[allow(unreachable_patterns, reason = "one of the two stacks has more events")]
                    _ => {}
                }
            }
        }

        impl End for Node {
            type Wire = VecDeque<Bytes>;

            fn connect(&mut self, now: Duration) {
                let (handle, association) = $connect(&mut self.endpoint, self.start + now, self.peer);
                self.associations.push((handle, association));
                self.touch(self.associations.len() - 1);
            }

            fn connected(&self) -> usize {
                self.connected
            }

            fn drive(&mut self, now: Duration, incoming: &mut Self::Wire, outgoing: &mut Self::Wire) -> bool {
                let now = self.start + now;
                let mut moved = !incoming.is_empty();
                while let Some(packet) = incoming.pop_front() {
                    self.take(now, packet);
                }
                if let Some((_, association)) = self.associations.first_mut()
                    && association.poll_timeout().is_some_and(|wake| wake <= now)
                {
                    association.handle_timeout(now);
                    self.touch(0);
                }
                while let Some(index) = self.touched.pop() {
                    let (handle, association) = &mut self.associations[index];
                    while let Some(event) = association.poll() {
                        self.connected += usize::from(matches!(event, Event::Connected));
                    }
                    while let Some(event) = association.poll_endpoint_event() {
                        self.endpoint.handle_event(*handle, event);
                    }
                    while let Some(transmit) = association.poll_transmit(now) {
                        if let Payload::RawEncode(packets) = transmit.$payload {
                            moved |= !packets.is_empty();
                            outgoing.extend(packets);
                        }
                    }
                }
                moved
            }

            fn wake(&self) -> Option<Duration> {
                Some(self.associations.first()?.1.poll_timeout()?.duration_since(self.start))
            }

            fn send(&mut self, now: Duration, limit: u64) -> u64 {
                let now = self.start + now;
                let Some((_, association)) = self.associations.first_mut() else { return 0 };
                if !std::mem::replace(&mut self.stream_open, true) {
                    association.open_stream(0, PayloadProtocolIdentifier::Binary).expect("not open yet");
                }
                let mut stream = association.stream(0).expect("it is open");
                let mut sent = 0;
                while sent < limit && (stream.buffered_amount().expect("it is open") as u64) < SEND_BUFFER {
                    $write(&mut stream, now, &self.message).expect("there is room");
                    sent += 1;
                }
                self.touch(0);
                sent
            }

            fn receive(&mut self) -> u64 {
                let Some((_, association)) = self.associations.first_mut() else { return 0 };
                if !self.stream_open {
                    self.stream_open = association.accept_stream().is_some();
                }
                if !self.stream_open {
                    return 0;
                }
                let mut stream = association.stream(0).expect("it is open");
                let mut bytes = 0;
                while let Some(chunks) = stream.read_sctp().expect("it is open") {
                    bytes += chunks.read(&mut self.buffer).expect("as long as a message") as u64;
                    std::hint::black_box(&self.buffer);
                }
                self.touch(0);
                bytes
            }
        }
    };
}

/// rtc-sctp, of the sans-IO webrtc-rs.
pub mod rtc {
    end!(
        rtc_sctp,
        |local, listens: bool| {
            let server = listens.then(|| Arc::new(ServerConfig::new(rtc_sctp::TransportConfig::default())));
            Endpoint::new(
                local,
                rtc_shared::TransportProtocol::UDP,
                Arc::new(EndpointConfig::default()),
                server,
            )
        },
        |endpoint: &mut Endpoint, now, peer| endpoint
            .connect(now, ClientConfig::new(rtc_sctp::TransportConfig::default()), peer)
            .expect("valid"),
        |endpoint: &mut Endpoint, now, peer, packet| endpoint.handle(now, peer, None, packet),
        message,
        |stream: &mut rtc_sctp::Stream<'_>, now, message| stream.write_sctp(
            now,
            message,
            PayloadProtocolIdentifier::Binary
        )
    );
}

/// sctp-proto, of str0m.
pub mod proto {
    end!(
        sctp_proto,
        |_, listens: bool| {
            let server = listens.then(|| Arc::new(ServerConfig::default()));
            Endpoint::new(Arc::new(EndpointConfig::default()), server)
        },
        |endpoint: &mut Endpoint, _, peer| endpoint.connect(ClientConfig::default(), peer).expect("valid"),
        |endpoint: &mut Endpoint, now, peer, packet| endpoint.handle(now, peer, None, None, packet),
        payload,
        |stream: &mut sctp_proto::Stream<'_>, _, message| stream
            .write_sctp(message, PayloadProtocolIdentifier::Binary)
    );
}
