//! The macro that defines all closed sets of wire values.

use utoipa::ToSchema;

/// The interface that all enumerations share.
pub trait Enumeration: Copy + Eq + ToSchema + 'static {
    /// Every value, in the order of the specification.
    const ALL: &'static [Self];
    /// The wire text of every value, in the same order.
    const WIRE: &'static [&'static str];

    /// The value with the wire text `text`; case matters.
    fn from_wire(text: &str) -> Option<Self>;

    /// The position in [`Enumeration::ALL`].
    fn ordinal(self) -> u16;

    /// The wire text.
    fn as_str(self) -> &'static str {
        Self::WIRE[usize::from(self.ordinal())]
    }
}

/// How long the name of a value is in snake case.
pub(super) const fn snake_case_length(name: &str) -> usize {
    let (mut length, mut nth) = (name.len(), 1);
    while nth < name.len() {
        length += name.as_bytes()[nth].is_ascii_uppercase() as usize;
        nth += 1;
    }
    length
}

/// A value's name in snake case, of that length.
pub(super) const fn snake_case<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let (mut snake, mut end, mut nth) = ([b'_'; LENGTH], 0, 0);
    while nth < name.len() {
        let letter = name.as_bytes()[nth];
        end += (nth > 0 && letter.is_ascii_uppercase()) as usize;
        snake[end] = letter.to_ascii_lowercase();
        (end, nth) = (end + 1, nth + 1);
    }
    snake
}

/// Defines enumerations, each from a list of values and perhaps a second list `beyond the specification`. The
/// wire text of a value is its name in snake case, unless given: `Variant = "wire text"`.
///
/// An error never repeats a refused text, which may be personal; it lists the accepted values.
macro_rules! enumeration {
    (@wire $variant:ident $wire:literal) => { $wire };
    (@wire $variant:ident) => {{
        use $crate::enumeration::{snake_case, snake_case_length};
        const NAME: &str = stringify!($variant);
        const WIRE: &[u8; snake_case_length(NAME)] = &snake_case(NAME);
        match std::str::from_utf8(WIRE) {
            Ok(wire) => wire,
            Err(_) => panic!("a name is ASCII"),
        }
    }};

    (@define [$($meta:tt)*] $name:ident
        { $($(#[$doc:meta])* $variant:ident $(= $wire:literal)?,)+ }
        { $($(#[$_doc:meta])* $specified:ident $(= $_wire:literal)?,)+ }
    ) => {
        $($meta)*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, utoipa::ToSchema)]
        #[schema(rename_all = "snake_case")]
        pub enum $name {
            $(
                #[doc = concat!("`", stringify!($variant), "`")]
                #[doc = ""]
                $(#[$doc])*
                $(#[schema(rename = $wire)])?
                $variant,
            )+
        }

        impl $name {
            /// Every value, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The values of the specification, which come first.
            pub const SPECIFIED: &'static [Self] = &[$(Self::$specified),+];
            /// The wire text of every value, in the same order.
            pub const WIRE: &'static [&'static str] = &[$(enumeration!(@wire $variant $($wire)?)),+];

            /// Whether the value is in the specification.
            pub const fn is_specified(self) -> bool {
                (self as usize) < Self::SPECIFIED.len()
            }

            /// The wire text.
            pub const fn as_str(self) -> &'static str {
                Self::WIRE[self as usize]
            }

            /// The value with the wire text `text`; case matters.
            // A pattern must be a constant, and each has the name of its value.
            #[allow(non_upper_case_globals)]
            pub fn from_wire(text: &str) -> Option<Self> {
                $(const $variant: &str = enumeration!(@wire $variant $($wire)?);)+
                match text {
                    $($variant => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The position in [`Self::ALL`].
            pub const fn ordinal(self) -> u16 {
                self as u16
            }
        }

        impl $crate::enumeration::Enumeration for $name {
            const ALL: &'static [Self] = Self::ALL;
            const WIRE: &'static [&'static str] = Self::WIRE;

            fn from_wire(text: &str) -> Option<Self> {
                Self::from_wire(text)
            }

            fn ordinal(self) -> u16 {
                self.ordinal()
            }
        }

        $crate::input::from_scalar! {
            $name, $crate::one_of(Self::WIRE), Some($crate::AttributeKind::Category(Self::WIRE)),
            describe: components => $crate::schema::reference::<Self>(components),
            read: found => $crate::input::value(found),
            show: value => Some($crate::AttributeValue::Category(value.ordinal())),
            mend: $crate::leniency::value_of::<Self>,
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
                    let wanted = $crate::one_of(Self::WIRE);
                    serde::de::Error::custom(format_args!("must be {wanted}"))
                })
            }
        }
    };

    ($(#[$meta:meta])* $name:ident { $($specified:tt)+ } beyond the specification { $($newer:tt)+ } $($more:tt)*) => {
        enumeration! { @define [$(#[$meta])*] $name { $($specified)+ $($newer)+ } { $($specified)+ } }
        enumeration! { $($more)* }
    };

    ($(#[$meta:meta])* $name:ident { $($values:tt)+ } $($more:tt)*) => {
        enumeration! { @define [$(#[$meta])*] $name { $($values)+ } { $($values)+ } }
        enumeration! { $($more)* }
    };

    () => {};
}

pub(crate) use enumeration;
