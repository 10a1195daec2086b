//! [`Open`]: the endpoints of a command, so that their peers hear of its end.

use std::cell::RefCell;
use std::time::Duration;

use msctp::Endpoint;

use crate::Failure;

/// The kernel takes the last packets within this time, or not at all.
const LEAVE: Duration = Duration::from_secs(1);

/// The endpoints that a command has bound.
#[derive(Default)]
pub(crate) struct Open(RefCell<Vec<Endpoint>>);

impl Open {
    /// The endpoint is closed when the command ends, however it does.
    pub(crate) fn add(&self, endpoint: &Endpoint) {
        self.0.borrow_mut().push(endpoint.clone());
    }

    /// Aborts the associations that are still there, with what the command came to as the reason.
    pub(crate) async fn close(&self, result: &Result<(), Failure>) {
        let reason = result.as_ref().err().map_or("the command is over".to_owned(), ToString::to_string);
        for endpoint in self.0.take() {
            let _ = tokio::time::timeout(LEAVE, endpoint.abort(reason.clone())).await;
        }
    }
}
