//! Deliberate bugs in the daemon, each found by a test over its sockets.

use offerd::planted::Planted::{self, *};

use crate::kit::planted_runs::assert_found;

const FOUND_BY: [(Planted, &str); 10] = [
    (AckBeforeWrite, "growing_leads::a_change_survives_a_kill"),
    (TokenInLog, "leads::a_lead_comes_back_as_it_was_sent"),
    (ForeignRecords, "leads::another_companys_records_are_unknown"),
    (DuplicatesWin, "leads::of_many_submits_of_one_uuid_at_once_one_wins"),
    (BlockingTooEarly, "rate_tables::the_blocking_answer_is_complete_and_equals_a_later_poll"),
    (
        MissingEvents,
        "conformance::events::lead_events_tell_what_happened_with_the_institution_and_the_product",
    ),
    (RevokedTokens, "conformance::authentication::a_token_that_was_revoked_is_invalid"),
    (TestsGoLive, "http_partners::a_test_lead_reaches_the_sandbox_only"),
    (RangeWithoutEnd, "eligibility::the_book_finds_whom_an_outside_engine_finds"),
    (PrivateAddresses, "http_partners::a_private_address_is_called_only_where_the_file_names_it"),
];

#[test]
fn tests_find_what_is_planted() {
    for (bug, test) in FOUND_BY {
        assert_found(&format!("{bug:?}"), test);
    }
}
