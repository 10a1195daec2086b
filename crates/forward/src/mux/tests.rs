//! Two ends over streams that are in order each and overtake one another.

use proptest::prelude::*;

use super::*;

const STREAMS: u16 = 100;

fn limits() -> Limits {
    Limits { opens_per_second: 1_000_000, ..Limits::default() }
}

fn target() -> Target {
    Target::host("example.net", 80).unwrap()
}

/// Both ends, and the messages in flight by direction and stream.
struct Pair {
    ends: [Mux; 2],
    flight: [BTreeMap<u16, VecDeque<Frame>>; 2],
    now: Time,
    /// Connections that the peer opened.
    opened: Vec<(usize, u32)>,
}

impl Pair {
    fn new(limits: Limits) -> Self {
        let ends = [Role::Client, Role::Server].map(|role| Mux::new(role, limits));
        Self { ends, flight: [BTreeMap::new(), BTreeMap::new()], now: Time::ZERO, opened: Vec::new() }
    }

    fn take_events(&mut self) {
        for (end, mux) in self.ends.iter_mut().enumerate() {
            while let Some(event) = mux.poll_event() {
                if let Event::Open(number, to) = event {
                    assert_eq!(to, target());
                    self.opened.push((end, number));
                }
            }
        }
    }

    fn send(&mut self, from: usize) -> bool {
        let Some(frame) = self.ends[from].poll_transmit() else { return false };
        self.flight[from].entry(frame.stream).or_default().push_back(frame);
        true
    }

    /// Delivers a message of the n-th stream that has messages.
    fn deliver(&mut self, from: usize, place: usize) -> bool {
        let streams = &mut self.flight[from];
        let Some(stream) = streams.keys().nth(place % streams.len().max(1)).copied() else { return false };
        let frame = streams.get_mut(&stream).and_then(VecDeque::pop_front).unwrap();
        streams.retain(|_, queue| !queue.is_empty());
        self.now += Span::from_micros(100);
        self.ends[1 - from].handle(self.now, frame.stream, frame.ppid, frame.data).unwrap();
        self.take_events();
        true
    }

    fn run(&mut self) {
        while [0, 1].into_iter().fold(false, |any, from| any | self.send(from) | self.deliver(from, 0)) {}
    }

    fn read(&mut self, end: usize, number: u32) -> (usize, Read) {
        let mut len = 0;
        loop {
            match self.ends[end].read(number) {
                Read::Data(data) => {
                    len += data.len();
                    self.ends[end].consumed(self.now, number, data.len());
                }
                other => return (len, other),
            }
        }
    }
}

#[test]
fn datagrams_are_taken_while_their_connection_is_up() {
    let mut ends = [Role::Client, Role::Server].map(|role| Mux::new(role, limits()));
    let [client, server] = &mut ends;
    let number = client.open(Target::Udp, STREAMS).unwrap();
    let deliver = |from: &mut Mux, to: &mut Mux| {
        while let Some(frame) = from.poll_transmit() {
            to.handle(Time::ZERO, frame.stream, frame.ppid, frame.data).unwrap();
        }
    };
    let datagram = |connection| {
        let data = Bytes::from_static(b"x");
        Datagram { connection, host: "192.0.2.1".to_owned(), port: 53, data }
    };
    let handle = |mux: &mut Mux, stream, datagram: Datagram| {
        mux.handle(Time::ZERO, stream, frame::DATAGRAM, datagram.encode()).unwrap();
        std::iter::from_fn(|| mux.poll_event()).filter(|event| matches!(event, Event::Datagram(_))).count()
    };
    assert_eq!(client.datagram_stream(number), None, "a datagram could overtake the request");
    deliver(client, server);
    assert_eq!(server.poll_event(), Some(Event::Open(number, Target::Udp)));
    server.accept(number);
    deliver(server, client);
    let stream = client.datagram_stream(number).unwrap();
    assert_eq!(server.datagram_stream(number), Some(stream));
    assert_eq!(handle(server, stream, datagram(number)), 1);
    assert_eq!(handle(client, stream, datagram(number)), 1);
    assert_eq!(handle(server, stream + 2, datagram(number)), 0, "another stream");
    assert_eq!(handle(server, stream, datagram(number + 2)), 0, "no such connection");
    let bytes = Bytes::from_static(b"\0\0");
    assert!(server.handle(Time::ZERO, stream, frame::DATAGRAM, bytes).is_err());
    client.release(number);
    assert_eq!(client.datagram_stream(number), None);
    deliver(client, server);
    assert_eq!(handle(server, stream, datagram(number)), 0, "behind the end");
    // A connection of another kind on the same stream takes none.
    server.release(number);
    deliver(server, client);
    let next = client.open(target(), STREAMS).unwrap();
    deliver(client, server);
    server.accept(next);
    assert_eq!(server.datagram_stream(next), None);
    assert_eq!((handle(server, stream, datagram(next)), handle(server, stream, datagram(number))), (0, 0));
}

#[test]
fn data_rides_with_the_request_and_each_direction_ends_by_itself() {
    let mut pair = Pair::new(limits());
    let number = pair.ends[0].open(target(), STREAMS).unwrap();
    assert_eq!(pair.ends[0].room(number), Ok(MAX_DATA));
    pair.ends[0].write(number, Bytes::from_static(b"question"));
    pair.ends[0].finish(number);
    // Nothing came back yet.
    let kinds: Vec<u32> = std::iter::from_fn(|| {
        let frame = pair.ends[0].poll_transmit()?;
        assert_eq!((frame.stream, frame.class), (2, Class::Interactive));
        let ppid = frame.ppid;
        pair.ends[1].handle(pair.now, frame.stream, ppid, frame.data).unwrap();
        Some(ppid)
    })
    .collect();
    assert_eq!(kinds, [frame::OPEN, frame::DATA, frame::END]);
    pair.take_events();
    assert_eq!(pair.opened, [(1, number)]);
    assert!(!pair.ends[0].is_open(number));
    pair.ends[1].accept(number);
    assert_eq!(pair.read(1, number), (8, Read::Finished));
    pair.ends[1].write(number, Bytes::from_static(b"answer"));
    pair.run();
    assert!(pair.ends[0].is_open(number));
    assert_eq!(pair.read(0, number), (6, Read::Pending));
    pair.ends[1].finish(number);
    pair.run();
    assert_eq!(pair.read(0, number), (0, Read::Finished));
    assert_eq!((pair.ends[0].counts(number), pair.ends[1].counts(number)), ((8, 6), (6, 8)));
    for mux in &mut pair.ends {
        mux.release(number);
        assert!(mux.is_empty() && mux.by_stream.is_empty());
    }
    assert_eq!(pair.ends[0].open(target(), STREAMS), Some(number + 2));
    assert_eq!(pair.ends[0].by_stream.keys().next(), Some(&2), "the stream is used for the next one");
}

#[test]
fn an_unread_connection_stops_and_does_not_block_the_others() {
    let mut pair = Pair::new(limits());
    let (slow, fast) =
        (pair.ends[0].open(target(), STREAMS).unwrap(), pair.ends[0].open(target(), STREAMS).unwrap());
    let mut sent = [0, 0];
    for _ in 0..1000 {
        for (index, number) in [slow, fast].into_iter().enumerate() {
            let room = pair.ends[0].room(number).unwrap();
            pair.ends[0].write(number, vec![7; room].into());
            sent[index] += room;
        }
        pair.run();
        pair.read(1, fast);
        pair.run();
    }
    assert_eq!(sent[0], INITIAL_WINDOW as usize);
    assert!(sent[1] > 10_000_000, "{}", sent[1]);
    // It continues when it is read.
    assert_eq!(pair.read(1, slow), (INITIAL_WINDOW as usize, Read::Pending));
    pair.run();
    assert_eq!(pair.ends[0].room(slow), Ok(MAX_WRITE));
}

#[test]
fn a_credit_follows_each_sixteenth_of_a_large_window_and_the_rest_comes_when_asked_for() {
    let mut pair = Pair::new(limits());
    let number = pair.ends[0].open(target(), STREAMS).unwrap();
    let mut credits = 0;
    for _ in 0..1000 {
        let room = pair.ends[0].room(number).unwrap();
        pair.ends[0].write(number, vec![7; room].into());
        while pair.send(0) || pair.deliver(0, 0) {}
        pair.read(1, number);
        while pair.send(1) {
            credits += 1;
            pair.deliver(1, 0);
        }
    }
    let (sent, window) =
        (pair.ends[0].counts(number).0, u64::from(pair.ends[1].connections[&number].window.size()));
    assert!(window >= 1 << 20, "{window}");
    assert!(credits < sent / window * 16 + 40, "{credits} credits for {sent} bytes");
    pair.ends[1].queue_credits();
    pair.run();
    // More data is consumed, but no sixteenth of the window in all.
    assert!(DRAINED + 2 * (MAX_DATA as u64) < window / 16);
    pair.ends[0].write(number, vec![7; 2 * MAX_DATA].into());
    pair.run();
    pair.read(1, number);
    assert!(!pair.ends[1].wants_transmit());
    pair.ends[1].queue_credits();
    pair.run();
    let unannounced = |pair: &Pair| pair.ends[1].connections[&number].window.unannounced();
    assert_eq!(unannounced(&pair), 0);
    pair.ends[0].write(number, vec![7; 1000].into());
    pair.run();
    pair.read(1, number);
    pair.ends[1].queue_credits();
    assert!(!pair.ends[1].wants_transmit() && unannounced(&pair) == 1000, "so few bytes wait");
    pair.ends[1].fail(number, End::new(Reason::Reset, ""));
    pair.ends[1].queue_credits();
    assert!(pair.ends[1].credits.is_empty(), "the connection has failed");
}

#[test]
fn windows_grow_within_the_associations_memory_and_release_it() {
    let mut pair = Pair::new(Limits { memory: 1 << 20, ..limits() });
    let numbers: Vec<u32> = (0..40).map(|_| pair.ends[0].open(target(), STREAMS).unwrap()).collect();
    for _ in 0..200 {
        for &number in &numbers {
            let room = pair.ends[0].room(number).unwrap();
            pair.ends[0].write(number, vec![7; room].into());
        }
        pair.run();
        numbers.iter().for_each(|&number| drop(pair.read(1, number)));
        pair.run();
    }
    let grown: u64 =
        pair.ends[1].connections.values().map(|c| u64::from(c.window.size() - INITIAL_WINDOW)).sum();
    assert!(grown == pair.ends[1].grown && (900_000..=1 << 20).contains(&grown), "{grown}");
    for &number in &numbers {
        pair.ends[0].release(number);
        pair.ends[1].release(number);
    }
    pair.run();
    assert_eq!((pair.ends[1].grown, pair.ends[1].len(), pair.ends[0].len()), (0, 0, 0));
}

#[test]
fn windows_of_several_associations_share_a_budget_and_release_it() {
    let window = u64::from(INITIAL_WINDOW);
    let (all, source) = (WindowBudget::new(100 * window), WindowBudget::new(5 * window));
    let budgets = vec![all.clone(), source.clone()];
    let mut pairs = [(); 2].map(|()| {
        let mut pair = Pair::new(limits());
        pair.ends[1] = Mux::new(Role::Server, limits()).with_budgets(budgets.clone());
        pair
    });
    let open = |pair: &mut Pair| {
        let number = pair.ends[0].open(target(), STREAMS).unwrap();
        pair.run();
        number
    };
    let numbers: Vec<u32> = (0..3).map(|_| open(&mut pairs[0])).collect();
    for _ in 0..200 {
        let room = pairs[0].ends[0].room(numbers[0]).unwrap();
        pairs[0].ends[0].write(numbers[0], vec![7; room].into());
        pairs[0].run();
        pairs[0].read(1, numbers[0]);
        pairs[0].run();
    }
    let size = |pair: &Pair| pair.ends[1].connections[&numbers[0]].window.size();
    assert_eq!((size(&pairs[0]), source.left()), (2 * INITIAL_WINDOW, window), "four do not fit");
    // Both ends' connections take windows.
    assert!(pairs[1].ends[1].open(target(), STREAMS).is_some());
    assert!(pairs[1].ends[1].open(target(), STREAMS).is_none());
    let refused = open(&mut pairs[1]);
    let Read::Failed(end) = pairs[1].ends[0].read(refused) else { panic!("refused") };
    assert_eq!(end.to_string(), "the peer's limit is reached: the memory for receive windows");
    pairs[1].ends[0].release(refused);
    pairs[1].run();
    assert_eq!((source.left(), all.left()), (0, 95 * window), "a refused connection holds none");
    let [mut first, second] = pairs;
    drop(second);
    assert_eq!(source.left(), window);
    numbers.iter().for_each(|&number| first.ends.iter_mut().for_each(|mux| mux.release(number)));
    first.run();
    assert_eq!((source.left(), all.left()), (5 * window, 100 * window));
}

#[test]
fn a_failure_drops_the_data_and_gives_the_peer_the_reason() {
    let mut pair = Pair::new(limits());
    let number = pair.ends[0].open(target(), STREAMS).unwrap();
    pair.ends[0].write(number, Bytes::from_static(b"data"));
    pair.run();
    pair.ends[1].fail(number, End::new(Reason::Refused, "10.0.0.1:80"));
    pair.run();
    assert_eq!(pair.read(0, number).1, Read::Failed(End::new(Reason::Refused, "10.0.0.1:80")));
    assert!(pair.ends[0].room(number).is_err());
    for mux in &mut pair.ends {
        mux.release(number);
        assert!(mux.is_empty());
    }
    // After the end of the data, too: the peer must not send for ever to a closed connection.
    let number = pair.ends[0].open(target(), STREAMS).unwrap();
    pair.ends[0].finish(number);
    pair.run();
    pair.ends[1].accept(number);
    pair.ends[1].write(number, vec![1; MAX_DATA].into());
    pair.ends[0].fail(number, End::new(Reason::Reset, ""));
    pair.run();
    assert!(pair.ends[1].room(number).is_err());
    pair.ends.iter_mut().for_each(|mux| mux.release(number));
    assert!(pair.ends.iter().all(|mux| mux.is_empty() && mux.by_stream.is_empty()));
}

#[test]
fn limits_refuse_what_exceeds_them_and_nothing_else() {
    let mut pair = Pair::new(Limits { connections: 3, pending: 2, opens_per_second: 3, ..Limits::default() });
    let open = |pair: &mut Pair| {
        let number = pair.ends[0].open(target(), STREAMS).unwrap();
        pair.run();
        let refused = match pair.ends[0].read(number) {
            Read::Failed(end) => Some(end.to_string()),
            _ => None,
        };
        if refused.is_some() {
            pair.ends[0].release(number);
        }
        (number, refused)
    };
    let (first, second) = (open(&mut pair).0, open(&mut pair).0);
    assert_eq!(open(&mut pair).1.unwrap(), "the peer's limit is reached: 2 connections being opened");
    pair.ends[1].accept(first);
    assert_eq!(open(&mut pair).1, None);
    pair.ends[1].accept(second);
    assert_eq!(open(&mut pair).1.unwrap(), "the peer's limit is reached: 3 connections");
    pair.ends.iter_mut().for_each(|mux| mux.release(first));
    pair.run();
    assert_eq!(pair.ends[1].theirs, 2);
    // Six at once, and three per second.
    let refused = (0..5).filter_map(|_| {
        let (number, refused) = open(&mut pair);
        pair.ends[1].accept(number);
        pair.ends.iter_mut().for_each(|mux| mux.release(number));
        pair.run();
        refused
    });
    assert_eq!(
        refused.collect::<Vec<_>>(),
        ["the peer's limit is reached: 3 connections opened per second"; 2]
    );
    pair.now += Span::from_millis(334);
    assert_eq!(open(&mut pair).1, None);
}

#[test]
fn a_peer_that_breaks_the_protocol_is_found_out() {
    let open = |connection| Open { connection, target: target() }.encode();
    type Sent = (u16, u32, Bytes);
    let cases: [(&[Sent], Violation); 9] = [
        (&[(3, frame::OPEN, open(0))], Violation::Stream(3)),
        (&[(1, frame::OPEN, open(0))], Violation::Stream(1)),
        (&[(2, frame::OPEN, open(1))], Violation::Number(1)),
        (&[(2, frame::OPEN, open(0)), (2, frame::OPEN, open(2))], Violation::Stream(2)),
        (&[(2, frame::OPEN, open(0)), (4, frame::OPEN, open(0))], Violation::Number(0)),
        (&[(2, frame::DATA, Bytes::from_static(b"x"))], Violation::Stream(2)),
        (&[(2, frame::OPEN, open(0)), (2, frame::OPENED, Bytes::from_static(b"\x01"))], Violation::Stream(2)),
        (&[(2, 51, Bytes::from_static(b"x"))], Violation::Unknown(51)),
        (
            &[(2, frame::OPEN, open(0)), (2, frame::DATA, vec![0; INITIAL_WINDOW as usize + 1].into())],
            Violation::Window(2),
        ),
    ];
    for (messages, violation) in cases {
        let mut mux = Mux::new(Role::Server, limits());
        let (last, before) = messages.split_last().unwrap();
        for (stream, ppid, data) in before {
            mux.handle(Time::ZERO, *stream, *ppid, data.clone()).unwrap();
        }
        assert_eq!(mux.handle(Time::ZERO, last.0, last.1, last.2.clone()), Err(violation));
    }
    let mut mux = Mux::new(Role::Server, limits());
    let frame = |mux: &mut Mux, ppid, data| mux.handle(Time::ZERO, 2, ppid, data);
    frame(&mut mux, frame::OPEN, open(0)).unwrap();
    frame(&mut mux, frame::END, End::FINISHED.encode(0)).unwrap();
    for (ppid, data) in [(frame::DATA, Bytes::from_static(b"x")), (frame::END, End::FINISHED.encode(0))] {
        assert_eq!(frame(&mut mux, ppid, data), Err(Violation::Stream(2)));
    }
}

#[test]
fn an_interactive_connection_precedes_bulk_ones_which_take_turns() {
    let mut pair = Pair::new(limits());
    let numbers: Vec<u32> = (0..4).map(|_| pair.ends[0].open(target(), STREAMS).unwrap()).collect();
    let fill = |pair: &mut Pair| {
        for &number in &numbers[1..] {
            let room = pair.ends[0].room(number).unwrap().min(MAX_DATA);
            pair.ends[0].write(number, vec![7; room].into());
        }
    };
    for _ in 0..4 {
        fill(&mut pair);
        pair.run();
        numbers.iter().for_each(|&number| drop(pair.read(1, number)));
    }
    fill(&mut pair);
    pair.ends[0].write(numbers[0], Bytes::from_static(b"key"));
    assert!(pair.ends[0].is_urgent());
    let stream = |number: u32| number as u16 + 2;
    let first = pair.ends[0].poll_transmit().unwrap();
    assert_eq!(
        (first.stream, first.class, first.reclassified),
        (stream(numbers[0]), Class::Interactive, false)
    );
    let next = pair.ends[0].poll_transmit().unwrap();
    assert_eq!((next.stream, next.class), (stream(numbers[1]), Class::Bulk));
    assert!(!pair.ends[0].is_urgent());
    pair.ends[0].put_back(next.clone());
    let order: Vec<_> =
        std::iter::from_fn(|| pair.ends[0].poll_transmit()).map(|frame| frame.stream).collect();
    assert_eq!(order, [1, 2, 3].map(|index: usize| stream(numbers[index])));
    // One that was silent is interactive again when the peer has its data,
    pair.ends[0].idle(numbers[1]);
    assert_eq!(pair.ends[0].connections[&numbers[1]].class(), Class::Bulk);
    let sent = pair.ends[0].counts(numbers[1]).0;
    pair.ends[0].on_credit(Credit { connection: numbers[1], consumed: sent - 1000, window: INITIAL_WINDOW });
    assert_eq!(pair.ends[0].connections[&numbers[1]].class(), Class::Bulk, "the others had less");
    // and the others had as much.
    for _ in 0..4 {
        let room = pair.ends[0].room(numbers[2]).unwrap();
        pair.ends[0].write(numbers[2], vec![7; room].into());
        pair.run();
        pair.read(1, numbers[2]);
        pair.run();
    }
    pair.ends[0].idle(numbers[1]);
    pair.ends[0].write(numbers[1], Bytes::from_static(b"key"));
    let frame = pair.ends[0].poll_transmit().unwrap();
    assert_eq!((frame.stream, frame.class, frame.reclassified), (next.stream, Class::Interactive, true));
}

/// The application of a bulk connection has data again after a pause that ended its class.
#[test]
fn a_connection_may_write_the_room_that_it_had_before_a_pause() {
    let mut pair = Pair::new(limits());
    let [number, other] = [0, 1].map(|_| pair.ends[0].open(target(), STREAMS).unwrap());
    let write = |pair: &mut Pair, number: u32, room: usize| {
        pair.ends[0].write(number, vec![7; room].into());
        pair.run();
        pair.read(1, number);
        pair.run();
    };
    for number in [number, other, other] {
        for _ in 0..20 {
            let room = pair.ends[0].room(number).unwrap();
            write(&mut pair, number, room);
        }
    }
    assert_eq!(pair.ends[0].room(number), Ok(MAX_WRITE));
    pair.ends[1].queue_credits();
    pair.run();
    pair.ends[0].idle(number);
    assert_eq!(pair.ends[0].room(number), Ok(MAX_DATA), "no longer bulk");
    write(&mut pair, number, MAX_WRITE);
}

/// An interactive session sends a screenful beside a thousand downloads, then is idle for a second.
#[test]
fn a_session_is_interactive_again_after_a_second_however_many_bulk_connections_there_are() {
    let mut pair = Pair::new(Limits { connections: 2000, pending: 2000, ..limits() });
    let numbers: Vec<u32> = (0..1_001).map(|_| pair.ends[0].open(target(), 4_000).unwrap()).collect();
    let (session, bulk) = (numbers[0], &numbers[1..]);
    let fill = |pair: &mut Pair| {
        for &number in bulk {
            let room = pair.ends[0].room(number).unwrap();
            pair.ends[0].write(number, vec![7; room].into());
        }
    };
    let carry = |pair: &mut Pair, frames: usize| {
        for _ in 0..frames {
            pair.send(0);
            while pair.deliver(0, 0) {}
        }
        numbers.iter().for_each(|&number| drop(pair.read(1, number)));
        while pair.send(1) || pair.deliver(1, 0) {}
        fill(pair);
    };
    for _ in 0..4 {
        fill(&mut pair);
        carry(&mut pair, 1_001);
    }
    pair.ends[0].idle(session);
    // The last of its 48 KiB waits for its turn, 6.6 s at 20 Mbps.
    for _ in 0..3 {
        while pair.ends[0].room(session).unwrap() == 0 {
            carry(&mut pair, 1_001);
        }
        pair.ends[0].write(session, vec![7; MAX_DATA].into());
    }
    carry(&mut pair, 1_001);
    assert_eq!(pair.ends[0].connections[&session].class(), Class::Bulk);
    pair.ends[0].idle(session);
    let begin = pair.now;
    // 20 Mbps for a second: one frame of every seventh connection.
    carry(&mut pair, 150);
    pair.now = begin + Span::from_secs(1);
    pair.ends[1].consumed(pair.now, bulk[0], 0);
    pair.ends[0].consumed(pair.now, bulk[0], 0);
    pair.ends[0].write(session, vec![7; 2_000].into());
    assert!(pair.ends[0].is_urgent());
    assert_eq!(pair.ends[0].poll_transmit().unwrap().class, Class::Interactive);
}

#[test]
fn a_bulk_connection_writes_several_frames_at_a_time_unless_there_are_many() {
    let mut pair = Pair::new(Limits { pending: 1000, ..limits() });
    let number = pair.ends[0].open(target(), STREAMS).unwrap();
    assert_eq!(pair.ends[0].room(number), Ok(MAX_DATA), "it may be interactive");
    for _ in 0..20 {
        let room = pair.ends[0].room(number).unwrap().min(MAX_DATA);
        pair.ends[0].write(number, vec![7; room].into());
        pair.run();
        pair.read(1, number);
        pair.run();
    }
    for _ in 0..2 {
        assert_eq!(pair.ends[0].room(number), Ok(MAX_WRITE));
        pair.ends[0].write(number, vec![7; MAX_WRITE].into());
    }
    let mut next = || pair.ends[0].poll_transmit().map(|frame| frame.data.len());
    assert_eq!([next(), next(), next()], [Some(MAX_DATA); 3]);
    assert_eq!(pair.ends[0].room(number), Ok(0), "five frames are queued");
    while pair.ends[0].poll_event().is_some() {}
    assert_eq!(pair.ends[0].poll_transmit().map(|frame| frame.data.len()), Some(MAX_DATA));
    assert_eq!(pair.ends[0].poll_event(), Some(Event::Writable(number)), "while four are queued");
    assert_eq!(pair.ends[0].room(number), Ok(MAX_WRITE));
    let mut pair = Pair::new(Limits { pending: 1000, ..limits() });
    let numbers: Vec<u32> = (0..=FEW).map(|_| pair.ends[0].open(target(), 1000).unwrap()).collect();
    for _ in 0..3 {
        pair.ends[0].write(numbers[0], vec![7; MAX_DATA].into());
        pair.run();
    }
    assert_eq!(pair.ends[0].room(numbers[0]), Ok(MAX_DATA));
}

/// Frames are small on a connection whose application writes little at a time, so that it sends more of them.
#[test]
fn connections_share_bytes_and_not_frames() {
    let mut pair = Pair::new(limits());
    let numbers: Vec<u32> = (0..8).map(|_| pair.ends[0].open(target(), STREAMS).unwrap()).collect();
    for _ in 0..8_000 {
        for (place, &number) in numbers.iter().enumerate() {
            let room = pair.ends[0].room(number).unwrap().min(MAX_DATA >> (place / 2));
            if room > 0 {
                pair.ends[0].write(number, vec![7; room].into());
            }
        }
        pair.send(0);
        while pair.deliver(0, 0) {}
        numbers.iter().for_each(|&number| drop(pair.read(1, number)));
        while pair.send(1) || pair.deliver(1, 0) {}
    }
    let sent: Vec<u64> = numbers.iter().map(|&n| pair.ends[0].counts(n).0).collect();
    let mean = sent.iter().sum::<u64>() / 8;
    assert!(sent.iter().all(|share| share * 20 >= mean * 19 && share * 20 <= mean * 21), "{sent:?}");
}

/// The applications write different numbers of bytes at a time.
#[test]
fn five_thousand_connections_share_a_link_within_ten_per_cent() {
    const CONNECTIONS: usize = 5_000;
    let most = Limits { connections: CONNECTIONS, pending: CONNECTIONS, ..limits() };
    let mut pair = Pair::new(most);
    let numbers: Vec<u32> = (0..CONNECTIONS).map(|_| pair.ends[0].open(target(), 16_384).unwrap()).collect();
    let write = |mux: &mut Mux, number: u32| {
        let room = mux.room(number).unwrap().min(MAX_DATA >> (number / 2 % 4));
        if room > 0 {
            mux.write(number, vec![7; room].into());
        }
    };
    numbers.iter().for_each(|&number| write(&mut pair.ends[0], number));
    let mut received = BTreeMap::<u32, u64>::new();
    // Beyond the first bytes of each connection, which precede those of the others, 160 KiB for each.
    let begin = CONNECTIONS as u64 * (64 << 10);
    let (mut sent, mut all) = (0, 0);
    while sent < begin + CONNECTIONS as u64 * (160 << 10) {
        let frame = pair.ends[0].poll_transmit().expect("there is always something to send");
        let (number, len) = (frame.connection, frame.data.len() as u64);
        pair.now += Span::from_micros(400);
        pair.ends[1].handle(pair.now, frame.stream, frame.ppid, frame.data).unwrap();
        if let (Some(number), frame::DATA) = (number, frame.ppid) {
            sent += len;
            if sent > begin {
                *received.entry(number).or_default() += len;
                all += len;
            }
            pair.read(1, number);
            while let Some(credits) = pair.ends[1].poll_transmit() {
                pair.ends[0].handle(pair.now, credits.stream, credits.ppid, credits.data).unwrap();
            }
            write(&mut pair.ends[0], number);
        }
        pair.take_events();
    }
    let mean = all / CONNECTIONS as u64;
    let (least, most) = (received.values().min().unwrap(), received.values().max().unwrap());
    assert_eq!(received.len(), CONNECTIONS);
    assert!(least * 10 >= mean * 9 && most * 10 <= mean * 11, "of {mean} bytes: {least} to {most}");
}

/// A busy machine runs applications late: a connection has nothing to send for a moment, then continues.
#[test]
fn connections_that_pause_for_a_moment_get_no_more_than_those_that_never_do() {
    let mut pair = Pair::new(limits());
    let numbers: Vec<u32> = (0..8).map(|_| pair.ends[0].open(target(), STREAMS).unwrap()).collect();
    let (late, busy) = numbers.split_at(6);
    for _ in 0..4_000 {
        for &number in &numbers {
            let room = pair.ends[0].room(number).unwrap();
            if room > 0 {
                pair.ends[0].write(number, vec![7; room].into());
            }
        }
        // The link carries a frame, and the credits of what its application took.
        pair.send(0);
        while pair.deliver(0, 0) {}
        for &number in &numbers {
            pair.read(1, number);
        }
        while pair.send(1) || pair.deliver(1, 0) {}
        late.iter().for_each(|&number| pair.ends[0].idle(number));
    }
    let sent = |numbers: &[u32]| numbers.iter().map(|&n| pair.ends[0].counts(n).0).collect::<Vec<_>>();
    let (late, busy) = (sent(late), sent(busy));
    let mean = (late.iter().sum::<u64>() + busy.iter().sum::<u64>()) / 8;
    for share in late.iter().chain(&busy) {
        assert!(share * 10 >= mean * 9 && share * 10 <= mean * 11, "late {late:?}, busy {busy:?}");
    }
}

/// An operation at one end on one of the known connections, given by index.
#[derive(Clone, Copy, Debug)]
enum Op {
    Open(usize),
    Accept(usize),
    Write(usize, usize, usize),
    Finish(usize, usize),
    Read(usize, usize),
    Fail(usize, usize),
    Release(usize, usize),
    Send(usize),
    PutBack(usize),
    Deliver(usize, usize),
}

fn op() -> impl Strategy<Value = Op> {
    let (end, place) = (0..2_usize, 0..1000_usize);
    prop_oneof![
        1 => end.clone().prop_map(Op::Open),
        2 => place.clone().prop_map(Op::Accept),
        5 => (end.clone(), place.clone(), 1..MAX_WRITE).prop_map(|(end, place, len)| Op::Write(end, place, len)),
        1 => (end.clone(), place.clone()).prop_map(|(end, place)| Op::Finish(end, place)),
        4 => (end.clone(), place.clone()).prop_map(|(end, place)| Op::Read(end, place)),
        1 => (end.clone(), place.clone()).prop_map(|(end, place)| Op::Fail(end, place)),
        1 => (end.clone(), place.clone()).prop_map(|(end, place)| Op::Release(end, place)),
        9 => end.clone().prop_map(Op::Send),
        1 => end.clone().prop_map(Op::PutBack),
        9 => (end, place).prop_map(|(end, place)| Op::Deliver(end, place)),
    ]
}

/// Returns the byte at an offset of a connection's direction.
fn byte(from: usize, number: u32, at: u64) -> u8 {
    (at * 31 + u64::from(number) * 7 + from as u64 * 101) as u8
}

proptest! {
    #[test]
    fn whatever_the_applications_do_bytes_arrive_in_order_and_all_streams_come_back(
        ops in prop::collection::vec(op(), 1..400)
    ) {
        let mut pair = Pair::new(Limits { connections: 20, pending: 10, ..limits() });
        let mut known: Vec<u32> = Vec::new();
        let mut read = BTreeMap::<(usize, u32), u64>::new();
        for op in ops {
            let at = |place: usize| known.get(place % known.len().max(1)).copied().unwrap_or(0);
            match op {
                Op::Open(end) => known.extend(pair.ends[end].open(target(), STREAMS)),
                Op::Accept(place) => {
                    if let Some(&(end, number)) = pair.opened.get(place % pair.opened.len().max(1)) {
                        pair.ends[end].accept(number);
                    }
                }
                Op::Write(end, place, len) => {
                    let number = at(place);
                    let sent = pair.ends[end].counts(number).0;
                    let len = pair.ends[end].room(number).unwrap_or(0).min(len) as u64;
                    let data: Vec<u8> = (sent..sent + len).map(|at| byte(end, number, at)).collect();
                    pair.ends[end].write(number, data.into());
                }
                Op::Finish(end, place) => pair.ends[end].finish(at(place)),
                Op::Read(end, place) => {
                    let number = at(place);
                    if let Read::Data(data) = pair.ends[end].read(number) {
                        let begin = read.entry((end, number)).or_default();
                        for &is in &data {
                            prop_assert_eq!(is, byte(1 - end, number, *begin));
                            *begin += 1;
                        }
                        pair.ends[end].consumed(pair.now, number, data.len());
                    }
                }
                Op::Fail(end, place) => pair.ends[end].fail(at(place), End::new(Reason::Reset, "x")),
                Op::Release(end, place) => pair.ends[end].release(at(place)),
                Op::Send(end) => drop(pair.send(end)),
                Op::PutBack(end) => {
                    if let Some(frame) = pair.ends[end].poll_transmit() {
                        if frame.class == Class::Bulk && frame.ppid == frame::DATA {
                            pair.ends[end].put_back(frame);
                        } else {
                            pair.flight[end].entry(frame.stream).or_default().push_back(frame);
                        }
                    }
                }
                Op::Deliver(end, place) => drop(pair.deliver(end, place)),
            }
            pair.take_events();
        }
        for number in known {
            pair.ends.iter_mut().for_each(|mux| mux.release(number));
        }
        pair.run();
        // Connections whose request arrived after that.
        for (end, number) in std::mem::take(&mut pair.opened) {
            pair.ends[end].release(number);
        }
        pair.run();
        for mux in &pair.ends {
            prop_assert!(mux.is_empty() && mux.by_stream.is_empty() && mux.credits.is_empty(), "{mux:?}");
            prop_assert_eq!((mux.theirs, mux.pending, mux.grown), (0, 0, 0));
        }
    }

    #[test]
    fn no_message_makes_it_panic(
        messages in prop::collection::vec((0..6_u16, 0..6_u8, prop::collection::vec(any::<u8>(), 0..40)), 0..40)
    ) {
        let mut mux = Mux::new(Role::Server, limits());
        for (stream, kind, data) in messages {
            let ppid = frame::kind(b"OADEC?"[usize::from(kind)]);
            let _ = mux.handle(Time::ZERO, stream, ppid, data.into());
            while let Some(event) = mux.poll_event() {
                if let Event::Open(number, _) = event {
                    mux.accept(number);
                }
            }
            while mux.poll_transmit().is_some() {}
        }
    }
}
