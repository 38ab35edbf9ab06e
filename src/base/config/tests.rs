//! The settings from an operator's view.

use std::path::Path;
use std::time::Duration;

use super::{DEFAULTS, Settings, SettingsDiff, is_reloadable};
use crate::declaration::read_table;

fn faults(file: &str, environment: &[(&str, &str)]) -> Vec<String> {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = Settings::from_layers(Some((Path::new("offerd.toml"), file)), environment);
    settings.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn the_defaults_are_good_and_told_as_such() {
    let settings = Settings::from_layers(None, []).unwrap();
    assert_eq!(settings.api.listen.port(), 8080);
    assert_eq!(settings.matching.deadline, Duration::from_secs(15));
    assert!(settings.describe().iter().all(|(_, _, source)| source == "default"));
    let fault = settings.fault("store.master_key_file", "names none".to_owned());
    assert_eq!(fault.to_string(), "`store.master_key_file` names none", "no file to edit");
}

#[test]
fn a_file_goes_over_the_defaults_and_the_environment_over_both() {
    let file = "[matching]\ndeadline = '9s'\nsubmit_wait = '1ms'\n[api]\nvendor = 'acme'\n";
    let environment =
        [("OFFERD__MATCHING__DEADLINE".to_owned(), "8s".to_owned()), ("HOME".to_owned(), "/".to_owned())];
    let settings = Settings::from_layers(Some((Path::new("offerd.toml"), file)), environment).unwrap();
    assert_eq!(settings.matching.deadline, Duration::from_secs(8));
    assert_eq!(settings.matching.submit_wait, Duration::from_millis(1));
    assert_eq!(settings.api.vendor, ["acme"]);
    let source = |key: &str| settings.describe().iter().find(|row| row.0 == key).unwrap().2.clone();
    assert_eq!(source("matching.deadline"), "OFFERD__MATCHING__DEADLINE");
    assert_eq!(source("matching.submit_wait"), "offerd.toml:3");
    assert_eq!(source("matching.linger"), "default");
}

#[test]
fn lists_are_given_by_the_environment_with_commas() {
    let is_list = |line: &&str| {
        !line.starts_with('#') && line.split_once(" = ").is_some_and(|(_, value)| value.starts_with('['))
    };
    let lists = DEFAULTS.lines().filter(is_list).count();
    let keys = [
        "ALERTS__OFF",
        "API__VENDOR",
        "API__LENIENT_COMPANIES",
        "API__CORS_ORIGINS",
        "LIMITS__EXEMPT",
        "LIMITS__TRUSTED_PROXIES",
        "OFFER_PAGES__FRAME_ANCESTORS",
        "REPORTS__ZONES",
        "REPORTS__TAGS",
    ];
    assert_eq!(lists, keys.len(), "each list of the defaults is among the keys");
    let settings = |values: [&str; 9]| {
        let name = |key: &str| format!("OFFERD__{key}");
        let variables = keys.iter().zip(values).map(|(key, value)| (name(key), value.to_owned()));
        Settings::from_layers(None, variables).unwrap()
    };

    let origins = "https://a.example,https://b.example";
    let two = settings([
        "OfferdSeatsCut, OfferdStoreSlow",
        "acme, shop",
        "Acme Loans, Shop",
        origins,
        "10.0.0.0/8,::1/128",
        "192.0.2.0/24 ,",
        origins,
        "UTC,Asia/Tokyo",
        "a, b",
    ]);
    assert_eq!(two.alerts.off.len(), 2);
    assert_eq!(two.api.vendor, ["acme", "shop"]);
    assert_eq!(two.api.lenient_companies, ["Acme Loans", "Shop"]);
    assert_eq!(two.api.cors_origins, ["https://a.example", "https://b.example"]);
    assert_eq!((two.limits.exempt.len(), two.limits.trusted_proxies.len()), (2, 1));
    assert_eq!((two.reports.zones.len(), &two.reports.tags[..]), (2, &["a".to_owned(), "b".to_owned()][..]));
    assert_eq!(two.offer_pages.frame_ancestors, two.api.cors_origins);

    let none = settings(["", "", "", "", "", "", "", "UTC", ""]);
    assert!(none.api.vendor.is_empty() && none.api.cors_origins.is_empty());
    assert!(none.limits.exempt.is_empty() && none.limits.trusted_proxies.is_empty());
    assert!(none.offer_pages.frame_ancestors.is_empty());
}

#[test]
fn what_others_are_put_behind_is_an_address_alone() {
    for bad in [
        "http://x/path?q",
        "http://x/#part",
        "http://x/\"><script>",
        "http://x/",
        "http:///x",
        "ftp://x",
        "x",
    ] {
        let found = faults("", &[("OFFERD__API__BASE_URL", bad)]);
        assert_eq!(found.len(), 1, "{bad}: {found:?}");
        assert!(
            found[0].starts_with("OFFERD__API__BASE_URL: `api.base_url` must be an http or https URL"),
            "{found:?}"
        );
    }
    for (bad, wanted) in [
        ("http://h:99999", &["a port from 1 to 65535"][..]),
        ("http://h:0", &["a port"]),
        ("http://h:", &["a port"]),
        ("http://u:p@h", &["without a user or a password, got `http://***@h`"]),
        ("http://h/a/../b", &["no empty part, no `.` and no `..`"]),
        ("http://h/%2E%2e", &["no empty part"]),
        ("http://h//a", &["no empty part"]),
        ("http://:80", &["a host"]),
        ("http://[::1", &["a host"]),
        ("http://u@h,i:x/./a", &["a user", "a host", "a port", "no empty part"]),
    ] {
        let found = faults("", &[("OFFERD__API__BASE_URL", bad)]);
        assert_eq!(found.len(), wanted.len(), "{bad}: {found:?}");
        assert!(found.iter().zip(wanted).all(|(found, wanted)| found.contains(wanted)), "{bad}: {found:?}");
    }
    for good in
        ["http://x", "https://offers.example:8443/api", "http://[::1]:80", "http://a-b_c.example/a.b/c", ""]
    {
        assert_eq!(faults("", &[("OFFERD__API__BASE_URL", good)]), <[String; 0]>::default(), "{good}");
    }
}

#[test]
fn every_fault_is_told_at_once_where_it_was_made() {
    let file = "[api]\nlisten = 'here'\nmax_body_bytes = 5\n[matching]\ndeadlin = '3s'\nlinger = 5\n";
    let variables = [
        ("OFFERD__TOKENS__BOOTSTRAP", "perhaps"),
        ("OFFERD__LOG__COLOUR", "red"),
        ("OFFERD__LOG__FILTER", "offerd=bananas"),
        ("OFFERD__LOGS__FILTER", "info"),
    ];
    let found = faults(file, &variables);
    let (filter, found): (Vec<String>, Vec<String>) =
        found.into_iter().partition(|fault| fault.contains("log.filter"));
    assert!(
        filter[0].starts_with("OFFERD__LOG__FILTER: `log.filter` must be a level or directives"),
        "{filter:?}"
    );
    assert_eq!(
        found,
        [
            "OFFERD__LOGS__FILTER: `logs` is not a known key; did you mean `log`?",
            "OFFERD__LOG__COLOUR: `log.colour` is not a known key",
            "OFFERD__TOKENS__BOOTSTRAP: `tokens.bootstrap` must be a boolean, got string \"perhaps\"",
            "offerd.toml:2: `api.listen` must be an address with a port, such as `127.0.0.1:8080`, got `here`",
            "offerd.toml:3: `api.max_body_bytes` must be from 1024 to 1048576, got 5",
            "offerd.toml:5: `matching.deadlin` is not a known key; did you mean `deadline`?",
            "offerd.toml:6: `matching.linger` must have a unit, such as `5s` or `5ms`, got `5`",
        ]
    );
}

#[test]
fn a_variable_that_names_no_setting_is_told_with_the_right_name() {
    let one = |name: &str| faults("", &[(name, "1")]);
    let under = |name: &str| {
        vec![format!(
            "{name}: matches no setting: `api.listen` has one value and no keys; set it with \
                `OFFERD__API__LISTEN`"
        )]
    };
    assert_eq!(one("OFFERD__API__LISTEN__X"), under("OFFERD__API__LISTEN__X"));
    let both = [("OFFERD__API__LISTEN", "127.0.0.1:9000"), ("OFFERD__API__LISTEN__X__Y", "1")];
    assert_eq!(faults("", &both), under("OFFERD__API__LISTEN__X__Y"));
    for name in ["OFFERD__", "OFFERD____X", "OFFERD__API__"] {
        let wanted = "matches no setting: wanted `OFFERD__SECTION__KEY`, such as `OFFERD__API__LISTEN`";
        assert_eq!(one(name), [format!("{name}: {wanted}")]);
    }
    for name in [
        "OFFERD_API_LISTEN",
        "OFFERD__API_LISTEN",
        "OFFERD_API__LISTEN",
        "OFFERD___API__LISTEN",
        "offerd__api__listen",
        "Offerd__API__LISTEN",
        "offerd_api_listen",
    ] {
        let wanted = "has no effect: set `api.listen` with `OFFERD__API__LISTEN`, in capitals and with two \
            underscores before each part";
        assert_eq!(one(name), [format!("{name}: {wanted}")]);
    }
    assert!(one("OFFERD_STORE_MASTER_KEY_FILE")[0].contains("`OFFERD__STORE__MASTER_KEY_FILE`"));
    // Variables of commands and tests, and those that a cluster sets.
    for name in [
        "OFFERD_CONFIG",
        "OFFERD_TOKEN",
        "OFFERD_MASTER_KEY",
        "OFFERD_TEST_POSTGRES",
        "OFFERD_API_SERVICE_HOST",
        "OFFERD_OVERLOAD_TARGET",
        "OFFERD_PORT",
    ] {
        assert_eq!(one(name), <[String; 0]>::default(), "{name}");
    }
    for (name, meant) in [
        ("OFFERD_MASTERKEY", "`OFFERD_MASTER_KEY`"),
        ("OFFERD_MASTER_KEYS", "`OFFERD_MASTER_KEY`"),
        ("offerd_master_key", "`OFFERD_MASTER_KEY`"),
        ("OFFERD_MASTER_KEY_FILE", "`OFFERD__STORE__MASTER_KEY_FILE`"),
        ("OFFERD_CONFIG_FILE", "`OFFERD_CONFIG`"),
        ("OFFERD_TOKENS", "`OFFERD_TOKEN`"),
        (
            "OFFERD_LISTEN",
            "`OFFERD__ADMIN__LISTEN` or `OFFERD__API__LISTEN` or `OFFERD__INTEGRATIONS__LISTEN`",
        ),
        ("offerd__limits__no_such", "`OFFERD__LIMITS__NO_SUCH`"),
    ] {
        assert_eq!(one(name), [format!("{name}: has no effect: did you mean {meant}?")]);
    }
    let twice = [("OFFERD__API__LISTEN", "127.0.0.1:9000"), ("OFFERD__api__listen", "127.0.0.1:9001")];
    let wanted = "OFFERD__api__listen: `api.listen` is set twice: by `OFFERD__API__LISTEN` and `OFFERD__api__listen`; \
                  keep `OFFERD__API__LISTEN`";
    assert_eq!(faults("", &twice), [wanted]);
}

/// Also where the other key has its default, which is right.
#[test]
fn a_fault_that_a_variable_causes_is_its_own() {
    for (name, value, told) in [
        (
            "OFFERD__ALERTS__MAIL__SERVER",
            "mail.example:25",
            "`alerts.mail.from` must be set where a `server` is",
        ),
        ("OFFERD__ALERTS__MAIL__FROM", "offerd@shop.example", "`alerts.mail.server` must be"),
        ("OFFERD__ALERTS__MAIL__TO", "ops@shop.example", "`alerts.mail.server` must be"),
        ("OFFERD__API__LISTEN", "127.0.0.1:8082", "`admin.listen` is also the address of `api.listen`"),
        (
            "OFFERD__API__LISTEN",
            "0.0.0.0:8082",
            "`admin.listen` is among the addresses of `api.listen`: 127.0.0.1:8082, 0.0.0.0:8082",
        ),
        ("OFFERD__ADMIN__LISTEN", "[::]:8080", "`admin.listen` is among the addresses of `api.listen`"),
        ("OFFERD__STORE__ENGINE", "postgres", "`store.postgres.url` must be the address of the database"),
        (
            "OFFERD__LIMITS__BODY_BYTES",
            "99999999999999999999",
            "`limits.body_bytes` must be a whole number of at most 18 digits",
        ),
    ] {
        let found = faults("", &[(name, value)]);
        assert!(found.iter().any(|fault| fault.starts_with(&format!("{name}: {told}"))), "{name} {found:?}");
        assert!(found.iter().all(|fault| fault.starts_with(name)), "{found:?}");
    }
    let named = [("OFFERD__API__VENDOR", "99999999999999999999")];
    assert_eq!(faults("", &named), <[String; 0]>::default());
}

#[test]
fn what_does_not_fit_together_is_told() {
    let file = "[api]\nlisten = '127.0.0.1:9000'\ncors_origins = 'shop'\n[admin]\nlisten = '127.0.0.1:9000'\n\
                [matching]\nsubmit_wait = '1m'\n";
    assert_eq!(
        faults(file, &[]),
        [
            "offerd.toml:3: `api.cors_origins` must be `*` or origins such as `https://shop.example`, got `shop`",
            "offerd.toml:5: `admin.listen` is also the address of `api.listen`: 127.0.0.1:9000",
            "offerd.toml:7: `matching.submit_wait` must be at most `matching.deadline` (15s), got 1m",
        ]
    );
}

#[test]
fn a_reserve_is_at_most_half_of_the_deadline_and_the_default_goes_with_any() {
    let found = faults("[matching]\nsecond_look_reserve = '10s'\n", &[]);
    let wanted =
        "`matching.second_look_reserve` must be at most half of `matching.deadline` (7500ms), got 10s";
    assert_eq!(found, [format!("offerd.toml:2: {wanted}")]);
    for good in ["second_look_reserve = '7500ms'", "deadline = '2s'"] {
        assert_eq!(faults(&format!("[matching]\n{good}\n"), &[]), <[String; 0]>::default(), "{good}");
    }
}

#[test]
fn who_sets_only_the_pending_tables_is_told_of_them() {
    let found = faults("[matching]\npending_tables = 70000\n", &[]);
    let wanted = "`matching.pending_tables` must be less than `store.queue` (65536), got 70000; set both";
    assert_eq!(found, [format!("offerd.toml:2: {wanted}")]);
}

#[test]
fn the_queue_has_room_for_every_live_table() {
    let found = faults("[store]\nqueue = 100\n", &[]);
    assert_eq!(
        found,
        ["offerd.toml:2: `store.queue` must be more than `matching.pending_tables` (20000), got 100"]
    );
}

/// Each key of the default file has a sentence directly above it.
#[test]
fn the_default_file_explains_every_key() {
    let lines: Vec<&str> = DEFAULTS.lines().collect();
    let keys = lines.iter().enumerate().filter(|(_, line)| line.contains(" = ") && !line.starts_with('#'));
    let mut count = 0;
    for (nth, line) in keys {
        count += 1;
        assert!(
            lines[nth - 1].starts_with("# ") && lines[nth - 1].ends_with(['.', '?']),
            "`{line}` has no sentence above it"
        );
    }
    let defaults: toml::Table = DEFAULTS.parse().unwrap();
    // A section inside a section is one setting of the outer one.
    let keys_of = |key: &str| {
        let (section, name) = key.split_once('.').unwrap();
        let within =
            defaults[section][name].as_table().filter(|_| DEFAULTS.contains(&format!("\n[{key}]\n")));
        within.map_or(1, toml::Table::len)
    };
    let described = Settings::from_layers(None, []).unwrap();
    assert_eq!(count, described.describe().iter().map(|(key, ..)| keys_of(key)).sum::<usize>());
}

#[test]
fn a_database_needs_an_address_and_its_password_is_shown_nowhere() {
    let wanted = "must be the address of the database, such as `postgres://offerd@127.0.0.1:5432/offerd`, where `store.engine` is \
                  `postgres`, got nothing";
    let found = faults("[store]\nengine = 'postgres'\n", &[]);
    assert_eq!(found, [format!("offerd.toml:2: `store.postgres.url` {wanted}")]);
    let found = faults("[store.postgres]\nurl = 'host=db password=secret'\n", &[]);
    assert_eq!(
        found,
        ["offerd.toml:2: `store.postgres.url` must begin with `postgres://` or `postgresql://`"]
    );

    let url = "postgres://offerd:secret@db.example/offerd?password=secret";
    let settings = of(&format!("[store]\nengine = 'postgres'\n[store.postgres]\nurl = '{url}'\n"));
    assert_eq!(settings.store.database().unwrap().url, url);
    assert_eq!(settings.store.location(), "`store.postgres.url` (postgres://***@db.example/offerd?***)");
    assert!(!format!("{:?}{:?}", settings.store, settings.describe()).contains("secret"));
}

/// The commented example of a company's table works as it is.
#[test]
fn the_default_file_has_a_whole_example_of_pages_of_a_company() {
    let lines = DEFAULTS.lines().skip_while(|line| !line.starts_with("# [offer_pages.companies."));
    let lines: Vec<&str> = lines.map_while(|line| line.strip_prefix("# ")).collect();
    let pages = of(&lines.join("\n")).offer_pages;
    assert_eq!(pages.companies["Acme Loans"].name.as_deref(), Some("Acme"));
    assert_ne!(pages.companies["Acme Loans"].colour, Some(pages.colour));
    assert_ne!(pages.companies["Acme Loans"].dark_colour, Some(pages.dark_colour));
    assert_eq!(lines.len(), 4);
}

/// A key in the types but not in the file would be missing when the defaults are read, and a key only in the
/// file would be unknown. So this also tests each key alone.
#[test]
fn every_key_of_the_types_is_in_the_default_file() {
    for (key, _, _) in Settings::from_layers(None, []).unwrap().describe() {
        let (section, name) = key.split_once('.').unwrap();
        let mut table: toml::Table = DEFAULTS.parse().unwrap();
        table[section].as_table_mut().unwrap().remove(name).unwrap();
        let found = read_table::<Settings>(table, &toml::Table::new()).faults;
        // A missing table, such as `tls`, reports its own keys as missing too.
        let (within, found): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(missing, _)| missing.starts_with(&format!("{key}.")));
        assert_eq!(found, [(key.clone(), "is missing".to_owned())]);
        assert!(within.iter().all(|(_, message)| message == "is missing"), "{within:?}");
    }
}

#[test]
fn a_page_of_a_feed_may_not_be_bounded_below_its_usual_size() {
    let found = faults("[analytics]\npage_records_max = 999\n", &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("analytics.page_records_max") && found[0].contains("from 1000 to"),
        "{found:?}"
    );
}

#[test]
fn nobody_but_proxies_is_believed_to_forward_and_no_disk_is_all_reserve() {
    let found = faults("[limits]\ntrusted_proxies = ['10.0.0.0/8', '0.0.0.0/0', '::/0', 'fd00::/16']\n", &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    for (fault, wide) in found.iter().zip(["`0.0.0.0/0`", "`::/0`"]) {
        assert!(fault.contains("limits.trusted_proxies") && fault.contains("none wider than /8"), "{fault}");
        assert!(fault.ends_with(wide), "{fault}");
    }
    let reserve = |bytes: u64| faults(&format!("[store]\nreserve_bytes = {bytes}\n"), &[]);
    assert!(reserve(1 << 40).is_empty());
    let found = reserve((1 << 40) + 1);
    assert!(found.len() == 1 && found[0].contains("store.reserve_bytes"), "{found:?}");
}

#[test]
fn limits_and_tls_are_read_and_their_faults_told() {
    let file = "[limits]\nrequests_per_second_per_company = 0\nburst_per_address = 7\n\
                trusted_proxies = '10.0.0.0/8'\n[admin]\n\
                tls = { certificate = 'certificate.pem', key = 'key.pem' }\n";
    let settings = Settings::from_layers(Some((Path::new("offerd.toml"), file)), []).unwrap();
    assert_eq!(settings.limits.per_company(), None);
    let per_address = settings.limits.per_address().unwrap();
    assert_eq!((per_address.per_second.get(), per_address.burst.get()), (200, 7));
    assert_eq!(settings.limits.trusted_proxies, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(settings.admin.tls.unwrap().key, Path::new("key.pem"));
    assert_eq!(settings.api.tls, None);

    let file = "[api]\ntls = { certificate = 'certificate.pem' }\n[limits]\nexempt = ['here']\n";
    assert_eq!(
        faults(file, &[("OFFERD__ADMIN__TLS__KEY", "key.pem")]),
        [
            "OFFERD__ADMIN__TLS__KEY: `admin.tls.key` is set without a certificate",
            "offerd.toml:2: `api.tls.certificate` is set without a key",
            "offerd.toml:4: `limits.exempt` must be networks such as `10.0.0.0/8`, got `here`",
        ]
    );
}

#[test]
fn a_company_has_pages_of_its_own_colours_and_what_is_not_read_well_is_told() {
    let file = "[offer_pages]\ncolour = '#1d4ed8'\n[offer_pages.companies.'Acme Loans, Inc.']\nname = 'Acme'\n\
                dark_colour = '#ffffff'\n";
    let pages = of(file).offer_pages;
    let acme = &pages.companies["Acme Loans, Inc."];
    assert_eq!((acme.name.as_deref(), acme.colour), (Some("Acme"), None), "the colour is the usual one");
    let colours = (pages.colour.to_string(), acme.dark_colour.unwrap().to_string());
    assert_eq!(colours, ("#1d4ed8".into(), "#ffffff".into()));

    let known = ["Acme Loans", "Sandbox"].map(str::to_owned).into();
    let told = pages.without_token(&known);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("`Acme Loans, Inc.`") && told[0].contains("`Acme Loans`, `Sandbox`"),
        "{told:?}"
    );

    let file = "[offer_pages]\ncolour = 'green'\nframe_ancestors = ['*', \"https://a.example; script-src *\"]\n\
                open_for = '32days'\n[offer_pages.companies.'Acme Loans']\ncolour = '#ffcc00'\ndark_colour = '#333333'\n\
                color = '#000000'\n";
    assert_eq!(
        faults(file, &[]),
        [
            "offerd.toml:2: `offer_pages.colour` must be a colour such as `#0b6e4f`, got `green`",
            "offerd.toml:3: `offer_pages.frame_ancestors` must be origins such as `https://shop.example` or \
             `https://*.shop.example`, got `*`",
            "offerd.toml:3: `offer_pages.frame_ancestors` must be origins such as `https://shop.example` or \
             `https://*.shop.example`, got `https://a.example; script-src *`",
            "offerd.toml:4: `offer_pages.open_for` must be from 1m to 31d, got 32d",
            "offerd.toml:6: `offer_pages.companies.\"Acme Loans\".colour` must have a contrast of at least \
                4.5:1 with its background #f5f6f4 to be readable; #ffcc00 has 1.39:1: choose a darker colour",
            "offerd.toml:7: `offer_pages.companies.\"Acme Loans\".dark_colour` must have a contrast of at \
                least 4.5:1 with its background #1a2027 to be readable; #333333 has 1.29:1: choose a \
                lighter colour",
            "offerd.toml:8: `offer_pages.companies.\"Acme Loans\".color` is not a known key; did you mean `colour`?",
        ]
    );
}

fn of(file: &str) -> Settings {
    Settings::from_layers(Some((Path::new("offerd.toml"), file)), []).unwrap()
}

#[test]
fn the_default_file_says_of_each_key_whether_it_is_reloadable() {
    let mut section = "";
    let mut told = Vec::new();
    for (nth, line) in DEFAULTS.lines().enumerate() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#'))
            && DEFAULTS.lines().nth(nth - 1).unwrap().ends_with(" Reloadable.")
        {
            told.push(format!("{section}.{key}"));
        }
    }
    told.sort();
    let mut reloadable: Vec<String> = of("").describe().iter().map(|(key, ..)| key.clone()).collect();
    reloadable.retain(|key| is_reloadable(key));
    assert_eq!(told, reloadable);
}

/// A bound that nobody reaches may be left out, and one that is another setting is named.
#[test]
fn the_default_file_says_the_bounds_of_each_count() {
    let (mut section, mut about, mut counts) = ("", String::new(), 0);
    for line in DEFAULTS.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            about += comment;
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) =
            line.split_once(" = ").filter(|(_, value)| value.parse::<i64>().is_ok())
        {
            let told = faults(&format!("[{section}]\n{key} = -9\n"), &[]);
            let bounds =
                told.iter().find_map(|fault| fault.split_once(" must be from ")?.1.split_once(", got -9"));
            if let Some((bounds, _)) = bounds {
                let least = bounds.split(' ').next().unwrap_or_default();
                let says = |words: &str| about.contains(words);
                let says_least = says(&format!("from {least}")) || says("from `") || says("more than `");
                assert!(says(bounds) || says_least, "`{section}.{key}` takes {bounds}; its comment:{about}");
                counts += 1;
            }
            about.clear();
        } else {
            about.clear();
        }
    }
    assert!(counts > 60, "{counts}");
}

/// Including missing keys: they belong into the operator's table, not among the defaults.
#[test]
fn a_fault_of_a_table_of_the_operators_is_told_at_its_line() {
    let file = "[ranking.named.mine]\ninterest = 1.0\nconversion = 1e-320\npayout = 1.0\n[alerts.webhooks.ops]\n\
                [alerts.webhooks.\"a b\"]\nurl = 'https://ops.example/'\n[alerts.waits]\nX = '9days'\n";
    assert_eq!(
        faults(file, &[]),
        [
            "offerd.toml:1: `ranking.named.mine.consumer_rating` is missing",
            "offerd.toml:3: `ranking.named.mine.conversion` must be 0, or from 0.001 to 4, got 1e-320",
            "offerd.toml:5: `alerts.webhooks.ops.url` must be set, or else `url_from`, and not both",
            "offerd.toml:6: `alerts.webhooks.\"a b\"` must be named by lower-case letters, digits, `-` and `_`, and not `mail`, got `a b`",
            "offerd.toml:9: `alerts.waits.X` must be from 0s to 1d, got 9d",
        ]
    );
    assert_eq!(
        faults("", &[("OFFERD__ALERTS__WEBHOOKS__OPS__CA_FILE", "ca.pem")]),
        [
            "OFFERD__ALERTS__WEBHOOKS__OPS__CA_FILE: `alerts.webhooks.ops.url` must be set, or else `url_from`, and not both"
        ]
    );
}

#[test]
fn what_cannot_be_meant_is_refused_once() {
    let named = |name: &str| {
        format!(
            "[ranking.named.{name}]\ninterest = 1.0\nconversion = 0.0\npayout = 0.0\nconsumer_rating = 0.0\n"
        )
    };
    for (file, told) in [
        (
            named("expected_value").as_str(),
            "offerd.toml:1: `ranking.named.expected_value` is built in and cannot be redefined: give this \
                ranking another name",
        ),
        (
            "[reports]\nzones = ['Nope/Zone']\n",
            "offerd.toml:2: `reports.zones` must be time zones by their IANA names such as `America/New_York`, got `Nope/Zone`",
        ),
        (
            "[postbacks]\nfirst_backoff = '2s'\nlongest_backoff = '1s'\n",
            "offerd.toml:3: `postbacks.longest_backoff` must be at least `postbacks.first_backoff` (2s), got 1s",
        ),
        (
            "[alerts]\nfirst_backoff = '20m'\n",
            "offerd.toml:2: `alerts.first_backoff` must be at most `alerts.longest_backoff` (15m), got 20m",
        ),
    ] {
        assert_eq!(faults(file, &[]), [told]);
    }
    for server in ["smtp.example.com", "smtp.example.com:", ":25", "::1", "smtp.example.com:0", "a:b:25"] {
        let file = format!(
            "[alerts.mail]\nserver = '{server}'\nfrom = 'us@example.com'\nto = ['you@example.com']\n"
        );
        let wanted = "must be a host and its port, such as `smtp.example.com:587`";
        assert_eq!(
            faults(&file, &[]),
            [format!("offerd.toml:2: `alerts.mail.server` {wanted}, got `{server}`")]
        );
    }
}

fn a_database() -> toml::Value {
    toml::toml! { url = "postgres://db.example/offerd"
    password_file = ""
    ca_file = ""
    connections = 7
    answer_within = "7s"
    lease = "7s"
    node_name = "one" }
    .into()
}

/// A valid value other than the default.
fn another(key: &str, value: &toml::Value) -> toml::Value {
    match (key, value) {
        ("api.listen" | "integrations.listen" | "admin.listen", _) => "127.0.0.1:0".into(),
        ("api.base_url" | "integrations.base_url", _) => "https://offers.example".into(),
        ("tracing.otlp_endpoint", _) => "http://collector.example:4318".into(),
        ("tracing.sampled_percent", _) => toml::Value::Integer(10),
        ("log.filter", _) => "debug".into(),
        ("alerts.console_url", _) => "https://offers.example".into(),
        ("alerts.every" | "alerts.give_up_after" | "alerts.kept" | "wire.breaker_ceiling", _) => "7s".into(),
        ("alerts.waits", _) => toml::toml! { OfferdStoreSlow = "7m" }.into(),
        ("alerts.webhooks", _) => toml::toml! { ops = { url = "https://ops.example/hook" } }.into(),
        ("alerts.mail", _) => toml::toml! { server = "smtp.example:587"
        tls = "starttls"
        from = "us@example.com"
        to = ["you@example.com"]
        user = ""
        password = {}
        ca_file = "" }
        .into(),
        ("log.format", _) => "json".into(),
        ("console.sign_in", _) => "remote".into(),
        ("console.session_life" | "console.session_idle" | "console.history_kept", _) => "7h".into(),
        ("console.proxy", _) => toml::toml! { header = "x-forwarded-user"
        from = ["10.0.0.5"]
        role = "viewer" }
        .into(),
        ("alerts.longest_backoff" | "postbacks.longest_backoff", _) => "7h".into(),
        ("audit.keep", _) => "7days".into(),
        ("limits.prefill_lifetime", _) => "90s".into(),
        ("offer_pages.open_for", _) => "7days".into(),
        ("offer_pages.frame_ancestors", _) => toml::Value::Array(vec!["https://shop.example".into()]),
        ("offer_pages.colour", _) => "#000000".into(),
        ("offer_pages.dark_colour", _) => "#ffffff".into(),
        ("offer_pages.companies", _) => toml::toml! { Acme = { name = "Acme Loans" } }.into(),
        ("ranking.default", _) => "expected_value".into(),
        ("ranking.named", _) => {
            toml::toml! { a = { interest = 1.0, conversion = 1.0, payout = 1.0, consumer_rating = 0.0 } }
                .into()
        }
        ("ranking.half_life" | "ranking.window", _) => "90days".into(),
        ("ranking.refresh", _) => "7s".into(),
        (_, toml::Value::Float(value)) => (value / 2.0).into(),
        ("matching.deadline", _) => "14s".into(),
        ("store.retention" | "store.volume_age" | "store.clock_gap", _) => "90days".into(),
        ("store.clock_jump", _) => "7m".into(),
        ("store.postgres", _) => a_database(),
        ("store.path" | "partners.path", _) => "elsewhere".into(),
        ("limits.exempt" | "limits.trusted_proxies", _) => toml::Value::Array(vec!["10.0.0.0/8".into()]),
        (_, toml::Value::Table(_)) => toml::toml! { certificate = "certificate.pem"
        key = "key.pem" }
        .into(),
        ("reports.write_every", _) => "2h".into(),
        (_, toml::Value::Boolean(value)) => (!value).into(),
        (_, toml::Value::Integer(value)) => (value + 1).into(),
        ("reports.zones", _) => toml::Value::Array(vec!["America/New_York".into()]),
        (_, toml::Value::Array(_)) => toml::Value::Array(vec!["https://acme.example".into()]),
        (_, _) => "7ms".into(),
    }
}

/// The declaration decides: a reloadable key is applied; any other waits and changes nothing.
#[test]
fn what_is_reloadable_is_taken_in_and_what_is_not_waits() {
    let running = of("");
    let defaults: toml::Table = DEFAULTS.parse().unwrap();
    for (key, _, _) in running.describe() {
        let (section, name) = key.split_once('.').unwrap();
        // It cannot be changed alone.
        if key == "store.engine" {
            continue;
        }
        let mut value = another(key, &defaults[section][name]);
        if key == "api.vendor" {
            value = "acme".into();
        }
        let later = of(&format!("[{section}]\n{name} = {value}\n"));
        let (settings, diff) = running.reloaded(&later).unwrap();
        let reloadable = is_reloadable(key);
        let (told, other) = match reloadable {
            true => (&diff.changed, &diff.waiting_for_restart),
            false => (&diff.waiting_for_restart, &diff.changed),
        };
        assert_eq!((told.len(), other.len()), (1, 0), "{key}: {diff:?}");
        assert_eq!((&told[0].key, &told[0].after), (key, &value.to_string()));
        assert_eq!(told[0].source, "offerd.toml:2");
        let expected = if reloadable { &later } else { &running };
        assert_eq!(format!("{settings:?}"), format!("{expected:?}"), "{key}");

        let (again, nothing) = settings.reloaded(&later).unwrap();
        assert_eq!(nothing.changed, [], "{key} is taken in once");
        assert_eq!(nothing.waiting_for_restart, diff.waiting_for_restart, "{key} goes on waiting");
        assert_eq!(
            again.reloaded(&running).unwrap().1.waiting_for_restart,
            [],
            "{key} does not wait any more"
        );
    }
}

#[test]
fn the_same_settings_from_elsewhere_change_nothing() {
    let (settings, diff) = of("").reloaded(&of("[matching]\nlinger = '5s'\n")).unwrap();
    assert_eq!(diff, SettingsDiff::default());
    let linger = settings.describe().iter().find(|row| row.0 == "matching.linger").unwrap();
    assert_eq!(linger.2, "offerd.toml:2");
}

#[test]
fn a_reloadable_setting_must_fit_what_waits_for_a_restart() {
    let later = of("[matching]\npending_tables = 70000\n[store]\nqueue = 80000\n");
    let faults = of("").reloaded(&later).unwrap_err();
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["`matching.pending_tables` must be less than `store.queue` (65536), got 70000; set both; settings \
                that wait for a restart count with their running values"]
    );
}

#[test]
fn a_proxy_is_named_by_a_header_of_its_own_and_comes_from_few_addresses() {
    let proxy = |header: &str, from: &str| {
        faults(
            &format!("[console]\n\nproxy = {{ header = '{header}', from = ['{from}'], role = '' }}\n"),
            &[],
        )
    };
    for header in
        ["x-forwarded-user", "X-Auth-Request-Email", "Remote-User", "x-user", "tailscale-user-login"]
    {
        assert_eq!(proxy(header, "10.0.0.0/8"), [""; 0], "{header}");
        assert_eq!(proxy(header, "fd00::/16"), [""; 0], "{header}");
    }
    for header in [
        "connection",
        "host",
        "user-agent",
        "accept",
        "accept-language",
        "te",
        "cookie",
        "origin",
        "referer",
        "sec-fetch-site",
        "content-type",
        "transfer-encoding",
        "authorization",
        "forwarded",
        "x-",
        "x-real-ip",
        "x-forwarded-for",
        "x-requested-with",
        "x user",
        "",
    ] {
        let told = proxy(header, "10.0.0.5");
        assert!(
            told.len() == 1
                && told[0].starts_with("offerd.toml:3: `console.proxy` `header` must be")
                && told[0].contains("`x-forwarded-user`"),
            "{header}: {told:?}"
        );
    }
    for from in ["0.0.0.0/0", "::/0", "10.0.0.0/7", "2000::/3"] {
        let told = proxy("x-user", from);
        assert!(
            told.len() == 1
                && told[0].starts_with("offerd.toml:3: `console.proxy` `from` must list")
                && told[0].contains(from),
            "{from}: {told:?}"
        );
    }
}

#[test]
fn a_tag_of_reports_can_stand_in_a_filter_and_at_the_head_of_a_column() {
    for tag in ["a=b", "=x", "a\\nb", "\\u0007"] {
        let told = faults(&format!("[reports]\ntags = [\"{tag}\"]\n"), &[]);
        assert!(
            told.len() == 1 && told[0].starts_with("offerd.toml:2: `reports.tags` must be names without `=`"),
            "{tag}: {told:?}"
        );
        assert!(!told[0].contains(char::is_control), "one line: {told:?}");
    }
    assert_eq!(faults("[reports]\ntags = ['utm_source', 'Klick Id']\n", &[]), [""; 0]);
}
