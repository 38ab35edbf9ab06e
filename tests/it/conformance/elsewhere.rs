//! Sentences of the specification that other tests hold, so that they stand in one place only.

use crate::promises::assert_is_there;

/// The section and its sentence, the file, and the test.
const HELD: [(&str, &str, &str); 46] = [
    (
        "What 4: no field is required",
        "tests/it/rate_tables.rs",
        "no_field_is_required_and_no_product_type_means_all",
    ),
    (
        "What 5: each kind of loan",
        "tests/it/sample_catalogue.rs",
        "each_kind_of_lead_gets_the_offers_one_would_expect",
    ),
    (
        "What 8: a submit may return early",
        "tests/it/rate_tables.rs",
        "a_slow_partner_is_pending_until_it_answers",
    ),
    (
        "What 8: no offer is ever added",
        "src/engine/matching/tests.rs",
        "every_table_completes_by_its_deadline_and_only_ever_grows",
    ),
    (
        "What 9: blocking",
        "tests/it/rate_tables.rs",
        "the_blocking_answer_is_complete_and_equals_a_later_poll",
    ),
    ("Resources: a lead and its sections", "tests/it/leads.rs", "a_lead_comes_back_as_it_was_sent"),
    (
        "Resources: scores",
        "tests/it/sample_catalogue.rs",
        "every_array_is_sorted_by_score_and_every_offer_can_be_clicked",
    ),
    ("Resources: payments in dollars", "tests/it/rate_tables.rs", "a_personal_loan_is_priced_for_the_lead"),
    (
        "Resources: the catalog has it all",
        "tests/it/sample_catalogue.rs",
        "the_catalogue_covers_what_the_specification_names",
    ),
    ("Resources: ids of sessions", "tests/it/ui_events.rs", "a_given_session_uuid_is_kept_and_ids_grow"),
    ("Resources: displays", "tests/it/ui_events.rs", "the_display_of_an_offer_is_recorded"),
    (
        "Resources: institutions by name",
        "tests/it/ui_look_ups.rs",
        "featured_institutions_are_listed_by_name",
    ),
    (
        "Resources: institutions by uuid",
        "tests/it/ui_look_ups.rs",
        "a_featured_institution_has_the_uuid_of_the_institution",
    ),
    ("States: the first status", "tests/it/leads.rs", "a_lead_that_nobody_decided_on_is_initialized"),
    ("States: the funnel", "src/model/lead_view.rs", "the_funnel_is_ordered"),
    (
        "States: pending over a restart",
        "tests/it/crash/mod.rs",
        "a_pending_table_goes_on_after_a_kill_with_the_offers_already_shown",
    ),
    (
        "States: polling state of the feeds",
        "src/insight/analytics/tests.rs",
        "polling_goes_on_exactly_while_there_is_something",
    ),
    (
        "Endpoints: previews are static",
        "tests/it/offer_previews.rs",
        "a_loan_is_previewed_as_a_range_and_never_personally",
    ),
    (
        "Endpoints: preview parameters",
        "tests/it/offer_previews.rs",
        "every_bad_parameter_is_named_in_one_answer",
    ),
    ("Endpoints: maxDepositAmount", "tests/it/offer_previews.rs", "a_savings_preview_knows_the_deposit"),
    ("Endpoints: nextUrl", "tests/it/analytics.rs", "the_next_url_works_as_given"),
    (
        "Endpoints: empty session body",
        "tests/it/ui_events.rs",
        "an_empty_body_begins_a_visit_whose_session_uuid_is_generated",
    ),
    (
        "Endpoints: fields of a display",
        "tests/it/ui_events.rs",
        "every_missing_or_malformed_uuid_of_a_display_is_named",
    ),
    (
        "Endpoints: the pixel succeeds",
        "tests/it/ui_events.rs",
        "the_pixel_is_answered_without_a_token_whatever_the_path_says",
    ),
    (
        "Endpoints: the pixel records",
        "tests/it/ui_events.rs",
        "the_pixel_records_a_display_only_of_what_exists",
    ),
    (
        "Endpoints: fragments of names",
        "tests/it/ui_look_ups.rs",
        "a_fragment_is_found_whatever_its_case_and_diacritics",
    ),
    ("Endpoints: offset", "tests/it/ui_look_ups.rs", "an_offset_past_the_end_gives_an_empty_array"),
    ("Authentication: companies", "tests/it/leads.rs", "another_companys_records_are_unknown"),
    ("Authentication: feeds", "tests/it/analytics.rs", "the_feeds_take_a_confidential_token"),
    (
        "Events 4: order of arrival",
        "src/insight/analytics/tests.rs",
        "following_next_url_delivers_every_record_once_and_none_too_young",
    ),
    ("Events 5: UI events", "tests/it/ui_events.rs", "ui_events_ask_for_a_token"),
    ("Errors 5: timestamp missing", "tests/it/analytics.rs", "a_missing_timestamp_must_be_specified"),
    (
        "Errors 6: timestamp too recent",
        "tests/it/analytics.rs",
        "a_timestamp_within_the_last_hour_is_told_the_latest_that_is_not",
    ),
    ("Errors: duplicates by uuid", "tests/it/leads.rs", "a_lead_uuid_is_taken_once_whoever_took_it"),
    (
        "Errors: duplicates by person",
        "tests/it/leads.rs",
        "the_same_person_is_a_duplicate_within_the_companys_look_back",
    ),
    ("Limits 1: an hour", "src/insight/analytics/tests.rs", "the_hour_counts_to_the_microsecond"),
    ("Limits 1: nothing younger", "tests/it/analytics.rs", "a_page_holds_nothing_that_is_not_an_hour_old"),
    ("Limits 3: backfill", "src/insight/analytics/window.rs", "pages_follow_each_other"),
    ("Limits 3: long spans", "src/insight/analytics/window.rs", "quiet_hours_are_grown_over"),
    ("Limits 6: limit is required", "tests/it/ui_look_ups.rs", "limit_must_be_specified"),
    ("Limits 6: bounds of limit", "tests/it/ui_look_ups.rs", "limit_is_an_integer_from_1_to_100"),
    ("Limits: 31 days", "tests/it/clicks.rs", "an_offer_can_be_opened_for_31_days_and_is_gone_then"),
    ("Versioning 2: all differences", "tests/it/v1.rs", "v1_differs_where_it_is_said_to_and_only_there"),
    ("Versioning 2: nothing else", "tests/it/v1.rs", "what_is_not_said_to_differ_is_the_same"),
    ("Versioning 2: the same facts", "tests/it/v1.rs", "both_editions_tell_the_same_facts"),
    ("Versioning 2: who is pending", "tests/it/v1.rs", "who_is_pending_is_the_same_in_both_editions"),
];

#[test]
fn every_test_that_holds_a_sentence_elsewhere_is_there() {
    for (sentence, file, test) in HELD {
        assert_is_there(sentence, file, test);
    }
}
