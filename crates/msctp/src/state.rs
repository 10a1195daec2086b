//! [`State`]: shared by the handles of a shard's associations and its task, behind one lock. The lock is
//! never held across a wait or a system call on a socket.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use msctp_proto::{
    AbortReason, AssociationState, Config, Endpoint as Core, Event, Handle, LocalAddrs, LossReason,
    TraceEvent,
};
use msctp_schemes::Anticipate;
use msctp_units::{Span, Time};

use crate::binding::SocketChange;
use crate::clock::Clock;
use crate::error::AssociationError;
use crate::forward::ForwardQueue;
use crate::host::Host;
use crate::keys::{Keys, for_role};
use crate::listener::Listener;
use crate::log::Log;
use crate::options::{TraceSink, over_udp};
use crate::outbox::Outbox;
use crate::place::Place;
#[cfg(feature = "tls")]
use crate::set_ups::SetUps;
use crate::slot::{Last, Phase, Slot};
use crate::unproven::{OfEndpoint, PROOF_TIME, Unproven};
use crate::wakers::{Wait, Wakers};

/// Upper Layer Abort Reason in the ABORT to a peer whose set-up took too long.
const SET_UP_GIVEN_UP: &str = "the set-up took too long";

/// What the peer of an association is told that was dropped or closed, and was not over in time.
const LINGERED: &str = "the shutdown took longer than the linger time";

/// A shard of an endpoint: its state and the lock of that state.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Packets that other shards received for this one.
    pub(crate) forwarded: ForwardQueue,
    pub(crate) place: Place,
}

/// The state of a shard.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) core: Core,
    place: Place,
    pub(crate) clock: Clock,
    pub(crate) linger: Span,
    pub(crate) offload: bool,
    pub(crate) idle_timeout: Option<Span>,
    pub(crate) connect_timeout: Option<Span>,
    pub(crate) trace: Option<TraceSink>,
    /// The trace that the sink has not got, with the numbers of the associations.
    pub(crate) traced: Vec<(u64, TraceEvent)>,
    backlog: usize,
    /// Associations whose peers have not proved their keys.
    pub(crate) unproven: Unproven,
    /// The handshakes of these associations.
    #[cfg(feature = "tls")]
    pub(crate) set_ups: SetUps,
    /// Associations of other shards to abort, because too many peers have not proved their keys.
    pub(crate) evicted: Vec<(Place, Handle)>,
    /// Time of the next timeout of each association's key manager.
    pub(crate) keys_at: BTreeSet<(Time, Handle)>,
    /// The local addresses with their ports, in order of preference: associations begin at the first. An
    /// unspecified one is that of a socket whose addresses the kernel chooses.
    pub(crate) locals: Vec<SocketAddr>,
    /// Changes of the sockets that the task has not seen.
    pub(crate) socket_changes: Vec<SocketChange>,
    /// Addresses that the application removed, and that the kernel must not choose.
    pub(crate) removed: BTreeSet<IpAddr>,
    /// The addresses of this host.
    pub(crate) host: Host,
    /// True if an association begins with one address and adds the others (RFC 6951 §5.7), as a mobile does.
    pub(crate) one_by_one: bool,
    /// Slots of the associations, boxed because the map's nodes reserve room for twice as many entries and
    /// move them.
    pub(crate) slots: BTreeMap<Handle, Box<Slot>>,
    pub(crate) listeners: BTreeMap<u16, Listener>,
    /// Associations with a task that waits until all data is acknowledged.
    flushing: BTreeSet<Handle>,
    /// Associations with room in the send buffer that tasks may wait for.
    unused: Vec<Handle>,
    /// Associations with a stream to end.
    pub(crate) ending: BTreeSet<Handle>,
    /// Associations without a handle, with the time to abort them.
    abandoned: BTreeMap<Handle, Time>,
    /// The entries of `abandoned` by time. Some may belong to ended associations.
    abort_at: BTreeSet<(Time, Handle)>,
    /// Set-ups of this end, by the time at which they are abandoned.
    connect_by: BTreeSet<(Time, Handle)>,
    /// Associations of the three sets above that changed. Only these are checked.
    touched: Vec<Handle>,
    /// True if something reports changes of the host's interfaces.
    pub(crate) watched: bool,
    /// Tasks that wait for the last association to end.
    pub(crate) idlers: Wakers,
    /// Number of associations that are not over.
    live: usize,
    /// True if the kernel has every packet of the associations that are over. Updated while `live` is 0.
    pub(crate) flushed: bool,
    /// True if [`Endpoint::close`](crate::Endpoint::close) or `abort` was called, so that no association
    /// begins.
    pub(crate) closed: bool,
    /// Number of associations that were established and then lost or aborted.
    pub(crate) cut_off: u64,
    /// Those of them that the end of the task cut off.
    pub(crate) cut_off_by_end: u64,
    /// The last [`Endpoint`](crate::Endpoint) handle was dropped.
    pub(crate) dropped: bool,
    /// The task ended.
    pub(crate) gone: bool,
    /// Options of the last association that this end began, as given and as used. Associations with equal
    /// options share them.
    options: Option<(Config, Arc<Config>)>,
    driver: Option<Waker>,
    /// True if a packet or a call may have caused events that were not forwarded yet.
    pub(crate) unsettled: bool,
    /// Number of associations processed so far.
    #[cfg(test)]
    pub(crate) looked: u64,
    /// Number of packets that the kernel rejected.
    pub(crate) send_errors: u64,
}

impl Shared {
    pub(crate) fn new(
        mut core: Core,
        clock: Clock,
        (locals, host): (Vec<SocketAddr>, Host),
        options: &crate::EndpointOptions,
        place: Place,
        unproven: OfEndpoint,
    ) -> Arc<Self> {
        if let Some(mobility) = &options.mobility {
            let sockets: Vec<IpAddr> = locals.iter().map(SocketAddr::ip).collect();
            core.follow_links(mobility.clone(), &sockets);
        }
        let mut state = State {
            core,
            place,
            clock,
            linger: options.linger.into(),
            offload: options.offload,
            idle_timeout: options.idle_timeout.map(Span::from),
            connect_timeout: options.connect_timeout.map(Span::from),
            trace: options.trace.clone(),
            traced: Vec::new(),
            backlog: options.backlog,
            unproven: Unproven::new(place, unproven),
            #[cfg(feature = "tls")]
            set_ups: SetUps::new(options.max_handshakes_per_second),
            evicted: Vec::new(),
            keys_at: BTreeSet::new(),
            locals,
            socket_changes: Vec::new(),
            removed: BTreeSet::new(),
            host,
            one_by_one: options.mobility.is_some(),
            slots: BTreeMap::new(),
            listeners: BTreeMap::new(),
            flushing: BTreeSet::new(),
            unused: Vec::new(),
            ending: BTreeSet::new(),
            abandoned: BTreeMap::new(),
            abort_at: BTreeSet::new(),
            connect_by: BTreeSet::new(),
            touched: Vec::new(),
            watched: false,
            idlers: Wakers::default(),
            live: 0,
            flushed: true,
            closed: false,
            cut_off: 0,
            cut_off_by_end: 0,
            dropped: false,
            gone: false,
            options: None,
            driver: None,
            unsettled: false,
            #[cfg(test)]
            looked: 0,
            send_errors: 0,
        };
        state.tell_host();
        let state = Mutex::new(state);
        Arc::new(Self { state, forwarded: ForwardQueue::default(), place })
    }

    /// Locks the state, even after a panic under the lock, so that the associations can still end gracefully.
    ///
    /// # Panics
    ///
    /// This thread holds the lock of a shard: code of the application that an association calls has called an
    /// endpoint or an association, and would wait for itself.
    pub(crate) fn lock(&self) -> Locked<'_> {
        assert!(!LOCKED.get(), "{CALLS_BACK}");
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        LOCKED.set(true);
        Locked(state)
    }
}

/// Why code that an association calls may not call it, or another.
const CALLS_BACK: &str = "a controller, a handover policy or a check of a peer called an endpoint or an \
                          association, which waits for it: have a task of its own make the call";

thread_local! {
    /// True while this thread holds the lock of a shard. It never holds two.
    static LOCKED: Cell<bool> = const { Cell::new(false) };
}

/// The state of a shard, whose lock this thread holds.
#[derive(Debug)]
pub(crate) struct Locked<'a>(MutexGuard<'a, State>);

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        LOCKED.set(false);
    }
}

impl State {
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Adapts an association's options to UDP and to the endpoint's options. The mobile profile
    /// moves with [`Anticipate`].
    pub(crate) fn adapted(&self, config: Config) -> Config {
        let config = over_udp(config, self.offload, self.idle_timeout);
        let handover_policy = config.handover_policy.deploying(Anticipate::factory);
        Config { trace: config.trace || self.trace.is_some(), handover_policy, ..config }
    }

    /// Returns an association's options, adapted to UDP.
    pub(crate) fn used_options(&mut self, given: Config) -> Arc<Config> {
        match &self.options {
            Some((before, used)) if *before == given => Arc::clone(used),
            _ => {
                let config =
                    Config { protection: for_role(given.protection.clone(), false), ..given.clone() };
                let used = Arc::new(self.adapted(config));
                self.options = Some((given, Arc::clone(&used)));
                used
            }
        }
    }

    /// Wakes the driver, because there may be something to send.
    pub(crate) fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    pub(crate) fn set_driver(&mut self, waker: &Waker) {
        match &self.driver {
            Some(driver) if driver.will_wake(waker) => {}
            _ => self.driver = Some(waker.clone()),
        }
    }

    /// Adds a new association that came from `remote` to a listener.
    pub(crate) fn enter_accepted(&mut self, now: Time, handle: Handle, remote: SocketAddr) {
        let association = self.core.association(handle);
        let agreed = association.and_then(msctp_proto::Association::agreed);
        let port = association.map_or(0, |association| association.ports().0);
        let mut slot = Box::new(Slot::new(Phase::Connecting, 0));
        if !agreed.is_some_and(|agreed| agreed.protection) {
            self.insert_slot(handle, slot);
            return self.queue_accepted(handle);
        }
        // Anyone can send a COOKIE ECHO: the peer is accepted when it has proved its keys.
        let deadline = now + PROOF_TIME;
        slot.unproven = Some(deadline);
        slot.keys = self.listeners.get(&port).and_then(|listener| Keys::of(&listener.config.protection));
        self.insert_slot(handle, slot);
        self.enter_set_up(handle, remote.ip());
        match self.unproven.insert(deadline, handle, remote.ip()) {
            Some((place, oldest)) if place == self.place => self.evict(now, oldest),
            other => self.evicted.extend(other),
        }
    }

    /// Offers an association to the application, because the peer has proved its keys.
    pub(crate) fn prove(&mut self, handle: Handle) {
        if self.forget_unproven(handle, true) {
            self.queue_accepted(handle);
        }
    }

    /// Removes an association from those whose peers have not proved their keys, because this one has or the
    /// association ends. Returns whether it was among them.
    fn forget_unproven(&mut self, handle: Handle, proved: bool) -> bool {
        self.leave_set_up(handle, proved);
        let deadline = self.slots.get_mut(&handle).and_then(|slot| slot.unproven.take());
        deadline.is_some_and(|deadline| self.unproven.remove(deadline, handle))
    }

    /// Aborts an association whose peer has not proved its keys, because there are too many.
    pub(crate) fn evict(&mut self, now: Time, handle: Handle) {
        if self.slots.get(&handle).is_some_and(|slot| slot.unproven.is_some()) {
            self.note_evicted(handle);
            self.abort_unproven(now, handle, "too many set-ups at a time");
        }
    }

    /// Aborts an association whose peer has not proved its keys.
    fn abort_unproven(&mut self, now: Time, handle: Handle, why: &'static str) {
        self.forget_unproven(handle, false);
        if let Some(association) = self.core.association_mut(handle) {
            association.abort(now, &why.into());
        }
    }

    /// Aborts the associations whose peers have not proved their keys in time.
    pub(crate) fn expire_unproven(&mut self, now: Time) {
        while let Some((deadline, handle)) = self.unproven.first()
            && deadline <= now
        {
            self.time_out_keys(now, handle);
            self.abort_unproven(now, handle, "the keys were not proved in time");
        }
    }

    /// Returns when key management must be called next.
    pub(crate) fn next_keys(&self) -> Option<Time> {
        let firsts = [self.keys_at.first().copied(), self.unproven.first()];
        firsts.into_iter().flatten().map(|(due, _)| due).min()
    }

    /// Offers an association of a peer to the application that accepts, or aborts it.
    fn queue_accepted(&mut self, handle: Handle) {
        let port = self.core.association(handle).map_or(0, |association| association.ports().0);
        let open = !self.dropped && !self.closed;
        let listener = self.listeners.get(&port).filter(|_| open);
        let refusal = match listener {
            Some(listener) if listener.arrivals.offer((self.place, handle), self.backlog) => {
                // The lock keeps the application from taking it before.
                if let Some(slot) = self.slots.get_mut(&handle) {
                    slot.queued = true;
                }
                None
            }
            Some(_) => {
                self.note_backlog_full(handle);
                Some(format!(
                    "the listener's backlog is full: {} associations wait to be accepted",
                    self.backlog
                ))
            }
            None => Some("nobody accepts associations any more".to_owned()),
        };
        if let Some(reason) = refusal {
            let now = self.now();
            if let Some(association) = self.core.association_mut(handle) {
                association.abort(now, &reason.into());
            }
        }
    }

    /// Adds an association that is not over.
    pub(crate) fn insert_slot(&mut self, handle: Handle, mut slot: Box<Slot>) {
        slot.sctp_ports = self.core.association(handle).map_or((0, 0), msctp_proto::Association::ports);
        slot.log = Log::begin(&self.core, handle, self.place.number(handle), slot.initiator);
        self.slots.insert(handle, slot);
        self.live += 1;
    }

    /// Returns whether every association has ended and the kernel has their last packets.
    pub(crate) fn is_idle(&self) -> bool {
        self.live == 0 && (self.flushed || self.gone)
    }

    /// Returns whether the driver must report when the kernel has the last packets.
    pub(crate) fn wants_flush(&self) -> bool {
        self.live == 0 && !self.flushed
    }

    /// Returns the associations that are not over.
    pub(crate) fn live(&self) -> Vec<Handle> {
        let live = self.slots.iter().filter(|(_, slot)| !matches!(slot.phase, Phase::Over(_)));
        live.map(|(&handle, _)| handle).collect()
    }

    /// Returns new handles of the associations that are up and have a handle, with their
    /// [`losing_restarts`](Slot::losing_restarts).
    pub(crate) fn in_use(&mut self) -> Vec<(Handle, u32)> {
        let up =
            self.slots.iter_mut().filter(|(_, slot)| matches!(slot.phase, Phase::Up) && slot.handles > 0);
        up.map(|(&handle, slot)| {
            slot.handles += 1;
            (handle, slot.losing_restarts)
        })
        .collect()
    }

    /// Aborts an association at `deadline` if it is not over by then. It can be read until then.
    pub(crate) fn abort_at(&mut self, handle: Handle, deadline: Time) {
        self.abort_at.insert((deadline, handle));
    }

    /// Shuts an association down whose last handle was dropped.
    pub(crate) fn abandon(&mut self, handle: Handle) {
        let (now, linger) = (self.now(), self.linger);
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        if matches!(slot.phase, Phase::Over(_)) {
            self.remove_slot(handle);
            return;
        }
        slot.queued = false;
        self.give_up_at(handle, now + linger);
        self.begin_end(now, handle);
        self.wake_driver();
    }

    /// Begins to end an association: aborts a set-up, else shuts down. Returns whether it shuts down.
    pub(crate) fn begin_end(&mut self, now: Time, handle: Handle) -> bool {
        let connecting = self.slots.get(&handle).is_some_and(|slot| matches!(slot.phase, Phase::Connecting));
        if !connecting {
            self.shut_down(now, handle);
        } else if let Some(association) = self.core.association_mut(handle) {
            association.abort(now, &AbortReason::default());
        }
        !connecting
    }

    /// Marks an association as abandoned and aborts it at `deadline`.
    fn give_up_at(&mut self, handle: Handle, deadline: Time) {
        self.abandoned.insert(handle, deadline);
        self.abort_at.insert((deadline, handle));
        self.touch(handle);
    }

    /// Records that a task waits until all data is acknowledged.
    pub(crate) fn await_flush(&mut self, handle: Handle) {
        self.flushing.insert(handle);
    }

    /// Records that a verified packet arrived.
    pub(crate) fn note_received(&mut self, now: Time, handle: Handle) {
        if let Some(slot) = self.slots.get_mut(&handle) {
            slot.record.receive(now);
        }
    }

    /// Marks an association as changed by a packet, a timer or a call.
    pub(crate) fn touch(&mut self, handle: Handle) {
        let watched = |handle| {
            self.flushing.contains(handle)
                || self.ending.contains(handle)
                || self.abandoned.contains_key(handle)
        };
        if self.touched.last() != Some(&handle) && watched(&handle) {
            self.touched.push(handle);
        }
    }

    /// Closes a listener; shuts down associations that were not accepted.
    pub(crate) fn close_listener(&mut self, port: u16) {
        self.core.stop_listening(port);
        let Some(listener) = self.listeners.remove(&port) else { return };
        for handle in listener.arrivals.close(self.place) {
            self.abandon(handle);
        }
        // Another listener's options may accept other peers.
        let now = self.now();
        let of_port = |handle: &Handle| self.slots.get(handle).is_some_and(|slot| slot.sctp_ports.0 == port);
        let handles: Vec<_> = self.unproven.handles().filter(of_port).collect();
        for handle in handles {
            self.abort_unproven(now, handle, "nobody accepts associations any more");
        }
    }

    /// Closes every listener.
    pub(crate) fn close_listeners(&mut self) {
        while let Some((&port, _)) = self.listeners.first_key_value() {
            self.close_listener(port);
        }
    }

    fn remove_slot(&mut self, handle: Handle) {
        self.forget_unproven(handle, false);
        self.end_keys(handle);
        self.slots.remove(&handle);
        self.flushing.remove(&handle);
        self.ending.remove(&handle);
        if let Some(deadline) = self.abandoned.remove(&handle) {
            self.abort_at.remove(&(deadline, handle));
        }
    }

    /// Gives a set-up of this end up after the endpoint's time for it.
    pub(crate) fn limit_set_up(&mut self, now: Time, handle: Handle) {
        let Some(timeout) = self.connect_timeout else { return };
        let deadline = now + timeout;
        if let Some(slot) = self.slots.get_mut(&handle) {
            slot.connect_by = Some(deadline);
            self.connect_by.insert((deadline, handle));
        }
    }

    /// Sends the core's answer to a packet from there that belongs to no association, and reports a set-up
    /// that the core refused.
    pub(crate) fn answer_refused(&mut self, now: Time, remote: SocketAddr, outbox: &mut Outbox) {
        let start = outbox.bytes.len();
        if let Some((None, reply)) = self.core.poll_transmit_from(now, &mut outbox.bytes) {
            outbox.push(start, &reply, None, remote.port());
        }
        self.note_refused(now, remote);
    }

    /// Takes the core's trace for the sink, in the order of time. Call it when the core has nothing more to
    /// send.
    pub(crate) fn collect_trace(&mut self) {
        if self.trace.is_none() {
            return;
        }
        let before = self.traced.len();
        while let Some((handle, event)) = self.core.poll_trace() {
            self.traced.push((self.place.number(handle), event));
        }
        self.traced[before..].sort_by_key(|(_, event)| event.at);
    }

    /// Forwards the core's events. Call it when the core has nothing more to send. Returns whether there were
    /// any.
    pub(crate) fn take_events(&mut self) -> bool {
        let mut any = false;
        while let Some((handle, event)) = self.core.poll_event() {
            any = true;
            self.take_event(handle, event);
        }
        any
    }

    /// Forwards an event of an association.
    pub(crate) fn take_event(&mut self, handle: Handle, mut event: Event) {
        if event == Event::Lost(LossReason::Aborted) && self.is_abandoned(handle) {
            event = Event::Lost(LossReason::SetupTimeout);
        }
        if let Event::Streams(change) = &event {
            self.note_streams(handle, change);
        }
        self.follow_keys(handle, &event);
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        let (was_up, was_over) = (matches!(slot.phase, Phase::Up), matches!(slot.phase, Phase::Over(_)));
        slot.log.event(&self.core, handle, &event);
        let primary = || {
            let path = self.core.association(handle)?.paths().find(|path| path.primary)?;
            Some((path.id, path.at))
        };
        slot.record.note(self.clock.now(), &event, primary);
        if event == Event::Writable {
            self.unused.push(handle);
        }
        slot.note(event);
        if !matches!(slot.phase, Phase::Connecting)
            && let Some(deadline) = slot.connect_by.take()
        {
            self.connect_by.remove(&(deadline, handle));
        }
        if !was_over && matches!(slot.phase, Phase::Over(_)) {
            self.live -= 1;
            self.flushed = false;
            slot.last = self.core.association(handle).map(|association| {
                Box::new(Last { stats: association.stats(), paths: association.paths().collect() })
            });
            self.cut_off += u64::from(was_up && matches!(slot.phase, Phase::Over(Some(_))));
        }
        if matches!(slot.phase, Phase::Over(_)) && slot.handles == 0 && !slot.queued {
            self.drain_unread(handle);
            self.remove_slot(handle);
        }
    }

    /// Returns whether this set-up took too long.
    fn is_abandoned(&self, handle: Handle) -> bool {
        let deadline = self.slots.get(&handle).and_then(|slot| slot.connect_by);
        deadline.is_some_and(|deadline| !self.connect_by.contains(&(deadline, handle)))
    }

    /// Advances the proof of the peer's keys.
    fn follow_keys(&mut self, handle: Handle, event: &Event) {
        let has_manager = self.slots.get(&handle).is_some_and(|slot| slot.keys.is_some());
        match event {
            // With TLS the key manager decides.
            Event::Protected if !has_manager => self.prove(handle),
            Event::Connected { .. } if has_manager => {
                let association = self.core.association(handle);
                let agreed = association.is_some_and(|association| association.key_agreement().is_some());
                if !agreed && let Some(slot) = self.slots.get_mut(&handle) {
                    // Protection was offered, and the peer does not support it.
                    slot.keys = None;
                }
                // The peer may have begun again.
                self.note_key_message(self.now(), handle);
            }
            Event::Protected => {
                if let Some(keys) = self.slots.get_mut(&handle).and_then(|slot| slot.keys.as_deref_mut()) {
                    keys.note_opened();
                }
                self.advance_keys(self.now(), handle);
            }
            Event::KeyMessage => self.note_key_message(self.now(), handle),
            Event::Restarted => self.restart_keys(self.now(), handle),
            Event::Closed | Event::Lost(_) => {
                self.finish_set_up(self.now(), handle);
                if matches!(event, Event::Closed) {
                    self.close_keys(handle);
                }
                self.note_keys_differ(handle, event);
                self.forget_unproven(handle, false);
                self.end_keys(handle);
            }
            _ => {}
        }
    }

    fn drain_unread(&mut self, handle: Handle) {
        if let Some(association) = self.core.association_mut(handle) {
            while !matches!(association.recv(), Ok(None)) {}
        }
    }

    /// Wakes some of the tasks that wait for room in send buffers that have it. Those that were woken before
    /// have had their turn: if they are gone, or had too little to send, it is that of the next.
    pub(crate) fn wake_writers(&mut self) {
        let mut unused = std::mem::take(&mut self.unused);
        unused.retain(|handle| {
            self.slots.get_mut(handle).is_some_and(|slot| !slot.is_full && slot.wake_writers())
        });
        if !unused.is_empty() {
            self.unused = unused;
            self.wake_driver();
        }
    }

    /// Wakes tasks whose data is acknowledged, and checks abandoned associations. Returns whether the core
    /// may have something to send. The cost depends only on the associations that changed.
    pub(crate) fn look_after(&mut self, now: Time) -> bool {
        let mut any = !self.touched.is_empty();
        let mut touched = std::mem::take(&mut self.touched);
        for handle in touched.drain(..) {
            #[cfg(test)]
            {
                self.looked += 1;
            }
            if self.abandoned.contains_key(&handle) {
                // Unread messages would delay the peer's shutdown.
                self.drain_unread(handle);
            }
            if self.ending.contains(&handle) {
                self.advance_streams(now, handle);
            }
            if self.flushing.contains(&handle)
                && let Some(slot) = self.slots.get_mut(&handle)
            {
                let association = self.core.association(handle);
                if association.is_none_or(|association| association.buffered() == 0) {
                    self.flushing.remove(&handle);
                    slot.wakers.wake(Wait::Flush);
                }
            }
        }
        self.touched = touched;
        while let Some(&(deadline, handle)) = self.abort_at.first()
            && deadline <= now
        {
            any = true;
            self.abort_at.pop_first();
            if let Some(association) = self.core.association_mut(handle) {
                association.abort(now, &LINGERED.into());
            }
        }
        while let Some(&(deadline, handle)) = self.connect_by.first()
            && deadline <= now
        {
            any = true;
            self.connect_by.pop_first();
            match self.core.association_mut(handle) {
                // The peer answered: its keys are missing.
                Some(association) if association.state() == AssociationState::Established => {
                    self.time_out_keys(now, handle);
                }
                Some(association) => association.abort(now, &SET_UP_GIVEN_UP.into()),
                None => {}
            }
        }
        any
    }

    /// Returns when to call [`look_after`](Self::look_after) next if nothing happens.
    pub(crate) fn next_abort(&self) -> Option<Time> {
        let firsts = [self.abort_at.first(), self.connect_by.first()];
        firsts.into_iter().flatten().map(|(deadline, _)| *deadline).min()
    }

    /// Tells the core the addresses of this host.
    pub(crate) fn tell_host(&mut self) {
        let sockets = self.locals.iter().map(SocketAddr::ip).filter(|ip| !ip.is_unspecified());
        self.core.set_host_addresses(self.host.addresses(sockets));
    }

    /// Updates the listeners' addresses after a change of the sockets.
    pub(crate) fn listen_again(&mut self) {
        self.tell_host();
        let addresses = self.local_ips();
        for (&port, listener) in &self.listeners {
            self.core.stop_listening(port);
            let local = LocalAddrs { port, addresses: addresses.clone() };
            let listening = self.core.listen(local, listener.config.clone());
            debug_assert!(listening.is_ok(), "{listening:?}");
        }
    }

    /// Sorts the local addresses by preference: associations begin at the first.
    pub(crate) fn sort_locals(&mut self) {
        if self.core.follows_links() {
            self.locals.sort_by_key(|local| self.core.rank_of(local.ip()).unwrap_or(usize::MAX));
        }
    }

    /// Returns the known local addresses in order of preference, at most as many as an association accepts.
    pub(crate) fn local_ips(&self) -> Vec<IpAddr> {
        let most = msctp_proto::MAX_ADDRESSES;
        self.locals.iter().map(SocketAddr::ip).filter(|ip| !ip.is_unspecified()).take(most).collect()
    }

    /// Marks all associations as over when the task ends, so that no task waits forever.
    pub(crate) fn end(&mut self) {
        self.gone = true;
        self.closed = true;
        self.locals.clear();
        self.socket_changes.clear();
        self.live = 0;
        for slot in self.slots.values_mut() {
            let cut_off = u64::from(matches!(slot.phase, Phase::Up));
            self.cut_off += cut_off;
            self.cut_off_by_end += cut_off;
            if !matches!(slot.phase, Phase::Over(_)) {
                slot.phase = Phase::Over(Some(AssociationError::EndpointGone));
            }
            slot.wake_all();
        }
        for listener in self.listeners.values() {
            listener.arrivals.end();
        }
        self.idlers.wake_all();
    }
}
