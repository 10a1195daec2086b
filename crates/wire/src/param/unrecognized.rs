//! Unrecognized Parameter (RFC 9260 §3.3.3.1.2), and parameters of unknown type.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 8            |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                    Unrecognized Parameter                     /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::param::testing::check;
    use crate::param::{Param, ParamType, Params, UnknownParam};
    use crate::unknown::UnknownAction;

    #[test]
    fn an_unknown_parameter_round_trips() {
        let bytes = [0xc9, 0x99, 0, 6, 1, 2, 0, 0];
        let unknown = UnknownParam::new(&bytes).unwrap();
        check(&bytes, Param::Unknown(unknown));
        assert_eq!((unknown.typ(), unknown.value()), (ParamType(0xc999), &[1, 2][..]));
        assert_eq!(unknown.action(), UnknownAction { stop: false, report: true });

        let report = Param::UnrecognizedParameter(unknown.bytes());
        check(&[0, 8, 0, 10, 0xc9, 0x99, 0, 6, 1, 2, 0, 0], report);
        let Param::UnrecognizedParameter(inner) = report else { unreachable!() };
        assert!(Params::from_wire(inner).iter().eq([Ok(Param::Unknown(unknown))]));
    }
}
