//! What is told of leads by their records is what happened to them, whatever happened.

use proptest::prelude::*;

use crate::partner_files::{PartnerFile, partner};
use crate::world::*;
use offerd_engine::matching::Until;

mod replays;
