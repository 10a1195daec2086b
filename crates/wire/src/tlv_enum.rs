//! Enums of parameters and error causes.

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
            /// Returns the type field.
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
            /// Bytes of header and value, which agree with the Length field.
            bytes: &'a [u8],
        }

        impl<'a> $unknown<'a> {
            /// Parses the first TLV of `bytes`, of any type.
            ///
            /// # Errors
            /// The TLV is malformed.
            pub fn new(bytes: &'a [u8]) -> Result<Self, $crate::error::FramingError> {
                $crate::tlv::split(bytes).map(|frame| Self { bytes: frame.whole })
            }

            const fn from_whole(whole: &'a [u8]) -> Self {
                Self { bytes: whole }
            }

            /// Returns the type field.
            pub fn typ(&self) -> $code {
                $code($crate::read::be16(self.bytes, 0))
            }

            /// Returns header and value without padding, as quoted in a report.
            pub const fn bytes(&self) -> &'a [u8] {
                self.bytes
            }

            /// Returns the value.
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
