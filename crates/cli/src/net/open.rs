//! [`Open`] aborts the endpoints of a command when the command ends, so that no peer waits for it.

use std::cell::RefCell;
use std::time::Duration;

use msctp::Endpoint;

use crate::Failure;

/// Time for which to wait until the kernel accepts the ABORTs.
const LEAVE: Duration = Duration::from_secs(1);

/// The endpoints that a command has bound.
#[derive(Default)]
pub(crate) struct Open(RefCell<Vec<Endpoint>>);

impl Open {
    /// Registers an endpoint to abort when the command ends, whether it succeeds, fails or gets a signal.
    pub(crate) fn add(&self, endpoint: &Endpoint) {
        self.0.borrow_mut().push(endpoint.clone());
    }

    /// Aborts the associations that are still up. The reason is the error that ended the command.
    pub(crate) async fn close(&self, result: &Result<(), Failure>) {
        let reason = result.as_ref().err().map_or("the command is over".to_owned(), ToString::to_string);
        for endpoint in self.0.take() {
            let _ = tokio::time::timeout(LEAVE, endpoint.abort(reason.clone())).await;
        }
    }
}
