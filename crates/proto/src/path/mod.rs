//! Paths: (local, remote) address pairs with their window, RTO, error counter, heartbeat and probing. May not touch user data.
