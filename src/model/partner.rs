//! A partner, as shown with its offers.

use uuid::Uuid;

use crate::record;

record! {
    /// An institution, as shown with its offers.
    Partner {
        /// The partner's id.
        uuid: Uuid,
        /// The name to show.
        name: String,
        /// A description, in a sentence or two.
        description: String,
        /// The disclaimer that must be shown with each of its offers.
        disclaimer: String,
        /// Whether the service can pre-select: predict who will be approved.
        supports_pre_select: bool,
        /// Whether to show the pre-selection.
        should_display_pre_select: bool,
        /// Whether it answers with pre-qualified or pre-approved offers.
        supports_personalized_offers: bool,
        /// The address of the logo.
        image_url: String,
        /// Text to show instead of the usual line below the name.
        subtext_override?: String,
        /// The location of its headquarters; not in the specification.
        headquarters?: String,
        /// The assets that it manages, in words; not in the specification.
        assets?: String,
        /// Its brand name; not in the specification.
        brand_name?: String,
        /// The brand's id; not in the specification.
        brand_uuid?: Uuid,
    }
}
