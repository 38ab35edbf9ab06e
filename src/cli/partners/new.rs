//! `offerd partners new KEY`: writes a partner file to begin with.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

use crate::cli::prelude::*;

/// A partner whose offers are computed from its file.
const CATALOG: &str = include_str!("new_catalog.toml");

/// A partner that is asked over HTTP.
const HTTP: &str = include_str!("new_http.toml");

/// `partners new`.
#[derive(Debug, Args)]
pub struct NewPartner {
    /// Key of the partner, the name of its file: letters, digits and `_`
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
        let words = self.key.split('_').filter(|word| !word.is_empty());
        let name: Vec<String> = words.map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        let host = format!("{}.example", self.key.replace('_', "-"));
        let number = 100_000 + uuid.as_u128() % 900_000;
        let template = if self.http { HTTP } else { CATALOG };
        let values = [
            ("<ENVIRONMENT>", self.key.to_uppercase()),
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
    let fits = text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match fits && text.starts_with(|letter: char| letter.is_ascii_lowercase()) && text.len() <= 64 {
        true => Ok(text.to_owned()),
        false => {
            Err("must begin with a small letter, and have at most 64 letters, digits and `_`".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_partners::Book;

    #[test]
    fn a_new_file_is_a_partner_that_is_asked_for_loans() {
        for http in [false, true] {
            let new = NewPartner { key: key("blue_bank").unwrap(), http };
            let text = new.text(Uuid::new_v4());
            let book = Book::from_texts([("blue_bank.toml".into(), text.clone())]);
            let book = book.unwrap_or_else(|faults| panic!("{faults:?}: {text}"));
            let seat = &book.seats()[0];
            assert_eq!((seat.identity.partner.name.as_str(), seat.http.is_some()), ("Blue Bank", http));
            assert!(text.contains("https://blue-bank.example/") && !text.contains('<'), "{text}");
            assert!(!http || text.contains(r#"{ env = "BLUE_BANK_API_KEY" }"#), "{text}");
        }
        for bad in ["", "_x", "Blue", "../x", "a.b", &"a".repeat(65)] {
            assert!(key(bad).is_err(), "{bad}");
        }
    }
}
