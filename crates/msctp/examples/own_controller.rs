//! A congestion controller and a handover policy of one's own, given by value: nothing of them is in the
//! crates.
//!
//! The client has two addresses of the loopback interface. It begins with one and adds the other on the way;
//! the policy moves the data there as soon as it works, and says how the new path starts.
//!
//!     cargo run -p msctp --example own_controller

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use msctp::congestion::{Ack, Controller, ControllerConfig, ControllerFactory, Loss, StartState, Window};
use msctp::handover::{Action, Grounds, HandoverPolicy, PathView, PolicyFactory, View};
use msctp::{Config, Endpoint, EndpointOptions, PathId, PathState, Peer, Rate, Security, Time};

/// A controller with additive increase and multiplicative decrease: a packet more per window, a quarter less
/// after a loss.
#[derive(Debug)]
struct Aimd {
    path: ControllerConfig,
    cwnd: u64,
    /// Acknowledged towards the next packet.
    counted: u64,
    after_timeout: bool,
    /// Number of steps of all controllers, for the caller.
    steps: Arc<AtomicU64>,
}

impl Aimd {
    fn new(path: &ControllerConfig, steps: Arc<AtomicU64>) -> Self {
        Self { path: path.clone(), cwnd: 10 * path.pmdcs, counted: 0, after_timeout: false, steps }
    }
}

impl Controller for Aimd {
    fn name(&self) -> &'static str {
        "aimd"
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.cwnd, partial_bytes_acked: self.counted }
    }

    fn one_packet_in_flight(&self) -> bool {
        self.after_timeout
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.after_timeout &= ack.bytes_acked == 0;
        self.counted += ack.bytes_acked;
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd += self.path.pmdcs;
            self.steps.fetch_add(1, Relaxed);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.after_timeout = loss.kind == msctp::congestion::LossKind::Timeout;
        self.cwnd = (self.cwnd * 3 / 4).max(2 * self.path.pmdcs);
    }

    fn on_recovery_exit(&mut self, _now: Time) {}

    fn on_spurious_timeout(&mut self, _now: Time) {
        self.after_timeout = false;
    }

    fn on_idle(&mut self, _idle_rtos: u64) {}

    fn start(&mut self, start: &StartState) {
        self.reset();
        self.cwnd = start.cwnd.max(self.path.pmdcs);
    }

    fn reset(&mut self) {
        *self = Self::new(&self.path, Arc::clone(&self.steps));
    }

    fn on_pmtu(&mut self, pmdcs: u64) {
        self.path.pmdcs = pmdcs;
        self.cwnd = self.cwnd.max(pmdcs);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

/// Moves to `to` as soon as it works, with half of the old path's window.
#[derive(Debug)]
struct Half {
    to: std::net::IpAddr,
}

impl HandoverPolicy for Half {
    fn name(&self) -> &'static str {
        "half"
    }

    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        let usable = |path: &PathView| path.local == self.to && path.state == PathState::Active;
        if path != view.primary && view.path(path).is_some_and(usable) {
            actions.push(Action::SwitchPrimary { path, grounds: Grounds::default() });
        }
    }

    fn on_primary_switch(
        &mut self,
        old: &PathView,
        new: &PathView,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        println!("{} to {}: the window was {} bytes, half of it now", old.local, new.local, old.window.cwnd);
        Some(StartState { cwnd: old.window.cwnd / 2, ssthresh: None, pacing_rate: None })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let steps = Arc::new(AtomicU64::new(0));
    let (to, told) = ("127.0.0.3".parse()?, Arc::clone(&steps));
    let config = Config {
        // One for each path, one for each association.
        controller: ControllerFactory::new(move |path| Box::new(Aimd::new(path, Arc::clone(&told)))),
        handover_policy: PolicyFactory::new(move || Box::new(Half { to })),
        ..Config::mobile()
    };

    let server = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    server.listen(msctp::DEFAULT_PORT, Security::insecure(), Config::mobile())?;
    let client = Endpoint::bind(&EndpointOptions::new(["127.0.0.2:0".parse()?, "127.0.0.3:0".parse()?]))?;
    let peer = Peer { from: Some(vec!["127.0.0.2".parse()?]), ..Peer::new(server.local_addresses()[0]) };
    let association = client.connect(peer, Security::insecure(), config).await?;
    let accepted = server.accept(msctp::DEFAULT_PORT).await.ok_or("nobody came")?;

    let receiver = tokio::spawn(async move {
        let mut bytes = 0;
        while let Some(message) = accepted.recv().await? {
            bytes += message.data.len();
        }
        Ok::<_, msctp::AssociationError>(bytes)
    });
    for n in 0..200 {
        association.send_bytes(0, vec![0; 20_000]).await?;
        if n == 100 {
            association.add_local_address(to)?;
        }
    }
    association.flush().await?;
    for path in association.paths() {
        let mark = if path.primary { "data goes here" } else { "" };
        println!("{} → {}: cwnd {} bytes {mark}", path.at.local, path.at.remote, path.cwnd);
    }
    association.shutdown().await?;
    println!(
        "{} bytes arrived; the controllers opened their windows {} times",
        receiver.await??,
        steps.load(Relaxed)
    );
    Ok(())
}
