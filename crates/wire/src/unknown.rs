//! [`UnknownAction`]: how a receiver treats a chunk or parameter of unknown type.

/// Treatment of an unrecognized chunk (RFC 9260 §3.2, table 2) or parameter (§3.2.1, table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAction {
    /// Stop processing. Of a chunk's packet, discard this chunk and all further ones. Of a parameter's chunk,
    /// process no further parameter.
    pub stop: bool,
    /// Report the chunk or parameter to the peer ('Unrecognized Chunk Type' cause; for parameters see
    /// RFC 9260 §3.2.2).
    pub report: bool,
}

impl UnknownAction {
    /// Returns the action encoded in the two highest bits of the type's highest byte.
    pub const fn of_highest_byte(byte: u8) -> Self {
        Self { stop: byte & 0x80 == 0, report: byte & 0x40 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_rows_of_table_2() {
        let action = |byte| {
            let UnknownAction { stop, report } = UnknownAction::of_highest_byte(byte);
            (stop, report)
        };
        assert_eq!(action(0b0011_1111), (true, false));
        assert_eq!(action(0b0111_1111), (true, true));
        assert_eq!(action(0b1011_1111), (false, false));
        assert_eq!(action(0b1111_1111), (false, true));
    }
}
