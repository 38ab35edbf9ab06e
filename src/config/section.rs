//! The one macro behind every section of the settings.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};

/// A section, made from one list of its keys.
pub(super) trait Section: Sized {
    /// Its keys, and what a reload does with each.
    const KEYS: &'static [(&'static str, Reload)];

    /// Reads the keys: no other, and none left out.
    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

/// What a reload does with a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reload {
    /// Takes it in.
    Always,
    /// Leaves it to a restart.
    Never,
    /// What it does with each key below.
    Of(&'static [(&'static str, Reload)]),
}

/// Reads a section.
pub(super) struct Rows<T>(pub PhantomData<T>);

impl<'de, T: Section> Visitor<'de> for Rows<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

/// Declares sections of the settings, each from one list of its keys.
///
/// ```text
/// settings! {
///     /// `[section]`
///     #[derive(Debug, Clone)]
///     SectionSettings {
///         /// What the key means.
///         queue: usize = count(1, 256),
///         /// A reload takes it in.
///         wait: Duration = span(SECOND, HOUR) => reloadable,
///         /// It may be left out, and is its type's default then.
///         name: String => optional,
///         /// It has keys of its own.
///         within: OtherSettings => section,
///     }
/// }
/// ```
///
/// What stands behind `=` checks what is written, and makes the value of it; see
/// [`checked`](crate::declaration::checked). A field behind `..` is no key.
macro_rules! settings {
    (@reload [$type:ty]) => { $crate::config::section::Reload::Never };
    (@reload [$type:ty] optional) => { $crate::config::section::Reload::Never };
    (@reload [$type:ty] reloadable) => { $crate::config::section::Reload::Always };
    (@reload [$type:ty] section) => {
        $crate::config::section::Reload::Of(<$type as $crate::config::section::Section>::KEYS)
    };

    (@read $map:ident) => { $map.next_value()? };
    (@read $map:ident $check:expr) => { $map.next_value_seed($crate::declaration::checked($check))? };

    (@missing $field:ident optional) => { Default::default() };
    (@missing $field:ident $($mark:ident)?) => {
        return Err(serde::de::Error::missing_field(stringify!($field)))
    };

    ($($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty $(= $check:expr)? $(=> $mark:ident)?,)+
        $(.. $rest:ident: $rest_type:ty)?
    })+) => {$(
        $(#[$about])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)+
            $(pub(super) $rest: $rest_type,)?
        }

        impl $crate::config::section::Section for $name {
            const KEYS: &'static [(&'static str, $crate::config::section::Reload)] =
                &[$((stringify!($field), settings!(@reload [$type] $($mark)?)),)+];

            fn from_map<'de, A: serde::de::MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
                #[derive(Default)]
                struct Given {
                    $($field: Option<$type>,)+
                }
                let mut given = Given::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        $(stringify!($field) => given.$field = Some(settings!(@read map $($check)?)),)+
                        other => {
                            let known = &[$(stringify!($field)),+];
                            return Err(serde::de::Error::unknown_field(other, known));
                        }
                    }
                }
                Ok(Self {
                    $($field: match given.$field {
                        Some(value) => value,
                        None => settings!(@missing $field $($mark)?),
                    },)+
                    $($rest: Default::default(),)?
                })
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::config::section::Rows(std::marker::PhantomData))
            }
        }
    )+};
}

pub(super) use settings;
