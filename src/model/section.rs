//! The macro that defines all objects of request bodies.

/// Defines sections of a request body, each from one list of fields.
///
/// ```text
/// section! {
///     /// What the section is about.
///     LeadThing at lead.thing = "thing" {
///         /// What the field means.
///         first_name: String = "firstName" as personal,
///         /// The second spelling is read, too, and never written.
///         zip_code: Zipcode = "zipCode" | "zipcode",
///         /// Less than nothing is refused.
///         amount: i32 = "amount" within DOLLARS,
///     }
/// }
/// ```
///
/// Each field becomes a `pub field: Option<Type>`, written under its first wire name and left out when
/// absent. The list also generates the fast reader and the fault finder, both in
/// [`FromInput`](crate::input::FromInput), the section's schema and, for a section `at` a fixed place, its
/// rows in the table of attributes. `Debug` never shows a `personal` field. `within` names a row of
/// [`bounds`](crate::bounds).
macro_rules! section {
    (@is_personal) => { false };
    (@is_personal personal) => { true };

    (@bounds) => { None };
    (@bounds $bounds:ident) => { Some($crate::bounds::$bounds) };

    (@attributes [] $($fields:tt)*) => {};
    (@attributes [$section:literal $dot:literal |$lead:ident| $place:expr]
        $($field:ident: $type:ty = $wire:literal $($mark:ident)?,)+
    ) => {
        fn attributes() -> Vec<$crate::attribute::Attribute> {
            use $crate::{attribute::{Attribute, Attributes}, input::FromInput};
            let mut found = Vec::new();
            $(
                // A type that is not an attribute (a uuid, a section, client tags) has no row.
                found.extend(<$type as FromInput>::KIND.map(|kind| Attribute {
                    path: concat!($section, $dot, $wire),
                    kind,
                    personal: section!(@is_personal $($mark)?),
                    read: |$lead| $place?.$field.as_ref()?.attribute_value(),
                }));
                found.extend(<$type as Attributes>::attributes());
            )+
            found
        }
    };

    (@define [$($place:tt)*] [$noun:expr] $(#[doc = $about:literal])* $name:ident {
        $(
            $(#[doc = $doc:literal])*
            $field:ident: $type:ty = $wire:literal $(| $alias:literal)* $(within $bounds:ident)? $(as $mark:ident)?,
        )+
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Default, PartialEq, serde::Serialize)]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                #[serde(rename = $wire, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )+
        }

        impl $name {
            /// The wire names of its fields; unused for most sections.
            #[allow(dead_code)]
            pub const WIRE: &'static [&'static str] = &[$($wire),+];
        }

        // Hides the imports of the generated code.
        const _: () = {
            use utoipa::openapi::{RefOr, Schema};
            use $crate::fault::{AttributeFault, BodyFaults, Path};
            use $crate::input::{
                FromInput, InputSeed, KeySeed, find_field_faults, find_field_implausible, kind_of,
            };
            use $crate::schema::{self, Components};

            impl FromInput for $name {
                fn wanted() -> std::borrow::Cow<'static, str> {
                    "an object".into()
                }

                fn describe(components: &mut Components) -> RefOr<Schema> {
                    schema::reference::<Self>(components)
                }

                fn from_map<'de, A: serde::de::MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
                    #[allow(non_camel_case_types)]
                    #[derive(Clone, Copy)]
                    enum Field { $($field,)+ }
                    let recognise = |key: &str| match key {
                        $(
                            $wire => Some((Field::$field, 0)),
                            $($alias => Some((Field::$field, 1)),)*
                        )+
                        _ => None,
                    };
                    // By the first name, and by the second.
                    let mut given = [Self::default(), Self::default()];
                    let mut seen = [[false; 2]; Self::WIRE.len()];
                    while let Some(known) = entries.next_key_seed(KeySeed(&recognise))? {
                        let Some((field, name)) = known else {
                            entries.next_value::<serde::de::IgnoredAny>()?;
                            continue;
                        };
                        if std::mem::replace(&mut seen[field as usize][name], true) {
                            return Err(serde::de::Error::custom(AttributeFault::TWICE));
                        }
                        match field {
                            $(Field::$field => {
                                given[name].$field = entries.next_value_seed(InputSeed::optional())?;
                            })+
                        }
                    }
                    let [section, _by_alias] = given;
                    $($(
                        let _ = $alias;
                        let section = Self { $field: section.$field.or(_by_alias.$field), ..section };
                    )*)+
                    Ok(section)
                }

                fn find_faults(value: &serde_json::Value, at: &Path<'_>, faults: &mut BodyFaults) {
                    let Some(entries) = value.as_object() else {
                        return faults.push(at, AttributeFault::other_kind(&Self::wanted(), kind_of(value)));
                    };
                    $(
                        for name in [$wire $(, $alias)*] {
                            if let Some(entry) = entries.get(name) {
                                let bounds = section!(@bounds $($bounds)?);
                                find_field_faults::<$type>(entry, bounds, &Path::Key(at, name), faults);
                            }
                        }
                    )+
                }

                fn mend(value: &mut serde_json::Value, leniency: $crate::Leniency) -> usize {
                    let Some(entries) = value.as_object_mut() else { return 0 };
                    let mut changed = 0;
                    $(
                        for name in [$wire $(, $alias)*] {
                            if let Some(entry) = entries.get_mut(name) {
                                changed += <$type as FromInput>::mend(entry, leniency);
                            }
                        }
                    )+
                    changed
                }

                fn find_implausible(&self, at: &Path<'_>, faults: &mut BodyFaults) {
                    $(
                        if let Some(value) = &self.$field {
                            let bounds = section!(@bounds $($bounds)?);
                            find_field_implausible(value, bounds, &Path::Key(at, $wire), faults);
                        }
                    )+
                }
            }

            impl $crate::attribute::Attributes for $name {
                section! { @attributes [$($place)*] $($field: $type = $wire $($mark)?,)+ }
            }

            impl utoipa::PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let mut components = Components::new();
                    let about = schema::sentence(&[$($about),*]);
                    let mut properties = schema::object([]).description(Some(about));
                    $(
                        let wanted = <$type as FromInput>::describe(&mut components);
                        let wanted = schema::bounded(wanted, section!(@bounds $($bounds)?));
                        properties = properties.property($wire, schema::optional(wanted, &[$($doc),*]));
                    )+
                    properties.extensions(schema::aliases(&[$($(($alias, $wire),)*)+])).into()
                }
            }

            impl utoipa::ToSchema for $name {
                fn name() -> std::borrow::Cow<'static, str> {
                    $noun.into()
                }

                fn schemas(components: &mut Components) {
                    $(<$type as FromInput>::describe(components);)+
                }
            }
        };

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let input = $crate::input::InputSeed::<Self>::required();
                deserializer.deserialize_map(input).map(Option::unwrap_or_default)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($name));
                $(
                    match &self.$field {
                        Some(_) if section!(@is_personal $($mark)?) => {
                            shown.field(stringify!($field), &format_args!("***"));
                        }
                        Some(value) => {
                            shown.field(stringify!($field), value);
                        }
                        None => {}
                    }
                )+
                shown.finish()
            }
        }
    };

    ($(#[doc = $about:literal])* $name:ident at lead as $noun:literal { $($fields:tt)* } $($more:tt)*) => {
        section! { @define ["" "" |lead| Some(lead)] [$noun] $(#[doc = $about])* $name { $($fields)* } }
        section! { $($more)* }
    };

    ($(#[doc = $about:literal])* $name:ident at lead.$place:ident = $section:literal { $($fields:tt)* } $($more:tt)*) => {
        section! { @define [$section "." |lead| lead.$place.as_ref()] [stringify!($name)] $(#[doc = $about])* $name { $($fields)* } }
        section! { $($more)* }
    };

    ($(#[doc = $about:literal])* $name:ident as $noun:literal { $($fields:tt)* } $($more:tt)*) => {
        section! { @define [] [$noun] $(#[doc = $about])* $name { $($fields)* } }
        section! { $($more)* }
    };

    ($(#[doc = $about:literal])* $name:ident { $($fields:tt)* } $($more:tt)*) => {
        section! { @define [] [stringify!($name)] $(#[doc = $about])* $name { $($fields)* } }
        section! { $($more)* }
    };

    () => {};
}

pub(crate) use section;
