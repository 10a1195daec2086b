//! Attacks on authentication and addresses, one file each: what an attacker without the keys writes changes nothing and
//! loses nothing. (tests/hostile throws everything at every state; here each attack is one that was made on other stacks.)

mod amplification;
mod bit_flips;
mod no_auth;
mod off_path;
mod parameters;
mod replay;
#[path = "../support/mod.rs"]
mod support;
mod victim;
mod wrong_key;
