//! Second look, for every behaviour of the partners: asked only without a loan offer, and showing the best
//! answer of each product sub-type.

use std::collections::BTreeMap;

use super::*;

#[derive(Debug, Clone)]
struct Plan {
    /// The product sub-type of a second-look partner; `None` for a first-look lender.
    second_look: Option<&'static str>,
    /// The value of its offer, in cents.
    worth: u32,
    delay: u32,
    fails: bool,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let sub_type = prop::sample::select(vec![None, Some("personal_loan"), Some("secured_loan")]);
    let plan = |(second_look, worth, delay, fails)| Plan { second_look, worth, delay, fails };
    (sub_type, 1..500_u32, 1..3_000_u32, prop::bool::weighted(0.6)).prop_map(plan)
}

impl Plan {
    fn file(&self, nth: usize) -> PartnerFile {
        let Self { worth, delay, fails, .. } = self;
        let failure_rate = f64::from(u8::from(*fails));
        let simulate = format!(
            r#"simulate = {{ delay = "{delay}ms", failure_rate = {failure_rate:.1}, failure = "error" }}"#
        );
        let partner = partner(&format!("partner-{nth}"));
        let Some(sub_type) = self.second_look else { return partner.loan(&simulate) };
        partner.and(&format!(
            r#"
[products.other]
timeout = "4s"
second_look = true
{simulate}

[[products.other.offers]]
key = "instead"
sub_type = "{sub_type}"
name = "{nth}"
description = "A second look."
landing_url = "https://instead.example/apply"
payout = {{ on = "click", fixed = {:.2} }}
conversion_probability = 1.0
"#,
            f64::from(*worth) / 100.0
        ))
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(24))]

    #[test]
    fn it_is_asked_only_without_a_loan_offer_and_the_best_of_each_sub_type_wins(
        plans in prop::collection::vec(any_plan(), 0..8),
    ) {
        paused(async {
            let files: Vec<PartnerFile> = plans.iter().enumerate().map(|(nth, plan)| plan.file(nth)).collect();
            let world = World::of(&files).await;
            let table = world.submit(Until::Complete).await;
            let lenders = plans.iter().filter(|plan| plan.second_look.is_none() && !plan.fails).count();
            prop_assert_eq!(loan_offers(&table), lenders);

            let mut best: BTreeMap<&str, u32> = BTreeMap::new();
            let answering = plans.iter().filter(|plan| lenders == 0 && !plan.fails);
            for (sub_type, worth) in answering.filter_map(|plan| Some((plan.second_look?, plan.worth))) {
                let most = best.entry(sub_type).or_default();
                *most = worth.max(*most);
            }
            let table = json(&table);
            let shown = table["specialOffers"].as_array().unwrap().iter().map(|offer| {
                let plan = &plans[offer["name"].as_str().unwrap().parse::<usize>().unwrap()];
                (plan.second_look.unwrap(), plan.worth)
            });
            prop_assert_eq!(shown.clone().count(), best.len());
            prop_assert_eq!(shown.collect::<BTreeMap<&str, u32>>(), best);
            // A partner that was not needed was not asked.
            let engine = world.matchmaker.engine();
            for status in engine.limiter.statuses(&engine.book()) {
                let first_look = status.product_type == offerd_model::ProductType::Loan;
                prop_assert_eq!(status.asked_today, u32::from(first_look || lenders == 0));
            }
            Ok(())
        })?;
    }
}
