//! Sending user data: streams, fragmentation, the outstanding queue, SACK processing. May not touch sockets or whole packets.
