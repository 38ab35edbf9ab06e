//! What is done for a person: a [`dossier`] is everything that is held on them, [`erasure`] the end of it.
//! By the [`index`] the leads of somebody are found, and a [`request`] is about all of them. [`consents`] tell who agreed to what, [`consent_lines`] what that comes to.

pub mod consent_lines;
pub mod consents;
pub mod dossier;
pub mod erasure;
pub mod index;
pub mod request;
