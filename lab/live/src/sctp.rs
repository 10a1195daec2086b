//! One end of an association: sends for its application, executes its actions, and records deliveries, path
//! events and the trace.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use msctp::handover::{LinkEvent, LinkState};
use msctp::{
    AddressRequest, Association, AssociationError, Config, Endpoint, Event, OutMessage, Peer, Pmtu, Security,
    SendError, Span, Time,
};
use msctp_sim::real_stacks::{Call, SctpJob, Sender, StackEvent, Step, path_to};
use msctp_sim::scenario::Side;
use tokio::sync::oneshot;

use crate::stage::{Either, Stage, either};

/// Time between reads of the trace, which the association buffers.
const TRACE: Duration = Duration::from_millis(100);

/// RFC 768.
const UDP_HEADER: u32 = 8;

/// How the association is set up.
pub(crate) struct Door {
    /// Receives the association when it is up.
    pub(crate) arrives: oneshot::Receiver<Association>,
    /// The client's endpoint, which sets the association up, and the sender for `arrives`; `None` at the
    /// server.
    pub(crate) call: Option<(oneshot::Sender<Association>, Endpoint)>,
}

/// Returns the options of an end over UDP.
///
/// The endpoint subtracts the 8 bytes of the UDP header from the MTU (RFC 6951 §5.6). Links do not count that
/// header here. The options therefore add these bytes, so that packets carry as much as the simulator's.
pub(crate) fn config(job: &SctpJob) -> Config {
    Config { pmtu: above_udp(job.config.pmtu), ..job.config.clone() }
}

/// Takes the scenario's protection out of an association's options.
pub(crate) fn secured(mut config: Config) -> (Security, Config) {
    (std::mem::take(&mut config.protection).into(), config)
}

fn above_udp(pmtu: Pmtu) -> Pmtu {
    pmtu.with_max(pmtu.max() + UDP_HEADER)
}

/// One end of an association.
#[derive(Debug)]
pub(crate) struct SctpEnd {
    number: usize,
    side: Side,
    stage: Stage,
    endpoint: Endpoint,
    association: RefCell<Option<Association>>,
    /// Actions whose requests the peer has not answered yet.
    asked: RefCell<Vec<(usize, AddressRequest)>>,
    ended: RefCell<Option<String>>,
}

impl SctpEnd {
    pub(crate) fn new(job: &SctpJob, endpoint: Endpoint, stage: &Stage) -> Rc<Self> {
        Rc::new(Self {
            number: job.association,
            side: job.side,
            stage: stage.clone(),
            endpoint,
            association: RefCell::default(),
            asked: RefCell::default(),
            ended: RefCell::default(),
        })
    }

    fn association(&self) -> Option<Association> {
        self.association.borrow().clone()
    }

    /// Records the rest of the trace and the counters at the end of the run.
    pub(crate) fn leave(&self) {
        let Some(association) = self.association() else { return };
        self.take_trace(&association);
        let Some(stats) = association.stats().map(Box::new) else { return };
        let (paths, why) = (association.paths(), self.ended.borrow().clone());
        let (association, side) = (self.number, self.side);
        self.stage.record(StackEvent::Left { association, side, stats, paths, why });
    }

    fn take_trace(&self, association: &Association) {
        // Both clocks are the monotonic one; the endpoint's began later.
        let behind = self.stage.clock.now().since(Time::ZERO + self.endpoint.now().since(Time::ZERO));
        association.take_trace(|mut event| {
            event.at += behind;
            let (at, event) = (event.at, Box::new(event));
            self.stage.record_at(at, StackEvent::Trace { association: self.number, side: self.side, event });
        });
    }

    /// Starts the tasks that read messages, events and the trace of an association that is up.
    fn begin(self: &Rc<Self>, association: &Association) {
        *self.association.borrow_mut() = Some(association.clone());
        if self.side == Side::Client {
            self.stage.record(StackEvent::Established { association: self.number });
        }
        tokio::task::spawn_local(read(Rc::clone(self), association.clone()));
        tokio::task::spawn_local(hear(Rc::clone(self), association.clone()));
        tokio::task::spawn_local(trace(Rc::clone(self), association.clone()));
    }

    /// Executes an action.
    fn call(&self, action: usize, call: Call) {
        let refused = self.refusal(action, call);
        self.stage.record(StackEvent::Acted { action, refused });
    }

    fn refusal(&self, action: usize, call: Call) -> Option<String> {
        let Some(a) = self.association() else { return Some("the association is not up".to_owned()) };
        let path = |to: IpAddr, from| {
            path_to(&a.paths(), to, from).ok_or_else(|| format!("there is no path to {to} yet"))
        };
        let asks = |request| self.asked.borrow_mut().push((action, request));
        let done = match call {
            Call::Connect => return None,
            Call::AddAddress(address) => {
                asks(AddressRequest::Add(address));
                a.add_local_address(address)
            }
            Call::DeleteAddress(address) => {
                asks(AddressRequest::Delete(address));
                a.remove_local_address(address)
            }
            Call::RequestPrimary(address) => {
                asks(AddressRequest::SetPrimary(address));
                a.request_peer_primary(address)
            }
            Call::SetPrimary { to, from } => match path(to, from) {
                Ok(path) => a.set_primary(path),
                Err(why) => return Some(why),
            },
            Call::Heartbeat(address) => match path(address, None) {
                Ok(path) => a.request_heartbeat(path),
                Err(why) => return Some(why),
            },
            Call::ReportQuality(local, quality) => {
                a.link_event(LinkEvent { local, state: LinkState::Quality(quality) })
            }
            Call::Shutdown => {
                // The association ends by itself; readers get the end of file.
                tokio::task::spawn_local(async move { drop(a.shutdown().await) });
                Ok(())
            }
        };
        done.err().map(|e| e.to_string())
    }
}

/// Runs an end until the run is over.
pub(crate) async fn run(end: Rc<SctpEnd>, job: SctpJob, mut door: Door) {
    let stage = end.stage.clone();
    let mut alarm = stage.alarm();
    let mut steps: VecDeque<(Time, Step)> = job.steps.iter().copied().collect();
    let mut senders = job.senders;
    let peer = Peer {
        addresses: job.peer.clone(),
        port: job.ports.1,
        local_port: Some(job.ports.0),
        from: Some(job.own.clone()),
        ..Peer::new((job.peer[0], msctp::ENCAPSULATION_PORT).into())
    };
    let config = Config { pmtu: above_udp(job.config.pmtu), ..job.config };
    loop {
        while let Some((at, step)) = steps.pop_front_if(|(at, _)| *at <= stage.clock.now()) {
            match step {
                Step::Call { call: Call::Connect, .. } => {
                    if let Some((caller, endpoint)) = door.call.take() {
                        tokio::task::spawn_local(connect(
                            endpoint,
                            peer.clone(),
                            config.clone(),
                            caller,
                            stage.clone(),
                        ));
                    }
                }
                Step::Call { action, call } => end.call(action, call),
                Step::Link { local, up } => {
                    let state = if up { LinkState::Up } else { LinkState::Down };
                    // Rejected if the association does not have the address, or not yet; ignored then.
                    let _ = end.association().map(|a| a.link_event(LinkEvent { local, state }));
                }
                Step::App { app, start } => {
                    for sender in senders.iter_mut().filter(|sender| sender.app() == app) {
                        sender.set_running(at, start);
                        stage.record_at(at, StackEvent::Running { app, start });
                    }
                }
            }
        }
        generate(&mut senders, &stage);
        let due = senders.iter().filter_map(Sender::due).chain(steps.front().map(|(at, _)| *at)).min();
        let wait = alarm.until(due.unwrap_or(stage.end + Span::from_secs(1)));
        match (end.association(), next(&senders)) {
            (None, _) => match either(&mut door.arrives, wait).await {
                Either::First(Ok(association)) => end.begin(&association),
                // The task that sets it up has reported why not.
                Either::First(Err(_)) => return,
                Either::Second(()) => {}
            },
            (Some(association), Some((number, message))) => {
                let len = message.data.len();
                match either(association.send(message), wait).await {
                    Either::First(Ok(())) => senders[number].accepted(len),
                    // The association has ended; the task that reads its events has reported that.
                    Either::First(Err(SendError::Association(_))) => return,
                    Either::First(Err(e)) => return stage.fail(e.to_string()),
                    Either::Second(()) => {}
                }
            }
            (Some(_), None) => wait.await,
        }
    }
}

/// Generates the messages that are due.
fn generate(senders: &mut [Sender], stage: &Stage) {
    for sender in senders {
        while let Some(due) = sender.due().filter(|due| *due <= stage.clock.now()) {
            sender.generate(due);
            stage.record_at(due, StackEvent::Generated { app: sender.app() });
        }
    }
}

/// Returns the next message to send and the index of its application.
fn next(senders: &[Sender]) -> Option<(usize, OutMessage)> {
    senders.iter().enumerate().find_map(|(number, sender)| Some((number, sender.next()?)))
}

async fn connect(
    endpoint: Endpoint,
    peer: Peer,
    config: Config,
    caller: oneshot::Sender<Association>,
    stage: Stage,
) {
    let (security, config) = secured(config);
    match endpoint.connect(peer, security, config).await {
        Ok(association) => drop(caller.send(association)),
        Err(e) => stage.fail(format!("the association could not be set up: {e}")),
    }
}

/// Reads messages.
async fn read(end: Rc<SctpEnd>, association: Association) {
    while let Ok(Some(message)) = association.recv().await {
        let mut head = [0; 4];
        head.iter_mut().zip(message.data.iter()).for_each(|(to, from)| *to = *from);
        let (app, len) = (message.ppid, message.data.len());
        end.stage.record(StackEvent::Delivered { association: end.number, side: end.side, app, head, len });
    }
}

/// Reads events.
async fn hear(end: Rc<SctpEnd>, association: Association) {
    while let Some(event) = association.event().await {
        match event {
            Event::PrimaryChanged { path, cause } => {
                let to = association.paths().into_iter().find(|stats| stats.id == path);
                if let Some(to) = to.map(|stats| stats.at) {
                    end.stage.record(StackEvent::Primary {
                        association: end.number,
                        side: end.side,
                        to,
                        cause,
                    });
                }
            }
            Event::AddressChange { request, accepted } => {
                let mut asked = end.asked.borrow_mut();
                let Some(at) = asked.iter().position(|(_, asked)| *asked == request) else { continue };
                let (action, _) = asked.remove(at);
                let refused = (!accepted).then(|| "the peer refused it".to_owned());
                end.stage.record(StackEvent::Acted { action, refused });
            }
            _ => {}
        }
    }
    *end.ended.borrow_mut() = Some(match association.closed().await {
        Ok(()) => "closed in good order".to_owned(),
        Err(AssociationError::Lost(reason)) => format!("lost: {reason:?}"),
        Err(e) => e.to_string(),
    });
}

/// Reads the trace often enough that the association need not drop any.
async fn trace(end: Rc<SctpEnd>, association: Association) {
    loop {
        tokio::time::sleep(TRACE).await;
        end.take_trace(&association);
    }
}
