//! What commands that outlive outages share: the patience of an association, and attempts to connect again.

use std::time::Duration;

use msctp::{Association, Config, Span};
use msctp_terminal::Failure;

/// The first pause before another attempt.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between attempts.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Makes an association survive an outage of a few minutes.
pub(super) fn survive(config: &mut Config) {
    config.idle_timeout = Some(Span::from_secs(600));
    config.assoc_max_retrans = 100;
}

/// Returns the next pause of the exponential back-off.
pub(super) fn longer(pause: Duration) -> Duration {
    (pause * 2).min(MAX_PAUSE)
}

/// First pause between attempts to connect over UDP while an association over TCP is up.
const FIRST_PROBE: Duration = Duration::from_secs(10);
const MAX_PROBE: Duration = Duration::from_secs(300);

/// Connects over UDP, with growing pauses, while an association over TCP is up.
pub(super) async fn return_to_udp<T>(connect: impl AsyncFn() -> Option<T>) -> T {
    let mut pause = FIRST_PROBE;
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PROBE);
        if let Some(connected) = connect().await {
            return connected;
        }
    }
}

/// Reconnects with growing pauses. Passes each error to `failed`, with the seconds until the next attempt.
pub(super) async fn reconnect<T>(
    connect: impl AsyncFn() -> Result<T, Failure>,
    failed: impl Fn(&Failure, u64),
) -> T {
    let mut pause = FIRST_PAUSE;
    loop {
        tokio::time::sleep(pause).await;
        pause = longer(pause);
        match connect().await {
            Ok(connected) => return connected,
            Err(failure) => failed(&failure, pause.as_secs()),
        }
    }
}

/// Time for a peer to acknowledge a HEARTBEAT.
const ANSWER: Duration = Duration::from_secs(3);

/// Interval at which to check for an answer.
const LOOK: Duration = Duration::from_millis(20);

/// Returns whether the peer sends nothing for [`ANSWER`], although each path sends a HEARTBEAT.
pub(super) async fn is_silent(association: &Association) -> bool {
    let received = || association.paths().iter().map(|path| path.packets_received).sum::<u64>();
    let before = received();
    for path in association.paths() {
        // A path that was removed meanwhile needs none.
        let _ = association.request_heartbeat(path.id);
    }
    let answered = async {
        while received() == before {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(ANSWER, answered).await.is_err()
}
