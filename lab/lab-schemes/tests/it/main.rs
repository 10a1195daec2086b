//! All integration tests of `schemes` in one program: what they share is compiled and linked once.

mod any_controller;
mod quality;
mod trajectory;
