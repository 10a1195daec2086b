//! Two associations without an endpoint, as a WebRTC stack has them: both ends begin, and each has cookies of
//! its own.

use msctp_proto::{
    Association, AssociationState as State, Config, Event, LocalAddrs, Message, OutMessage, PathAddr,
    RemoteAddrs,
};
use msctp_units::{Span, Time};

use crate::support::{PORT_A, PORT_B, a_ip, b_ip};

const DELAY: Span = Span::from_millis(20);

/// One end and what came out of it.
struct End {
    association: Association,
    events: Vec<Event>,
    received: Vec<Message>,
}

/// Two ends and the packets between them.
struct Link {
    now: Time,
    ends: [End; 2],
    /// Arrival, receiver and bytes.
    flights: Vec<(Time, usize, Vec<u8>)>,
    /// Number of packets sent so far.
    sent: usize,
    /// The packet that is lost.
    lost: Option<usize>,
}

impl Link {
    /// Begins both associations, the second later by this much.
    fn new(config: &Config, later: Span, lost: Option<usize>) -> Self {
        let now = Time::ZERO + Span::from_secs(1);
        let begin = |at, ports: (u16, u16), addresses: [_; 2], seed| {
            let local = LocalAddrs { port: ports.0, addresses: vec![addresses[0]] };
            let remote = RemoteAddrs { port: ports.1, addresses: vec![addresses[1]] };
            let association = Association::connect(at, config.clone(), local, remote, [seed; 32]).unwrap();
            End { association, events: Vec::new(), received: Vec::new() }
        };
        let a = begin(now, (PORT_A, PORT_B), [a_ip(0), b_ip(0)], 1);
        let b = begin(now + later, (PORT_B, PORT_A), [b_ip(0), a_ip(0)], 2);
        let mut link = Self { now, ends: [a, b], flights: Vec::new(), sent: 0, lost };
        link.drain(0);
        link.now += later;
        let now = link.now;
        // What arrives before the other end is there is lost.
        link.flights.retain(|(at, ..)| *at > now);
        link
    }

    fn drain(&mut self, n: usize) {
        let end = &mut self.ends[n];
        let mut bytes = Vec::new();
        while end.association.poll_transmit(self.now, &mut bytes).is_some() {
            let packet = std::mem::take(&mut bytes);
            if self.lost != Some(self.sent) {
                self.flights.push((self.now + DELAY, 1 - n, packet));
            }
            self.sent += 1;
        }
        end.events.extend(std::iter::from_fn(|| end.association.poll_event()));
        while let Ok(Some(message)) = end.association.recv() {
            end.received.push(message);
        }
    }

    /// Runs both ends until nothing happens any more, or for `time`.
    fn run_for(&mut self, time: Span) {
        let until = self.now + time;
        loop {
            // Reading may open a window.
            (0..4).for_each(|n| self.drain(n % 2));
            let timers = self.ends.iter().filter_map(|end| end.association.poll_timeout());
            let next = timers.chain(self.flights.iter().map(|(at, ..)| *at)).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            let now = self.now;
            let (arrived, flying) =
                std::mem::take(&mut self.flights).into_iter().partition(|(at, ..)| *at <= now);
            self.flights = flying;
            let arrived: Vec<(Time, usize, Vec<u8>)> = arrived;
            for (_, n, mut packet) in arrived {
                let addresses = [a_ip(0), b_ip(0)];
                let at = PathAddr { local: addresses[n], remote: addresses[1 - n] };
                self.ends[n].association.handle_datagram(now, at, &mut packet);
                self.drain(n);
            }
            self.ends.iter_mut().for_each(|end| end.association.handle_timeout(now));
        }
        self.now = until;
    }

    fn send(&mut self, n: usize, data: Vec<u8>) {
        let message = OutMessage { data: data.into(), ..OutMessage::default() };
        self.ends[n].association.send(self.now, message).unwrap();
    }

    fn states(&self) -> [State; 2] {
        [0, 1].map(|n| self.ends[n].association.state())
    }
}

/// A whole association: set-up, messages of many packets in both directions, shutdown.
fn transfer(mut link: Link) {
    let lost = link.lost;
    link.run_for(Span::from_secs(10));
    assert_eq!(link.states(), [State::Established; 2], "lost: {lost:?}");
    for n in [0, 1] {
        for size in [1, 1000, 50_000] {
            link.send(n, vec![n as u8; size]);
        }
    }
    link.run_for(Span::from_secs(60));
    for (n, end) in link.ends.iter().enumerate() {
        let received: Vec<_> =
            end.received.iter().map(|message| (message.data[0], message.data.len())).collect();
        assert_eq!(received, [1, 1000, 50_000].map(|size| (1 - n as u8, size)), "lost: {lost:?}");
    }
    let now = link.now;
    link.ends[0].association.shutdown(now);
    link.run_for(Span::from_secs(60));
    assert_eq!(link.states(), [State::Closed; 2], "lost: {lost:?}");
    for end in &link.ends {
        let count = |wanted: fn(&Event) -> bool| end.events.iter().filter(|event| wanted(event)).count();
        assert_eq!(count(|event| matches!(event, Event::Connected { .. })), 1, "lost: {lost:?}");
        assert_eq!(count(|event| matches!(event, Event::Closed)), 1, "lost: {lost:?}");
        assert_eq!(count(|event| matches!(event, Event::Lost(_) | Event::Restarted)), 0, "lost: {lost:?}");
        assert_eq!(end.association.poll_timeout(), None);
    }
}

/// RFC 9260 §5.2.1, §5.2.2: each answers the INIT of the other.
#[test]
fn two_ends_that_begin_at_once_transfer_and_shut_down() {
    transfer(Link::new(&Config::default(), Span::ZERO, None));
}

#[test]
fn an_end_may_begin_while_the_other_is_setting_up() {
    for later in [5, 20, 30] {
        transfer(Link::new(&Config::default(), Span::from_millis(later), None));
    }
}

#[test]
fn each_packet_may_be_lost() {
    let config = Config::default();
    for lost in 0..12 {
        transfer(Link::new(&config, Span::ZERO, Some(lost)));
    }
}
