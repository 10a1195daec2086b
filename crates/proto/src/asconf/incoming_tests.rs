//! RFC 5061 §5.2 and §5.3 from the answering end.

use core::net::{Ipv4Addr, Ipv6Addr};

use msctp_wire::{CauseCode, Chunk};

use super::*;
use crate::path::pairing::can_pair;

const TSN: u32 = 0;
const ANY4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const ANY6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

fn address(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, n))
}

fn request(id: u32, address: IpAddr) -> AddressRequest {
    AddressRequest { correlation_id: CorrelationId::new(id), address }
}

fn add(id: u32, address: IpAddr) -> Param<'static> {
    Param::AddIpAddress(request(id, address))
}

fn delete(id: u32, address: IpAddr) -> Param<'static> {
    Param::DeleteIpAddress(request(id, address))
}

fn set_primary(id: u32, address: IpAddr) -> Param<'static> {
    Param::SetPrimaryAddress(request(id, address))
}

/// An answering end. Packets come from address 1 by default.
struct Answerer {
    asconf_in: AsconfIn,
    addresses: Vec<IpAddr>,
    source: IpAddr,
    locals: Vec<IpAddr>,
    /// Addresses of this host, where the peer is not.
    own: Vec<IpAddr>,
    max_paths: usize,
    max_ack: usize,
}

/// The response to each request: its correlation id, and the cause if it failed.
type Responses = Vec<(u32, Option<CauseCode>)>;

impl Answerer {
    fn new(addresses: &[u8]) -> Self {
        let addresses = addresses.iter().map(|n| address(*n)).collect();
        Self {
            asconf_in: AsconfIn::new(Tsn::new(TSN)),
            addresses,
            source: address(1),
            locals: vec![address(200)],
            own: vec![],
            max_paths: 10,
            max_ack: 1200,
        }
    }

    /// Handles one ASCONF in the packet that is being processed.
    fn bundle(&mut self, serial: u32, requests: Params<'_>) -> Reception {
        let asconf = Asconf { serial: AsconfSerial::new(serial), address: address(1), requests };
        let received = Received {
            source: self.source,
            protected: false,
            addresses: &self.addresses.clone(),
            paths_to: &|theirs| {
                let reaching = self.locals.iter().filter(|ours| can_pair(ours, theirs));
                (!self.own.contains(theirs)).then(|| reaching.count())
            },
            max_paths: self.max_paths,
            max_ack: self.max_ack,
        };
        let reception = self.asconf_in.handle(&asconf, &received);
        if let Reception::Processed(effects) = &reception {
            for effect in effects {
                match *effect {
                    Effect::AddRemote(address) => self.addresses.push(address),
                    Effect::RemoveRemote(address) => self.addresses.retain(|known| *known != address),
                    Effect::SetPrimary(_) => {}
                }
            }
        }
        reception
    }

    /// Handles one ASCONF in its own packet.
    fn receive(&mut self, serial: u32, requests: &[Param<'_>]) -> Reception {
        self.asconf_in.begin_packet();
        self.bundle(serial, Params::from(requests))
    }

    fn answers(&self) -> Vec<(u32, Responses)> {
        let read = |chunk: UnknownChunk<'_>| {
            let mut bytes = Vec::new();
            chunk.encode(&mut bytes);
            let Ok(Chunk::AsconfAck(ack)) = Chunk::parse(&bytes) else {
                panic!("not an ASCONF-ACK: {bytes:?}")
            };
            let responses = ack.responses.iter().map(|response| match response.unwrap() {
                Param::SuccessIndication(id) => (id.get(), None),
                Param::ErrorCauseIndication(error) => {
                    (error.correlation_id.get(), Some(error.causes.iter().next().unwrap().unwrap().typ()))
                }
                other => panic!("not a response: {other:?}"),
            });
            (ack.serial.get(), responses.collect())
        };
        self.asconf_in.answers().map(read).collect()
    }

    /// Returns effects and responses of one ASCONF in its own packet.
    fn process(&mut self, serial: u32, requests: &[Param<'_>]) -> (Vec<Effect>, Responses) {
        let Reception::Processed(effects) = self.receive(serial, requests) else { panic!("not processed") };
        let mut answers = self.answers();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].0, serial);
        (effects.to_vec(), answers.remove(0).1)
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
//= type=test
//# MUST be acknowledged
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# The TLVs MUST be processed in order within the Chunk.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# the first TLV (the one closest to the Chunk Header) in the Chunk MUST be processed first
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# The next TLV in the chunk (the middle one) MUST be processed second and finally, the last TLV in the Chunk
//# MUST be processed last.
#[test]
fn the_next_one_is_processed_and_silence_means_success() {
    // E4, §4.1.2
    let mut end = Answerer::new(&[1]);
    let requests = [add(7, address(2)), set_primary(8, address(2)), delete(9, address(2))];
    let effects =
        vec![Effect::AddRemote(address(2)), Effect::SetPrimary(address(2)), Effect::RemoveRemote(address(2))];
    assert_eq!(end.process(TSN, &requests), (effects, vec![]), "V1: in order");
    let chunk = end.asconf_in.answers().next().unwrap();
    let mut bytes = Vec::new();
    chunk.encode(&mut bytes);
    assert_eq!(bytes, [0x80, 0, 0, 8, 0, 0, 0, 0]);
}

#[test]
fn a_repetition_gets_the_same_answer_and_changes_nothing() {
    // E2
    let mut end = Answerer::new(&[1]);
    let requests = [delete(5, address(1))];
    let (effects, answer) = end.process(TSN, &requests);
    assert_eq!((effects, &answer[..]), (vec![], &[(5, Some(CauseCode::DELETE_LAST_ADDRESS))][..]));
    end.addresses.push(address(2));
    end.source = address(2);
    assert_eq!(end.receive(TSN, &requests), Reception::Repeated, "though it would be possible now");
    assert_eq!(end.answers(), [(TSN, answer)]);
}

#[test]
fn old_and_future_ones_are_dropped() {
    // E2 without a cached answer, E5
    let mut end = Answerer::new(&[1]);
    assert_eq!(end.receive(TSN + 1, &[add(1, address(2))]), Reception::Dropped);
    assert_eq!(end.receive(TSN.wrapping_sub(1), &[]), Reception::Dropped);
    end.process(TSN, &[]);
    end.process(TSN + 1, &[]);
    assert_eq!(end.receive(TSN, &[]), Reception::Dropped, "E1: the one after it cleaned the cache");
    assert_eq!(end.answers(), []);
    assert_eq!(end.addresses, [address(1)]);
}

#[test]
fn serial_numbers_wrap() {
    // §3
    let mut end = Answerer::new(&[1]);
    end.asconf_in = AsconfIn::new(Tsn::new(u32::MAX));
    end.process(u32::MAX, &[]);
    end.process(0, &[]);
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
//= type=test
//# If bundled with other ASCONF-ACK Chunks, the chunks MUST appear in sequential order with respect to
//# their Sequence Number.
#[test]
fn bundled_ones_are_answered_together_and_their_answers_kept() {
    // E1-ext, E6, C3, §5.5
    let mut end = Answerer::new(&[1]);
    end.process(TSN, &[]);
    end.asconf_in.begin_packet();
    assert_eq!(end.bundle(TSN, Params::EMPTY), Reception::Repeated);
    assert!(matches!(end.bundle(TSN + 1, Params::EMPTY), Reception::Processed(_)));
    assert!(matches!(end.bundle(TSN + 2, Params::EMPTY), Reception::Processed(_)));
    let serials: Vec<_> = end.answers().iter().map(|answer| answer.0).collect();
    assert_eq!(serials, [TSN, TSN + 1, TSN + 2]);
    assert!(end.asconf_in.has_answers());
    end.asconf_in.begin_packet();
    for serial in [TSN + 2, TSN, TSN + 1] {
        assert_eq!(end.bundle(serial, Params::EMPTY), Reception::Repeated);
    }
    let serials: Vec<_> = end.answers().iter().map(|answer| answer.0).collect();
    assert_eq!(serials, [TSN, TSN + 1, TSN + 2], "in whatever order they were asked for");
    end.asconf_in.begin_packet();
    assert!(!end.asconf_in.has_answers());
    assert_eq!(end.bundle(TSN + 1, Params::EMPTY), Reception::Repeated, "in case the reply was lost");
}

#[test]
fn the_cache_is_bounded() {
    let mut end = Answerer::new(&[1]);
    end.asconf_in.begin_packet();
    for n in 0..100 {
        end.bundle(TSN + n, Params::EMPTY);
    }
    assert_eq!(end.answers().len(), MAX_CACHED);
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
//= type=test
//# If the address 0.0.0.0 or ::0 is provided, the source address of the packet MUST be added.
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.2
//= type=test
//# If the address 0.0.0.0 or ::0 is provided, all addresses of the peer except the source address of the
//# packet MUST be deleted.
#[test]
fn wildcards_mean_the_source_of_the_packet() {
    // §4.2.1, §4.2.2, §4.2.4
    let mut end = Answerer::new(&[2, 3]);
    end.source = address(1);
    for (serial, any) in [(TSN, ANY4), (TSN + 1, ANY6)] {
        end.addresses = vec![address(2), address(3)];
        let (effects, answer) = end.process(serial, &[add(1, any), set_primary(2, any), delete(3, any)]);
        let expected = [
            Effect::AddRemote(address(1)),
            Effect::SetPrimary(address(1)),
            Effect::RemoveRemote(address(2)),
            Effect::RemoveRemote(address(3)),
        ];
        assert_eq!((&effects[..], answer), (&expected[..], vec![]));
    }
    end.addresses = vec![address(2), address(3)];
    let (effects, answer) = end.process(TSN + 2, &[delete(1, ANY4)]);
    assert_eq!(
        (effects, answer),
        (vec![], vec![(1, Some(CauseCode::DELETE_LAST_ADDRESS))]),
        "none would remain"
    );
}

#[test]
fn adding_a_known_and_deleting_an_unknown_address_succeed() {
    let mut end = Answerer::new(&[1, 2]);
    assert_eq!(end.process(TSN, &[add(1, address(2)), delete(2, address(9))]), (vec![], vec![]));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# the receiver MUST send an Error Cause TLV with the Error Cause set to the new error code 'Request to
//# Delete Last Remaining IP Address'
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# The requested delete MUST NOT be performed or acted upon, other than to send the ASCONF- ACK.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# the receiver MUST reject this request
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# the receiver MUST send an Error Cause TLV set to the new error code 'Request to Delete Source IP Address'
#[test]
fn neither_the_last_nor_the_source_address_is_deleted() {
    // F7, F8
    let mut end = Answerer::new(&[1]);
    assert_eq!(end.process(TSN, &[delete(1, address(1))]).1, [(1, Some(CauseCode::DELETE_LAST_ADDRESS))]);
    end.source = address(9);
    assert_eq!(end.process(TSN + 1, &[delete(1, address(1))]).1, [(1, Some(CauseCode::DELETE_LAST_ADDRESS))]);
    end.source = address(1);
    end.addresses.push(address(2));
    assert_eq!(
        end.process(TSN + 2, &[delete(1, address(1))]).1,
        [(1, Some(CauseCode::DELETE_SOURCE_ADDRESS))]
    );
    assert_eq!(end.addresses, [address(1), address(2)]);
}

#[test]
fn a_sole_address_can_be_changed_from_the_new_one() {
    // §5.3.2
    let mut end = Answerer::new(&[1]);
    end.source = address(2);
    let (effects, answer) = end.process(TSN, &[add(1, address(2)), delete(2, address(1))]);
    assert_eq!(effects, [Effect::AddRemote(address(2)), Effect::RemoveRemote(address(1))]);
    assert_eq!(answer, []);
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
//= type=test
//# Note that the receiver MUST NOT change this 32-bit value.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# All responses MUST copy the ASCONF-Request Correlation ID field received in the ASCONF parameter from the
//# TLV being responded to
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# it MUST return an Error Cause TLV set to the new error code 'Operation Refused Due to Resource Shortage'
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# an 'Out of Resource' in its response, it MUST also fail any subsequent add or delete requests bundled in
//# the ASCONF.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# The receiver MUST NOT reject an ADD and then accept a subsequent DELETE of an IP address in the same
//# ASCONF Chunk.
#[test]
fn without_room_adds_fail_and_so_do_adds_and_deletes_after_them() {
    // F9, F11
    let mut end = Answerer::new(&[1, 2]);
    end.max_paths = 3;
    let requests = [
        add(1, address(3)),
        add(2, address(4)),
        delete(3, address(2)),
        set_primary(4, address(2)),
        add(5, address(3)),
    ];
    let (effects, answer) = end.process(TSN, &requests);
    assert_eq!(effects, [Effect::AddRemote(address(3)), Effect::SetPrimary(address(2))]);
    let shortage = Some(CauseCode::RESOURCE_SHORTAGE);
    assert_eq!(
        answer,
        [(2, shortage), (3, shortage), (4, None), (5, shortage)],
        "after a failure success is told (A7)"
    );
    let (effects, answer) = end.process(TSN + 1, &[delete(1, address(2)), add(2, address(4))]);
    assert_eq!(
        effects,
        [Effect::RemoveRemote(address(2)), Effect::AddRemote(address(4))],
        "a deletion makes room"
    );
    assert_eq!(answer, []);
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
//= type=test
//# This parameter MUST NOT contain a broadcast or multicast address.
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.4
//= type=test
//# Note that the receiver MUST NOT change this 32-bit value.
#[test]
fn no_multicast_no_broadcast_and_no_unknown_primary() {
    // §4.2.1, §5.4
    let mut end = Answerer::new(&[1]);
    let unresolvable = Some(CauseCode::UNRESOLVABLE_ADDRESS);
    for (n, bad) in ["224.0.0.1", "255.255.255.255", "ff02::1"].into_iter().enumerate() {
        let answer = end.process(TSN + n as u32, &[add(1, bad.parse().unwrap())]);
        assert_eq!(answer, (vec![], vec![(1, unresolvable)]));
    }
    assert_eq!(end.process(TSN + 3, &[set_primary(4, address(9))]), (vec![], vec![(4, unresolvable)]));
}

/// Handles an ASCONF parameter given as bytes, which the caller has padded.
fn raw(end: &mut Answerer, serial: u32, parameters: &[u8]) -> (Vec<Effect>, Responses) {
    end.asconf_in.begin_packet();
    let Reception::Processed(effects) = end.bundle(serial, Params::from_wire(parameters)) else {
        panic!("dropped")
    };
    (effects.to_vec(), end.answers().remove(0).1)
}

#[test]
fn unknown_parameters_are_treated_as_their_highest_bits_say() {
    // V2, RFC 9260 §3.2.1
    let add_2 = [0xc0, 1, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 10, 0, 0, 2];
    let unrecognized = Some(CauseCode::UNRECOGNIZED_PARAMETERS);
    let done = vec![Effect::AddRemote(address(2))];
    let with = |typ: u8| [&[typ, 0xff, 0, 8, 0, 0, 0, 77][..], &add_2].concat();
    for (typ, effects, answer) in [
        (0x00, vec![], vec![]),
        (0x40, vec![], vec![(77, unrecognized)]),
        (0x80, done.clone(), vec![]),
        (0xc0, done, vec![(77, unrecognized), (9, None)]),
    ] {
        assert_eq!(raw(&mut Answerer::new(&[1]), TSN, &with(typ)), (effects, answer), "{typ:#x}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2
//= type=test
//# If the receiver chooses NOT to abort, the parameter MUST be ignored.
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.6
//= type=test
//# if it is received in another chunk, it MUST be ignored
#[test]
fn parameters_that_do_not_belong_here_are_ignored_and_malformed_requests_refused() {
    // §4.2
    let mut end = Answerer::new(&[1]);
    let success = [0xc0, 5, 0, 8, 0, 0, 0, 1];
    assert_eq!(raw(&mut end, TSN, &success), (vec![], vec![]));
    let adaptation = [0xc0, 6, 0, 8, 0, 0, 0, 1];
    let mut other = Answerer::new(&[1]);
    assert_eq!(raw(&mut other, TSN, &adaptation), (vec![], vec![]), "Adaptation Layer Indication");
    let no_address = [0xc0, 1, 0, 14, 0, 0, 0, 3, 0, 12, 0, 6, 0, 5, 0, 0];
    assert_eq!(
        raw(&mut end, TSN + 1, &no_address),
        (vec![], vec![(3, Some(CauseCode::UNRESOLVABLE_ADDRESS))])
    );
    let no_id = [0xc0, 2, 0, 4];
    assert_eq!(raw(&mut end, TSN + 2, &no_id), (vec![], vec![(0, Some(CauseCode::UNRESOLVABLE_ADDRESS))]));
    let cut = [0xc0, 1, 0, 99, 0, 0, 0, 3];
    assert_eq!(raw(&mut end, TSN + 3, &cut), (vec![], vec![]));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
//= type=test
//# Note: The host name address MUST NOT be sent and MUST be ignored if received in any ASCONF message.
#[test]
fn a_request_with_a_host_name_is_ignored_and_the_next_one_done() {
    let host_name = [0xc0, 1, 0, 16, 0, 0, 0, 3, 0, 11, 0, 8, b'a', b'.', b'b', 0];
    let add_2 = [0xc0, 1, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 10, 0, 0, 2];
    let both = [host_name, add_2].concat();
    assert_eq!(raw(&mut Answerer::new(&[1]), TSN, &both), (vec![Effect::AddRemote(address(2))], vec![]));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.2
//= type=test
//# Note that the receiver MUST NOT change this 32-bit value.
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.3
//= type=test
//# Note that the receiver MUST NOT change this 32-bit value.
#[test]
fn an_error_quotes_the_request() {
    // §4.3.1, the example there
    let mut end = Answerer::new(&[1]);
    end.process(TSN, &[delete(0x0102_3476, address(1))]);
    let mut bytes = Vec::new();
    end.asconf_in.answers().next().unwrap().encode(&mut bytes);
    let expected = [
        0x80, 0, 0, 36, 0, 0, 0, 0, // ASCONF-ACK
        0xc0, 0x03, 0, 28, 0x01, 0x02, 0x34, 0x76, // Error Cause Indication
        0, 0xa0, 0, 20, // Request to Delete Last Remaining IP Address
        0xc0, 0x02, 0, 16, 0x01, 0x02, 0x34, 0x76, 0, 5, 0, 8, 10, 0, 0, 1,
    ];
    assert_eq!(bytes, expected);
}

#[test]
fn a_request_without_room_for_its_answer_is_not_applied() {
    // C5, A7: unmentioned after a failure counts as failed
    let mut end = Answerer::new(&[1]);
    end.max_ack = 8 + 28 + 30;
    let requests =
        [set_primary(1, address(8)), set_primary(2, address(9)), add(3, address(2)), add(4, address(3))];
    let (effects, answer) = end.process(TSN, &requests);
    assert_eq!(
        answer,
        [(1, Some(CauseCode::UNRESOLVABLE_ADDRESS)), (2, Some(CauseCode::UNRESOLVABLE_ADDRESS))]
    );
    assert_eq!(effects, []);
    // a first parameter too large to be quoted
    let mut large = vec![0xff, 0xff, 4, 0, 0, 0, 0, 42];
    large.resize(1024, 0);
    large.extend([0xc0, 1, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 10, 0, 0, 2]);
    assert_eq!(raw(&mut end, TSN + 1, &large), (vec![], vec![(42, Some(CauseCode::OUT_OF_RESOURCE))]));
    let chunk_len = |end: &Answerer| end.asconf_in.answers().map(|chunk| chunk.encoded_len()).max();
    assert!(chunk_len(&end) <= Some(end.max_ack));
}

#[test]
fn the_last_address_that_can_be_reached_is_not_deleted() {
    // F7: what would be left is of no use
    let v6: IpAddr = "2001:db8::7".parse().unwrap();
    let mut end = Answerer::new(&[2]);
    end.addresses.push(v6);
    let last = Some(CauseCode::DELETE_LAST_ADDRESS);
    assert_eq!(end.process(TSN, &[delete(1, address(2))]), (vec![], vec![(1, last)]));
    assert_eq!(end.process(TSN + 1, &[delete(1, v6)]).1, []);
    let mut end = Answerer::new(&[2]);
    end.addresses.push(v6);
    end.locals.push("2001:db8::1".parse().unwrap());
    assert_eq!(end.process(TSN, &[delete(1, address(2))]).1, []);
}

#[test]
fn an_address_of_this_host_is_not_added_and_the_others_are_not_deleted_for_it() {
    // F7, F11
    let mut end = Answerer::new(&[1]);
    end.own = vec![address(2)];
    end.source = address(2);
    let (useless, short) = (Some(CauseCode::UNRESOLVABLE_ADDRESS), Some(CauseCode::RESOURCE_SHORTAGE));
    let moved = [add(1, address(2)), delete(2, address(1))];
    assert_eq!(end.process(TSN, &moved), (vec![], vec![(1, useless), (2, short)]));
    // The peer has it since the set-up.
    end.addresses.push(address(2));
    let last = Some(CauseCode::DELETE_LAST_ADDRESS);
    assert_eq!(end.process(TSN + 1, &moved), (vec![], vec![(2, last)]));
    assert_eq!(end.process(TSN + 2, &[delete(3, ANY4)]), (vec![], vec![(3, last)]));
    end.source = address(1);
    assert_eq!(end.process(TSN + 3, &[delete(3, ANY4)]), (vec![Effect::RemoveRemote(address(2))], vec![]));
}

#[test]
fn an_asconf_changes_at_most_as_much_as_replaces_all_addresses() {
    let mut end = Answerer::new(&[1, 2]);
    end.max_ack = 100_000;
    let pairs = (0..1000).flat_map(|id| [add(2 * id, address(3)), delete(2 * id + 1, address(3))]);
    let (effects, answer) = end.process(TSN, &pairs.collect::<Vec<_>>());
    assert_eq!(effects.len(), MAX_CHANGES);
    let changes = u32::try_from(MAX_CHANGES).unwrap();
    assert_eq!(answer[0], (changes, Some(CauseCode::RESOURCE_SHORTAGE)));
}
