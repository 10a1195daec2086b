//! All integration tests of `experiments` in one program: what they share is compiled and linked once.

mod leaderboard;
