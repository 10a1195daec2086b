//! Type and code fields: which chunk, parameter or error cause an item is.

/// Defines a type or code field with the names the RFCs use.
macro_rules! code_field {
    (
        $(#[$doc:meta])*
        $name:ident($int:ty), $unnamed:literal;
        $($(#[$cdoc:meta])* $constant:ident = $value:literal, $text:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$cdoc])* pub const $constant: Self = Self($value);)*

            /// Returns the name in the RFCs, or `None` if unknown.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($text),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, $unnamed, self.0),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

mod cause;
mod chunk;
mod param;

pub use cause::CauseCode;
pub use chunk::ChunkType;
pub use param::ParamType;
