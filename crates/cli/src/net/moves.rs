//! What an association's moves look like to people.

use msctp::{AddressRequest, Association, Event, PathState};

/// Tells on standard error of every move until the association is over; the number of times that data took
/// another path.
pub(crate) async fn tell(association: &Association, say: impl Fn(String)) -> u32 {
    let (mut switches, mut last) = (0, None);
    while let Some(event) = association.event().await {
        let at = |id| association.paths().into_iter().find(|path| path.id == id).map(|path| path.at);
        match event {
            // Where data went already when a link was lost, it may then be told to go.
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
