//! Stand-ins for sample partners, which have no site of their own: a logo, pictures of cards, and the landing
//! page of each offer. Their files refer to these as `{baseUrl}/samples/…`; other partners have none.

use minijinja::{Environment, context};
use uuid::Uuid;

use offerd_partners::base_url::{BASE_URL, LOGO, PICTURE, SAMPLES};
use offerd_partners::catalog::CatalogOffer;
use offerd_partners::{Book, PartnerIdentity, Seat};

/// The templates. The suffixes of their names enable escaping.
const TEMPLATES: [(&str, &str); 3] = [
    ("page.html", include_str!("samples/page.html")),
    ("logo.xml", include_str!("samples/logo.svg")),
    ("card.xml", include_str!("samples/card.svg")),
];

/// Background colours with good contrast to white.
const TONES: [&str; 8] =
    ["#0f766e", "#4338ca", "#a04a06", "#9d174d", "#1d4ed8", "#3f6212", "#6d28d9", "#155e75"];

/// The width available to the name on a card's picture, and the width of a letter at font size 1.
const CARD_ROOM: f64 = 280.0;
const LETTER: f64 = 0.62;

/// A stand-in.
#[derive(Debug, PartialEq, Eq)]
pub enum Sample {
    /// An SVG picture.
    Picture(String),
    /// An HTML page.
    Page(String),
}

/// The stand-in at a path below `/samples`; `click` is the click id that the partner receives.
pub fn sample(book: &Book, partner: &str, name: &str, click: Option<Uuid>) -> Option<Sample> {
    let own = format!("{BASE_URL}{SAMPLES}{partner}/");
    let seats = || book.seats().iter().filter(|seat| seat.identity.key == partner);
    let seat = seats().find(|seat| names(seat, &own))?;
    if name == LOGO {
        return Some(Sample::Picture(logo(&seat.identity)));
    }
    let key = name.strip_suffix(PICTURE).unwrap_or(name);
    let mut offers = seats().flat_map(|seat| seat.offers.iter().map(move |offer| (seat, offer)));
    let (seat, offer) = offers.find(|(_, offer)| offer.key() == key)?;
    Some(match key == name {
        true => Sample::Page(page(seat, offer, click)),
        false => Sample::Picture(card(&seat.identity, offer)),
    })
}

/// Whether the file's text for a seat or its offers contains a URL that begins with `begun`.
fn names(seat: &Seat, begun: &str) -> bool {
    let lead_there = |offer: &CatalogOffer| {
        let landing_url = offer.text.click_terms.as_ref().map(|click_terms| &click_terms.landing_url);
        offer.text.json.contains(begun) || landing_url.is_some_and(|url| url.starts_with(begun))
    };
    seat.recorded_text.json.contains(begun) || seat.offers.iter().any(lead_there)
}

fn logo(identity: &PartnerIdentity) -> String {
    let name = &identity.partner.name;
    let letters = name.split_whitespace().filter_map(|word| word.chars().find(|one| one.is_alphanumeric()));
    let initials: String = letters.take(2).flat_map(char::to_uppercase).collect();
    write("logo.xml", context! { name, initials, tone => tone(name) })
}

fn card(identity: &PartnerIdentity, offer: &CatalogOffer) -> String {
    let (partner, name) = (&identity.partner.name, words(offer.key()));
    let size = |text: &str, most: f64| most.min(CARD_ROOM / (LETTER * text.chars().count() as f64));
    write(
        "card.xml",
        context! {
            partner, name => &name, tone => tone(partner), edge => tone(&name),
            partner_size => size(partner, 18.0), name_size => size(&name, 24.0),
        },
    )
}

fn page(seat: &Seat, offer: &CatalogOffer, click: Option<Uuid>) -> String {
    let partner = &seat.identity.partner;
    let product = words(offer.sub_type.map_or(seat.product_type.as_str(), |sub_type| sub_type.as_str()));
    write(
        "page.html",
        context! {
            partner => &partner.name, about => &partner.description, disclaimer => &partner.disclaimer,
            offer => words(offer.key()), product, tone => tone(&partner.name), logo => LOGO,
            click => click.map(|click| click.to_string()),
        },
    )
}

fn words(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn tone(name: &str) -> &'static str {
    let sum = name.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    TONES[sum % TONES.len()]
}

fn write(template: &str, context: minijinja::Value) -> String {
    let source = TEMPLATES.iter().find(|(name, _)| *name == template).map(|(_, source)| *source);
    let written = Environment::new().render_named_str(template, source.unwrap_or_default(), context);
    written.expect("templates are well-formed, and are given all that they name")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const FILE: &str = r#"
[partner]
uuid = "5c0f5f0e-6f0d-4a53-9a59-0d1f9d1c8a11"
name = "<b>Bank</b> & \"Sons\""
description = "<script>alert(1)</script>"
disclaimer = "'><img src=x>"
image_url = "{baseUrl}/samples/bank/logo.svg"
sub_account_id = 1

[products.other]
timeout = "2s"

[[products.other.offers]]
key = "shown"
name = "n"
description = "d"
landing_url = "{baseUrl}/samples/bank/shown?click={clickId}"
payout = { on = "click", fixed = 1.0 }
conversion_probability = 0.1
"#;

    fn book(file: &str) -> Book {
        Book::from_texts([(PathBuf::from("bank.toml"), file.to_owned())]).unwrap()
    }

    #[test]
    fn a_logo_and_pages_and_pictures_of_offers_are_there_and_nothing_else() {
        let book = book(FILE);
        for name in ["logo.svg", "shown.svg", "shown"] {
            let is_page = matches!(sample(&book, "bank", name, None).unwrap(), Sample::Page(_));
            assert_eq!(is_page, !name.ends_with(".svg"), "{name}");
        }
        for (partner, name) in [("bank", "show"), ("bank", ".svg"), ("other", "logo.svg"), ("", "shown")] {
            assert_eq!(sample(&book, partner, name, None), None, "{partner}/{name}");
        }
    }

    #[test]
    fn of_a_partner_that_lives_elsewhere_there_is_nothing() {
        let elsewhere = book(&FILE.replace("{baseUrl}/samples", "https://bank.example"));
        for name in ["logo.svg", "shown"] {
            assert_eq!(sample(&elsewhere, "bank", name, None), None, "{name}");
        }
    }

    #[test]
    fn what_the_file_says_is_escaped() {
        let book = book(FILE);
        let click = Some(Uuid::nil());
        for name in ["logo.svg", "shown"] {
            let (Sample::Picture(text) | Sample::Page(text)) = sample(&book, "bank", name, click).unwrap();
            for wrong in ["<b>", "<script", "<img src=x", "& "] {
                assert!(!text.contains(wrong), "{name}: {wrong} in {text}");
            }
            assert!(text.contains("&lt;b&gt;Bank"), "{text}");
        }
        let Some(Sample::Page(page)) = sample(&book, "bank", "shown", click) else { unreachable!() };
        assert!(page.contains(&Uuid::nil().to_string()));
    }

    #[test]
    fn pictures_are_whole_xml() {
        let book = book(FILE);
        for name in ["logo.svg", "shown.svg"] {
            let Some(Sample::Picture(picture)) = sample(&book, "bank", name, None) else { panic!("{name}") };
            roxmltree::Document::parse(&picture).unwrap_or_else(|error| panic!("{error}: {picture}"));
        }
    }
}
