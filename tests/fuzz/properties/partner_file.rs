//! The file of a partner.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use chrono::DateTime;
use offerd::model::{CreditBands, Lead, ProductType};
use offerd::partners::http::{AskProgress, Secrets};
use offerd::partners::{Book, Facts};

/// The name of the file.
const FILE: &str = "acme.toml";

/// Leads that a book is asked about.
static LEADS: LazyLock<Vec<Lead>> = LazyLock::new(|| {
    let samples = [
        include_str!("../../leads/everything.json"),
        include_str!("../../leads/minimal.json"),
        include_str!("../../leads/mortgage_refinance.json"),
        include_str!("../../leads/personal_loan.json"),
    ];
    samples.map(|sample| Lead::read(sample.as_bytes()).expect("a sample lead")).into()
});

/// Either a book, which is the same when it is read again, and in which the index finds who fits as the rules say; or
/// faults in the order of their lines, which are lines of the file. What may be a secret is not repeated.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Files that a partner file names are read, and these have no end.
    if text.contains("/dev") || text.contains("/proc") || text.contains("..") {
        return;
    }
    let read = || Book::from_texts([(PathBuf::from(FILE), text.to_owned())]);
    match read() {
        Ok(book) => {
            let again = read().expect("a good file stays good");
            assert_eq!(book.fingerprint, again.fingerprint);
            LEADS.iter().for_each(|lead| finds_who_fits(&book, lead));
            can_be_asked(&book);
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "what is refused has a fault");
            assert!(faults.is_sorted_by_key(|fault| fault.line), "{faults:?}");
            // The end of a file is behind its last line.
            let lines = text.lines().count() + 1;
            for fault in faults {
                assert_eq!(fault.file.as_deref(), Some(Path::new(FILE)));
                assert!(fault.line.is_none_or(|line| (1..=lines).contains(&line)), "{fault}");
                assert!(!fault.message.is_empty(), "a fault says what is wrong");
                assert!(!fault.to_string().contains(SECRET), "{fault}");
            }
        }
    }
}

/// Stands for a secret in the corpus, where a secret may be put by mistake.
const SECRET: &str = "hunter2-hunter2";

fn finds_who_fits(book: &Book, lead: &Lead) {
    let now = DateTime::from_timestamp(1_795_262_400, 0).expect("a time");
    let facts = Facts::new(lead, now, CreditBands::Current);
    let found: Vec<(usize, Vec<usize>)> =
        book.fitting(&facts).into_iter().map(|fit| (fit.position, fit.offers)).collect();
    let seats = book.seats().iter().enumerate().filter(|(_, seat)| !seat.paused && seat.rule.holds(&facts));
    let walked = seats.map(|(position, seat)| {
        let holding = (0..seat.offers.len()).filter(|offer| seat.offers[*offer].rule.holds(&facts));
        (position, holding.collect::<Vec<_>>())
    });
    let walked: Vec<_> = walked
        .filter(|(position, offers)| book.seats()[*position].http.is_none() || !offers.is_empty())
        .collect();
    assert_eq!(found, walked, "the index finds what the rules say");

    // Who says more fits no less.
    let could: Vec<_> = [ProductType::Loan, ProductType::Mortgage, ProductType::Savings]
        .into_iter()
        .flat_map(|product| book.could_fit(&facts, product))
        .collect();
    for (position, offers) in &found {
        if let Some(fit) = could.iter().find(|fit| fit.position == *position) {
            assert!(offers.iter().all(|offer| fit.offers.contains(offer)));
        }
    }
}

/// Making a request ends, with one or with the mapping that could not be run.
fn can_be_asked(book: &Book) {
    let asked = super::answer::asked();
    for seat in book.seats() {
        let Some(source) = &seat.http else { continue };
        for lead in LEADS.iter() {
            let given = super::answer::given(lead, &asked);
            if let Ok(Some(request)) = source.request(&AskProgress::default(), &given, Secrets::Masked) {
                assert!(request.body.len() <= super::mapping::TEXT_BYTES * 4, "a request is bounded");
            }
        }
    }
}
