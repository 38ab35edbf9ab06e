//! Whatever happened to leads, the analyses match it.

use proptest::prelude::*;

use crate::partner_files::{PartnerFile, partner};
use crate::world::*;
use offerd_engine::matching::Until;

mod replays;
