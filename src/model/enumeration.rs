//! The one macro behind every closed set of wire values.

use utoipa::ToSchema;

/// What all enumerations have in common, for code that works on any of them.
pub trait Enumeration: Copy + Eq + ToSchema + 'static {
    /// Every value, in the order of the specification.
    const ALL: &'static [Self];
    /// The wire text of every value, in the same order.
    const WIRE: &'static [&'static str];

    /// The wire text.
    fn as_str(self) -> &'static str;

    /// Finds the value that is written `text`; upper and lower case differ.
    fn from_wire(text: &str) -> Option<Self>;

    /// The position in [`Enumeration::ALL`].
    fn ordinal(self) -> u16;
}

/// Says which values are wanted: "one of `a`, `b`".
pub fn one_of(values: &[&str]) -> String {
    format!("one of `{}`", values.join("`, `"))
}

/// Defines an enumeration from one list of `Variant = "wire text"`.
///
/// A refused text is never repeated in the error, because it may be personal; the wanted values are.
macro_rules! enumeration {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, utoipa::ToSchema)]
        pub enum $name {
            $(
                #[doc = concat!("`", $wire, "`")]
                #[doc = ""]
                $(#[$doc])*
                #[schema(rename = $wire)]
                $variant,
            )+
        }

        impl $name {
            /// Every value, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The wire text of every value, in the same order.
            pub const WIRE: &'static [&'static str] = &[$($wire),+];

            /// The wire text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $wire,)+
                }
            }

            /// Finds the value that is written `text`; upper and lower case differ.
            pub fn from_wire(text: &str) -> Option<Self> {
                match text {
                    $($wire => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The position in [`Self::ALL`].
            pub const fn ordinal(self) -> u16 {
                self as u16
            }
        }

        impl $crate::model::enumeration::Enumeration for $name {
            const ALL: &'static [Self] = Self::ALL;
            const WIRE: &'static [&'static str] = Self::WIRE;

            fn as_str(self) -> &'static str {
                self.as_str()
            }

            fn from_wire(text: &str) -> Option<Self> {
                Self::from_wire(text)
            }

            fn ordinal(self) -> u16 {
                self.ordinal()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::from_wire(&text).ok_or_else(|| {
                    let wanted = $crate::model::enumeration::one_of(Self::WIRE);
                    serde::de::Error::custom(format_args!("must be {wanted}"))
                })
            }
        }
    };
}

pub(crate) use enumeration;
