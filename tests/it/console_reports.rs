//! Reports in the console: the query is in the address, so that a page can be kept and sent on.

use serde_json::json;

use crate::console::{html, page};
use crate::kit::Daemon;
use crate::kit::partners::partner;

async fn counted() -> Daemon {
    let partners = vec![partner("bank").loan(""), partner("lender").loan(""), partner("saver").savings("")];
    let daemon = Daemon::with_partners(partners).start().await;
    for campaign in ["spring", "spring", "<b>autumn</b>"] {
        let lead = json!({
            "productTypes": ["loan"],
            "loanInformation": {"loanAmount": 10000},
            "creditInformation": {"providedCreditRating": "good"},
            "clientTags": {"campaign": [campaign]},
        });
        assert_eq!(daemon.submit_blocking(lead.to_string()).await.status, 200);
    }
    let looking = async {
        while !html(&daemon, "/console/reports?leads=test").await.contains("<strong>6</strong>") {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), looking).await.expect("it is counted");
    daemon
}

#[tokio::test]
async fn rows_are_ordered_by_their_headings_and_drawn() {
    let daemon = counted().await;
    let told = html(&daemon, "/console/reports?leads=test&by=campaign&by=partner&compare=true").await;
    let row = "<th scope=\"row\">spring</th><th scope=\"row\">bank</th><td class=\"num\" data-label=\"Leads\"><a href=";
    assert!(told.contains(row), "{told}");
    assert!(told.contains("&lt;b&gt;autumn") && !told.contains("<b>autumn"), "a tag is text: {told}");
    assert!(told.contains("Leads by campaign and partner"), "there are bars: {told}");
    assert!(told.contains("Without a figure in any row: applied, funded"), "no partner has reported: {told}");
    assert!(told.contains("aria-sort=\"descending\"") && told.contains("sort=-clicks"), "{told}");
    let by_name = html(&daemon, "/console/reports?leads=test&by=campaign&sort=-campaign").await;
    assert!(by_name.find(">spring<") < by_name.find("autumn"), "{by_name}");
    let by_day = html(&daemon, "/console/reports?leads=test&by=day").await;
    assert!(by_day.contains("<h2>Leads by day</h2>") && by_day.contains("<svg"), "a line: {by_day}");
    let offers = html(&daemon, "/console/reports?leads=test&by=day&chart=offers").await;
    assert!(offers.contains("<h2>Offers by day</h2>"), "what is drawn can be chosen: {offers}");
    assert!(offers.contains("download?leads=test&amp;by=day&amp;chart=offers"), "and is kept: {offers}");
    assert_eq!(page(&daemon, "/console/reports/download?by=day&chart=offers").await.status, 200);
}

/// The address behind a figure of a row.
fn link(page: &str, row: &str, figure: &str) -> String {
    let is_it = |line: &&str| line.contains(row) && line.contains("data-label");
    let row = page.split("<tr>").find(is_it).unwrap_or_else(|| panic!("{row}: {page}"));
    let cell = row.split(&format!("data-label=\"{figure}\">")).nth(1).expect("a figure");
    let link = cell.split("</td>").next().unwrap().split("href=\"").nth(1).expect("it has a link");
    link.split('"').next().unwrap().replace("&amp;", "&").replace("&#x2f;", "/")
}

#[tokio::test]
async fn a_figure_leads_to_its_rate_tables_whose_total_it_is() {
    let daemon = counted().await;
    for (by, row, figure, total) in [
        ("campaign", ">spring<", "Leads", "<strong>2</strong> leads, test leads"),
        ("campaign", ">all<", "Leads", "<strong>3</strong> leads, test leads"),
        ("partner", ">bank<", "Leads", "<strong>3</strong> leads, test leads"),
        ("partner", ">all<", "Shown", "<strong>6</strong> shown, test leads"),
        ("offer", ">lender&#x2f;", "Shown", "<strong>3</strong> shown of <code>lender&#x2f;"),
    ] {
        let report = html(&daemon, &format!("/console/reports?leads=test&by={by}")).await;
        let list = html(&daemon, &link(&report, row, figure)).await;
        assert!(list.contains(total) && list.contains("days of UTC"), "{by} {row}: {list}");
        let listed = list.matches("<a class=\"mono nowrap\" href=\"/console/rateTables/").count();
        assert_eq!(listed, if total.contains(">2<") { 2 } else { 3 }, "{by} {row}");
        assert!(list.contains("name=\"counted\""), "the form keeps it: {list}");
    }
    let live = html(&daemon, "/console/rateTables?counted=leads&leads=live").await;
    assert!(live.contains("<strong>0</strong> leads, live leads"), "{live}");
    let wrong = html(&daemon, "/console/rateTables?counted=luck&zone=Mars").await;
    assert!(wrong.contains("counted must be one of") && wrong.contains("zone must be one of"), "{wrong}");
}

#[tokio::test]
async fn by_offer_what_was_never_shown_or_clicked_is_told() {
    let daemon = counted().await;
    let told = html(&daemon, "/console/reports?leads=test&by=offer").await;
    let is_row = |row: &&str, offer: &str| row.contains(offer) && row.contains("data-label");
    let row = |offer: &str| told.split("<tr>").find(|row| is_row(row, offer)).expect("a row").to_owned();
    assert!(row(">saver&#x2f;").contains("never shown"), "{told}");
    assert!(row(">bank&#x2f;").contains("never clicked"), "{told}");
    assert!(!told.contains("data-label=\"Leads\"") && told.contains("data-label=\"Position\""), "{told}");
}

#[tokio::test]
async fn counts_have_their_shares_and_an_order_stays_where_the_dimension_changes() {
    let daemon = counted().await;
    let told = html(&daemon, "/console/reports?leads=test&by=campaign&sort=-asks").await;
    assert!(told.contains("<span class=\"muted small nowrap\">66.7 %</span>"), "{told}");
    assert!(told.contains("<input type=\"hidden\" name=\"sort\" value=\"-asks\">"), "{told}");
    for (path, kept) in [
        ("by=partner&sort=-asks", "-asks"),
        ("by=partner&sort=-campaign", "-partner"),
        ("by=partner&sort=leadsChange", "leads"),
        ("by=partner&sort=leadsChange&compare=true", "leadsChange"),
    ] {
        let told = html(&daemon, &format!("/console/reports?leads=test&{path}")).await;
        let hidden = format!("name=\"sort\" value=\"{kept}\"");
        assert!(told.contains(&hidden) && !told.contains("not possible"), "{path}: {told}");
    }
    let luck = html(&daemon, "/console/reports?by=partner&sort=luck").await;
    assert!(luck.contains("not possible"), "{luck}");
}

/// A restart begins the asks since the start anew, and not those of the days.
#[tokio::test]
async fn partners_show_the_asks_of_a_week_after_a_restart_too() {
    let daemon = counted().await.start_again().await;
    let looking = async {
        while html(&daemon, "/console/partners").await.matches("data-label=\"7 days\">3 asks<br>").count() < 2
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(90), looking).await.expect("they are stored");
}

#[tokio::test]
async fn a_week_is_asked_for_beside_the_one_before_it_with_one_click() {
    let daemon = counted().await;
    let told = html(&daemon, "/console/reports?leads=test").await;
    let link = told.split("<a class=\"chip\" href=\"").nth(2).and_then(|rest| rest.split('"').next());
    let link = link.expect("last week is linked").replace("&amp;", "&").replace("&#x2f;", "/");
    let week = html(&daemon, &link).await;
    assert!(week.contains("compared with ") && week.contains("aria-current=\"true\">Last week"), "{week}");
}

#[tokio::test]
async fn the_whole_report_is_a_file() {
    let daemon = counted().await;
    let told = html(&daemon, "/console/reports?leads=test&by=campaign").await;
    assert!(told.contains("download?leads=test&amp;by=campaign"), "{told}");
    let file = page(&daemon, "/console/reports/download?leads=test&by=campaign").await;
    let name = file.header("content-disposition").unwrap_or_default().to_owned();
    assert!(file.status == 200 && name.starts_with("attachment; filename=\"report-"), "{name}");
    assert_eq!(String::from_utf8_lossy(&file.body).lines().count(), 3);
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_told_above_the_form_which_keeps_it() {
    let daemon = counted().await;
    let answer = page(&daemon, "/console/reports?from=2026-02-30&by=day&by=day&where=state&chart=luck").await;
    let told = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 200, "{told}");
    for fault in [
        "from must be a day such as",
        "by must name a dimension once",
        "such as state=CA",
        "chart must be one of",
    ] {
        assert!(told.contains(fault), "{fault}: {told}");
    }
    assert!(told.contains("value=\"2026-02-30\"") && told.contains("value=\"state\""), "{told}");
}
