//! Receiving user data: TSN map, SACK generation, reassembly, streams. May not touch paths, timers or packets as a whole.
