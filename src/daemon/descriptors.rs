//! File descriptors: the process raises its limit to the maximum, and reserves some from its clients.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::prelude::*;
use offerd_base::telemetry::metrics::DESCRIPTORS_MAX;

/// Divisor of the reserved descriptors for the admin listener's share.
const ADMIN_SHARE: usize = 4;

/// The number of files the process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// `None` sets no limit.
    pub most: Option<u64>,
}

/// Upper bounds on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionBounds {
    /// The api and integrations listeners together.
    pub public: usize,
    /// The admin listener, out of the reserved ones.
    pub admin: usize,
}

impl Descriptors {
    /// The fewest that serve clients: a store and the calls to partners need some, too.
    pub const FEWEST: u64 = 256;

    /// The number this process could have: a start raises its soft limit to the hard one.
    pub fn there_are() -> Self {
        Self { most: getrlimit(Resource::Nofile).maximum }
    }

    /// Raises the soft limit to the hard one.
    pub fn take() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        let most = match raised {
            Ok(()) => maximum,
            Err(error) => {
                warn!(%error, ?current, "could not raise the limit of open files");
                current
            }
        };
        if most != current {
            info!(from = current, to = most, "raised the limit of open files");
        }
        if let Some(most) = most.filter(|most| *most < Self::FEWEST) {
            warn!(
                limit = most,
                "few open files: clients may be refused; see the file limit in `offerd doctor`"
            );
        }
        gauge!(DESCRIPTORS_MAX).set(most.map_or(f64::INFINITY, |most| most as f64));
        Self { most }
    }

    /// Reserves `reserved` descriptors from clients, or half of all if that is less.
    pub fn shared(self, reserved: usize) -> ConnectionBounds {
        let most = self.most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let reserved = reserved.min(most / 2);
        ConnectionBounds { public: most - reserved, admin: (reserved / ADMIN_SHARE).max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_never_have_more_than_what_is_not_kept_back() {
        let shares = |most| Descriptors { most }.shared(512);
        assert_eq!(shares(Some(65_536)), ConnectionBounds { public: 65_024, admin: 128 });
        assert_eq!(shares(Some(256)), ConnectionBounds { public: 128, admin: 32 });
        assert_eq!(shares(None).admin, 128);
    }
}
