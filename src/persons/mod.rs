//! What is done for a person: a [`dossier`] is everything that is held on them, [`erasure`] the end of it.

pub mod dossier;
pub mod erasure;
