//! What is told of leads by their records is what happened to them, whatever happened.

use proptest::prelude::*;

use crate::matching::Until;
use crate::matching::tests::world::*;
use crate::partner_files::{PartnerFile, partner};

mod replays;
