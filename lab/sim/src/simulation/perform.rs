//! Executes the scenario's actions, and triggers those that wait for an event.

use msctp_link::Change;

use crate::action::{Act, Trigger};
use crate::app::source::Source;
use crate::event::Target;
use crate::link_models::loss_process;
use crate::outside::Heard;
use crate::scenario::LossConfig;

use super::{App, Simulation};

impl Simulation {
    /// Executes an action that is due.
    pub(crate) fn on_action(&mut self, number: usize) {
        let now = self.now;
        self.plan.actions[number].done = Some(now);
        let result = match self.plan.actions[number].act.clone() {
            Act::LinkState { link, up } => {
                self.set_link_state(link, up);
                Ok(())
            }
            Act::SetLink { directions, changes, loss } => {
                let set = |&way: &usize| self.set_link(way, &changes, loss.as_ref());
                let done = directions.iter().try_for_each(set);
                self.notify_quality(directions[0] / 2);
                done
            }
            Act::Address { address, present } => {
                self.network.set_present(address, present);
                self.report_interface(address.index());
                self.outside.record(address.index(), Heard::Address { present });
                Ok(())
            }
            Act::Association { association, side, call } => self.call(association, side, call),
            Act::App { app, start } => {
                self.set_running(app, start);
                Ok(())
            }
            Act::Middlebox { node, change } => {
                self.with_nodes(|nodes, wire| nodes.call(wire, node, |node, _| node.change(change)));
                Ok(())
            }
            Act::Watch => {
                if let Some(next) = self.on_watch().filter(|&next| next <= self.end) {
                    self.events.push(next, Target::Action(number as u32));
                }
                Ok(())
            }
            Act::Coding { coding } => {
                if let Some(next) = self.on_coding(coding).filter(|&next| next <= self.end) {
                    self.events.push(next, Target::Action(number as u32));
                }
                Ok(())
            }
        };
        self.plan.actions[number].refused = result.err();
    }

    /// Changes one direction of a link.
    pub(crate) fn set_link(
        &mut self,
        direction: usize,
        changes: &[Change],
        loss: Option<&LossConfig>,
    ) -> Result<(), String> {
        let now = self.now;
        let label = self.direction(direction);
        let loss = loss.map(|loss| loss_process(loss, format_args!("link/{label}"), self.seed));
        let done = self.network.set(&mut self.events, direction, |hop, air| {
            if let Some(loss) = loss {
                hop.set_loss(air, loss);
            }
            changes.iter().try_for_each(|&change| hop.change(now, air, change))
        });
        done.map_err(|e| e.to_string())
    }

    fn set_link_state(&mut self, link: usize, up: bool) {
        let now = self.now;
        for direction in [2 * link, 2 * link + 1] {
            self.network.set(&mut self.events, direction, |hop, air| hop.set_up(now, air, up));
        }
        self.notify_link_state(link, up);
        self.notify_outside(link, up);
        self.notify_quality(link);
    }

    fn set_running(&mut self, app: usize, start: bool) {
        let now = self.now;
        match &mut self.apps[app] {
            App::Cbr(cbr) if start => {
                let first = cbr.start(now);
                self.events.push(first, Target::App(app as u32));
            }
            App::Cbr(cbr) => cbr.stop(),
            &mut App::Bulk { association, from } => {
                for (number, source) in &mut self.lines[association].end_mut(from).sources {
                    if let Source::Bulk(bulk) = source
                        && *number == app as u32
                    {
                        bulk.set_running(start);
                    }
                }
                self.serve(association, from);
            }
            &mut App::Tcp { connection, side } => self.set_tcp_app(connection, side, app as u32, start),
            &mut App::Video { association, from } => {
                let Some(video) = self.lines[association].end_mut(from).video_mut(app as u32) else { return };
                if start {
                    let first = video.start(now);
                    self.events.push(first, Target::App(app as u32));
                } else {
                    video.stop(now);
                }
            }
            &mut App::Reader { association, at } => {
                if let Some((_, reader)) = &mut self.lines[association].end_mut(at).reader {
                    if start { reader.start(now) } else { reader.stop() }
                }
                self.serve(association, at);
            }
        }
    }

    /// Triggers the actions that wait for an event.
    pub(crate) fn happened(&mut self, what: Trigger) {
        for (number, at) in self.plan.happened(self.now, what) {
            if at <= self.end {
                self.events.push(at, Target::Action(number as u32));
            }
        }
    }

    /// Queues a link's state for the hosts at its ends.
    pub(crate) fn notify_outside(&mut self, link: usize, up: bool) {
        for &number in self.index.interfaces_on(link) {
            self.outside.record(number as usize, Heard::Link { up });
        }
    }
}
