//! stand-in
use crate::action::Call;
use crate::packet::PacketId;
use crate::scenario::Side;
use crate::simulation::Simulation;
impl Simulation {
    pub(crate) fn on_sctp(&mut self, _host: u32, id: PacketId) {
        self.network.pool.release(id);
    }
    pub(crate) fn on_host_timer(&mut self, _host: u32) {}
    pub(crate) fn serve(&mut self, _association: usize, _side: Side) {}
    pub(crate) fn call(&mut self, _association: usize, _side: Side, _call: Call) -> Result<(), String> {
        Ok(())
    }
    pub(crate) fn tell_link_state(&mut self, _link: usize, _up: bool) {}
}
