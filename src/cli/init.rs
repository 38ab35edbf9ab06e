//! `offerd init DIR`: what a first start outside a clone needs.

use std::fs::{self, File};
use std::io::{self, Write};

use super::prelude::*;

macro_rules! sample_partners {
    ($($key:literal)+) => {
        &[$((concat!("partners/", $key, ".toml"), include_str!(concat!("../../partners/", $key, ".toml")))),+]
    };
}

const PARTNERS: &[(&str, &str)] = sample_partners! {
    "amberwick_life" "bellhaven_lending" "brindlewick_finance" "cedarvane_credit_union"
    "copperbrook_finance" "copperfinch_cards" "fairholt_mortgage" "fennbrook_cash" "ferncastle_home_loans"
    "harrowgate_loans" "hazelmoor_lending" "kindlemoor_advisory" "ladderwick_credit" "larkhaven_mortgage"
    "marlpit_installment" "meridell_bank" "northquill_lending" "oakenvale_direct" "quarrystone_leads"
    "quillmarch_student_finance" "rowanbridge_relief" "skerrywick_bank" "tallowmere_loans"
    "thistlegate_insurance" "tidelark_savings" "wrenfold_credit" "wrenhollow_cards"
};

/// Fits several institutions.
const LEAD: &str = include_str!("../../tests/leads/personal_loan.json");

/// Runs `offerd init`.
pub fn run(directory: &Path) -> Result<(), CommandError> {
    let directory = super::whole(directory);
    let Some(shown) = directory.to_str() else {
        return Err(format!("{} must be UTF-8, which settings are", directory.display()).into());
    };
    write(&directory).map_err(|(file, error)| {
        format!("{shown}/{file} cannot be written: {error}; mend that, remove what is there, or give another directory")
    })?;
    let shown = quoted(shown);
    page::print(format_args!(
        "settings, {} sample partners and a test lead are in {shown}; start there, and send the lead with a token that the start prints:\n\n  \
         offerd --config {shown}/offerd.toml\n  \
         offerd --config {shown}/offerd.toml lead submit {shown}/lead.json --token TOKEN",
        PARTNERS.len()
    ));
    Ok(())
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+@:,".contains(letter);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Overwrites nothing. An error has the name of its file.
fn write(directory: &Path) -> Result<(), (&'static str, io::Error)> {
    fs::create_dir_all(directory.join("partners")).map_err(|error| ("partners", error))?;
    // Text in JSON is text in TOML.
    let path = |name| Value::from(directory.join(name).to_string_lossy().into_owned());
    let settings = format!(
        "# `offerd.toml` in the handbook has every key.\n[store]\npath = {}\n\n[partners]\npath = {}\n",
        path("data"),
        path("partners")
    );
    let files = [("offerd.toml", &*settings), ("lead.json", LEAD)];
    files.into_iter().chain(PARTNERS.iter().copied()).try_for_each(|(name, text)| {
        let made = File::create_new(directory.join(name));
        made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| (name, error))
    })
}
