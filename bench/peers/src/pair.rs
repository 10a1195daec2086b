//! Two ends of any stack and the wires between them.

use std::time::Duration;

/// Length of a message in bytes.
pub const MESSAGE: usize = 1200;

/// Bytes that the application keeps in the sender's buffer.
pub const SEND_BUFFER: u64 = 1 << 20;

/// One end of some stack: an endpoint with its associations. Data goes over the first.
pub trait End {
    /// Packets in flight to an end.
    type Wire: Default;

    /// Begins another association with the peer.
    fn connect(&mut self, now: Duration);

    /// Returns the number of associations that are up.
    fn connected(&self) -> usize;

    /// Processes incoming and produces outgoing packets; false if there were neither.
    fn drive(&mut self, now: Duration, incoming: &mut Self::Wire, outgoing: &mut Self::Wire) -> bool;

    /// Returns the time of the next timer.
    fn wake(&self) -> Option<Duration>;

    /// Sends at most `limit` messages until the send buffer is full; returns the number accepted.
    fn send(&mut self, now: Duration, limit: u64) -> u64;

    /// Reads all available messages; returns their bytes.
    fn receive(&mut self) -> u64;
}

/// The two ends.
pub struct Pair<E: End> {
    client: E,
    server: E,
    to_client: E::Wire,
    to_server: E::Wire,
    now: Duration,
}

impl<E: End> Pair<E> {
    /// Returns two ends without associations.
    pub fn new(client: E, server: E) -> Self {
        let (to_client, to_server) = (E::Wire::default(), E::Wire::default());
        Self { client, server, to_client, to_server, now: Duration::ZERO }
    }

    /// Begins associations and waits until they are up.
    pub fn connect(&mut self, count: usize) {
        for _ in 0..count {
            self.client.connect(self.now);
            let wanted = self.client.connected() + 1;
            while self.client.connected() < wanted || self.server.connected() < wanted {
                if !self.step() {
                    self.wait();
                }
            }
        }
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        let client = self.client.drive(self.now, &mut self.to_client, &mut self.to_server);
        let server = self.server.drive(self.now, &mut self.to_server, &mut self.to_client);
        client | server
    }

    /// Advances the time to the next timer.
    fn wait(&mut self) {
        let wake = [self.client.wake(), self.server.wake()].into_iter().flatten().min();
        self.now = self.now.max(wake.expect("no packet under way and no timer: the stack has stopped"));
    }

    /// Sends `messages` from client to server, which reads them.
    pub fn transfer(&mut self, messages: u64) {
        let (mut left, mut unread) = (messages, messages * MESSAGE as u64);
        while unread > 0 {
            let sent = self.client.send(self.now, left);
            left -= sent;
            let moved = self.step();
            let read = self.server.receive();
            unread -= read;
            if sent == 0 && !moved && read == 0 {
                self.wait();
            }
        }
    }
}
