//! `GET /console/ranking`: the rankings and the learned conversion rates, like `offerd ranking`.

use super::prelude::*;
use crate::ranking;

const PAGE: ConsolePage = ConsolePage::new(Section::Reports, "ranking.html");

pub(super) async fn show(visit: &ConsoleRequest) -> Result<View> {
    let pairs: Vec<(String, String)> = ["company", "partner", "leads"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), visit.query_value(name)?.to_owned())))
        .collect();
    let wanted = ranking::wanted(&pairs)?;
    let (company, partner, test) = (wanted.company.clone(), wanted.partner.clone(), wanted.test);
    let report = ranking::report(&visit.app, wanted).await?;
    let companies = Tokens::of(visit.app.store.clone()).holders();
    Ok(visit.view(PAGE, fields! { companies, company, partner, test, report })?.titled("Ranking"))
}
