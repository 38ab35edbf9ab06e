//! `offerd partners new KEY`: writes a partner file to begin with.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

use crate::cli::prelude::*;
use offerd_partners::{KEY_CHARS, is_key};

/// A partner whose offers are computed from its file.
const CATALOG: &str = include_str!("new_catalog.toml");

/// A partner that is asked over HTTP.
const HTTP: &str = include_str!("new_http.toml");

/// `partners new`.
#[derive(Debug, Args)]
pub struct NewPartner {
    /// Key of the partner, the name of its file: lower-case letters, digits, `-` and `_`
    #[arg(value_name = "KEY", value_parser = key)]
    key: String,
    /// Ask it over HTTP; without this, its offers stand in the file
    #[arg(long)]
    http: bool,
}

/// Writes the file into `partners.path`, and prints its path. Refuses to replace one.
pub fn write(settings: &Settings, new: &NewPartner) -> Result<(), String> {
    let directory = &settings.partners.path;
    let path = directory.join(format!("{}.toml", new.key));
    let written = fs::create_dir_all(directory)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path))
        .and_then(|mut file| file.write_all(new.text(Uuid::new_v4()).as_bytes()));
    let shown = path.display();
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{shown} is there already; name another partner, or change that file")
        }
        _ => format!("cannot write {shown}: {error}"),
    })?;
    page::print(shown);
    tell!("change it, then run `offerd check` and `offerd reload`");
    Ok(())
}

impl NewPartner {
    fn text(&self, uuid: Uuid) -> String {
        let words: Vec<&str> = self.key.split(['-', '_']).filter(|word| !word.is_empty()).collect();
        let name: Vec<String> = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        let host = format!("{}.example", words.join("-"));
        let number = 100_000 + uuid.as_u128() % 900_000;
        let template = if self.http { HTTP } else { CATALOG };
        let values = [
            ("<ENVIRONMENT>", self.key.to_uppercase().replace('-', "_")),
            ("<UUID>", uuid.to_string()),
            ("<NAME>", name.join(" ")),
            ("<HOST>", host),
            ("<NUMBER>", number.to_string()),
            ("<KEY>", self.key.clone()),
        ];
        values.iter().fold(template.to_owned(), |text, (place, value)| text.replace(place, value))
    }
}

fn key(text: &str) -> Result<String, String> {
    if is_key(text) { Ok(text.to_owned()) } else { Err(format!("must be {KEY_CHARS}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_partners::Book;

    #[test]
    fn a_new_file_is_a_partner_that_is_asked_for_loans() {
        for (name, http) in [("blue_bank", false), ("blue-bank", true), ("blue_bank", true)] {
            let new = NewPartner { key: key(name).unwrap(), http };
            let text = new.text(Uuid::new_v4());
            let book = Book::from_texts([(format!("{name}.toml").into(), text.clone())]);
            let book = book.unwrap_or_else(|faults| panic!("{faults:?}: {text}"));
            let seat = &book.seats()[0];
            assert_eq!((seat.identity.partner.name.as_str(), seat.http.is_some()), ("Blue Bank", http));
            assert!(text.contains("https://blue-bank.example/") && !text.contains('<'), "{text}");
            assert!(!http || text.contains(r#"{ env = "BLUE_BANK_API_KEY" }"#), "{text}");
        }
    }

    #[test]
    fn each_key_in_a_comment_of_a_new_file_may_be_taken_in() {
        let is_key = |line: &str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        for (http, keys) in [
            (false, &["supports_personalized_offers", "firmness"][..]),
            (true, &["supports_personalized_offers", "wire", "declined", "reasons", "sandbox_url"]),
        ] {
            let text = NewPartner { key: "blue".to_owned(), http }.text(Uuid::new_v4());
            let taken_in = |line: &str| match line.strip_prefix("# ") {
                Some(line) if line.starts_with('[') || is_key(line) => line.to_owned(),
                _ => line.to_owned(),
            };
            let whole: Vec<String> = text.lines().map(taken_in).collect();
            for key in keys {
                assert!(whole.iter().any(|line| line.starts_with(&format!("{key} = "))), "{key}: {whole:#?}");
            }
            // A secret must be set.
            let text = whole.join("\n").replace("BLUE_API_KEY", "PATH");
            let book = Book::from_texts([("blue.toml".into(), text)]);
            assert!(book.is_ok(), "{:?}: {whole:#?}", book.err());
        }
    }

    #[test]
    fn new_and_check_take_the_same_keys() {
        for name in ["", "_x", "-x", "1st", "Blue", "bLUE", "a.b", "b2", "blue-bank_2"] {
            let text = NewPartner { key: "blue".to_owned(), http: false }.text(Uuid::new_v4());
            let is_read = Book::from_texts([(format!("{name}.toml").into(), text)]).is_ok();
            assert_eq!(key(name).is_ok(), is_read, "{name}");
        }
        assert!(key("../x").is_err());
    }
}
