//! Attacks, one file each: forged packets change and lose nothing, and the work, traffic and memory that an
//! attacker can cause are bounded. (tests/hostile injects arbitrary input in every state; each attack here
//! was made on another stack.)

mod aborts;
mod acknowledgements;
mod amplification;
mod answered_addresses;
mod bandwidth_probes;
mod bit_flips;
mod bombs;
mod budgets;
mod camping;
pub(crate) mod changed_setup;
mod clocks;
mod cookies;
mod dead_networks;
mod delays;
mod deleted_data;
mod ecn;
mod events;
mod flood;
mod icmp;
mod impersonation;
mod init_acks;
mod joint;
mod listed_victims;
mod no_auth;
mod null_key;
mod off_path;
mod parameters;
mod protected;
mod protected_setup;
mod reflection;
mod replay;
mod restarts;
mod scopes;
mod secrets;
mod shared_keys;
mod silence;
mod stranger;
mod timers;
mod udp_ports;
mod victim;
mod wraps;
mod wrong_key;
mod zero_checksum;
mod zero_window;
