//! Reports an association's path changes to the user.

use msctp::{AddressRequest, Association, Event, PathState};

/// Reports every path change until the association ends. Returns the number of changes of the primary path.
pub(crate) async fn report_moves(association: &Association, say: impl Fn(String)) -> u32 {
    let (mut switches, mut last) = (0, None);
    while let Some(event) = association.event().await {
        let at = |id| association.paths().into_iter().find(|path| path.id == id).map(|path| path.at);
        match event {
            // After the loss of a link, the event may confirm a path that carries the data already.
            Event::PrimaryChanged { path, .. } if last != Some(path) => {
                last = Some(path);
                switches += 1;
                if let Some(at) = at(path) {
                    say(format!("data goes over {at}"));
                }
            }
            Event::PathState { path, state: PathState::Active } => {
                if let Some(at) = at(path) {
                    say(format!("{at} works"));
                }
            }
            Event::PathState { path, state: PathState::Inactive } => {
                if let Some(at) = at(path) {
                    say(format!("{at} does not answer"));
                }
            }
            Event::AddressChange { request: AddressRequest::Delete(ip), accepted: true } => {
                say(format!("{ip} removed"));
            }
            _ => {}
        }
    }
    switches
}
