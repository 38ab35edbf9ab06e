//! Every metric, on one page.

pub(super) type LabelValues = &'static [(&'static str, &'static [&'static str])];

/// The description of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: MetricKind,
    /// Its labels, all of low cardinality.
    pub labels: &'static [&'static str],
    pub(super) values: LabelValues,
    pub(super) is_from_zero: bool,
    /// Its help text.
    pub help: &'static str,
}

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A counter.
    Counter,
    /// A gauge.
    Gauge,
    /// A histogram of seconds.
    Seconds,
    /// A histogram of counts.
    Sizes,
}

impl MetricKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Seconds | Self::Sizes => "histogram",
        }
    }
}

/// Declares metrics, one per row: type, constant, Prometheus name, labels and help text.
///
/// A counter with `= 0` is exported from the start, under each combination of its label values: alerts on its
/// growth would miss a series that first appears as 1.
macro_rules! metrics {
    ($(
        $kind:ident $constant:ident $name:literal
        [$($label:literal $(: $($value:literal)|+)?),*] $(= $zero:literal)? $help:literal;
    )+) => {
        $(#[doc = $help] pub const $constant: &str = $name;)+

        /// Every metric.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: $name,
            kind: MetricKind::$kind,
            labels: &[$($label),*],
            values: &[$(($label, &[$($($value),+)?])),*],
            is_from_zero: false $(|| $zero == 0)?,
            help: $help,
        }),+];
    };
}

metrics! {
    Gauge READY "offerd_ready" [] "1 while the daemon is ready, else 0, as `/readyz` answers.";
    Gauge NOT_READY "offerd_not_ready" ["cause"] "1 for the cause why the daemon is not ready, else 0: disk_full, store_stalled, store_failed, store_damaged, database_silent (new leads are refused); opt_outs_locked (leads are accepted, and no partner is asked). A start and a stop have no cause.";
    Gauge MASTER_KEY_DIFFERS "offerd_master_key_differs" [] "1 while the settings give another master key than the one of the store, so that the next start fails; else 0.";
    Gauge BUILD_INFO "offerd_build_info" ["version"] "1, with the version of offerd.";
    Counter PROCESS_CPU_SECONDS "process_cpu_seconds_total" [] "Processor time of the process, in seconds.";
    Gauge PROCESS_RESIDENT_BYTES "process_resident_memory_bytes" [] "Memory of the process, in bytes.";
    Gauge PROCESS_OPEN_FILES "process_open_fds" [] "Open files and connections of the process; the limit is offerd_descriptors_max.";
    Gauge PROCESS_STARTED_AT "process_start_time_seconds" [] "When the process started, Unix seconds.";
    Counter HTTP_REQUESTS "offerd_http_requests_total" ["listener", "route", "status"] "Requests answered.";
    Seconds HTTP_REQUEST_SECONDS "offerd_http_request_seconds" ["listener", "route"] "Time from the head of a request to its answer.";
    Counter HTTP_REQUESTS_REFUSED "offerd_http_requests_refused_total" ["reason": "address_rate" | "company_rate" | "requests" | "late"] = 0 "Requests refused before their body was read, with 429 (address_rate, company_rate, company_requests, company_body_bytes, company_prefills) or 503 (requests, queue, queue_wait, queue_share, body_bytes); heads over HTTP/1.1 with 431 (head_too_large: api.max_head_bytes); and clicks, prefills and requests of offer pages, with 429 (click_address_rate, click_offer_rate, prefill_address_rate); and vehicle look-ups, with 400 (vehicles_per_answer).";
    Gauge NEW_WORK_LIMIT "offerd_new_work_limit" [] "Limit of new work in flight, derived from its queueing time (limits.queueing_target).";
    Gauge NEW_WORK_IN_FLIGHT "offerd_new_work_in_flight" [] "New work in flight: admitted, with its write not yet acknowledged.";
    Gauge NEW_WORK_WAITING "offerd_new_work_waiting" [] "New work waiting for admission; the limit is limits.queue.";
    Gauge NEW_WORK_QUEUEING "offerd_new_work_queueing_seconds" [] "Latest queueing time of new work in flight, without disk time; the target is limits.queueing_target.";
    Seconds NEW_WORK_WAIT_SECONDS "offerd_new_work_wait_seconds" [] "Waiting time of new work that had to wait for admission; the limit is limits.queue_wait.";
    Gauge HTTP_CONNECTIONS "offerd_http_connections" ["listener"] "Open connections; the limit is api.max_connections.";
    Gauge ENGINE_CONNECTIONS "offerd_engine_connections" ["thread"] "Open connections of the api and integrations listeners, by engine thread (engine.threads).";
    Counter HTTP_CONNECTIONS_REFUSED "offerd_http_connections_refused_total" ["listener": "api" | "integrations" | "admin", "reason": "listener" | "address" | "descriptors"] = 0 "Connections refused for lack of room, with no idle one to close: listener (api.max_connections), address (limits.connections_per_address), descriptors (the file limit less limits.reserved_descriptors).";
    Counter HTTP_CONNECTIONS_CLOSED "offerd_http_connections_closed_total" ["listener", "reason"] "Idle connections closed to make room for new ones, by exhausted limit: listener, address, descriptors.";
    Gauge DESCRIPTORS_MAX "offerd_descriptors_max" [] "Limit of open files and connections, as raised at the start.";
    Counter HTTP_ACCEPT_ERRORS "offerd_http_accept_errors_total" ["listener"] "Connections that could not be accepted.";
    Counter CONSOLE_SIGN_INS_REFUSED "offerd_console_sign_ins_refused_total" ["reason"] "Failed sign-ins to the console: wrong, or too_many within a minute, whose password is not checked; and users named by a proxy (console.proxy): untrusted, from another address, or unknown.";
    Counter CONSOLE_SEARCHES_STOPPED "offerd_console_searches_stopped_total" [] "Rate table searches in the console that stopped at console.tables_looked_at or console.tables_read; the next page continues them.";
    Gauge TABLES_IN_MEMORY "offerd_rate_tables_in_memory" [] "Rate tables in memory: pending ones, and complete ones that linger (matching.linger).";
    Gauge PENDING_TABLES "offerd_pending_rate_tables" [] "Pending rate tables; the limit is matching.pending_tables.";
    Gauge KEPT_TABLE_BYTES "offerd_kept_table_bytes" [] "Bytes of rendered complete rate tables in memory; the limit is limits.shown_bytes.";
    Counter COMPLETE_TABLES_SHOWN "offerd_complete_tables_shown_total" ["from"] "Complete rate tables shown, by source: memory (already rendered), records (rendered anew).";
    Counter CONSENTS_CUT "offerd_consents_cut_total" [] "Consent statements of leads dropped because of limits.consents_kept_per_lead.";
    Gauge ERASURE_LEADS_LEFT "offerd_erasure_leads_left" [] "Leads still to erase in the current erasures of persons; limits.leads_erased_at_once run at the same time.";
    Counter LEADS_ERASED "offerd_leads_erased_total" [] "Leads whose keys erasures of persons have destroyed.";
    Gauge PREFILLS "offerd_prefills" [] "Readable prefills; the limit per company is limits.prefills_per_company.";
    Counter PREFILLS_ENDED "offerd_prefills_ended_total" ["by"] "Prefills that expired or were used up: time (limits.prefill_lifetime), reads (limits.prefill_reads).";
    Counter SUBMITS_REFUSED "offerd_submits_refused_total" ["reason": "full" | "company_full" | "lead_busy" | "store_busy" | "store_failed" | "store_stalled" | "disk_full"] = 0 "Leads refused with 503: full, company_full, lead_busy (store.changes_per_record), store_busy, store_failed, store_stalled, disk_full; merges by a publishable token after its time, with 404: merge_too_late; and merges into a lead beyond limits.bytes_per_lead, with 413: lead_too_large.";
    Counter SEATS_CUT "offerd_seats_cut_total" [] = 0 "Seats not asked because of matching.partners_per_lead.";
    Counter SEATS_DENIED "offerd_seats_held_back_total" ["partner", "product_type", "reason"] "Seats that fit a lead and were not asked: paused, dates, schedule, per_minute, per_day, per_week, per_month, budget, share, suppressed, list_missing, exclusive.";
    Gauge SUPPRESSION_ENTRIES "offerd_suppression_entries" ["list"] "Entries of a suppression list.";
    Counter CLICKS "offerd_clicks_total" ["kept"] "Clicks redirected to a partner, and whether they are stored with the lead (yes) or only counted (no): limits.clicks_kept_per_offer.";
    Counter PREVIEW_CLICKS "offerd_preview_clicks_total" ["partner", "product_type"] "Clicks on preview offers redirected to a partner; they belong to no lead.";
    Counter LOAN_REPORTS "offerd_loan_reports_total" ["event"] "Reports of approval probability created, and those displaced before approval.reports_kept because of approval.reports_per_company.";
    Counter OFFER_PAGES "offerd_offer_pages_total" ["answer"] "Requests for offer pages: shown, unknown, expired (offer_pages.open_for); and pages that explain why an offer does not open: offer_ended, offer_unavailable, too_often.";
    Counter OFFER_PAGE_DISPLAYS "offerd_offer_page_displays_total" ["recorded"] "Displays reported by offer pages, and whether they are recorded (yes) or not (no): of no offer of an open page, or more often than it may be clicked (limits.clicks_per_second_per_offer), or beyond limits.displays_kept_per_offer.";
    Counter OFFER_DISPLAYS_CUT "offerd_offer_displays_cut_total" [] "Displays reported by images (pixel.gif, seen.gif) and not stored because of limits.displays_kept_per_offer.";
    Gauge LIMIT_USED "offerd_limit_used_ratio" ["partner", "product_type", "limit"] "Used share of per_minute, per_day, per_week, per_month or budget.";
    Counter PARTNER_OUTCOMES "offerd_partner_outcomes_total" ["partner", "product_type", "outcome"] "Asks by outcome.";
    Gauge PARTNER_HEALTH "offerd_partner_health" ["partner", "product_type"] "Health of partners, from their asks' outcomes compared with their own past: 0 healthy, unknown or not asked, 1 declining more, 2 slow, 3 failing, 4 silent.";
    Seconds PARTNER_ANSWER_SECONDS "offerd_partner_answer_seconds" ["partner", "product_type"] "Time from ask to outcome.";
    Counter PARTNER_REPORTS "offerd_partner_reports_total" ["partner", "outcome"] "Reports of partners: new, known, refused.";
    Seconds PARTNER_CALL_SECONDS "offerd_partner_call_seconds" ["partner", "product_type"] "Time from an HTTP call to its complete answer.";
    Seconds PARTNER_MAPPING_SECONDS "offerd_partner_mapping_seconds" ["partner", "product_type"] "Time to map request and answer.";
    Counter PARTNER_UNDECLARED_WORDS "offerd_partner_undeclared_words_total" ["partner", "product_type"] "Declines with a word that the partner file does not list.";
    Counter CALLBACKS "offerd_callbacks_total" ["result"] "Callbacks with which partners answer an ask: taken, unreadable, unsigned, again, nobody waits for it, too_large.";
    Counter OFFERS_CUT "offerd_offers_cut_total" ["partner"] "Offers left out because of matching.offers_per_partner.";
    Counter OFFERS_NOT_SHOWN "offerd_offers_not_shown_total" ["partner", "product_type"] "Offers in a partner's answer that are not shown: unreadable, implausible, or longer than answer.max_text_bytes.";
    Counter OFFERS_DOUBTED "offerd_offers_doubted_total" ["partner", "product_type"] "Offers in a partner's answer that are shown although their payment is slightly off.";
    Counter TRANSCRIPTS "offerd_transcripts_total" ["event"] "Transcripts of asks: kept, cut (those kept that transcripts.call_bytes shortened), lost (the store did not accept them), removed (transcripts.kept).";
    Counter LOG_LINES_LOST "offerd_log_lines_lost_total" [] = 0 "Log lines dropped because standard error was not read within 100 ms or could not be written.";
    Counter LATE_ANSWERS "offerd_late_answers_total" [] "Answers dropped because their ask already had an outcome.";
    Counter TABLES_SETTLED "offerd_rate_tables_settled_total" ["test": "no" | "yes", "offers": "no" | "yes"] = 0 "Completed rate tables, by whether their lead is a test and whether they show offers: yes, no.";
    Seconds TABLE_OVERHEAD_SECONDS "offerd_rate_table_overhead_seconds" [] "Time from a lead's arrival to its complete table, less that of the slowest partner of each look.";
    Seconds TABLE_BUDGET_LEFT_SECONDS "offerd_rate_table_budget_left_seconds" [] "Time left of matching.deadline when a table was complete.";
    Counter TABLES_RECOVERED "offerd_recovered_rate_tables_total" [] "Rate tables continued after a restart.";
    Counter RELOADS "offerd_reloads_total" ["result": "ok" | "refused" | "failed"] = 0 "Reloads of settings and partner files: ok, refused, failed.";
    Gauge RELOAD_REFUSED "offerd_reload_refused" [] "1 if the last reload was refused or failed, so the previous configuration is still in force; else 0.";
    Gauge RELOADED_AT "offerd_last_reload_success_timestamp_seconds" [] "When settings and partner files were last loaded, at the start or by a reload, Unix seconds.";
    Gauge BOOK_FINGERPRINT "offerd_book_fingerprint" [] "A number that is the same for the same partner files: 48 bits of a digest.";
    Counter EXPERIMENT_LEADS "offerd_experiment_leads_total" ["rule", "variant"] "Accepted leads that drew a variant of an experiment, including the control.";
    Counter EXPERIMENT_COMPARISONS "offerd_experiment_comparisons_total" ["result"] "Comparisons of the variants of an experiment: whole, cut (more leads than experiments.compared_leads), busy (another one was under way).";
    Counter POSTBACKS "offerd_postbacks_total" ["subscription", "result"] "Events that were pushed to companies, and events given up: ok, failed (and tried again), dead (the subscription's give_up_after), gone (no longer in the feed, or client tags of an erased lead), dropped (dead letters beyond postbacks.dead_letters and postbacks.dead_letters_kept).";
    Gauge POSTBACKS_OUTSTANDING "offerd_postbacks_outstanding" ["subscription"] "Events taken from the feed and not acknowledged; the limit is postbacks.outstanding, beyond which they wait in the feed.";
    Gauge POSTBACKS_DEAD "offerd_postbacks_dead" ["subscription"] "Stored dead letters: events given up; the limit is postbacks.dead_letters.";
    Gauge POSTBACK_LAG "offerd_postback_lag_seconds" ["subscription"] "Age of the oldest event taken from the feed and not acknowledged.";
    Gauge ALERTS_FIRING "offerd_alerts_firing" ["severity"] "Active alerts raised by the daemon itself: page, ticket, notice.";
    Counter ALERT_MESSAGES "offerd_alert_messages_total" ["receiver", "result"] "Alert messages to receivers: ok, failed (and tried again), given_up (alerts.give_up_after), dropped (alerts.outstanding).";
    Gauge ALERT_MESSAGES_OUTSTANDING "offerd_alert_messages_outstanding" ["receiver"] "Alert messages that a receiver has not accepted yet; the limit is alerts.outstanding.";
    Gauge LEADS_MISSING "offerd_leads_missing" [] "Live rate tables usually completed in the time since the last one, by the same hours of the last four weeks; 0 in the first week.";
    Gauge OFFERS_FALL "offerd_offers_fall" [] "Whether more live leads than usual end without an offer, judged as the health of a partner is: 0 no, 1 yes.";
    Gauge BACKUP_AT "offerd_last_backup_timestamp_seconds" [] "When the last backup was completed, Unix seconds; for a store without one, when a daemon first opened it.";
    Gauge CERTIFICATE_ENDS "offerd_certificate_expiry_timestamp_seconds" ["listener"] "When the certificate of a listener expires, at the earliest, to a day, Unix seconds.";
    Counter TRACE_SPANS "offerd_trace_spans_total" [] "Spans accepted by the trace collector.";
    Counter TRACE_SPANS_DROPPED "offerd_trace_spans_dropped_total" ["reason"] "Spans that were dropped: queue_full, not_delivered.";
    Counter FEED_PAGES_CUT "offerd_feed_pages_cut_total" ["feed"] "Feed pages that ended early because of analytics.page_records_max.";
    Gauge REPORT_CELLS "offerd_report_cells" ["zone"] "Counted report cells not written yet; the limit is reports.cells_in_memory.";
    Counter REPORT_TAGS_BEYOND "offerd_report_tags_beyond_total" ["tag"] "Records counted under (other), since the company has reached reports.tag_values for the tag.";
    Seconds REPORT_SECONDS "offerd_report_seconds" [] "Time to make a report.";
    Counter REPORTS_REFUSED "offerd_reports_refused_total" ["reason": "busy" | "large"] = 0 "Reports refused: busy (reports.at_once), large (reports.groups).";
    Gauge RANKING_COHORTS "offerd_ranking_cohorts" [] "Counts per day, offer and rating that rankings learn from; the limit is ranking.cohorts.";
    Counter RANKING_COHORTS_DROPPED "offerd_ranking_cohorts_dropped_total" [] "Counts dropped because of ranking.cohorts: those of the oldest days.";
    Gauge RANKING_LEARNT_AT "offerd_ranking_learnt_at_seconds" [] "When the figures for ranking were last computed, Unix seconds; they are renewed every ranking.refresh.";
    Gauge STORE_QUEUE_DEPTH "offerd_store_queue_depth" [] "Commits waiting for the store's writer; the limit is store.queue.";
    Sizes STORE_GROUP_COMMITS "offerd_store_group_commits" [] "Commits made durable together; the limit is store.group.";
    Counter STORE_CHANGES "offerd_store_changes_total" ["tree"] "Records that were written or removed.";
    Gauge STORE_CHANGES_IN_LINE "offerd_store_changes_in_line" [] "Read-modify-write changes of records (clicks, merges, reads of prefills) that run or wait for their turn; the limit per record is store.changes_per_record.";
    Counter STORE_CHANGES_REFUSED "offerd_store_changes_refused_total" ["tree", "reason"] "Read-modify-write changes refused: full (store.changes_per_record), late (matching.deadline).";
    Seconds STORE_COMMIT_SECONDS "offerd_store_commit_seconds" [] "Time from queueing a commit to its acknowledgement.";
    Seconds STORE_CHECKPOINT_SECONDS "offerd_store_checkpoint_seconds" [] "Duration of a checkpoint, which syncs the record files and releases journal segments.";
    Gauge STORE_BYTES "offerd_store_bytes" [] "Size of the store's volume files.";
    Counter STORE_VOLUMES_DROPPED "offerd_store_volumes_dropped_total" [] "Volumes that were dropped because of store.retention.";
    Gauge STORE_FREE_BYTES "offerd_store_free_bytes" [] "Free bytes on the disk of the store; below store.reserve_bytes, offerd refuses new leads.";
    Gauge STORE_CLOCK_OFFSET "offerd_store_clock_offset_seconds" [] "How far the system clock is ahead of the arrival clock; negative if behind.";
    Gauge NODES_ALIVE "offerd_nodes_alive" [] "Daemons and commands that have the store open, as this one knows; 1 for a store in files.";
    Gauge NODE_IS_LEADER "offerd_node_is_leader" [] "1 while this daemon is the leader of those that share the store, else 0.";
    Gauge NODE_LOST "offerd_node_lost" ["node"] "1 for a node whose lease has run out and that has not come back, as the leader sees it, else 0.";
    Counter LEADER_CHANGES "offerd_leader_changes_total" ["node"] "Times that a node took over the lead from another.";
    Gauge DATABASE_ROUND_TRIP_SECONDS "offerd_database_round_trip_seconds" [] "Duration of the last lease renewal, for a store in a database.";
    Gauge DATABASE_CLOCK_AHEAD_SECONDS "offerd_database_clock_ahead_seconds" [] "How far the system clock is ahead of the database's; negative if behind.";
    Counter STORE_CLOCK_STEPS "offerd_store_clock_steps_total" ["to": "ahead" | "behind" | "followed"] = 0 "Times that the system clock was more than store.clock_jump ahead of arrivals or behind them, or was followed again: ahead, behind, followed.";
    Counter STORE_BROKEN_RECORDS "offerd_store_broken_records_total" ["tree"] "Stored records that could not be read.";
    Gauge STORE_DAMAGE "offerd_store_damage" [] "Damaged places of the store's files; `offerd store check` names them.";
    Gauge STORE_STALLED "offerd_store_stalled" [] "How long the store's disk has not finished a write, once longer than store.stall_after; else 0.";
    Counter STORE_STALLS "offerd_store_stalls_total" [] = 0 "Times that a write of the store's disk took longer than store.stall_after.";
    Counter WIRE_CONNECTIONS "offerd_wire_connections_total" ["pool"] "Connections opened to other systems.";
    Counter WIRE_REQUESTS "offerd_wire_requests_total" ["pool"] "Requests that got a connection; the difference to the connections opened is reuse.";
    Gauge WIRE_ANSWER_BYTES "offerd_wire_answer_bytes" [] "Bytes of other systems' answers that are received or read; wire.answer_bytes bounds those of partners.";
    Gauge WIRE_IN_FLIGHT "offerd_wire_in_flight" ["pool", "endpoint"] "Calls under way.";
    Counter WIRE_ERRORS "offerd_wire_errors_total" ["pool", "endpoint", "cause"] "Calls without a reply: refused (busy, breaker_open, no_time, bad_url, forbidden_address, no_lookup_thread), failed, or of an answer without memory (no_room).";
    Counter WIRE_RETRIES "offerd_wire_retries_total" ["pool", "endpoint"] "Calls sent again.";
    Seconds WIRE_LATE_SECONDS "offerd_wire_late_seconds" ["pool", "endpoint"] "Time to the complete answer when it came after the deadline, from a sample of the calls that timed out.";
    Gauge WIRE_LOOKUPS_RUNNING "offerd_wire_lookups_running" [] "Look-ups of other systems' host names under way, each on a thread; the limit for partners is wire.lookup_threads.";
    Counter WIRE_LOOKUPS "offerd_wire_lookups_total" ["result": "found" | "failed" | "stale"] = 0 "Look-ups of other systems' host names: found, failed; and calls that used an old answer because look-ups fail or hang: stale (wire.lookup_stale).";
    Gauge WIRE_BREAKER_STATE "offerd_wire_breaker_state" ["pool", "endpoint"] "State of circuit breakers: 0 closed, 1 half-open, 2 open.";
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
            assert!(["offerd_", "process_"].iter().any(|of| metric.name.starts_with(of)), "{}", metric.name);
            assert_eq!(
                metric.name.ends_with("_total"),
                metric.kind == MetricKind::Counter,
                "{}",
                metric.name
            );
            // A timestamp or a single duration is in seconds too, but not a histogram.
            let seconds = metric.name.ends_with("_seconds") && metric.kind != MetricKind::Gauge;
            assert_eq!(seconds, metric.kind == MetricKind::Seconds, "{}", metric.name);
        }
    }
}
