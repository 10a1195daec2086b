//! Two connections over a network in virtual time.

mod any_network;
mod differentiation;
mod handshake;
mod recovery;
mod support;
