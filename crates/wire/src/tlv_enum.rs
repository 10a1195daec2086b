//! Enums of parameters and error causes, and their 16-bit type fields.

/// Defines an enum of parameters or causes: one line per type, with the type of its value.
macro_rules! tlv_enum {
    (
        $(#[$doc:meta])*
        $name:ident, $code:ident, $error:ident { $code_field:ident }, $unknown:ident;
        values { $($(#[$vdoc:meta])* $variant:ident($value:ty) = $constant:ident;)* }
        markers { $($(#[$mdoc:meta])* $marker:ident = $mconstant:ident;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $name<'a> {
            $($(#[$vdoc])* $variant($value),)*
            $($(#[$mdoc])* $marker,)*
            /// An item of unknown type.
            Unknown($unknown<'a>),
        }

        impl<'a> $name<'a> {
            /// The type field.
            #[must_use]
            pub fn typ(&self) -> $code {
                match self {
                    $($name::$variant(_) => $code::$constant,)*
                    $($name::$marker => $code::$mconstant,)*
                    $name::Unknown(unknown) => unknown.typ(),
                }
            }

            fn parse_value(typ: $code, whole: &'a [u8]) -> Result<Self, $crate::error::Malformed> {
                let value = &whole[$crate::tlv::HEADER..];
                match typ {
                    $($code::$constant => <$value as $crate::layout::Value<'a>>::parse(value).map($name::$variant),)*
                    $($code::$mconstant => <() as $crate::layout::Value>::parse(value).map(|()| $name::$marker),)*
                    _ => Ok($name::Unknown($unknown::from_whole(whole))),
                }
            }
        }

        impl<'a> $crate::tlv::Tlv<'a> for $name<'a> {
            type Error = $crate::error::$error;

            fn parse(bytes: &'a [u8]) -> Result<Self, Self::Error> {
                let frame = $crate::tlv::split(bytes)?;
                let typ = $code(frame.typ());
                Self::parse_value(typ, frame.whole)
                    .map_err(|fault| $crate::error::$error::Malformed { $code_field: typ, fault })
            }

            fn encoded_len(&self) -> usize {
                $crate::tlv::HEADER + match self {
                    $($name::$variant(value) => $crate::layout::Value::encoded_len(value),)*
                    $($name::$marker => 0,)*
                    $name::Unknown(unknown) => unknown.value().len(),
                }
            }

            fn encode(&self, out: &mut Vec<u8>) {
                let value_len = self.encoded_len() - $crate::tlv::HEADER;
                //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
                //# Note: The length MUST NOT include any padding.
                $crate::tlv::write_header(out, self.typ().0, value_len);
                match self {
                    $($name::$variant(value) => $crate::layout::Value::encode(value, out),)*
                    $($name::$marker => {})*
                    $name::Unknown(unknown) => out.extend_from_slice(unknown.value()),
                }
            }
        }

        /// A well-framed item of any type, kept as bytes.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $unknown<'a> {
            /// Header and value; the Length field agrees with it.
            bytes: &'a [u8],
        }

        impl<'a> $unknown<'a> {
            /// The first item of `bytes`, whatever its type.
            ///
            /// # Errors
            /// If the bytes are badly framed.
            pub fn new(bytes: &'a [u8]) -> Result<Self, $crate::error::FramingError> {
                $crate::tlv::split(bytes).map(|frame| Self { bytes: frame.whole })
            }

            const fn from_whole(whole: &'a [u8]) -> Self {
                Self { bytes: whole }
            }

            /// The type field.
            #[must_use]
            pub fn typ(&self) -> $code {
                $code($crate::read::be16(self.bytes, 0))
            }

            /// Header and value without padding, as quoted in a report.
            #[must_use]
            pub const fn bytes(&self) -> &'a [u8] {
                self.bytes
            }

            /// The value.
            #[must_use]
            pub fn value(&self) -> &'a [u8] {
                &self.bytes[$crate::tlv::HEADER..]
            }
        }

        impl core::fmt::Debug for $unknown<'_> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($unknown))
                    .field("typ", &self.typ())
                    .field("value", &self.value())
                    .finish()
            }
        }
    };
}
pub(crate) use tlv_enum;

/// Defines a 16-bit type or code field with the names the RFCs use.
macro_rules! code_field {
    (
        $(#[$doc:meta])*
        $name:ident, $unnamed:literal;
        $($(#[$cdoc:meta])* $constant:ident = $value:literal, $text:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u16);

        impl $name {
            $($(#[$cdoc])* pub const $constant: Self = Self($value);)*

            /// Returns the name in the RFCs, or `None` if unknown.
            #[must_use]
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
                    None => write!(f, concat!($unnamed, " {:#06x}"), self.0),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        $crate::list::item_as_number!($name, u16, Self, |field: Self| field.0);
    };
}
pub(crate) use code_field;
