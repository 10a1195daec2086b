//! All integration tests of `lab-tcp` in one program: what they share is compiled and linked once.

mod tcp;
