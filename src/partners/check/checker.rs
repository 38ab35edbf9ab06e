//! The checker of partner files.

use std::ops::{Deref, DerefMut};

use offerd_base::declaration::{self, Fault, Source};

/// A [`declaration::Checker`] with checks specific to partner files.
#[derive(Debug)]
pub struct PartnerFileChecker<'s>(declaration::Checker<'s>);

impl<'s> PartnerFileChecker<'s> {
    /// A checker of a file, without faults so far.
    pub fn new(source: &'s Source) -> Self {
        Self(declaration::Checker::new(source))
    }

    /// Runs checks under `key`.
    pub fn within<T>(&mut self, key: &str, what: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(key);
        let result = what(self);
        self.leave();
        result
    }

    /// The collected faults.
    pub fn into_faults(self) -> Vec<Fault> {
        self.0.into_faults()
    }
}

impl<'s> Deref for PartnerFileChecker<'s> {
    type Target = declaration::Checker<'s>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for PartnerFileChecker<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
