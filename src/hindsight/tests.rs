//! What is told of leads by their records is what happened to them, whatever happened.

use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use crate::matching::recovery::recover;
use crate::matching::tests::world::*;
use crate::matching::{Submission, Until};
use crate::model::{CreditBands, Lead};
use crate::partner_files::{PartnerFile, partner};
use crate::store::{Store, Tree};

mod funnel;
mod replays;
