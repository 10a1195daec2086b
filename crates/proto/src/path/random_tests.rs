//! Random operations on a set of paths, with the invariants after each of them.

use msctp_units::{Span, Time};
use proptest::prelude::*;

use super::testing::{local, pairs, remote};
use crate::path::FailoverConfig;

use super::{Path, PathEvent, PathId, PathState, Paths, PathsConfig, SourceUse};

#[derive(Clone, Debug)]
enum Op {
    AddLocal(u8, SourceUse),
    RemoveLocal(u8),
    AddRemote(u8),
    RemoveRemote(u8),
    Source(u8, SourceUse),
    Link(u8, bool),
    /// Confirms the path at this index of the list.
    Confirm(usize),
    SetPrimary(usize),
    Timeout(usize),
    Acknowledged(usize),
    RequestHeartbeat(usize),
    Probe(usize, bool),
    WantPrimary(u8),
    /// Fires this many timers. Heartbeats and probes are answered after this many ms; never with `None`.
    Run(u8, Option<u64>),
}

fn op() -> impl Strategy<Value = Op> {
    let source =
        || prop_oneof![Just(SourceUse::Full), Just(SourceUse::AsconfOnly), Just(SourceUse::ReceiveOnly)];
    let at = any::<usize>;
    prop_oneof![
        2 => (0u8..4, source()).prop_map(|(n, source)| Op::AddLocal(n, source)),
        1 => (0u8..4).prop_map(Op::RemoveLocal),
        2 => (0u8..4).prop_map(Op::AddRemote),
        1 => (0u8..4).prop_map(Op::RemoveRemote),
        2 => (0u8..4, source()).prop_map(|(n, source)| Op::Source(n, source)),
        2 => (0u8..4, any::<bool>()).prop_map(|(n, up)| Op::Link(n, up)),
        2 => at().prop_map(Op::Confirm),
        2 => at().prop_map(Op::SetPrimary),
        4 => at().prop_map(Op::Timeout),
        2 => at().prop_map(Op::Acknowledged),
        1 => at().prop_map(Op::RequestHeartbeat),
        1 => (at(), any::<bool>()).prop_map(|(at, on)| Op::Probe(at, on)),
        1 => (0u8..4).prop_map(Op::WantPrimary),
        4 => (1u8..12, prop::option::of(1u64..3000)).prop_map(|(timers, answer)| Op::Run(timers, answer)),
    ]
}

fn failover() -> impl Strategy<Value = FailoverConfig> {
    let threshold = || prop::option::of(0u32..8);
    (threshold(), threshold()).prop_map(|(potentially_failed_threshold, primary_switchover_threshold)| {
        FailoverConfig { potentially_failed_threshold, primary_switchover_threshold, silence: None }
    })
}

/// A set of paths, the time, and the data path according to its events.
struct Model {
    paths: Paths,
    now: Time,
    told: Option<PathId>,
}

impl Model {
    fn new(failover: FailoverConfig) -> Self {
        let mut paths = Paths::new(PathsConfig { failover, ..PathsConfig::default() }, [3; 32]);
        paths.start_heartbeats(Time::ZERO);
        Self { paths, now: Time::ZERO, told: None }
    }

    /// Returns the id of the path at an index. If the list is empty, returns an id without a path.
    fn path(&self, at: usize) -> PathId {
        self.paths.iter().nth(at % self.paths.len().max(1)).map_or(PathId::new(u32::MAX), Path::id)
    }

    fn apply(&mut self, op: &Op) {
        let now = self.now;
        match *op {
            Op::AddLocal(n, source) => drop(self.paths.add_local(local(n), source, now)),
            Op::AddRemote(n) => drop(self.paths.add_remote(remote(n), now)),
            Op::RemoveLocal(n) => {
                let removed = self.paths.remove_local(&local(n));
                assert!(removed.iter().all(|path| path.addr.local == local(n)));
                assert!(self.paths.iter().all(|path| path.addr.local != local(n)));
            }
            Op::RemoveRemote(n) => {
                let removed = self.paths.remove_remote(&remote(n));
                assert!(removed.iter().all(|path| path.addr.remote == remote(n)));
                assert!(self.paths.iter().all(|path| path.addr.remote != remote(n)));
            }
            Op::Source(n, source) => self.paths.set_source_use(&local(n), source, now),
            Op::Link(n, up) => self.paths.set_link(&local(n), up, now),
            Op::Confirm(at) => self.paths.confirm(self.path(at), now),
            Op::SetPrimary(at) => {
                let path = self.path(at);
                let confirmed = self.paths.get(path).is_some_and(Path::is_confirmed);
                assert_eq!(self.paths.set_primary(path).is_ok(), confirmed);
            }
            Op::Timeout(at) => self.paths.on_timeout(self.path(at)),
            Op::Acknowledged(at) => self.paths.on_acknowledged(self.path(at)),
            Op::RequestHeartbeat(at) => self.paths.request_heartbeat(self.path(at)),
            Op::Probe(at, true) => drop(self.paths.start_probing(self.path(at), pairs())),
            Op::Probe(at, false) => self.paths.stop_probing(self.path(at)),
            Op::WantPrimary(n) => {
                self.paths.want_primary(&remote(n));
                if let Some(path) = self.paths.take_wanted_primary() {
                    self.paths.set_primary(path).expect("it is confirmed");
                }
            }
            Op::Run(timers, answer) => self.run(timers, answer),
        }
        self.drain(None);
        self.check();
    }

    fn run(&mut self, timers: u8, answer: Option<u64>) {
        for _ in 0..timers {
            let Some(next) = self.paths.next_timeout() else { return };
            self.now = self.now.max(next);
            self.paths.handle_timeout(self.now);
            self.drain(answer);
            let next = self.paths.next_timeout();
            assert!(
                next.is_none_or(|next| next > self.now),
                "nothing is left to do at {}: {next:?}",
                self.now
            );
        }
    }

    /// Takes all heartbeats and probes, and answers them if requested.
    fn drain(&mut self, answer: Option<u64>) {
        let mut infos = Vec::new();
        while let Some(request) = self.paths.poll_heartbeat(self.now) {
            let path = self.paths.get(request.path).expect("a heartbeat on a path that exists");
            assert!(path.link_up && path.source == SourceUse::Full);
            infos.push(request.info);
            assert!(infos.len() <= self.paths.len(), "one heartbeat per path and time");
        }
        while let Some(request) = self.paths.poll_probe(self.now) {
            assert!(self.paths.get(request.path).expect("a probe on a path that exists").is_usable());
            infos.push(request.info);
        }
        if let Some(after) = answer {
            self.now += Span::from_millis(after);
            for info in infos {
                self.paths.on_heartbeat_ack(&info, self.now);
            }
        }
        if answer.is_some() {
            self.paths.handle_timeout(self.now);
            self.drain(None);
        }
    }

    fn check(&mut self) {
        while let Some(event) = self.paths.poll_event() {
            if let PathEvent::PrimarySwitchover { to } = event {
                // Another path may have failed since.
                assert!(self.paths.get(to).is_none_or(Path::is_confirmed), "RFC 9260 §5.4");
                let _ = self.paths.set_primary(to);
            }
            if let PathEvent::DataPathChanged { from, to } = event {
                assert_eq!(from, self.told);
                self.told = to;
            }
        }
        let paths = &self.paths;
        assert_eq!(paths.data_path(), self.told, "every change is told");
        let ids: Vec<_> = paths.iter().map(Path::id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().all(|id| paths.get(*id).is_some_and(|path| path.id == *id)));
        assert_eq!(paths.primary().is_some(), paths.len() > 0);
        let primary = paths.primary().and_then(|id| paths.get(id));
        assert_eq!(primary.is_some(), paths.len() > 0);
        let second_choice = || paths.iter().filter(|path| path.is_second_choice());
        let data = paths.data_path().map(|id| paths.get(id).expect("the data path exists"));
        if let Some(data) = data {
            assert!(data.confirmed && data.source == SourceUse::Full, "RFC 9260 §5.4, RFC 5061 §5.3 F1, F4");
        }
        if paths.iter().any(Path::is_usable) {
            assert!(data.is_some_and(Path::is_usable));
        } else if let Some(errors) = second_choice().map(|path| path.error_count).min() {
            assert!(
                data.is_some_and(|path| path.is_second_choice() && path.error_count == errors),
                "RFC 7829 §3.2"
            );
        }
        if let Some(primary) = primary.filter(|primary| primary.is_usable()) {
            assert_eq!(data.map(Path::id), Some(primary.id));
        }
        for path in paths.iter() {
            let working = matches!(path.state, PathState::Active | PathState::PotentiallyFailed);
            assert_eq!(working, path.confirmed && path.state != PathState::Inactive);
            if let Some(alternate) = paths.retransmission_path(path.id) {
                let chosen = paths.get(alternate).expect("it exists");
                assert!(chosen.confirmed && chosen.source == SourceUse::Full);
            }
        }
        if let Some(request) = paths.request_path_from(None, None) {
            let going = |path: &Path| path.source == SourceUse::ReceiveOnly;
            let path = paths.get(request).expect("it exists");
            let only = path.link_up && paths.iter().all(|other| going(other) || !other.link_up);
            assert!(!going(path) || only, "RFC 5061 §5.3 F4");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_set_stays_sound(ops in prop::collection::vec(op(), 0..120), failover in failover()) {
        let mut model = Model::new(failover);
        for op in &ops {
            model.apply(op);
        }
    }
}
