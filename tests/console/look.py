"""Looks at every page of a running daemon's console, as people do: in light, in dark, on a phone, with the keyboard alone, and
without a script; and at the page on which a lead is tried. Keeps a screenshot of each page.

usage: look.py API ADMIN TOKEN LINK LEADS SCREENSHOTS
"""

import json
import os
import pathlib
import re
import signal
import sys
import time
import urllib.error
import urllib.request

import axe_playwright_python
from playwright.sync_api import expect, sync_playwright

AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
LOOKS = [("light", 1280, 800), ("dark", 1280, 800), ("phone", 390, 844)]
ROUNDS = 6
# Pages that no row leads to.
MORE = [
    "/console/funnel?leads=test&time=week", "/console/catalogue/try?product=loan", "/console/consents", "/console/reports/statement",
    "/console/settings/ranking?do=new", "/console/settings/postbacks?do=on&entry=acme_network",
]
# How the partners of a lead answer that is drawn with every kind of end.
ENDS = ["northquill_lending=slow", "tallowmere_loans=timed_out", "cedarvane_credit_union=declined:low_fico", "skerrywick_bank=unreachable"]
faults = []


def fault(where, what):
    print(f"  fault: {where}: {what}")
    faults.append((where, what))


def submit(api, token, leads):
    """Submits each lead a few times, as different people; gives the words that no page may show."""
    words = set()
    for number in range(ROUNDS):
        for file in sorted(pathlib.Path(leads).glob("*.json")):
            lead = json.loads(file.read_text())
            person = lead.setdefault("personalInformation", {})
            person["email"] = f"someone.{number}.{file.stem}@example.com"
            words |= {person[name] for name in ("email", "ssn", "address1", "primaryPhone", "lastName") if person.get(name)}
            request = urllib.request.Request(
                f"{api}/leads/rateTables",
                data=json.dumps(lead).encode(),
                headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            )
            try:
                table = json.load(urllib.request.urlopen(request))
                poll = urllib.request.Request(
                    f"{api}/originator/rateTables/{table['uuid']}", headers={"Authorization": f"Bearer {token}"}
                )
                urllib.request.urlopen(poll).read()
            except urllib.error.HTTPError as error:
                # Some of them are there to be refused.
                assert error.code in (409, 422), f"{file.name}: {error.code}"
    return words


def watched(context, where):
    """A page whose complaints are faults."""
    page = context.new_page()
    page.on("console", lambda message: message.type in ("error", "warning") and fault(where(), message.text))
    page.on("pageerror", lambda error: fault(where(), error))
    # What is left before it has come is no fault: a stream, or an image of the page before.
    page.on("requestfailed", lambda request: "ABORTED" in request.failure or fault(where(), f"{request.url}: {request.failure}"))
    return page


def sign_in(browser, admin, link, out):
    """Signs in with a link, as it is printed; gives what the browser keeps of it. A stranger sees only where that is done."""
    page = watched(browser.new_context(), lambda: "the page to sign in on")
    page.goto(f"{admin}/console/partners")
    assert page.url.startswith(f"{admin}/console/signIn"), page.url
    expect(page.get_by_label("Password, or without a name the secret")).to_be_visible()
    look(page, "the page to sign in on", [])
    page.screenshot(path=out / "sign_in-light.png", full_page=True)
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#standing")).to_be_visible()
    kept = page.context.storage_state()
    page.context.close()
    return kept


def pages_of(page, admin):
    """The pages of the navigation, and of each a page that its rows lead to: of a partner that is asked, where there is one."""
    page.goto(f"{admin}/console")
    sections = page.locator("header nav a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    found = list(sections)
    for section in sections[1:]:
        page.goto(admin + section)
        rows = page.locator("main table a[href^='/console/']")
        asked = rows.filter(has_text="Northquill")
        if rows.count():
            found.append((asked if asked.count() else rows).first.get_attribute("href"))
    assert len(sections) >= 6, sections
    # One of each kind is enough.
    by_name = {}
    for path in [*found, *MORE]:
        by_name.setdefault(name_of(path), path)
    return list(by_name.values())


def name_of(path):
    if path in MORE:
        return ["funnel_test", "catalogue_try", "consents", "statement", "settings_new", "settings_postback"][MORE.index(path)]
    parts = path.removeprefix("/console").split("?")[0].strip("/").split("/")
    return "now" if parts == [""] else parts[0] if len(parts) == 1 else f"{parts[0]}_one"


def look(page, where, words):
    """What must hold of every page, however it is looked at."""
    if not page.locator("h1").count() == 1:
        fault(where, "a page has one main heading")
    wide, broad = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    if wide > broad:
        fault(where, f"the page is {wide} wide on a screen of {broad}")
    text = page.content()
    for word in words:
        if word in text:
            fault(where, "personal data are shown")
    if page.viewport_size["width"] < 500:
        fitting(page, where)
    page.evaluate(AXE)
    result = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    for violation in result["violations"]:
        places = [node["html"][:120] for node in violation["nodes"][:3]]
        fault(where, f"{violation['id']} ({violation['impact']}): {violation['help']}: {places}")


def fitting(page, where):
    """On a phone what is long has the whole breadth of its row, and no line of the log leaves the screen."""
    pinched = "cells => cells.some(cell => cell.clientWidth && cell.clientWidth < 0.9 * cell.parentElement.clientWidth)"
    if page.locator("td.whole").evaluate_all(pinched):
        fault(where, "reasons are pinched into a column")
    beyond = "cells => cells.some(cell => cell.getBoundingClientRect().right > innerWidth)"
    if page.locator("table.lines td").evaluate_all(beyond):
        fault(where, "words of the log lie beyond the screen")


def demo(page, api, token):
    """The page on which a lead is tried shows whole names on a phone, of offers that are ranges too."""
    # An offer that is still fading in has no colours to be judged by.
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{api}/demo")
    page.get_by_label("Test token").fill(token)
    page.get_by_role("button", name="Get offers").click()
    expect(page.locator("#status")).to_contain_text("Every institution has answered.", timeout=30_000)
    names = page.locator("#offers h3").evaluate_all("names => names.map(name => name.getBoundingClientRect().width)")
    assert names and min(names) > 150, names
    assert page.locator("#offers .price b", has_text=" to ").count() > 0, "a range of payments is shown"


def keyboard(page, admin):
    page.goto(f"{admin}/console")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip", "the first stop is the way past the navigation"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main", "which leads to the content"
    page.goto(f"{admin}/console")
    stops = []
    for _ in range(40):
        page.keyboard.press("Tab")
        outline, text = page.evaluate(
            "[getComputedStyle(document.activeElement).outlineStyle, document.activeElement.textContent.trim()]"
        )
        assert outline != "none" or "skip" in page.evaluate("document.activeElement.className"), f"{text}: no ring"
        stops.append(text)
        if text == "System":
            break
        if page.evaluate("document.activeElement.matches('nav summary')"):
            page.keyboard.press("Enter")
    assert "Now" in stops and "Partners" in stops and "System" in stops, stops
    page.locator("nav summary", has_text="Partners").click()
    page.get_by_role("link", name="Partners", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Partners")).to_be_visible()


def live(page, admin):
    page.goto(f"{admin}/console")
    before = page.locator("#at").inner_text()
    expect(page.locator("#live")).to_have_attribute("data-state", "on", timeout=20_000)
    expect(page.locator("#at")).not_to_have_text(before, timeout=20_000)


def contact(page, admin):
    """A daemon that hangs is told from one that is well, on a page that changes and on one that does not."""
    page.goto(f"{admin}/console/system")
    process = int(re.search(r"process (\d+)", page.locator("#uptime").inner_text())[1])
    for path in ["/console", "/console/funnel"]:
        page.goto(admin + path)
        expect(page.locator("#live")).to_have_attribute("data-state", "on", timeout=20_000)
        os.kill(process, signal.SIGSTOP)
        try:
            expect(page.get_by_role("alert")).to_contain_text("no contact since", timeout=30_000)
            expect(page.locator("#standing")).to_be_hidden()
        finally:
            os.kill(process, signal.SIGCONT)
        expect(page.locator("#contact")).to_be_empty(timeout=30_000)
        expect(page.locator("#standing")).to_be_visible()


def pause_and_resume(page, admin):
    page.goto(f"{admin}/console/partners")
    page.locator("main table a").first.click()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Pause all of it").click()
    expect(page.locator(".pill", has_text="paused by an operator").first).to_be_visible()
    # Somebody else resumes it: the button follows without being asked.
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Resume all of it").click()
    expect(page.get_by_role("button", name="Pause all of it")).to_be_visible(timeout=20_000)
    other.close()


def every_end(api, token, leads):
    """A lead that its partners answer in every way there is; gives the path of its rate table."""
    lead = json.loads((pathlib.Path(leads) / "personal_loan.json").read_text())
    lead["personalInformation"]["email"] = "every.end@example.com"
    lead["clientTags"] = {"sandbox": ENDS}
    request = urllib.request.Request(
        f"{api}/leads/rateTables",
        data=json.dumps(lead).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    table = json.load(urllib.request.urlopen(request))
    while table["pendingResponses"]:
        time.sleep(0.2)
        poll = urllib.request.Request(
            f"{api}/originator/rateTables/{table['uuid']}", headers={"Authorization": f"Bearer {token}"}
        )
        table = json.load(urllib.request.urlopen(poll))
    return f"/console/rateTables/{table['uuid']}"


def reveal(page, admin, path):
    page.goto(admin + path)
    assert "Tolliver" not in page.content()
    page.get_by_label("Why reveal").fill("a dispute")
    page.get_by_role("button", name="Reveal last name").click()
    expect(page.get_by_text("Tolliver")).to_be_visible()
    assert page.locator(".revealed").count() == 1, "only what was asked for is revealed"
    page.get_by_role("button", name="Reveal first name").click()
    expect(page.locator(".revealed")).to_have_count(2)
    expect(page.get_by_text("Tolliver")).to_be_visible()


def find_an_offer(page, admin, path):
    page.goto(admin + path)
    offer = page.locator("ol.offers summary code").last.inner_text()
    page.get_by_role("searchbox").fill(offer)
    page.get_by_role("button", name="Find").click()
    found = page.locator(f"#offer-{offer}")
    expect(found).to_be_visible()
    expect(found).to_be_in_viewport()


def try_a_lead(page, admin):
    page.goto(f"{admin}/console/catalogue/try")
    page.get_by_role("button", name="See what matches").click()
    expect(page.locator("#matches")).to_contain_text("match")
    page.get_by_label("Loan amount").fill("a lot")
    page.get_by_role("button", name="See what matches").click()
    expect(page.get_by_label("Loan amount")).to_have_attribute("aria-invalid", "true")


def asks(api, token, leads, email):
    """A lead of somebody who is going to ask what is held on them."""
    lead = json.loads((pathlib.Path(leads) / "personal_loan.json").read_text())
    lead["personalInformation"]["email"] = email
    lead["legalInformation"] = {"consentsToTcpa": True, "tcpaLanguage": "By pressing this button you agree that up to four lenders call you. " * 4}
    request = urllib.request.Request(
        f"{api}/leads/rateTables",
        data=json.dumps(lead).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).read()


def persons(page, admin, email, out, scheme):
    """Somebody who writes in is given what is held on them, and erased, by a few clicks."""

    def seen(name):
        look(page, f"{name} ({scheme})", [])
        page.screenshot(path=out / f"{name}-{scheme}.png", full_page=True)

    page.goto(f"{admin}/console/persons")
    page.get_by_label("E-mail address or phone number").fill(email)
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("heading", name="2 leads", exact=True)).to_be_visible()
    assert email not in page.url
    seen("persons_found")
    give = page.get_by_role("region", name="Export their data")
    give.get_by_label("Why").fill("letter 4711")
    with page.expect_download() as download:
        give.get_by_role("button").click()
    assert len(json.loads(download.value.path().read_text())["leads"]) == 2
    end = page.get_by_role("region", name="Erase them")
    end.get_by_label("Why").fill("letter 4711")
    end.get_by_label("Erase all 2 leads for good").check()
    end.get_by_role("button").click()
    expect(page.get_by_role("heading", name="2 leads are erased")).to_be_visible()
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as JSON").click()
    assert len(json.loads(download.value.path().read_text())["leads"]) == 2
    seen("persons_receipt")
    page.emulate_media(media="print")
    page.screenshot(path=out / f"persons_receipt_printed-{scheme}.png", full_page=True)
    page.emulate_media(media="screen")
    page.goto(f"{admin}/console/persons")
    page.get_by_label("E-mail address or phone number").fill(email)
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("heading", name="0 leads", exact=True)).to_be_visible()
    seen("persons_none")
    # A browser complains of a page that tells a fault.
    page = page.context.new_page()
    page.goto(f"{admin}/console/persons")
    page.get_by_label("E-mail address or phone number").fill("nobody@")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("main [role=alert]")).to_contain_text("not an e-mail address")
    look(page, f"persons_fault ({scheme})", [])
    page.screenshot(path=out / f"persons_fault-{scheme}.png", full_page=True)
    page.close()


def consents(page, admin, out, scheme):
    page.goto(f"{admin}/console/consents")
    page.get_by_label("Leads").select_option("test")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#statements")).to_contain_text("statement")
    look(page, f"consents ({scheme})", [])
    page.screenshot(path=out / f"consents_shown-{scheme}.png", full_page=True)


def without_script(browser, admin, kept, paths):
    page = browser.new_context(java_script_enabled=False, storage_state=kept).new_page()
    for path in paths:
        answer = page.goto(admin + path)
        assert answer.ok and "/signIn" not in page.url and page.locator("h1").count() == 1, path


def main():
    api, admin, token, link, leads, screenshots = sys.argv[1:]
    out = pathlib.Path(screenshots)
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        here = "start"
        kept = sign_in(browser, admin, link, out)
        first = watched(browser.new_context(storage_state=kept), lambda: here)
        # What is looked at is alive: leads come in while pages are open.
        words = submit(api, token, leads)
        keyboard(first, admin)
        live(first, admin)
        contact(first, admin)
        submit(api, token, leads)
        pause_and_resume(first, admin)
        table = every_end(api, token, leads)
        reveal(first, admin, table)
        find_an_offer(first, admin, table)
        try_a_lead(first, admin)
        paths = [path for path in pages_of(first, admin) if not path.startswith("/console/rateTables/")] + [table]
        without_script(browser, admin, kept, paths)
        for scheme, width, height in LOOKS:
            context = browser.new_context(
                storage_state=kept,
                color_scheme="dark" if scheme == "dark" else "light",
                viewport={"width": width, "height": height},
                device_scale_factor=2 if scheme == "phone" else 1,
            )
            page = watched(context, lambda: here)
            for path in paths:
                here = f"{path} ({scheme})"
                answer = page.goto(admin + path)
                print(f"  {here}: {answer.status}")
                if not answer.ok:
                    fault(here, answer.status)
                look(page, here, words)
                page.screenshot(path=out / f"{name_of(path)}-{scheme}.png", full_page=True)
            for _ in range(2):
                asks(api, token, leads, f"asks.{scheme}@example.com")
            here = f"persons ({scheme})"
            consents(page, admin, out, scheme)
            persons(page, admin, f"asks.{scheme}@example.com", out, scheme)
            if scheme == "phone":
                here = f"the demo ({scheme})"
                demo(page, api, token)
                look(page, here, [])
                page.screenshot(path=out / f"demo-{scheme}.png", full_page=True)
            context.close()
        browser.close()
    print(f"{len(paths)} pages, {len(faults)} faults; screenshots in {out}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
