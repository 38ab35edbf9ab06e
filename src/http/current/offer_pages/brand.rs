//! Brands of companies' pages, and their content security policy, which allows inline parts by digest.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use serde::Serialize;
use sha2::{Digest, Sha256};

use offerd_base::config::{BrandSettings, OfferPageSettings};

const STYLE: &str = concat!(include_str!("page.css"), include_str!("cards.css"));

/// The style of the offers, without that of the page around them.
pub const CARDS_STYLE: &str = include_str!("cards.css");

/// The script of every page.
pub const SCRIPT: &str = include_str!("page.js");

/// State of the offer pages.
#[derive(Debug)]
pub struct OfferPages {
    /// How long a page stays open after its table's creation, milliseconds.
    pub open_for_ms: i64,
    /// Origins of sites that pages may stand on and lead back to.
    sites: Vec<String>,
    usual: Brand,
    companies: BTreeMap<String, Brand>,
}

/// A link from a page back to the site that the person came from.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct WayBack {
    url: String,
    host: String,
}

/// The brand of a company's pages.
#[derive(Debug)]
pub struct Brand {
    /// Name in the header, if not the company's.
    pub name: Option<String>,
    /// Its style sheet.
    pub style: String,
    alone: HeaderValue,
    framed: HeaderValue,
}

impl OfferPages {
    /// The brands of the settings.
    pub fn new(settings: &OfferPageSettings) -> Self {
        let brand = |brand: &BrandSettings| Brand::new(brand, settings);
        Self {
            open_for_ms: i64::try_from(settings.open_for.as_millis()).unwrap_or(i64::MAX),
            sites: settings.frame_ancestors.clone(),
            usual: brand(&BrandSettings::default()),
            companies: settings.companies.iter().map(|(name, own)| (name.clone(), brand(own))).collect(),
        }
    }

    /// The brand of a company, by its name.
    pub fn brand(&self, company: &str) -> &Brand {
        self.companies.get(company).unwrap_or(&self.usual)
    }

    /// The link back to `url`, if that is on one of the sites.
    pub fn way_back(&self, url: &str) -> Option<WayBack> {
        // Browsers read `\` as `/`, and pass over tabs and line ends.
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let (scheme, rest) = url.split_once("://").filter(|_| is_plain)?;
        let host = rest.split(['/', '?', '#']).next()?;
        let is_subdomain = |below: &str| {
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
            host.strip_suffix(below).is_some_and(|name| !name.is_empty() && name.bytes().all(is_of_name))
        };
        let is_site = |site: &String| {
            let allowed = site.strip_prefix(scheme).and_then(|site| site.strip_prefix("://"));
            allowed.is_some_and(|allowed| match allowed.strip_prefix('*') {
                Some(below) => is_subdomain(below),
                None => host == allowed,
            })
        };
        let is_allowed = ["http", "https"].contains(&scheme) && self.sites.iter().any(is_site);
        is_allowed.then(|| WayBack { url: url.to_owned(), host: host.to_owned() })
    }
}

impl Brand {
    fn new(own: &BrandSettings, usual: &OfferPageSettings) -> Self {
        let BrandSettings { name, colour, dark_colour } = own;
        let (colour, dark) = (colour.unwrap_or(usual.colour), dark_colour.unwrap_or(usual.dark_colour));
        let colours = |brand, on| format!("--brand: {brand}; --on-brand: {on}; ");
        let style = format!(
            "{STYLE}:root {{ {}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {}}} }}\n",
            colours(colour, colour.ink()),
            colours(dark, dark.ink()),
        );
        let origins = match &usual.frame_ancestors[..] {
            [] => "'none'".to_owned(),
            origins => origins.join(" "),
        };
        let (alone, framed) = (policy(&style, "'none'"), policy(&style, &origins));
        Self { name: name.clone(), style, alone, framed }
    }

    /// The policy of a page.
    pub fn policy(&self, framed: bool) -> HeaderValue {
        if framed { self.framed.clone() } else { self.alone.clone() }
    }
}

/// Allows inline style and script by digest, own images and stream, `data:` icons, and framing by these.
fn policy(style: &str, frame_ancestors: &str) -> HeaderValue {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors {frame_ancestors}; require-trusted-types-for 'script'; trusted-types offers",
        digest(style),
        digest(SCRIPT),
    );
    HeaderValue::try_from(policy).expect("checked origins are visible ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_base::config::{Colour, Settings};

    fn pages(settings: &str) -> OfferPages {
        let file = Some((std::path::Path::new("offerd.toml"), settings));
        OfferPages::new(&Settings::from_layers(file, []).unwrap().offer_pages)
    }

    /// The style has the backgrounds against which the contrast of colours is checked.
    #[test]
    fn the_style_has_the_grounds_that_colours_are_checked_against() {
        for ground in [Colour::LIGHT_GROUND, Colour::DARK_GROUND] {
            assert!(STYLE.contains(&ground.to_string()), "{ground}");
        }
    }

    #[test]
    fn a_company_has_its_own_colours_and_all_others_the_usual_ones() {
        let pages =
            pages("[offer_pages]\ncolour = '#1d4ed8'\n[offer_pages.companies.Acme]\ncolour = '#9d174d'\n");
        assert!(pages.brand("Acme").style.contains("--brand: #9d174d; --on-brand: #ffffff"));
        assert!(pages.brand("acme").style.contains("--brand: #1d4ed8; --on-brand: #ffffff"));
        assert!(pages.brand("Acme").style.contains("--brand: #4fd1a1; --on-brand: #000000"));
        assert_ne!(
            pages.brand("Acme").policy(true),
            pages.brand("").policy(true),
            "each names its own style"
        );
    }

    #[test]
    fn a_page_leads_back_only_to_the_sites_that_may_show_it() {
        let pages = pages(
            "[offer_pages]\nframe_ancestors = ['https://shop.example', 'https://*.b.example:8443', 'app://x']\n",
        );
        for (url, host) in [
            ("https://shop.example", "shop.example"),
            ("https://shop.example/loans?step=2#amount", "shop.example"),
            ("https://shop.example?next=https://evil.example", "shop.example"),
            ("https://a.b.example:8443/", "a.b.example:8443"),
        ] {
            assert_eq!(pages.way_back(url).map(|back| back.host).as_deref(), Some(host), "{url}");
        }
        for url in [
            "",
            "/loans",
            "//shop.example",
            "javascript://shop.example",
            "http://shop.example",
            "app://x/",
            "https://shop.example.evil.example",
            "https://shop.example:8443",
            "https://shop.example@evil.example",
            "https://evil.example/https://shop.example",
            "https://evil.example\\.b.example:8443",
            "https://evil.example#.b.example:8443",
            "https://evil.example@a.b.example:8443",
            "https://.b.example:8444",
            "https://b.example:8443",
            "https://shop.example/\tloans",
        ] {
            assert_eq!(pages.way_back(url), None, "{url}");
        }
        assert_eq!(self::pages("").way_back("https://shop.example"), None);
    }

    #[test]
    fn only_a_page_for_frames_may_stand_in_one_and_only_on_those_sites() {
        let ancestors = |pages: &OfferPages, framed| {
            let policy = pages.brand("").policy(framed).to_str().unwrap().to_owned();
            policy.split("; ").find_map(|rule| rule.strip_prefix("frame-ancestors ")).unwrap().to_owned()
        };
        let none = pages("");
        assert_eq!([false, true].map(|framed| ancestors(&none, framed)), ["'none'"; 2]);
        let two =
            pages("[offer_pages]\nframe_ancestors = ['https://a.example', 'https://*.b.example:8443']\n");
        assert_eq!(ancestors(&two, false), "'none'");
        assert_eq!(ancestors(&two, true), "https://a.example https://*.b.example:8443");
    }
}
