//! The one macro behind every checked text format.

/// Defines a text type that only holds what `$parse` has let through, in its normal form. `$accepted` says as
/// an [`Accepted`](crate::model::schema::Accepted) what it lets through.
///
/// All of them identify a person, so `Debug` shows no value and there is no `Display`.
macro_rules! text_format {
    ($(#[doc = $about:literal])* $name:ident, $wanted:literal, $accepted:expr, $parse:expr) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Reads the text into its normal form; `None` when it has not the wanted shape.
            pub fn parse(text: &str) -> Option<Self> {
                let parse: fn(&str) -> Option<String> = $parse;
                parse(text).map(Self)
            }

            /// The normal form.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom(concat!("must be ", $wanted)))
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::model::schema::checked_text($accepted, &[$($about),*])
            }
        }

        impl utoipa::ToSchema for $name {}

        impl $crate::model::input::FromInput for $name {
            const KIND: Option<$crate::model::attribute_value::AttributeKind> =
                Some($crate::model::attribute_value::AttributeKind::Text);

            fn wanted() -> std::borrow::Cow<'static, str> {
                $wanted.into()
            }

            fn describe(
                components: &mut $crate::model::schema::Components,
            ) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::model::schema::reference::<Self>(components)
            }

            fn from_scalar(
                found: $crate::model::input::Scalar<'_>,
            ) -> Result<Self, $crate::model::fault::Fault> {
                $crate::model::input_kinds::text(found, Self::parse)
            }

            fn attribute_value(&self) -> Option<$crate::model::attribute_value::AttributeValue<'_>> {
                Some($crate::model::attribute_value::AttributeValue::Text(&self.0))
            }
        }
    };
}

pub(crate) use text_format;
