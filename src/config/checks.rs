//! What is checked of the raw settings: bounds, addresses, and what must fit together.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use ipnet::IpNet;

use super::colour::Colour;
use super::layers::Places;
use super::ranking_checks::ranking;
use super::raw::{
    Raw, RawApi, RawApproval, RawBrand, RawConsole, RawExperiments, RawLimits, RawLog, RawMatching,
    RawOfferPages, RawPostbacks, RawPostgres, RawProxy, RawReference, RawReports, RawStore, RawTls,
    RawTracing, RawWire,
};
use super::settings::{
    AnalyticsSettings, ApiSettings, ApprovalSettings, AuditSettings, BrandSettings, ConsoleSettings,
    DescribedSetting, EngineSettings, ExperimentSettings, IntegrationsSettings, LimitSettings,
    ListenerSettings, LogSettings, MatchingSettings, OfferPageSettings, PathSettings, PostbackSettings,
    PostgresSettings, PrefillSettings, ProxySettings, ROLES, RateSettings, ReferenceSettings, ReportSettings,
    Settings, ShutdownSettings, StoreEngine, StoreSettings, TlsSettings, TokenSettings, TracingSettings,
    TranscriptSettings, WireSettings,
};
use super::values::{
    CENTURY, DAY, Found, HOUR, MILLISECOND, MINUTE, OneOrMany, SECOND, backoffs, count, duration, fault,
    path, url,
};
use crate::declaration::quoted;
use crate::telemetry::logging;

pub(super) fn checked(
    raw: Raw,
    described: Vec<DescribedSetting>,
    table: toml::Table,
    places: Arc<Places>,
    found: &mut Found,
) -> Settings {
    let is_default =
        |key: &str| described.iter().any(|(known, _, source)| known == key && source == "default");
    let [api_listen, integrations_listen, admin_listen] = listeners(&raw, found);
    let matching = matching(&raw.matching, is_default("matching.second_look_reserve"), found);
    let store = store(raw.store, matching.live_tables, is_default("store.queue"), found);
    Settings {
        integrations: IntegrationsSettings {
            listen: integrations_listen,
            base_url: url("integrations.base_url", raw.integrations.base_url, found),
            tls: tls("integrations.tls", raw.integrations.tls, found),
        },
        admin: ListenerSettings { listen: admin_listen, tls: tls("admin.tls", raw.admin.tls, found) },
        console: console(raw.console, found),
        audit: AuditSettings { keep: duration("audit.keep", raw.audit.keep, DAY, CENTURY, found) },
        limits: limits(raw.limits, raw.api.max_body_bytes, found),
        api: api(raw.api, api_listen, found),
        offer_pages: offer_pages(raw.offer_pages, found),
        matching,
        wire: wire(&raw.wire, found),
        engine: EngineSettings { threads: count("engine.threads", raw.engine.threads, 0, 256, found) },
        analytics: AnalyticsSettings {
            page_records_max: count(
                "analytics.page_records_max",
                raw.analytics.page_records_max,
                1_000,
                100_000_000,
                found,
            ),
        },
        reports: reports(raw.reports, found),
        ranking: ranking(raw.ranking, found),
        store,
        partners: PathSettings { path: path("partners.path", &raw.partners.path, found) },
        reference: reference(raw.reference, found),
        approval: approval(&raw.approval, found),
        transcripts: TranscriptSettings {
            kept: duration("transcripts.kept", raw.transcripts.kept, MILLISECOND, CENTURY, found),
            call_bytes: count("transcripts.call_bytes", raw.transcripts.call_bytes, 1024, 1_048_576, found),
        },
        postbacks: postbacks(&raw.postbacks, &is_default, found),
        experiments: experiments(&raw.experiments, found),
        alerts: super::alerts::checked(raw.alerts, &is_default, found),
        tokens: TokenSettings { bootstrap: raw.tokens.bootstrap },
        shutdown: ShutdownSettings {
            drain: duration("shutdown.drain", raw.shutdown.drain, Duration::ZERO, HOUR, found),
            announce: duration("shutdown.announce", raw.shutdown.announce, Duration::ZERO, HOUR, found),
        },
        log: log(raw.log, found),
        tracing: tracing(raw.tracing, found),
        described,
        table,
        places,
    }
}

/// Time zones that days are counted by at most: each takes as much room as the first.
const ZONES_MAX: usize = 4;

/// Tags that are counted at most: each more makes a pair with every other dimension.
const TAGS_MAX: usize = 8;

/// What reports are by beside tags.
const DIMENSIONS: [&str; 10] =
    ["day", "week", "month", "company", "product", "subType", "partner", "rating", "state", "experiment"];

/// The addresses of the api, the integrations and the admin listener, each another one.
fn listeners(raw: &Raw, found: &mut Found) -> [SocketAddr; 3] {
    let listeners = [
        ("api.listen", address("api.listen", &raw.api.listen, found)),
        ("integrations.listen", address("integrations.listen", &raw.integrations.listen, found)),
        ("admin.listen", address("admin.listen", &raw.admin.listen, found)),
    ];
    for (nth, (key, listen)) in listeners.iter().enumerate().filter(|(_, (_, listen))| listen.port() != 0) {
        if let Some((other, _)) = listeners[..nth].iter().find(|(_, taken)| taken == listen) {
            fault(key, format!("is also the address of `{other}`: {listen}"), found);
        }
    }
    listeners.map(|(_, listen)| listen)
}

fn console(raw: RawConsole, found: &mut Found) -> ConsoleSettings {
    let failed = |key: &str, most, found: &mut Found| count(key, most, 1, 10_000, found);
    ConsoleSettings {
        sign_in: raw.sign_in,
        password_file: Some(raw.password_file).filter(|path| !path.is_empty()).map(PathBuf::from),
        session_life: duration("console.session_life", raw.session_life, MINUTE, 30 * DAY, found),
        session_idle: duration("console.session_idle", raw.session_idle, MINUTE, 30 * DAY, found),
        sign_ins_failed_per_name: failed(
            "console.sign_ins_failed_per_name",
            raw.sign_ins_failed_per_name,
            found,
        ),
        sign_ins_failed: failed("console.sign_ins_failed", raw.sign_ins_failed, found),
        tables_looked_at: count("console.tables_looked_at", raw.tables_looked_at, 100, 1_000_000, found),
        tables_read: count("console.tables_read", raw.tables_read, 20, 1_000_000, found),
        history_kept: duration("console.history_kept", raw.history_kept, HOUR, 31 * DAY, found),
        proxy: proxy(raw.proxy, found),
    }
}

/// The headers in which proxies name users whose names do not begin with `x-`.
const USER_HEADERS: [&str; 4] =
    ["remote-user", "remote-email", "tailscale-user-login", "cf-access-authenticated-user-email"];

/// What begins with `x-` and names no user: browsers, libraries and proxies set it of themselves.
const OF_NO_USER: [&str; 15] = [
    "x-client-ip",
    "x-correlation-id",
    "x-csrf-token",
    "x-forwarded-by",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-original-uri",
    "x-real-ip",
    "x-request-id",
    "x-requested-with",
];

/// Whether a header, in small letters, is one in which proxies name users.
fn names_users(header: &str) -> bool {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_own = header.len() > 2 && header.starts_with("x-") && !OF_NO_USER.contains(&header);
    header.chars().all(is_of_a_name) && (is_own || USER_HEADERS.contains(&header))
}

/// Whether so many come from a network that to come from it says nothing.
fn is_half_the_world(network: &IpNet) -> bool {
    match network {
        IpNet::V4(network) => network.prefix_len() < 8,
        IpNet::V6(network) => network.prefix_len() < 16,
    }
}

/// A proxy that signs people in. Whoever could send its header from elsewhere would be whom they like.
fn proxy(raw: RawProxy, found: &mut Found) -> Option<ProxySettings> {
    const KEY: &str = "console.proxy";
    let RawProxy { header, from, role } = raw;
    let header = header.to_ascii_lowercase();
    let network =
        |text: String| text.parse::<IpAddr>().map_or(text, |address| IpNet::from(address).to_string());
    let networks = networks(KEY, OneOrMany::Many(Vec::from(from).into_iter().map(network).collect()), found);
    if header.is_empty() && networks.is_empty() && role.is_empty() {
        return None;
    }
    if !names_users(&header) {
        let message = format!(
            "`header` must be one in which a proxy names a user, and that nobody else sets: one that begins with `x-`, such as \
             `x-forwarded-user`, or one of {}; got `{header}`",
            USER_HEADERS.map(|name| format!("`{name}`")).join(", ")
        );
        fault(KEY, message, found);
    }
    if networks.is_empty() {
        fault(KEY, "`from` must hold the addresses that the proxy comes from".to_owned(), found);
    }
    for wide in networks.iter().filter(|network| is_half_the_world(network)) {
        let message = format!(
            "`from` must hold the addresses that the proxy comes from, such as `10.0.0.5` or `10.0.0.0/24`: no network wider than /8, or \
             /16 of IPv6, from which many others come too; got `{wide}`"
        );
        fault(KEY, message, found);
    }
    if !role.is_empty() && !ROLES.contains(&role.as_str()) {
        fault(KEY, format!("`role` must be empty, or one of {}, got `{role}`", ROLES.join(", ")), found);
    }
    Some(ProxySettings { header, from: networks, role: Some(role).filter(|role| !role.is_empty()) })
}

fn api(raw: RawApi, listen: SocketAddr, found: &mut Found) -> ApiSettings {
    let base_url = url("api.base_url", raw.base_url, found);
    let vendor: Vec<String> = raw.vendor.into();
    let segment = |name: &String| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    };
    if !vendor.iter().all(segment) {
        fault("api.vendor", "must be names of letters, digits, `-` and `_`".to_owned(), found);
    }
    let cors_origins: Vec<String> = raw.cors_origins.into();
    for origin in cors_origins.iter().filter(|origin| *origin != "*" && !is_origin(origin)) {
        fault(
            "api.cors_origins",
            format!("must be `*` or origins such as `https://shop.example`, got `{origin}`"),
            found,
        );
    }
    ApiSettings {
        listen,
        base_url,
        vendor,
        cors_origins,
        max_connections: count("api.max_connections", raw.max_connections, 1, 1_000_000, found),
        max_head_bytes: count("api.max_head_bytes", raw.max_head_bytes, 8_192, 1_048_576, found),
        max_body_bytes: count("api.max_body_bytes", raw.max_body_bytes, 1_024, 1_048_576, found),
        header_timeout: duration("api.header_timeout", raw.header_timeout, MILLISECOND, HOUR, found),
        request_timeout: duration("api.request_timeout", raw.request_timeout, MILLISECOND, HOUR, found),
        write_timeout: duration("api.write_timeout", raw.write_timeout, MILLISECOND, HOUR, found),
        demo: raw.demo,
        tls: tls("api.tls", raw.tls, found),
    }
}

fn reference(raw: RawReference, found: &mut Found) -> ReferenceSettings {
    let RawReference { vehicles, vehicles_per_answer } = raw;
    ReferenceSettings {
        vehicles: Some(vehicles).filter(|path| !path.is_empty()).map(PathBuf::from),
        vehicles_per_answer: count(
            "reference.vehicles_per_answer",
            vehicles_per_answer,
            1_000,
            100_000,
            found,
        ),
    }
}

fn postbacks(raw: &RawPostbacks, is_default: &dyn Fn(&str) -> bool, found: &mut Found) -> PostbackSettings {
    let kept = |key, kept, found: &mut Found| duration(key, kept, MILLISECOND, CENTURY, found);
    let [first_backoff, longest_backoff] =
        backoffs("postbacks", [raw.first_backoff, raw.longest_backoff], is_default, found);
    PostbackSettings {
        path: path("postbacks.path", &raw.path, found),
        concurrency: count("postbacks.concurrency", raw.concurrency, 1, 256, found),
        outstanding: count("postbacks.outstanding", raw.outstanding, 1, 1_000_000, found),
        first_backoff,
        longest_backoff,
        dead_letters: count("postbacks.dead_letters", raw.dead_letters, 0, 1_000_000, found),
        dead_letters_kept: kept("postbacks.dead_letters_kept", raw.dead_letters_kept, found),
        vanished_kept: kept("postbacks.vanished_kept", raw.vanished_kept, found),
    }
}

fn wire(raw: &RawWire, found: &mut Found) -> WireSettings {
    let most = count("wire.max_ejected_percent", raw.max_ejected_percent, 0, 100, found);
    WireSettings { max_ejected_percent: most as u8, simulate_only: raw.simulate_only }
}

fn experiments(raw: &RawExperiments, found: &mut Found) -> ExperimentSettings {
    ExperimentSettings {
        path: path("experiments.path", &raw.path, found),
        compared_leads: count("experiments.compared_leads", raw.compared_leads, 1_000, 10_000_000, found),
        variants_per_rule: count("experiments.variants_per_rule", raw.variants_per_rule, 1, 1_000, found),
    }
}

fn reports(raw: RawReports, found: &mut Found) -> ReportSettings {
    ReportSettings {
        zones: zones(raw.zones.into(), found),
        tags: tags(raw.tags.into(), found),
        tag_values: count("reports.tag_values", raw.tag_values, 1, 100_000, found),
        cells_in_memory: count("reports.cells_in_memory", raw.cells_in_memory, 1_000, 10_000_000, found),
        write_every: duration("reports.write_every", raw.write_every, SECOND, 7 * DAY, found),
        groups: count("reports.groups", raw.groups, 1_000, 50_000_000, found),
        rows: count("reports.rows", raw.rows, 1, 1_000_000, found),
        at_once: count("reports.at_once", raw.at_once, 1, 64, found),
    }
}

/// Time zones by whose days is counted.
fn zones(names: Vec<String>, found: &mut Found) -> Vec<Tz> {
    let mut zones = Vec::new();
    for name in &names {
        match name.parse::<Tz>() {
            Ok(zone) if !zones.contains(&zone) => zones.push(zone),
            Ok(_) => fault("reports.zones", format!("names `{name}` twice"), found),
            Err(_) => {
                let message = format!(
                    "must be time zones by their IANA names such as `America/New_York`, got `{name}`"
                );
                fault("reports.zones", message, found);
            }
        }
    }
    if !(1..=ZONES_MAX).contains(&names.len()) {
        let message = format!("must be 1 to {ZONES_MAX} time zones, got {}", names.len());
        fault("reports.zones", message, found);
    }
    zones
}

/// Tags that are counted.
fn tags(names: Vec<String>, found: &mut Found) -> Vec<String> {
    for (nth, name) in names.iter().enumerate() {
        if DIMENSIONS.contains(&name.as_str()) {
            let message =
                format!("must be names of client tags that are no dimensions of reports, got `{name}`");
            fault("reports.tags", message, found);
        }
        if name.is_empty() || names[..nth].contains(name) {
            fault("reports.tags", format!("must be names, each once, got `{name}`"), found);
        }
        // It stands before the `=` of a filter, and at the head of a column.
        if name.contains('=') || name.chars().any(char::is_control) {
            let message =
                format!("must be names without `=`, line feeds and other control characters, got `{name}`");
            fault("reports.tags", message, found);
        }
    }
    if names.len() > TAGS_MAX {
        fault("reports.tags", format!("must be {TAGS_MAX} at most, got {}", names.len()), found);
    }
    names
}

fn approval(raw: &RawApproval, found: &mut Found) -> ApprovalSettings {
    ApprovalSettings {
        reports_kept: duration("approval.reports_kept", raw.reports_kept, MILLISECOND, CENTURY, found),
        reports_per_company: count(
            "approval.reports_per_company",
            raw.reports_per_company,
            1,
            100_000,
            found,
        ),
    }
}

fn offer_pages(raw: RawOfferPages, found: &mut Found) -> OfferPageSettings {
    let frame_ancestors: Vec<String> = raw.frame_ancestors.into();
    for origin in frame_ancestors.iter().filter(|origin| !is_frame_ancestor(origin)) {
        let wanted = "must be origins such as `https://shop.example` or `https://*.shop.example`";
        fault("offer_pages.frame_ancestors", format!("{wanted}, got `{origin}`"), found);
    }
    let mut of = |key: &str, text: &str, ground| colour(&format!("offer_pages.{key}"), text, ground, found);
    let brand = BrandSettings {
        name: None,
        colour: of("colour", &raw.colour, Colour::LIGHT_GROUND),
        dark_colour: of("dark_colour", &raw.dark_colour, Colour::DARK_GROUND),
    };
    let companies = raw.companies.into_iter();
    OfferPageSettings {
        open_for: duration("offer_pages.open_for", raw.open_for, MINUTE, 31 * DAY, found),
        frame_ancestors,
        companies: companies.map(|(name, own)| own_brand(name, own, &brand, found)).collect(),
        brand,
    }
}

/// How pages of a company look that says so itself, in part or in whole.
fn own_brand(
    company: String,
    raw: RawBrand,
    brand: &BrandSettings,
    found: &mut Found,
) -> (String, BrandSettings) {
    let place = format!("offer_pages.companies.{}", quoted(&company));
    let mut or_usual = |key: &str, text: String, ground, usual| match text.is_empty() {
        true => usual,
        false => colour(&format!("{place}.{key}"), &text, ground, found),
    };
    let own = BrandSettings {
        name: Some(raw.name).filter(|name| !name.is_empty()),
        colour: or_usual("colour", raw.colour, Colour::LIGHT_GROUND, brand.colour),
        dark_colour: or_usual("dark_colour", raw.dark_colour, Colour::DARK_GROUND, brand.dark_colour),
    };
    (company, own)
}

/// A colour that text has on a ground.
fn colour(key: &str, text: &str, ground: Colour, found: &mut Found) -> Colour {
    let Some(colour) = Colour::parse(text) else {
        fault(key, format!("must be a colour such as `#0b6e4f`, got `{text}`"), found);
        return ground.ink();
    };
    let (contrast, least) = (colour.contrast(ground), Colour::LEAST_CONTRAST);
    if contrast < least {
        let other = if ground.ink() == Colour::BLACK { "darker" } else { "lighter" };
        // Rounded down, so that what is too little never looks like enough.
        let contrast = (contrast * 100.0).floor() / 100.0;
        let message = format!(
            "must have a contrast of at least {least}:1 with its ground {ground}, or it is not read well; {colour} has {contrast}:1: take \
             a {other} one"
        );
        fault(key, message, found);
    }
    colour
}

/// An origin as a policy for frames has it: perhaps of any name below a domain, and nothing that would end the list.
fn is_frame_ancestor(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = host.map(|host| host.strip_prefix("*.").unwrap_or(host));
    let is_of_host = |letter: char| letter.is_ascii_alphanumeric() || "-.:[]".contains(letter);
    host.is_some_and(|host| !host.is_empty() && host.chars().all(is_of_host))
}

fn log(raw: RawLog, found: &mut Found) -> LogSettings {
    if let Err(cause) = logging::check(&raw.filter) {
        fault(
            "log.filter",
            format!("must be a level or directives such as `info,offerd=debug`: {cause}"),
            found,
        );
    }
    LogSettings { filter: raw.filter, format: raw.format }
}

fn tracing(raw: RawTracing, found: &mut Found) -> TracingSettings {
    let RawTracing { otlp_endpoint, sampled_percent } = raw;
    TracingSettings {
        otlp_endpoint: url("tracing.otlp_endpoint", otlp_endpoint, found),
        sampled_percent: count("tracing.sampled_percent", sampled_percent, 0, 100, found) as u8,
    }
}

/// An origin as browsers send it: a scheme, a host, and perhaps a port.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ', ',']))
}

fn matching(raw: &RawMatching, is_default_reserve: bool, found: &mut Found) -> MatchingSettings {
    let deadline = duration(
        "matching.deadline",
        raw.deadline,
        MatchingSettings::DEADLINE_MIN,
        MatchingSettings::DEADLINE_MAX,
        found,
    );
    let mut within = |key: &str, value| duration(key, value, Duration::ZERO, 5 * MINUTE, found);
    let submit_wait = within("matching.submit_wait", raw.submit_wait);
    let response_margin = within("matching.response_margin", raw.response_margin);
    let least_budget = within("matching.least_budget", raw.least_budget);
    let second_look_reserve = within("matching.second_look_reserve", raw.second_look_reserve);
    let gather_answers = within("matching.gather_answers", raw.gather_answers);
    let linger = within("matching.linger", raw.linger);
    if submit_wait > deadline {
        fault(
            "matching.submit_wait",
            format!("must be at most `matching.deadline` ({deadline:?}), got {submit_wait:?}"),
            found,
        );
    }
    // The default goes with any deadline: no more of it is kept back than that.
    if second_look_reserve > deadline / 2 && !is_default_reserve {
        let most = deadline / 2;
        let message =
            format!("must be at most half of `matching.deadline` ({most:?}), got {second_look_reserve:?}");
        fault("matching.second_look_reserve", message, found);
    }
    if response_margin + least_budget > deadline {
        let message =
            "and `matching.least_budget` together must fit into `matching.deadline`, or nobody is asked";
        fault("matching.response_margin", message.to_owned(), found);
    }
    MatchingSettings {
        deadline,
        submit_wait,
        response_margin,
        least_budget,
        second_look_reserve,
        gather_answers,
        linger,
        live_tables_per_company: count(
            "matching.live_tables_per_company",
            raw.live_tables_per_company,
            0,
            1_000_000,
            found,
        ),
        live_tables: count("matching.live_tables", raw.live_tables, 1, 1_000_000, found),
        partners_per_lead: count("matching.partners_per_lead", raw.partners_per_lead, 1, 10_000, found),
        offers_per_partner: count("matching.offers_per_partner", raw.offers_per_partner, 1, 4_000, found),
    }
}

fn limits(raw: RawLimits, max_body_bytes: i64, found: &mut Found) -> LimitSettings {
    let [per_company, per_address, clicks_per_offer] = rates(&raw, found);
    let mut kept = |key: &str, value| count(key, value, 1, 1000, found) as u64;
    LimitSettings {
        per_company,
        per_address,
        clicks_per_offer,
        clicks_kept_per_offer: kept("limits.clicks_kept_per_offer", raw.clicks_kept_per_offer),
        displays_kept_per_offer: kept("limits.displays_kept_per_offer", raw.displays_kept_per_offer),
        consents_kept_per_lead: kept("limits.consents_kept_per_lead", raw.consents_kept_per_lead) as usize,
        bytes_per_lead: count("limits.bytes_per_lead", raw.bytes_per_lead, 16_384, 16_777_216, found),
        leads_erased_at_once: erased_at_once(raw.leads_erased_at_once, found),
        publishable_merge: duration(
            "limits.publishable_merge",
            raw.publishable_merge,
            Duration::ZERO,
            CENTURY,
            found,
        ),
        prefills: prefills(&raw, found),
        connections_per_address: count(
            "limits.connections_per_address",
            raw.connections_per_address,
            0,
            1_000_000,
            found,
        ),
        reserved_descriptors: count(
            "limits.reserved_descriptors",
            raw.reserved_descriptors,
            64,
            1_000_000,
            found,
        ),
        exempt: networks("limits.exempt", raw.exempt, found),
        trusted_proxies: networks("limits.trusted_proxies", raw.trusted_proxies, found),
        requests: count("limits.requests", raw.requests, 1, 10_000_000, found),
        requests_per_company: count(
            "limits.requests_per_company",
            raw.requests_per_company,
            0,
            10_000_000,
            found,
        ),
        // A body that fits alone must have room.
        body_bytes: count("limits.body_bytes", raw.body_bytes, max_body_bytes, 1 << 40, found),
        body_bytes_per_company: match raw.body_bytes_per_company {
            0 => 0,
            bytes => count("limits.body_bytes_per_company", bytes, max_body_bytes, 1 << 40, found),
        },
        shown_bytes: count("limits.shown_bytes", raw.shown_bytes, 0, 1 << 40, found) as u64,
        queueing_target: duration(
            "limits.queueing_target",
            raw.queueing_target,
            Duration::ZERO,
            MINUTE,
            found,
        ),
        queue: count("limits.queue", raw.queue, 1, 1_000_000, found),
        queue_wait: duration("limits.queue_wait", raw.queue_wait, MILLISECOND, MINUTE, found),
    }
}

/// How many leads of a person an erasure takes at once.
fn erased_at_once(leads: i64, found: &mut Found) -> usize {
    count("limits.leads_erased_at_once", leads, 1, 1_000_000, found)
}

fn prefills(raw: &RawLimits, found: &mut Found) -> PrefillSettings {
    let per_company = raw.prefills_per_company;
    PrefillSettings {
        lifetime: duration("limits.prefill_lifetime", raw.prefill_lifetime, SECOND, HOUR, found),
        reads: count("limits.prefill_reads", raw.prefill_reads, 1, 100, found) as u32,
        per_company: count("limits.prefills_per_company", per_company, 0, 1_000_000, found),
    }
}

/// How often a company may ask, an address, and an offer be clicked.
fn rates(raw: &RawLimits, found: &mut Found) -> [Option<RateSettings>; 3] {
    [
        rate(
            ["limits.requests_per_second_per_company", "limits.burst_per_company"],
            [raw.requests_per_second_per_company, raw.burst_per_company],
            found,
        ),
        rate(
            ["limits.requests_per_second_per_address", "limits.burst_per_address"],
            [raw.requests_per_second_per_address, raw.burst_per_address],
            found,
        ),
        rate(
            ["limits.clicks_per_second_per_offer", "limits.burst_clicks_per_offer"],
            [raw.clicks_per_second_per_offer, raw.burst_clicks_per_offer],
            found,
        ),
    ]
}

fn rate(keys: [&str; 2], [per_second, burst]: [i64; 2], found: &mut Found) -> Option<RateSettings> {
    let per_second = count(keys[0], per_second, 0, 1_000_000, found) as u32;
    let burst = count(keys[1], burst, 1, 1_000_000, found) as u32;
    Some(RateSettings { per_second: NonZeroU32::new(per_second)?, burst: NonZeroU32::new(burst)? })
}

fn networks(key: &str, texts: OneOrMany, found: &mut Found) -> Vec<IpNet> {
    let texts: Vec<String> = texts.into();
    let read = |text: String| match text.parse() {
        Ok(network) => Some(network),
        Err(_) => {
            fault(key, format!("must be networks such as `10.0.0.0/8`, got `{text}`"), found);
            None
        }
    };
    texts.into_iter().filter_map(read).collect()
}

/// Two files or none.
fn tls(key: &str, raw: RawTls, found: &mut Found) -> Option<TlsSettings> {
    let RawTls { certificate, key: private } = raw;
    match (certificate.is_empty(), private.is_empty()) {
        (true, true) => return None,
        (true, false) => fault(&format!("{key}.key"), "is set without a certificate".to_owned(), found),
        (false, true) => fault(&format!("{key}.certificate"), "is set without a key".to_owned(), found),
        (false, false) => {}
    }
    Some(TlsSettings { certificate: certificate.into(), key: private.into() })
}

fn store(raw: RawStore, live_tables: usize, is_default_queue: bool, found: &mut Found) -> StoreSettings {
    let queue = count("store.queue", raw.queue, 1, 10_000_000, found);
    if queue <= live_tables {
        // Each live table has at most one commit under way, so a queue that holds them all never refuses an answer. Nobody is told
        // that a default is wrong.
        if is_default_queue {
            let message = format!("must be less than `store.queue` ({queue}), got {live_tables}; set both");
            fault("matching.live_tables", message, found);
        } else {
            let message = format!("must be more than `matching.live_tables` ({live_tables}), got {queue}");
            fault("store.queue", message, found);
        }
    }
    let volume_age = duration("store.volume_age", raw.volume_age, SECOND, CENTURY, found);
    let retention = duration("store.retention", raw.retention, Duration::ZERO, CENTURY, found);
    if !retention.is_zero() && retention < volume_age {
        let message = format!("must be at least `store.volume_age` ({volume_age:?}), got {retention:?}");
        fault("store.retention", message, found);
    }
    let clock_jump = duration("store.clock_jump", raw.clock_jump, SECOND, DAY, found);
    let named = |file: String| Some(file).filter(|path| !path.is_empty()).map(PathBuf::from);
    StoreSettings {
        engine: raw.engine,
        path: path("store.path", &raw.path, found),
        postgres: postgres(raw.postgres, raw.engine, found),
        master_key_file: named(raw.master_key_file),
        suppression_key_file: named(raw.suppression_key_file),
        queue,
        changes_per_record: count("store.changes_per_record", raw.changes_per_record, 1, 65_536, found),
        group: count("store.group", raw.group, 1, 65_536, found),
        cache_bytes: count("store.cache_bytes", raw.cache_bytes, 1_048_576, i64::MAX, found) as u64,
        reserve_bytes: count("store.reserve_bytes", raw.reserve_bytes, 0, i64::MAX, found) as u64,
        stall_after: duration("store.stall_after", raw.stall_after, MILLISECOND, CENTURY, found),
        scrub_interval: duration("store.scrub_interval", raw.scrub_interval, Duration::ZERO, CENTURY, found),
        scrub_rate: count("store.scrub_rate", raw.scrub_rate, 4096, i64::MAX, found) as u64,
        volume_bytes: count("store.volume_bytes", raw.volume_bytes, 1_048_576, i64::MAX, found) as u64,
        volume_age,
        retention,
        clock_jump,
        clock_hold: duration("store.clock_hold", raw.clock_hold, Duration::ZERO, CENTURY, found),
        clock_gap: duration("store.clock_gap", raw.clock_gap, clock_jump, CENTURY, found),
    }
}

/// Longest name of a node.
const NODE_NAME_CHARS: usize = 100;

/// The database, where one is named. What is wrong with its address beyond how it begins is told by who reads it.
fn postgres(raw: RawPostgres, engine: StoreEngine, found: &mut Found) -> Option<PostgresSettings> {
    let RawPostgres { url, password_file, ca_file, connections, answer_within, lease, node_name } = raw;
    if node_name.chars().count() > NODE_NAME_CHARS || node_name.chars().any(char::is_control) {
        let message = format!("must be {NODE_NAME_CHARS} characters at most, without control characters");
        fault("store.postgres.node_name", message, found);
    }
    let begins_well = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
    match (url.is_empty(), engine) {
        (true, StoreEngine::Postgres) => {
            let wanted = "must be the address of the database, such as `postgres://offerd@127.0.0.1:5432/offerd`, where \
                          `store.engine` is `postgres`, got nothing";
            fault("store.postgres.url", wanted.to_owned(), found);
        }
        (false, _) if !begins_well => {
            let wanted = "must begin with `postgres://` or `postgresql://`, and does not";
            fault("store.postgres.url", wanted.to_owned(), found);
        }
        _ => {}
    }
    let named = |file: String| Some(file).filter(|path| !path.is_empty()).map(PathBuf::from);
    let settings = PostgresSettings {
        password_file: named(password_file),
        ca_file: named(ca_file),
        connections: count("store.postgres.connections", connections, 2, 1000, found),
        answer_within: duration("store.postgres.answer_within", answer_within, 10 * MILLISECOND, HOUR, found),
        lease: duration("store.postgres.lease", lease, SECOND, HOUR, found),
        node_name: Some(node_name).filter(|name| !name.is_empty()),
        url,
    };
    Some(settings).filter(|settings| !settings.url.is_empty())
}

fn address(key: &str, text: &str, found: &mut Found) -> SocketAddr {
    text.parse().unwrap_or_else(|_| {
        fault(key, format!("must be an address with a port, such as `127.0.0.1:8080`, got `{text}`"), found);
        SocketAddr::from(([127, 0, 0, 1], 0))
    })
}
