//! Partners in a few words.

use std::fmt::Write;
use std::path::Path;

use uuid::Uuid;

/// A partner file in the making.
#[derive(Debug, Clone)]
pub struct PartnerFile {
    key: String,
    identity: String,
    products: String,
}

/// A partner without products yet.
pub fn partner(key: &str) -> PartnerFile {
    PartnerFile { key: key.to_owned(), identity: String::new(), products: String::new() }
}

/// Partners with a savings offer each that answer at once.
pub fn prompt_partners(count: usize) -> Vec<PartnerFile> {
    (0..count).map(|nth| partner(&format!("prompt_{nth}")).savings("")).collect()
}

/// A lender that is asked over HTTP at `url`; `more` are further keys of `[products.loan.http]` and what follows.
pub fn far_lender(key: &str, url: &str, more: &str) -> PartnerFile {
    let http = format!(
        r#"url = "{url}"
sandbox_url = "{url}"
json = {{ amount = "lead.loanInformation.loanAmount", ssn = "lead.personalInformation.ssn", id = "lead_uuid" }}
wire = {{ allow_addresses = ["127.0.0.1"], connect_timeout = "1s" }}
answer = {{ declined = "response.no", offer = {{ key = "'far'", term = "offer.term", apr = "offer.apr", pre_qualified = "true", landing_url = "offer.link" }} }}
{more}"#
    );
    lender_asked(key, &http, "")
}

/// An offer whose figures a partner answers.
pub fn far_offer(partner: &str, key: &str) -> String {
    format!(
        r#"[[products.loan.offers]]
key = "{key}"
sub_type = "personal_loan"
landing_url = "https://{partner}.example/apply?click={{clickId}}"
amount = {{ min = 1000, max = 50000 }}
terms = [24, 36]
apr_type = "fixed"
payout = {{ on = "funded", percent = 2.0 }}
conversion_probability = 0.1
"#
    )
}

/// A lender with an offer whose figures it answers, asked as `http` says; `more` stands before that.
pub fn lender_asked(key: &str, http: &str, more: &str) -> PartnerFile {
    partner(key).and(&format!(
        r#"
[products.loan]
timeout = "3s"
needs = ["loanInformation.loanAmount"]

{}{more}

[products.loan.http]
{http}
"#,
        far_offer(key, "far"),
    ))
}

impl PartnerFile {
    /// Offers a savings account to anyone. `product` are further keys of `[products.savings]`.
    #[must_use]
    pub fn savings(mut self, product: &str) -> Self {
        write!(
            self.products,
            r#"
[products.savings]
timeout = "10s"
{product}

[[products.savings.offers]]
key = "account"
sub_type = "savings_account"
name = "Account of {key}"
landing_url = "https://{key}.example/apply?click={{clickId}}"
payout = {{ on = "funded", fixed = 50.0 }}
conversion_probability = 0.1
compounding = "daily"
minimum_deposit = 0
monthly_fee = 0
effective_as_of = "2026-11-01T00:00:00Z"
bands = [ {{ rate = 4.0 }} ]
"#,
            key = self.key
        )
        .unwrap();
        self
    }

    /// Offers a pre-qualified personal loan to whoever names a rating and an amount from $1,000 to $50,000.
    #[must_use]
    pub fn loan(mut self, product: &str) -> Self {
        write!(
            self.products,
            r#"
[products.loan]
timeout = "10s"
needs = ["loanInformation.loanAmount", "creditInformation.providedCreditRating"]
{product}

[[products.loan.offers]]
key = "personal"
sub_type = "personal_loan"
landing_url = "https://{key}.example/apply?click={{clickId}}"
payout = {{ on = "funded", fixed = 100.0 }}
conversion_probability = 0.1
firmness = "pre_qualified"
amount = {{ min = 1000, max = 50000 }}
terms = [36]
apr_type = "fixed"
bands = [ {{ rate = 7.0 }} ]
"#,
            key = self.key
        )
        .unwrap();
        self
    }

    /// Offers something else at second look, with this expected value in dollars.
    #[must_use]
    pub fn second_look(mut self, value: f64, product: &str) -> Self {
        write!(
            self.products,
            r#"
[products.other]
timeout = "4s"
second_look = true
{product}

[[products.other.offers]]
key = "instead"
sub_type = "personal_loan"
name = "Instead of a loan, by {key}"
description = "A second look."
landing_url = "https://{key}.example/apply?click={{clickId}}"
payout = {{ on = "click", fixed = {value:.2} }}
conversion_probability = 1.0
"#,
            key = self.key
        )
        .unwrap();
        self
    }

    /// Adds TOML to `[partner]`.
    #[must_use]
    pub fn with_identity(mut self, toml: &str) -> Self {
        self.identity.push_str(&format!("{toml}\n"));
        self
    }

    /// Adds TOML as it is.
    #[must_use]
    pub fn and(mut self, toml: &str) -> Self {
        self.products.push_str(toml);
        self
    }

    /// The same with a part in other words.
    #[must_use]
    pub fn replaced(mut self, part: &str, with: &str) -> Self {
        assert!(self.products.contains(part), "`{part}` is not in {}", self.products);
        self.products = self.products.replacen(part, with, 1);
        self
    }

    /// The whole file.
    pub fn text(&self) -> String {
        let key = &self.key;
        // Names have stable uuids, so that a file written twice is the same partner.
        let mut bytes = [0_u8; 16];
        for (nth, byte) in key.bytes().enumerate() {
            bytes[nth % 16] = bytes[nth % 16].wrapping_mul(31).wrapping_add(byte);
        }
        // The version takes bits of two bytes, in which the end of a name would be lost.
        bytes[15] = bytes[15].wrapping_add(key.len() as u8);
        let uuid = Uuid::new_v8(bytes);
        format!(
            r#"[partner]
uuid = "{uuid}"
name = "{key}"
description = "A partner of the tests."
disclaimer = "Not a real institution."
image_url = "https://images.{key}.example/logo.png"
supports_personalized_offers = true
sub_account_id = 1
{}{}"#,
            self.identity, self.products
        )
    }

    /// Writes the file into a directory.
    pub fn write(&self, directory: &Path) {
        std::fs::write(directory.join(format!("{}.toml", self.key)), self.text()).unwrap();
    }
}
