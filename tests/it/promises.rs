//! The promises of the daemon, each with its tests. A test that vanishes fails this one.

use std::path::Path;

/// The promise, the file, and the test. S is what must be true at any moment, L what must come true.
const HELD: [(&str, &str, &str); 54] = [
    (S1, "tests/it/crash/campaign.rs", "what_was_acknowledged_survives_kills_at_random_moments"),
    (S1, "tests/it/crash/mod.rs", "a_lead_and_its_complete_table_are_there_after_a_kill_byte_for_byte"),
    (S1, "tests/it/crash/mod.rs", "a_pending_table_goes_on_after_a_kill_with_the_offers_already_shown"),
    (S1, "src/store/tests/writer_thread.rs", "closing_writes_what_is_queued_even_if_nobody_waits"),
    (
        S1,
        "tests/it/power/simulated.rs",
        "a_sample_of_power_cuts_that_lose_unsynced_writes_loses_nothing_acknowledged",
    ),
    (S1, "tests/it/power/images.rs", "a_sample_of_power_cuts_on_ext4_loses_nothing_acknowledged"),
    (S1, "tests/it/power/images.rs", "a_sample_of_power_cuts_on_xfs_loses_nothing_acknowledged"),
    (S1, "tests/it/store_damage.rs", "a_flipped_or_missing_byte_of_a_record_is_told_and_nothing_panics"),
    (S2, "src/engine/rate_table/progress.rs", "pending_only_shrinks"),
    (S2, "src/engine/matching/tests.rs", "every_table_completes_by_its_deadline_and_only_ever_grows"),
    (S2, "tests/it/crash/campaign.rs", "what_was_acknowledged_survives_kills_at_random_moments"),
    (S3, "src/engine/matching/tests.rs", "an_offer_that_comes_late_never_enters"),
    (
        S3,
        "tests/it/rate_tables.rs",
        "a_partner_that_fails_panics_or_stays_silent_hangs_nothing_and_adds_nothing",
    ),
    (
        S3,
        "tests/it/crash/mod.rs",
        "a_table_whose_deadline_passed_while_the_daemon_was_down_completes_at_once",
    ),
    (S3, "tests/it/bids.rs", "nobody_is_posted_twice_when_the_daemon_is_killed_before_the_post_is_answered"),
    (
        S3,
        "tests/it/later_answers.rs",
        "one_that_was_asked_for_its_offers_when_the_daemon_was_killed_is_asked_on_and_not_anew",
    ),
    (S3, "tests/it/callbacks.rs", "one_that_calls_back_after_a_kill_is_heard_and_not_asked_again"),
    (S8, "tests/it/bids.rs", "only_who_is_chosen_by_its_bid_is_sent_the_person_and_the_bid_pays"),
    (S3, "tests/it/crash/calls.rs", "asks_of_many_calls_survive_kills_at_random_moments"),
    (S3, "tests/it/bids.rs", "who_is_paused_between_ping_and_post_is_not_sent_the_lead"),
    (S3, "tests/it/bids.rs", "a_post_of_shown_offers_that_a_kill_leaves_unanswered_is_not_made_again"),
    (
        S3,
        "tests/it/bids.rs",
        "who_is_posted_when_its_offers_are_shown_is_posted_then_and_once_also_over_kills",
    ),
    (S4, "tests/it/rate_tables.rs", "the_blocking_answer_is_complete_and_equals_a_later_poll"),
    (S4, "tests/it/crash/campaign.rs", "what_was_acknowledged_survives_kills_at_random_moments"),
    (S5, "tests/it/leads.rs", "of_many_submits_of_one_uuid_at_once_one_wins"),
    (S5, "tests/it/leads.rs", "the_same_person_is_a_duplicate_within_the_companys_look_back"),
    (S5, "tests/it/repeats.rs", "of_many_at_once_one_is_taken_in"),
    (S5, "src/store/tests/writer_thread.rs", "of_equal_submits_in_one_group_one_wins"),
    (S6, "src/insight/analytics/tests.rs", "the_hour_counts_to_the_microsecond"),
    (S6, "src/insight/analytics/window.rs", "pages_follow_each_other"),
    (S6, "src/store/tests/durability.rs", "arrivals_increase_over_restarts_and_while_the_clock_steps_back"),
    (S6, "tests/it/crash/campaign.rs", "what_was_acknowledged_survives_kills_at_random_moments"),
    (S7, "tests/it/sealing.rs", "neither_store_nor_backup_nor_log_nor_metrics_tell_of_a_person"),
    (S7, "tests/it/rate_tables.rs", "every_bad_attribute_is_named_in_one_answer_without_its_value"),
    (S7, "tests/it/partners_try.rs", "the_request_is_shown_without_what_identifies_the_person"),
    (S7, "src/partners/http/expression.rs", "an_error_tells_nothing_of_the_values"),
    (
        S7,
        "src/store/tests/identities.rs",
        "of_a_person_who_is_erased_no_byte_tells_anything_and_the_others_are_still_known",
    ),
    (S8, "tests/it/leads.rs", "another_companys_records_are_unknown"),
    (S8, "tests/it/ui_events.rs", "another_company_has_none_of_it"),
    (S9, "tests/it/reload.rs", "a_table_in_flight_is_finished_under_the_book_it_was_begun_with"),
    (
        S9,
        "src/engine/matching/tests/reload.rs",
        "a_table_keeps_the_book_and_the_rules_that_it_was_begun_with",
    ),
    (L1, "src/engine/matching/tests.rs", "every_table_completes_by_its_deadline_and_only_ever_grows"),
    (L1, "src/engine/matching/tests.rs", "no_partner_is_given_more_than_the_lead_has_left"),
    (L1, "tests/it/http_partners.rs", "one_bad_partner_never_hurts_the_rest"),
    (L1, "tests/it/crash/mod.rs", "a_slow_partner_is_asked_again_after_a_kill"),
    (L2, "src/engine/matching/tests.rs", "every_place_is_given_back"),
    (L2, "tests/it/rate_tables.rs", "beyond_the_limit_of_pending_tables_a_submit_is_refused_at_once"),
    (L3, "tests/it/command_line.rs", "a_daemon_that_is_told_to_stop_drains_and_exits_with_0"),
    (L3, "tests/it/command_line.rs", "a_stop_waits_no_longer_than_the_drain"),
    (L3, "src/store/tests/writer_thread.rs", "closing_gives_up_on_a_writer_that_is_stuck"),
    (L4, "tests/it/power/faults.rs", "a_sample_of_faults_of_the_disk_is_told_and_loses_nothing_acknowledged"),
    (
        L4,
        "tests/it/hung_disk.rs",
        "while_the_disk_hangs_it_is_not_ready_new_leads_are_refused_and_polls_go_on",
    ),
    (L4, "src/engine/matching/tests.rs", "a_disk_that_fails_is_never_a_silent_acknowledgement"),
    (
        L4,
        "src/store/tests/durability.rs",
        "a_failing_sync_fails_the_group_and_the_store_until_the_disk_works_again",
    ),
];

const S1: &str = "S1: an acknowledged lead or rate table is readable after any crash, same ids, same bytes";
const S2: &str = "S2: pendingResponses only shrinks; once empty the table never changes again";
const S3: &str = "S3: every asked partner has exactly one recorded outcome; a late offer never enters";
const S4: &str = "S4: the blocking answer is complete and equals a later poll";
const S5: &str = "S5: of duplicate submits one wins";
const S6: &str =
    "S6: following nextUrl delivers every event once, in arrival order, none younger than an hour";
const S7: &str = "S7: no SSN, account number or token stands in any log, metric, error or backup";
const S8: &str =
    "S8: a company never sees another's records; a partner that is not chosen never sees the person";
const S9: &str = "S9: a table is computed under one configuration";
const L1: &str = "L1: every table completes by its deadline";
const L2: &str = "L2: after overload leads are taken in again";
const L3: &str = "L3: shutdown ends within its bound";
const L4: &str = "L4: a failing disk leads to a clear stop, never to a silent acknowledgement";

#[test]
fn every_promise_is_held_by_tests_that_are_there() {
    for (promise, file, test) in HELD {
        assert_is_there(promise, file, test);
    }
    for promise in [S1, S2, S3, S4, S5, S6, S7, S8, S9, L1, L2, L3, L4] {
        assert!(HELD.iter().any(|(held, ..)| *held == promise), "nothing holds {promise}");
    }
}

/// Fails when a file has no such test, or one that is not run.
pub fn assert_is_there(what: &str, file: &str, test: &str) {
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    let source = source.unwrap_or_else(|error| panic!("{what}: {file}: {error}"));
    let Some(at) = source.find(&format!("fn {test}(")) else { panic!("{what}: {file} has no {test}") };
    let attributes = source[..at].rsplit("\n\n").next().unwrap_or_default();
    assert!(attributes.contains("test") && !attributes.contains("#[ignore"), "{what}: {test} is not run");
}
