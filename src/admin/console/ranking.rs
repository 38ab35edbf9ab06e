//! `GET /console/ranking`: the rankings and the learned conversion rates, like `offerd ranking`.

use super::prelude::*;
use crate::ranking;

const PAGE: ConsolePage = ConsolePage::new(Section::Reports, "ranking.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let pairs: Vec<(String, String)> = ["company", "partner", "leads"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), request.query_value(name)?.to_owned())))
        .collect();
    let wanted = ranking::wanted(&pairs)?;
    let (company, partner, test) = (wanted.company.clone(), wanted.partner.clone(), wanted.test);
    let report = ranking::report(&request.app, wanted).await?;
    let companies = Tokens::of(request.app.store.clone()).holders();
    Ok(request.view(PAGE, fields! { companies, company, partner, test, report })?.titled("Ranking"))
}
