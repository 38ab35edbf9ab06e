//! The file of an experiment.

use std::path::Path;
use std::sync::LazyLock;

use offerd::config::Settings;
use offerd::experiments::ExperimentRules;
use uuid::Uuid;

/// The name of the rule.
const NAME: &str = "rule";

/// Leads that are drawn.
const LEADS: u128 = 32;

static SETTINGS: LazyLock<Settings> =
    LazyLock::new(|| Settings::from_layers(None, []).expect("the defaults are good"));

/// Either a rule, which is the same when it is read again, whose shares leave some leads for the control, and which draws each lead alike
/// and only what it declares; or faults that each say what is wrong in which line of the file.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = || ExperimentRules::from_texts(&[(NAME, text)], &SETTINGS);
    match read() {
        Ok(rules) => {
            assert_eq!(read().as_ref(), Ok(&rules), "a good file stays good");
            draws_what_it_declares(&rules);
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "what is refused has a fault");
            // The end of a file is behind its last line.
            let lines = text.lines().count() + 1;
            for fault in faults {
                assert_eq!(fault.file.as_deref(), Some(Path::new("rule.toml")));
                assert!(fault.line.is_none_or(|line| (1..=lines).contains(&line)), "{fault}");
                assert!(!fault.message.is_empty(), "a fault says what is wrong");
            }
        }
    }
}

fn draws_what_it_declares(rules: &ExperimentRules) {
    let rule = rules.named(NAME).expect("it is known by its name");
    let shares: Vec<(&str, f64)> = rule.shares().collect();
    assert!(shares.len() <= SETTINGS.experiments.variants_per_rule + 1, "{} variants", shares.len());
    assert!(shares.iter().all(|(_, percent)| *percent > 0.0 && *percent <= 100.0), "{shares:?}");
    let company = rule.companies.keys().next().copied().unwrap_or_default();
    let at_ms = rule.starts.map_or(0, |starts| starts.timestamp_millis());
    for lead in (0..LEADS).map(Uuid::from_u128) {
        let drawn = rule.draw(lead);
        assert_eq!(drawn, rule.draw(lead));
        assert!(shares.iter().any(|(name, _)| *name == drawn), "{drawn} is not declared");
        assert!(rule.changes(drawn).is_some(), "{drawn} changes what it changes");
        let variants = rules.draw(lead, company, None, at_ms);
        assert!(variants.values().all(|variant| variant == drawn));
        assert_eq!(rules.treatments(&variants, at_ms).len(), variants.len());
    }
}
