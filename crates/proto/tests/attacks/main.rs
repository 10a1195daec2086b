//! Attacks, one file each: what an attacker writes changes nothing and loses nothing, and what it can make us
//! do, send or hold is bounded. (tests/hostile throws everything at every state; here each attack is one that
//! was made on other stacks.)

mod acknowledgements;
mod amplification;
mod bandwidth_probes;
mod bit_flips;
mod bombs;
mod budgets;
mod camping;
mod clocks;
mod cookies;
mod ecn;
mod events;
mod flood;
mod icmp;
mod impersonation;
mod init_acks;
mod listed_victims;
mod no_auth;
mod null_key;
mod off_path;
mod parameters;
mod reflection;
mod replay;
mod restarts;
mod secrets;
mod shared_keys;
mod silence;
mod stranger;
#[path = "../support/mod.rs"]
mod support;
mod victim;
mod wraps;
mod wrong_key;
mod zero_checksum;
mod zero_window;
