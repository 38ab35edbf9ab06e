//! Records replayed and judged again: whatever partners did, the same files change nothing, and every seat is
//! covered.

use super::*;
use crate::hindsight::explanation::{OfferReason, explanation};
use crate::hindsight::replay::{OfferCount, ReplaySelection, TableReplay};
use offerd_engine::matching::MatchingRules;

/// A partner of any behaviour that may also be limited, exclusive or second look.
fn any_limited_partner(nth: usize) -> impl Strategy<Value = PartnerFile> {
    let limits = prop::sample::select(vec![
        "",
        "per_day = 1",
        "per_minute = 2",
        "per_day_budget = 1.0",
        "per_week = 1",
        "per_month = 2",
        "share = 0.5",
        "starts_on = 2100-01-01",
        "ends_on = 2000-01-01",
    ]);
    let places = prop::sample::select(vec![
        "",
        "",
        "priority = 1\n",
        "weight = 2.0\n",
        "priority = 1\nweight = 0.5\n",
    ]);
    (any_partner(nth), limits, prop::bool::weighted(0.1), places).prop_map(
        |(partner, limits, exclusive, places)| {
            let file = partner.text();
            let product = if file.contains("[products.loan]") { "loan" } else { "other" };
            let heading = format!("[products.{product}]\n");
            let exclusive = if exclusive { "exclusive = true\n" } else { "" };
            let partner = partner.replaced(&heading, &format!("{heading}{exclusive}{places}"));
            partner.and(&format!("\n[products.{product}.limits]\n{limits}\n"))
        },
    )
}

fn rules_of_places(most: usize) -> MatchingRules {
    let mut rules = rules();
    rules.matching.partners_per_lead = most;
    rules
}

/// A seat that found no place finds one if there are more.
#[test]
fn places_are_dealt_anew() {
    paused(async {
        let partners = [partner("first").loan(""), partner("second").loan("")];
        let world = World::with_rules(&partners, rules_of_places(1)).await;
        world.submit(Until::Complete).await;
        let newly_asked = |most: usize| {
            let wish = ReplaySelection { since: 0, company: None, limit: None };
            let rules = rules_of_places(most);
            let records = &world.matchmaker.engine().records;
            let mut replay = TableReplay::new(records, book(&partners), &rules, &wish).unwrap();
            while replay.step() {}
            replay.report().seats.iter().map(|seat| seat.newly_asked).sum::<u64>()
        };
        assert_eq!((newly_asked(1), newly_asked(2)), (0, 1));
    });
}

proptest! {
    #![proptest_config(crate::cases::cases(16))]

    #[test]
    fn the_same_files_change_nothing_and_every_seat_has_its_reason(
        partners in (0..7_usize).prop_flat_map(|count| (0..count).map(any_limited_partner).collect::<Vec<_>>()),
        leads in 1..5_usize,
        most in 1..9_usize,
    ) {
        paused(async {
            let world = World::with_rules(&partners, rules_of_places(most)).await;
            let mut shown = 0;
            for _ in 0..leads {
                let table = world.submit(Until::Complete).await;
                let told = json(&table);
                let offers = |array: &str| told[array].as_array().unwrap().len();
                shown += offers("loanOffers") + offers("specialOffers");

                let engine = world.matchmaker.engine();
                let explained = explanation(&engine.records, &engine.book(), uuid(&table));
                let explained = explained.unwrap().expect("the table is there").rate_tables.remove(0);
                prop_assert!(explained.same_files && explained.same_lead && !explained.pending);
                prop_assert_eq!(explained.seats.len(), partners.len());
                let of_seats = explained.seats.iter().flat_map(|seat| &seat.offers);
                let told_shown = of_seats.filter(|offer| offer.why == OfferReason::Shown).count();
                prop_assert_eq!(told_shown, offers("loanOffers") + offers("specialOffers"));
            }

            let engine = world.matchmaker.engine();
            let wish = ReplaySelection { since: 0, company: None, limit: None };
            let replay = TableReplay::new(&engine.records, book(&partners), &engine.configuration().rules, &wish);
            let mut replay = replay.unwrap();
            while replay.step() {}
            let report = replay.report();
            prop_assert_eq!(report.rate_tables, leads as u64);
            prop_assert_eq!(report.offers, OfferCount { kept: shown as u64, changed: 0, won: 0, lost: 0 });
            prop_assert!(report.seats.iter().all(|seat| seat.newly_asked + seat.no_longer_asked == 0), "{:?}", report);
            Ok(())
        })?;
    }
}
