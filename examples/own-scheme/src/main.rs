//! A scheme outside msctp's workspace: a controller, a policy that probes a new path before data moves there, and a
//! private chunk that reports the estimate to the peer. It runs in the simulator, then over UDP on loopback.
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use msctp::{Config, Endpoint, EndpointOptions, Peer, Security};
use msctp_congestion::estimator::Estimate;
use msctp_congestion::{Ack, Controller, ControllerConfig, ControllerFactory, Loss, StartState, Window};
use msctp_lab_schemes::wbest::{WBest, WBestConfig};
use msctp_proto::handover::{Action, Grounds, HandoverPolicy, PathView, PolicyFactory, View};
use msctp_proto::{PathAddr, PathId};
use msctp_sim::Simulation;
use msctp_sim::scenario::{Do, Scenario};
use msctp_units::{Rate, Span};
use msctp_wire::{ChunkType, UnknownChunk};

/// Additive increase by a packet per window, multiplicative decrease by a quarter.
#[derive(Debug)]
struct Aimd {
    path: ControllerConfig,
    cwnd: u64,
}

impl Controller for Aimd {
    fn name(&self) -> &'static str {
        "aimd"
    }
    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.cwnd, partial_bytes_acked: 0 }
    }
    fn one_packet_in_flight(&self) -> bool {
        false
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.cwnd += (self.path.pmdcs * ack.bytes_acked / self.cwnd).min(self.path.pmdcs);
    }
    fn on_loss(&mut self, _loss: &Loss) {
        self.cwnd = (self.cwnd * 3 / 4).max(2 * self.path.pmdcs);
    }
    fn on_idle(&mut self, _idle_rtos: u64) {}
    fn start(&mut self, start: &StartState) {
        self.cwnd = start.cwnd.max(self.path.pmdcs);
    }
    fn reset(&mut self) {
        self.cwnd = 10 * self.path.pmdcs;
    }
    fn on_pmtu(&mut self, pmdcs: u64) {
        self.path.pmdcs = pmdcs;
        self.cwnd = self.cwnd.max(pmdcs);
    }
}

/// The private chunk: 64 bits, the available bandwidth in bit/s. The type's highest bits, 10, make other peers skip it.
const MEASURED: ChunkType = ChunkType(0xba);

/// Probes each new path, and moves data there once its estimate exceeds the old path's. After a second without an
/// estimate the data moves as well: a path without a bottleneck, as loopback, has none.
#[derive(Debug)]
struct Probing {
    reported: Arc<AtomicU64>,
    probed: Option<PathId>,
}

impl HandoverPolicy for Probing {
    fn name(&self) -> &'static str {
        "probing"
    }
    fn private_chunks(&self) -> &'static [ChunkType] {
        &[MEASURED]
    }
    fn on_chunk(&mut self, _from: PathAddr, chunk: &UnknownChunk<'_>, _: &View<'_>, _: &mut Vec<Action>) {
        if let Ok(value) = chunk.value().try_into() {
            self.reported.store(u64::from_be_bytes(value), Relaxed);
        }
    }
    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        if path != view.primary {
            let estimator = WBest::new(WBestConfig::default(), view.now).expect("the defaults are valid");
            actions.push(Action::StartProbing { path, estimator: Box::new(estimator) });
            actions.push(Action::SetTimer { at: Some(view.now + Span::from_secs(1)) });
            self.probed = Some(path);
        }
    }
    fn on_timer(&mut self, _: &View<'_>, actions: &mut Vec<Action>) {
        actions.extend(self.probed.map(|path| Action::SwitchPrimary { path, grounds: Grounds::default() }));
    }
    fn on_estimate(&mut self, _: PathId, estimate: &Estimate, view: &View<'_>, actions: &mut Vec<Action>) {
        let old = view.path(view.primary).and_then(|old| Rate::of(old.window.cwnd, old.srtt?));
        let at = Some(view.now).filter(|_| old.is_none_or(|old| estimate.available > old));
        actions.push(Action::SetTimer { at });
    }
    fn on_primary_switch(
        &mut self,
        _: &PathView,
        new: &PathView,
        _: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        let available = new.estimate.map_or(0, |estimate| estimate.available.as_bps());
        let value = available.to_be_bytes().to_vec();
        actions.push(Action::StopProbing { path: new.id });
        actions.push(Action::SendChunk { path: new.id, chunk_type: MEASURED, value });
        let cwnd = new.estimate.map(|estimate| estimate.available.bytes_in(estimate.rtt_min))?;
        Some(StartState { cwnd, ssthresh: None, pacing_rate: None })
    }
}

fn with_scheme(config: Config, reported: &Arc<AtomicU64>) -> Config {
    let reported = Arc::clone(reported);
    let policy = move || Box::new(Probing { reported: Arc::clone(&reported), probed: None }) as Box<_>;
    let controller = |path: &ControllerConfig| {
        Box::new(Aimd { path: path.clone(), cwnd: 10 * path.pmdcs }) as Box<dyn Controller>
    };
    let handover_policy = PolicyFactory::new(policy);
    Config { controller: ControllerFactory::new(controller), handover_policy, ..config }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let reported = Arc::new(AtomicU64::new(u64::MAX));
    let text = include_str!("../../../scenarios/handover.toml");
    let mut scenario = Scenario::from_toml(text, "handover.toml", &[])?;
    scenario.actions.retain(|action| matches!(action.what, Do::LinkUp { .. } | Do::AddAddress { .. }));
    for profile in &mut scenario.sctp {
        profile.config = with_scheme(profile.config.clone(), &reported);
    }
    let mut simulation = Simulation::new(&scenario, None)?;
    simulation.run();
    let download = &simulation.summary().associations[0];
    let (bytes, moves) = (download.to_client.bytes, download.handovers.len());
    println!("simulator: {bytes} bytes, {moves} moves; chunk: {} bit/s", reported.swap(u64::MAX, Relaxed));
    let server = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    server.listen(msctp::DEFAULT_PORT, Security::insecure(), with_scheme(Config::mobile(), &reported))?;
    let client = Endpoint::bind(&EndpointOptions::new(["127.0.0.2:0".parse()?, "127.0.0.3:0".parse()?]))?;
    let peer = Peer { from: Some(vec!["127.0.0.2".parse()?]), ..Peer::new(server.local_addresses()[0]) };
    let association =
        client.connect(peer, Security::insecure(), with_scheme(Config::mobile(), &reported)).await?;
    let accepted = server.accept(msctp::DEFAULT_PORT).await.ok_or("no association")?;
    association.add_local_address("127.0.0.3".parse()?)?;
    for _ in 0..1500 {
        association.send_bytes(0, vec![0; 20_000]).await?;
        accepted.recv().await?.ok_or("the association ended")?;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let primary = association.paths().into_iter().find(|path| path.primary).ok_or("no primary path")?;
    println!("UDP: data leaves from {}; chunk: {} bit/s", primary.at.local, reported.load(Relaxed));
    Ok(())
}
