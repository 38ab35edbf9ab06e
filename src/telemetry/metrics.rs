//! Every metric, on one page, and the recorder behind them.

use std::sync::OnceLock;

use metrics::{Label, Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// A metric as it is described to Prometheus.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What kind of figure it is.
    pub kind: Kind,
    /// Its labels, all of them with few values.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
}

/// Kinds of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Seconds, as a distribution.
    Seconds,
    /// Counts, as a distribution.
    Sizes,
}

/// Nodes that share the store.
pub const NODES_ALIVE: &str = "offerd_nodes_alive";
/// Whether this one leads them.
pub const NODE_LEADS: &str = "offerd_node_leads";
/// How long the database took for one answer.
pub const DATABASE_ROUND_TRIP_SECONDS: &str = "offerd_database_round_trip_seconds";
/// How far the clock is ahead of the database's.
pub const DATABASE_CLOCK_AHEAD_SECONDS: &str = "offerd_database_clock_ahead_seconds";
/// Outcomes of asks.
pub const PARTNER_OUTCOMES: &str = "offerd_partner_outcomes_total";
/// How well partners are.
pub const PARTNER_HEALTH: &str = "offerd_partner_health";
/// Time from ask to outcome.
pub const PARTNER_ANSWER_SECONDS: &str = "offerd_partner_answer_seconds";
/// Time that a partner over HTTP takes to answer.
pub const PARTNER_CALL_SECONDS: &str = "offerd_partner_call_seconds";
/// Time that its mappings take.
pub const PARTNER_MAPPING_SECONDS: &str = "offerd_partner_mapping_seconds";
/// Declines in words that a partner's file does not know.
pub const PARTNER_UNDECLARED_WORDS: &str = "offerd_partner_undeclared_words_total";
/// Calls of partners that answer so.
pub const CALLBACKS: &str = "offerd_callbacks_total";
/// Offers beyond `matching.offers_per_partner`.
pub const OFFERS_CUT: &str = "offerd_offers_cut_total";
/// Offers of answers that are not shown.
pub const OFFERS_NOT_SHOWN: &str = "offerd_offers_not_shown_total";
/// Offers of answers that may be wrong.
pub const OFFERS_DOUBTED: &str = "offerd_offers_doubted_total";
/// Outcomes that came after their seat had one.
pub const LATE_ANSWERS: &str = "offerd_late_answers_total";
/// Rate tables in memory.
pub const LIVE_TABLES: &str = "offerd_live_rate_tables";
/// What complete rate tables that are kept take.
pub const KEPT_TABLE_BYTES: &str = "offerd_kept_table_bytes";
/// Complete rate tables that were shown.
pub const COMPLETE_TABLES_SHOWN: &str = "offerd_complete_tables_shown_total";
/// Data of leads that wait to be taken up.
pub const PREFILLS: &str = "offerd_prefills";
/// Statements of consents that are kept no more.
pub const CONSENTS_CUT: &str = "offerd_consents_cut_total";
/// Leads that erasures of persons have still before them.
pub const ERASURE_LEADS_LEFT: &str = "offerd_erasure_leads_left";
/// Leads that erasures of persons have erased.
pub const LEADS_ERASED: &str = "offerd_leads_erased_total";
/// Those that can be read no more.
pub const PREFILLS_ENDED: &str = "offerd_prefills_ended_total";
/// Rate tables completed.
pub const TABLES_SETTLED: &str = "offerd_rate_tables_settled_total";
/// Time of a rate table that its partners did not take.
pub const TABLE_OVERHEAD_SECONDS: &str = "offerd_rate_table_overhead_seconds";
/// Time that a complete rate table still had.
pub const TABLE_BUDGET_LEFT_SECONDS: &str = "offerd_rate_table_budget_left_seconds";
/// Rate tables that went on after a restart.
pub const TABLES_RECOVERED: &str = "offerd_recovered_rate_tables_total";
/// Reloads of settings and partner files.
pub const RELOADS: &str = "offerd_reloads_total";
/// When the book in force was taken in.
pub const RELOADED_AT: &str = "offerd_last_reload_success_timestamp_seconds";
/// Which book is in force.
pub const BOOK_FINGERPRINT: &str = "offerd_book_fingerprint";
/// What partners reported.
pub const PARTNER_REPORTS: &str = "offerd_partner_reports_total";
/// Rate tables that are being built.
pub const OPEN_TABLES: &str = "offerd_open_rate_tables";
/// Leads that were not taken in.
pub const SUBMITS_REFUSED: &str = "offerd_submits_refused_total";
/// Seats beyond `matching.partners_per_lead`.
pub const SEATS_CUT: &str = "offerd_seats_cut_total";
/// How many are on a suppression list.
pub const SUPPRESSION_ENTRIES: &str = "offerd_suppression_entries";
/// Seats that fit a lead and were not asked.
pub const SEATS_HELD_BACK: &str = "offerd_seats_held_back_total";
/// Changes of records by what they hold that are in line.
pub const STORE_CHANGES_IN_LINE: &str = "offerd_store_changes_in_line";
/// Such changes that were not made.
pub const STORE_CHANGES_REFUSED: &str = "offerd_store_changes_refused_total";
/// Clicks that led to a partner.
pub const CLICKS: &str = "offerd_clicks_total";
/// Clicks on offers of previews.
pub const PREVIEW_CLICKS: &str = "offerd_preview_clicks_total";
/// Reports of approval probability.
pub const LOAN_REPORTS: &str = "offerd_loan_reports_total";
/// Pages of offers that were asked for.
pub const OFFER_PAGES: &str = "offerd_offer_pages_total";
/// Displays that pages of offers told of.
pub const OFFER_PAGE_DISPLAYS: &str = "offerd_offer_page_displays_total";
/// Displays that images told of and that are not kept.
pub const OFFER_DISPLAYS_CUT: &str = "offerd_offer_displays_cut_total";
/// How much of a limit is used.
pub const LIMIT_USED: &str = "offerd_limit_used_ratio";
/// Requests answered.
pub const HTTP_REQUESTS: &str = "offerd_http_requests_total";
/// Time from the head of a request to its answer.
pub const HTTP_REQUEST_SECONDS: &str = "offerd_http_request_seconds";
/// Requests turned away.
pub const HTTP_REQUESTS_REFUSED: &str = "offerd_http_requests_refused_total";
/// New work that may be in flight.
pub const NEW_WORK_LIMIT: &str = "offerd_new_work_limit";
/// New work in flight.
pub const NEW_WORK_IN_FLIGHT: &str = "offerd_new_work_in_flight";
/// New work that waits to be let in.
pub const NEW_WORK_WAITING: &str = "offerd_new_work_waiting";
/// How long new work in flight queues.
pub const NEW_WORK_QUEUEING: &str = "offerd_new_work_queueing_seconds";
/// Time that new work waited to be let in.
pub const NEW_WORK_WAIT_SECONDS: &str = "offerd_new_work_wait_seconds";
/// Open connections.
pub const HTTP_CONNECTIONS: &str = "offerd_http_connections";
/// Open connections, by the thread that serves them.
pub const ENGINE_CONNECTIONS: &str = "offerd_engine_connections";
/// Connections that there was no room for.
pub const HTTP_CONNECTIONS_REFUSED: &str = "offerd_http_connections_refused_total";
/// Idle connections that were closed for new ones.
pub const HTTP_CONNECTIONS_CLOSED: &str = "offerd_http_connections_closed_total";
/// Open files that the process may have.
pub const DESCRIPTORS_MAX: &str = "offerd_descriptors_max";
/// Connections that could not be accepted.
pub const HTTP_ACCEPT_ERRORS: &str = "offerd_http_accept_errors_total";
/// Attempts to sign in to the console that failed.
pub const CONSOLE_SIGN_INS_REFUSED: &str = "offerd_console_sign_ins_refused_total";
/// Searches of the console that ended at `console.tables_looked_at` or `console.tables_read`.
pub const CONSOLE_SEARCHES_STOPPED: &str = "offerd_console_searches_stopped_total";
/// Feed pages that ended at `analytics.page_records_max`.
pub const FEED_PAGES_CUT: &str = "offerd_feed_pages_cut_total";
/// Cells of reports that are counted and not written.
pub const REPORT_CELLS: &str = "offerd_report_cells";
/// Values of tags beyond `reports.tag_values`.
pub const REPORT_TAGS_BEYOND: &str = "offerd_report_tags_beyond_total";
/// Time that a report takes.
pub const REPORT_SECONDS: &str = "offerd_report_seconds";
/// Reports that were not made.
pub const REPORTS_REFUSED: &str = "offerd_reports_refused_total";
/// Counts that rankings learn from.
pub const RANKING_COHORTS: &str = "offerd_ranking_cohorts";
/// Such counts that made room.
pub const RANKING_COHORTS_DROPPED: &str = "offerd_ranking_cohorts_dropped_total";
/// Age of what offers are ranked by.
pub const RANKING_LEARNT_AT: &str = "offerd_ranking_learnt_at_seconds";
/// Commits waiting for the store's writer.
pub const STORE_QUEUE_DEPTH: &str = "offerd_store_queue_depth";
/// Commits made durable together.
pub const STORE_GROUP_COMMITS: &str = "offerd_store_group_commits";
/// Changes to records that were made durable.
pub const STORE_CHANGES: &str = "offerd_store_changes_total";
/// Time from queueing a commit to its acknowledgement.
pub const STORE_COMMIT_SECONDS: &str = "offerd_store_commit_seconds";
/// Time that it takes to sync the record files.
pub const STORE_CHECKPOINT_SECONDS: &str = "offerd_store_checkpoint_seconds";
/// What was kept of what partners were sent and answered.
pub const TRANSCRIPTS: &str = "offerd_transcripts_total";
/// Leads that drew a variant of an experiment.
pub const EXPERIMENT_LEADS: &str = "offerd_experiment_leads_total";
/// Comparisons of variants.
pub const EXPERIMENT_COMPARISONS: &str = "offerd_experiment_comparisons_total";
/// Events that were pushed to companies.
pub const POSTBACKS: &str = "offerd_postbacks_total";
/// Those that were not acknowledged yet.
pub const POSTBACKS_OUTSTANDING: &str = "offerd_postbacks_outstanding";
/// Those that were given up.
pub const POSTBACKS_DEAD: &str = "offerd_postbacks_dead";
/// How long the oldest waits that was not acknowledged.
pub const POSTBACK_LAG: &str = "offerd_postback_lag_seconds";
/// Alerts that fire.
pub const ALERTS_FIRING: &str = "offerd_alerts_firing";
/// What receivers of alerts were told.
pub const ALERT_MESSAGES: &str = "offerd_alert_messages_total";
/// What they are still to be told.
pub const ALERT_MESSAGES_OUTSTANDING: &str = "offerd_alert_messages_outstanding";
/// Leads that are usual since the last one came.
pub const LEADS_MISSING: &str = "offerd_leads_missing";
/// Whether fewer leads than usual find an offer.
pub const OFFERS_FALL: &str = "offerd_offers_fall";
/// When the last backup was taken.
pub const BACKUP_AT: &str = "offerd_last_backup_timestamp_seconds";
/// When certificates end.
pub const CERTIFICATE_ENDS: &str = "offerd_certificate_expiry_timestamp_seconds";
/// Spans that a collector took.
pub const TRACE_SPANS: &str = "offerd_trace_spans_total";
/// Spans that none took.
pub const TRACE_SPANS_DROPPED: &str = "offerd_trace_spans_dropped_total";
/// How long the store's files are.
pub const STORE_BYTES: &str = "offerd_store_bytes";
/// Volumes that were older than they are to be kept.
pub const STORE_VOLUMES_DROPPED: &str = "offerd_store_volumes_dropped_total";
/// Room on the disk of the store.
pub const STORE_FREE_BYTES: &str = "offerd_store_free_bytes";
/// How far the machine's clock is off that of arrivals.
pub const STORE_CLOCK_OFFSET: &str = "offerd_store_clock_offset_seconds";
/// Times that arrivals left the machine's clock, or followed it again.
pub const STORE_CLOCK_STEPS: &str = "offerd_store_clock_steps_total";
/// Stored records that could not be read.
pub const STORE_BROKEN_RECORDS: &str = "offerd_store_broken_records_total";
/// What of the store's files is damaged.
pub const STORE_DAMAGE: &str = "offerd_store_damage";
/// How long the disk has not answered.
pub const STORE_STALLED: &str = "offerd_store_stalled";
/// Times that it did not.
pub const STORE_STALLS: &str = "offerd_store_stalls_total";
/// Connections made to far systems.
pub const WIRE_CONNECTIONS: &str = "offerd_wire_connections_total";
/// Requests that got a connection.
pub const WIRE_REQUESTS: &str = "offerd_wire_requests_total";
/// Calls under way.
pub const WIRE_IN_FLIGHT: &str = "offerd_wire_in_flight";
/// Calls without a reply.
pub const WIRE_ERRORS: &str = "offerd_wire_errors_total";
/// Calls sent again.
pub const WIRE_RETRIES: &str = "offerd_wire_retries_total";
/// Time of calls whose answer came after their deadline.
pub const WIRE_LATE_SECONDS: &str = "offerd_wire_late_seconds";
/// Where breakers stand.
pub const WIRE_BREAKER_STATE: &str = "offerd_wire_breaker_state";

/// Every metric there is.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    counter(HTTP_REQUESTS, &["listener", "route", "status"], "Requests answered."),
    seconds(HTTP_REQUEST_SECONDS, &["listener", "route"], "Time from the head of a request to its answer."),
    counter(HTTP_REQUESTS_REFUSED, &["reason"], "Requests turned away before their body was read, with 429 (address_rate, company_rate, company_requests, company_body_bytes, company_prefills) or 503 (requests, queue, queue_wait, queue_share, body_bytes); heads over HTTP/1.1 with 431 (head_too_large: api.max_head_bytes); and clicks, prefills and what pages of offers ask for, with 429 (click_address_rate, click_offer_rate, prefill_address_rate); and look-ups of cars, with 400 (vehicles_per_answer)."),
    gauge(NEW_WORK_LIMIT, &[], "New work that may be in flight, found from how long it queues (limits.queueing_target)."),
    gauge(NEW_WORK_IN_FLIGHT, &[], "New work in flight: let in, and what it wrote is not acknowledged yet."),
    gauge(NEW_WORK_WAITING, &[], "New work that waits to be let in; the limit is limits.queue."),
    gauge(NEW_WORK_QUEUEING, &[], "How long new work in flight queued last, the time of the disk aside; the target is limits.queueing_target."),
    seconds(NEW_WORK_WAIT_SECONDS, &[], "Time that new work waited to be let in, of what had to; the limit is limits.queue_wait."),
    gauge(HTTP_CONNECTIONS, &["listener"], "Open connections; the limit is api.max_connections."),
    gauge(ENGINE_CONNECTIONS, &["thread"], "Open connections of the api and integrations listeners, by the engine's thread that serves them; there are engine.threads."),
    counter(HTTP_CONNECTIONS_REFUSED, &["listener", "reason"], "Connections that there was no room for, none being idle: listener (api.max_connections), address (limits.connections_per_address), descriptors (the file limit less limits.reserved_descriptors)."),
    counter(HTTP_CONNECTIONS_CLOSED, &["listener", "reason"], "Idle connections closed to make room for new ones, by what was full: listener, address, descriptors."),
    gauge(DESCRIPTORS_MAX, &[], "Files and connections that the process may have open, as it was raised at the start."),
    counter(HTTP_ACCEPT_ERRORS, &["listener"], "Connections that could not be accepted."),
    counter(CONSOLE_SIGN_INS_REFUSED, &["reason"], "Attempts to sign in to the console that failed: wrong, or too_many within a minute, of which no password is looked at; and of a proxy (console.proxy) that names somebody: untrusted, from another address, or unknown."),
    counter(CONSOLE_SEARCHES_STOPPED, &[], "Searches for rate tables in the console that stopped at console.tables_looked_at or console.tables_read, and go on from there when somebody asks them to."),
    gauge(LIVE_TABLES, &[], "Rate tables in memory: those that are being built, and complete ones that linger (matching.linger)."),
    gauge(OPEN_TABLES, &[], "Rate tables that are being built; the limit is matching.live_tables."),
    gauge(KEPT_TABLE_BYTES, &[], "Complete rate tables that are kept as they are shown, in bytes; the limit is limits.shown_bytes."),
    counter(COMPLETE_TABLES_SHOWN, &["from"], "Complete rate tables that were shown: memory (kept), records (put together for it)."),
    counter(CONSENTS_CUT, &[], "Statements of a lead's consents that are kept no more because of limits.consents_kept_per_lead."),
    gauge(ERASURE_LEADS_LEFT, &[], "Leads that erasures of persons which are under way have still before them; so many as limits.leads_erased_at_once says go at once."),
    counter(LEADS_ERASED, &[], "Leads of which erasures of persons have destroyed the keys."),
    gauge(PREFILLS, &[], "Prefills that can be read; the limit of each company is limits.prefills_per_company."),
    counter(PREFILLS_ENDED, &["by"], "Prefills that can be read no more: time (limits.prefill_lifetime), reads (limits.prefill_reads)."),
    counter(SUBMITS_REFUSED, &["reason"], "Leads refused with 503: full, company_full, lead_busy (store.changes_per_record), store_busy, store_failed, store_stalled, disk_full; and merges that a publishable token came too late for, with 404: merge_too_late."),
    counter(SEATS_CUT, &[], "Seats not asked because of matching.partners_per_lead."),
    counter(SEATS_HELD_BACK, &["partner", "product_type", "reason"], "Seats that fit a lead and were not asked: paused, dates, schedule, per_minute, per_day, per_week, per_month, budget, share, suppressed, exclusive."),
    gauge(SUPPRESSION_ENTRIES, &["list"], "How many are on a suppression list."),
    counter(CLICKS, &["kept"], "Clicks that led to a partner, and whether they are kept with the lead (yes) or only counted (no): limits.clicks_kept_per_offer."),
    counter(PREVIEW_CLICKS, &["partner", "product_type"], "Clicks on offers of previews that led to a partner; they are of no lead."),
    counter(LOAN_REPORTS, &["event"], "Reports of approval probability that were made, and those that were displaced before their time (approval.reports_kept) because of approval.reports_per_company."),
    counter(OFFER_PAGES, &["answer"], "Pages of offers that were asked for: shown, unknown, expired (offer_pages.open_for); and pages that tell who opens an offer that it has ended or cannot be opened just now: offer_ended, offer_unavailable."),
    counter(OFFER_PAGE_DISPLAYS, &["recorded"], "Displays that pages of offers told of, and whether they are recorded (yes), or not (no): of no offer of an open page, or more often than it may be clicked (limits.clicks_per_second_per_offer), or beyond limits.displays_kept_per_offer."),
    counter(OFFER_DISPLAYS_CUT, &[], "Displays that images (pixel.gif, seen.gif) told of and that are not kept because of limits.displays_kept_per_offer."),
    gauge(LIMIT_USED, &["partner", "product_type", "limit"], "Share of per_minute, per_day, per_week, per_month or budget that is used."),
    counter(PARTNER_OUTCOMES, &["partner", "product_type", "outcome"], "How asks ended."),
    gauge(PARTNER_HEALTH, &["partner", "product_type"], "How well partners are, by how their asks end against their own past: 0 healthy, unknown or not asked, 1 declining more, 2 slow, 3 failing, 4 silent."),
    seconds(PARTNER_ANSWER_SECONDS, &["partner", "product_type"], "Time from ask to outcome."),
    counter(PARTNER_REPORTS, &["partner", "outcome"], "What partners reported: new, known, refused."),
    seconds(PARTNER_CALL_SECONDS, &["partner", "product_type"], "Time from a call over HTTP to its whole answer."),
    seconds(PARTNER_MAPPING_SECONDS, &["partner", "product_type"], "Time that request and answer take to be mapped."),
    counter(PARTNER_UNDECLARED_WORDS, &["partner", "product_type"], "Declines in words that the partner's file does not know."),
    counter(CALLBACKS, &["result"], "Calls with which partners answer an ask: taken, unreadable, unsigned, again, nobody waits for it, too_large."),
    counter(OFFERS_CUT, &["partner"], "Offers left out because of matching.offers_per_partner."),
    counter(OFFERS_NOT_SHOWN, &["partner", "product_type"], "Offers that a partner answered and that are not shown: they cannot be read, or cannot be right, or are longer than answer.max_text_bytes."),
    counter(OFFERS_DOUBTED, &["partner", "product_type"], "Offers that a partner answered and that are shown although their payment does not quite fit."),
    counter(TRANSCRIPTS, &["event"], "Transcripts of asks: kept, cut (of those kept, where transcripts.call_bytes left something out), lost (the store did not take them), removed (transcripts.kept)."),
    counter(LATE_ANSWERS, &[], "Answers that came after their seat had an outcome, and were dropped."),
    counter(TABLES_SETTLED, &["test", "offers"], "Rate tables completed, whether their lead is a test, and whether they show offers: yes, no."),
    seconds(TABLE_OVERHEAD_SECONDS, &[], "Time from a lead's arrival to its complete table, less that of the slowest partner of each look."),
    seconds(TABLE_BUDGET_LEFT_SECONDS, &[], "Time that was left of matching.deadline when a table was complete."),
    counter(TABLES_RECOVERED, &[], "Rate tables that went on after a restart."),
    counter(RELOADS, &["result"], "Reloads of settings and partner files: ok, refused, failed."),
    gauge(RELOADED_AT, &[], "When settings and partner files were last taken in, at the start or by a reload, Unix seconds."),
    gauge(BOOK_FINGERPRINT, &[], "A number that is the same for the same partner files: 48 bits of a digest."),
    counter(EXPERIMENT_LEADS, &["rule", "variant"], "Leads taken in that drew a variant of an experiment, the control too."),
    counter(EXPERIMENT_COMPARISONS, &["result"], "Comparisons of the variants of an experiment: whole, cut (more leads than experiments.compared_leads), busy (another one was under way)."),
    counter(POSTBACKS, &["subscription", "result"], "Events that were pushed to companies, and events given up: ok, failed (and tried again), dead (the subscription's give_up_after), gone (no longer in the feed, or client tags of an erased lead), dropped (dead letters beyond postbacks.dead_letters and postbacks.dead_letters_kept)."),
    gauge(POSTBACKS_OUTSTANDING, &["subscription"], "Events that were taken from the feed and not acknowledged; the limit is postbacks.outstanding, beyond which they wait in the feed."),
    gauge(POSTBACKS_DEAD, &["subscription"], "Events that were given up and are kept; the limit is postbacks.dead_letters."),
    gauge(POSTBACK_LAG, &["subscription"], "How long the event waits that was taken from the feed first and not acknowledged."),
    gauge(ALERTS_FIRING, &["severity"], "Alerts that the daemon itself has raised and that have not ended: page, ticket, notice."),
    counter(ALERT_MESSAGES, &["receiver", "result"], "What receivers were told of alerts: ok, failed (and tried again), given_up (alerts.give_up_after), dropped (alerts.outstanding)."),
    gauge(ALERT_MESSAGES_OUTSTANDING, &["receiver"], "What a receiver of alerts has not taken yet; the limit is alerts.outstanding."),
    gauge(LEADS_MISSING, &[], "Live rate tables that are usual in the time since the last one was completed, by the same hours of the last four weeks; 0 in the first week."),
    gauge(OFFERS_FALL, &[], "Whether more live leads than usual end without an offer, judged as the health of a partner is: 0 no, 1 yes."),
    gauge(BACKUP_AT, &[], "When the last backup was taken to its end, Unix seconds; of a store that never had one, when a daemon first looked at it."),
    gauge(CERTIFICATE_ENDS, &["listener"], "Until when the certificate of a listener is good at least, to a day, Unix seconds."),
    counter(TRACE_SPANS, &[], "Spans that the collector of traces took."),
    counter(TRACE_SPANS_DROPPED, &["reason"], "Spans that were dropped: queue_full, not_delivered."),
    counter(FEED_PAGES_CUT, &["feed"], "Feed pages that ended early because of analytics.page_records_max."),
    gauge(REPORT_CELLS, &["zone"], "Cells of reports that are counted and not written yet; the limit is reports.cells_in_memory."),
    counter(REPORT_TAGS_BEYOND, &["tag"], "What counted under (other), since a company has as many values of the tag as reports.tag_values."),
    seconds(REPORT_SECONDS, &[], "Time that a report takes."),
    counter(REPORTS_REFUSED, &["reason"], "Reports that were not made: busy (reports.at_once), large (reports.groups)."),
    gauge(RANKING_COHORTS, &[], "Counts of a day, an offer and a rating that rankings learn from; the limit is ranking.cohorts."),
    counter(RANKING_COHORTS_DROPPED, &[], "Such counts that count no more because of ranking.cohorts: those of the oldest days."),
    gauge(RANKING_LEARNT_AT, &[], "When what offers are ranked by was summed up last, in seconds since 1970; it is renewed every ranking.refresh."),
    gauge(STORE_QUEUE_DEPTH, &[], "Commits waiting for the store's writer; the limit is store.queue."),
    sizes(STORE_GROUP_COMMITS, &[], "Commits made durable together; the limit is store.group."),
    counter(STORE_CHANGES, &["tree"], "Records that were written or removed."),
    gauge(STORE_CHANGES_IN_LINE, &[], "Changes of records by what they hold (clicks, merges, readings of prefills) that are made or wait for their turn; the limit of one record is store.changes_per_record."),
    counter(STORE_CHANGES_REFUSED, &["tree", "reason"], "Such changes that were not made: full (store.changes_per_record), late (matching.deadline)."),
    seconds(STORE_COMMIT_SECONDS, &[], "Time from queueing a commit to its acknowledgement."),
    seconds(STORE_CHECKPOINT_SECONDS, &[], "Time that a checkpoint takes: the record files are synced, and segments of the journal are needed no more."),
    gauge(STORE_BYTES, &[], "How long the files of the store's volumes are."),
    counter(STORE_VOLUMES_DROPPED, &[], "Volumes that were dropped because of store.retention."),
    gauge(STORE_FREE_BYTES, &[], "Room on the disk of the store; below store.reserve_bytes no new leads are taken in."),
    gauge(STORE_CLOCK_OFFSET, &[], "How far the machine's clock is ahead of the time that arrivals are given; below 0, how far it is behind."),
    gauge(NODES_ALIVE, &[], "Daemons and commands that have the store open, as this one knows; 1 where it is in files."),
    gauge(NODE_LEADS, &[], "1 while this daemon leads those that share the store and does what one alone may do, else 0."),
    gauge(DATABASE_ROUND_TRIP_SECONDS, &[], "How long the database took for its last answer to the renewal of the lease, where it has the store."),
    gauge(DATABASE_CLOCK_AHEAD_SECONDS, &[], "How far this machine's clock is ahead of the database's; below 0, how far it is behind."),
    counter(STORE_CLOCK_STEPS, &["to"], "Times that the machine's clock was found ahead of arrivals by more than store.clock_jump, or behind them, or was followed again: ahead, behind, followed."),
    counter(STORE_BROKEN_RECORDS, &["tree"], "Stored records that could not be read."),
    gauge(STORE_DAMAGE, &[], "Places of the store's files that are not as they were written; `offerd store check` names them."),
    gauge(STORE_STALLED, &[], "Seconds for which the disk of the store has not finished a write, once that is longer than store.stall_after; else 0."),
    counter(STORE_STALLS, &[], "Times that a write of the store's disk took longer than store.stall_after."),
    counter(WIRE_CONNECTIONS, &["pool"], "Connections made to far systems."),
    counter(WIRE_REQUESTS, &["pool"], "Requests that got a connection; those beyond the connections made reused one."),
    gauge(WIRE_IN_FLIGHT, &["pool", "endpoint"], "Calls under way."),
    counter(WIRE_ERRORS, &["pool", "endpoint", "cause"], "Calls without a reply: refused (busy, breaker_open, no_time, bad_url, forbidden_address) or failed."),
    counter(WIRE_RETRIES, &["pool", "endpoint"], "Calls sent again."),
    seconds(WIRE_LATE_SECONDS, &["pool", "endpoint"], "Time from a call to its whole answer where that came after its deadline, of a sample of those that ran out of time."),
    gauge(WIRE_BREAKER_STATE, &["pool", "endpoint"], "Where breakers stand: 0 closed, 1 half-open, 2 open."),
];

/// Labels, each with its values.
type Labels = &'static [(&'static str, &'static [&'static str])];

/// Counters whose growth alerts ask for, each label with its values. They are told from the start on, as 0: of one that is first
/// seen as 1 no growth is seen. Those of which another module knows the values are begun by it.
const FROM_ZERO: &[(&str, Labels)] = &[
    (RELOADS, &[("result", &["ok", "refused", "failed"])]),
    (STORE_CLOCK_STEPS, &[("to", &["ahead", "behind", "followed"])]),
    (STORE_STALLS, &[]),
    (SEATS_CUT, &[]),
    (TABLES_SETTLED, &[("test", &["no", "yes"]), ("offers", &["no", "yes"])]),
    (
        SUBMITS_REFUSED,
        &[(
            "reason",
            &[
                "full",
                "company_full",
                "lead_busy",
                "store_busy",
                "store_failed",
                "store_stalled",
                "disk_full",
            ],
        )],
    ),
    (REPORTS_REFUSED, &[("reason", &["busy", "large"])]),
    (HTTP_REQUESTS_REFUSED, &[("reason", &["address_rate", "company_rate", "requests", "late"])]),
    (
        HTTP_CONNECTIONS_REFUSED,
        &[
            ("listener", &["api", "integrations", "admin"]),
            ("reason", &["listener", "address", "descriptors"]),
        ],
    ),
];

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, labels, help }
}

const fn seconds(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Seconds, labels, help }
}

const fn sizes(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Sizes, labels, help }
}

/// Upper bounds of the buckets of times, from a table lookup to the longest deadline.
const SECONDS: &[f64] =
    &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 15.0, 30.0];

/// Upper bounds of the buckets of sizes.
const SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The recorder of this process.
#[derive(Clone)]
pub struct Handle(PrometheusHandle);

impl Handle {
    /// Every metric in the Prometheus text format.
    pub fn render(&self) -> String {
        // Moves what histograms have collected into their buckets; the page is what keeps them short.
        self.0.run_upkeep();
        self.0.render()
    }
}

/// A recorder that nothing is told to, where no metrics are served.
pub fn unrecorded() -> Handle {
    Handle(PrometheusBuilder::new().build_recorder().handle())
}

/// Starts recording; a second call gives the same recorder.
pub fn install() -> Handle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    let handle = RECORDER.get_or_init(|| {
        let mut builder = PrometheusBuilder::new();
        for metric in METRICS {
            let buckets = match metric.kind {
                Kind::Seconds => SECONDS,
                Kind::Sizes => SIZES,
                Kind::Counter | Kind::Gauge => continue,
            };
            builder = builder
                .set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), buckets)
                .expect("the list of buckets is not empty");
        }
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        // Fails only when a test has installed another recorder, which then records.
        let _ = metrics::set_global_recorder(recorder);
        METRICS.iter().for_each(describe);
        FROM_ZERO.iter().for_each(|(name, labels)| begin(name, labels, Vec::new()));
        handle
    });
    Handle(handle.clone())
}

/// Tells a counter as 0, under each combination of the values of its labels.
fn begin(name: &'static str, labels: Labels, chosen: Vec<Label>) {
    match labels {
        [] => metrics::counter!(name, chosen).increment(0),
        [(label, values), others @ ..] => values.iter().for_each(|value| {
            let chosen = chosen.iter().cloned().chain([Label::from_static_parts(label, value)]).collect();
            begin(name, others, chosen);
        }),
    }
}

fn describe(metric: &Metric) {
    match metric.kind {
        Kind::Counter => describe_counter!(metric.name, metric.help),
        Kind::Gauge => describe_gauge!(metric.name, metric.help),
        Kind::Seconds => describe_histogram!(metric.name, Unit::Seconds, metric.help),
        Kind::Sizes => describe_histogram!(metric.name, Unit::Count, metric.help),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once_and_says_its_kind() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            assert!(metric.name.starts_with("offerd_"));
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
            // A moment, or one length of time, is in seconds too, but no distribution of them.
            let seconds = metric.name.ends_with("_seconds") && metric.kind != Kind::Gauge;
            assert_eq!(seconds, metric.kind == Kind::Seconds, "{}", metric.name);
        }
    }
}
