//! The catalog in the console, and the form in which a lead is tried.

use crate::console::{csrf, html, page, send};
use crate::kit::Daemon;
use crate::kit::partners::partner;

const TRY: &str = "/console/catalogue/try";

async fn tried(daemon: &Daemon, fields: &[(&str, &str)]) -> String {
    let csrf = csrf(&html(daemon, TRY).await);
    let mut all = vec![("csrf", csrf.as_str())];
    all.extend_from_slice(fields);
    let answer = send(daemon, TRY, &all, &[]).await;
    assert_eq!(answer.status, 200);
    String::from_utf8(answer.body.to_vec()).unwrap()
}

#[tokio::test]
async fn offers_are_searched_and_paged() {
    let daemon = Daemon::with_sample_partners().start().await;
    let all = html(&daemon, "/console/catalogue").await;
    assert!(all.contains("Later") && !all.contains("Earlier"));
    assert_eq!(all.matches("<tr><th scope=\"row\">").count(), 50);
    let last = html(&daemon, "/console/catalogue?page=4").await;
    assert!(last.contains("Earlier") && !last.contains("Later"));

    let found = html(&daemon, "/console/catalogue?q=AMBERWICK+term&product=life_insurance").await;
    assert!(
        found.contains("term_20") && found.contains("3 found") && !found.contains("Brindlewick"),
        "{found}"
    );
    assert!(found.contains("$60 when applied") && found.contains("5.3 %"), "{found}");
    let clicked = html(&daemon, "/console/catalogue?q=AMBERWICK").await;
    assert!(clicked.contains("$4.50 per click"), "{clicked}");
    let nothing = html(&daemon, "/console/catalogue?q=%3Cscript%3E").await;
    assert!(nothing.contains("No offer matches all of these words") && nothing.contains("&lt;script&gt;"));
    for query in ["page=0", "page=x", "product=moon"] {
        assert_eq!(page(&daemon, &format!("/console/catalogue?{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn a_lead_is_tried_and_nothing_of_it_is_kept() {
    let picky = partner("picky").loan("eligibility = { \"personalInformation.state\" = { in = [\"NY\"] } }");
    let partners = vec![partner("bank").loan(""), picky, partner("saver").savings("")];
    let daemon = Daemon::with_partners(partners).start().await;
    let fields = [
        ("product", "loan"),
        ("personalInformation.state", "WA"),
        ("creditInformation.providedCreditRating", "good"),
        ("loanInformation.loanAmount", "10000"),
    ];
    let verdict = tried(&daemon, &fields).await;
    assert!(
        verdict.contains("1 offer matches") && verdict.contains("1 of 2 partners would be asked"),
        "{verdict}"
    );
    assert!(verdict.contains("<code>personal</code>"), "{verdict}");
    assert!(verdict.contains("<code>personalInformation.state</code> in NY<span class=\"found\">WA</span>"));
    assert!(verdict.contains("1 partner product not requested by this lead"), "{verdict}");
    assert!(html(&daemon, "/console/rateTables").await.contains("No lead has asked for a rate table yet"));
}

#[tokio::test]
async fn each_fault_stands_beside_its_field() {
    let daemon = Daemon::with_sample_partners().start().await;
    let fields = [
        ("product", "loan"),
        ("loanInformation.loanAmount", "a lot"),
        ("personalInformation.zipcode", "98103"),
    ];
    let faulty = tried(&daemon, &fields).await;
    assert!(faulty.contains("id=\"loanInformation.loanAmount-fault\">must be"), "{faulty}");
    assert!(
        faulty.contains("value=\"a lot\"") && faulty.contains("value=\"98103\""),
        "what was written stays"
    );
    assert_eq!(faulty.matches("class=\"fault\"").count(), 1);
    assert!(!faulty.contains("id=\"verdict\""));

    let forged = send(&daemon, TRY, &fields, &[]).await;
    assert_eq!(forged.status, 403);
}
