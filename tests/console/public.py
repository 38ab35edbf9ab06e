"""Looks at the pages that anyone may open, as people do: where one begins, the documentation, the page on which a lead is tried,
and what stands in the place of sample partners; in light, in dark and on a narrow phone. Keeps a screenshot of each page.

usage: public.py API TOKEN SCREENSHOTS
"""

import json
import pathlib
import re
import subprocess
import sys

from playwright.sync_api import expect, sync_playwright

from look import fault, faults, look, watched

LOOKS = [("light", 1440, 900), ("dark", 1440, 900), ("phone", 360, 740)]
# Least height of what is touched, CSS pixels.
FINGER = 44
PRODUCTS = ["Everything", "Loan", "Card", "Savings", "Mortgage"]
# What no client calls stands behind all that one does.
BEHIND = ["Partner events", "Opened by browsers", "Documentation"]
here = "start"


def at(where):
    global here
    here = where
    print(f"  {where}")


def fits(page, what):
    wide, broad = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    if wide > broad:
        beyond = page.evaluate(
            """[...document.querySelectorAll("body *")].filter(one => one.getBoundingClientRect().right > innerWidth + 1)
               .slice(0, 8).map(one => `${one.tagName}.${one.className}`)"""
        )
        fault(here, f"{what} is {wide} wide on a screen of {broad}: {beyond}")


def reachable(page, selector):
    """Whatever is touched is as large as a finger."""
    small = page.locator(selector).evaluate_all(
        """(all, least) => all.map(one => [one.textContent.trim().slice(0, 30) || one.className, one.getBoundingClientRect()])
           .filter(([, box]) => box.height && box.height < least - .5).map(([name, box]) => `${name}: ${box.height}`)""",
        FINGER,
    )
    if small:
        fault(here, f"too small to touch: {small}")


def home(page, api, out, scheme):
    page.goto(f"{api}/")
    look(page, here, [])
    page.screenshot(path=out / f"home-{scheme}.png", full_page=True)


def docs(page, api, out, scheme):
    phone = scheme == "phone"
    page.goto(f"{api}/docs")
    expect(page.locator(".opblock-tag").first).to_be_visible(timeout=30_000)
    sections = page.locator(".opblock-tag").evaluate_all("all => all.map(one => one.dataset.tag)")
    if not sections or set(sections) & set(BEHIND):
        fault(here, f"the sections are {sections}")
    fits(page, "the list")
    page.screenshot(path=out / f"docs-{scheme}.png", full_page=True)

    page.get_by_role("button", name="Authorize").first.click()
    schemes = page.locator(".auth-container h4").all_inner_texts()
    if not schemes[0].startswith("token"):
        fault(here, f"Authorize begins with {schemes[0]}")
    fits(page, "the dialogue")
    page.screenshot(path=out / f"docs_authorize-{scheme}.png")
    page.locator(".auth-container input").first.fill("a-token")
    page.locator(".auth-btn-wrapper .authorize").click()
    page.get_by_role("button", name="Close").last.click()
    page.reload()
    page.locator(".btn.authorize.locked").first.wait_for(timeout=30_000)    # the token is kept

    for operation in ["submitLead", "listLeadEvents"]:
        block = page.locator(f"[id$='-{operation}']")
        block.locator(".opblock-summary-control").click()
        block.get_by_role("button", name="Try it out").click()
        expect(block.get_by_role("button", name="Execute")).to_be_visible()
        fits(page, operation)
        if phone:
            reachable(page, ".opblock-summary-control, .btn, .tab button, .opblock-body select, .opblock-body input[type=text]")
        block.screenshot(path=out / f"docs_{operation}-{scheme}.png")
        block.locator(".opblock-summary-control").click()
    if phone:
        reachable(page, ".opblock-tag, .opblock-summary-control, .btn, .servers select")


def fields_of_one_product(page):
    """The fields of one product never show at another."""
    for product in PRODUCTS:
        page.get_by_text(product, exact=True).first.click()
        chosen = page.locator("input[name=product]:checked").get_attribute("value")
        wrong = page.locator("[data-for]:visible").evaluate_all(
            "(fields, chosen) => fields.filter(field => !field.dataset.for.split(' ').includes(chosen)).map(field => field.dataset.for)", chosen
        )
        if wrong:
            fault(here, f"fields of {wrong} show at {chosen}")


def submit(page, token):
    page.get_by_label("Test token").fill(token)
    page.get_by_role("button", name="Get offers").click()
    expect(page.locator("#status")).to_contain_text("Every institution has answered.", timeout=30_000)
    expect(page.locator("#took")).to_contain_text("Complete", timeout=30_000)


def payments_with_their_basis(page):
    """Whoever reads a payment reads which amount and which term it is for."""
    payments = page.locator("#offers .price").all_inner_texts()
    basis = re.compile(r"^\$[\d,.]+( to \$[\d,.]+)? a month( at first)? for \$[\d,]+ over \d+ (month|year)s?$")
    bare = [payment for payment in payments if not basis.match(payment)]
    if bare or not payments:
        fault(here, f"payments without their basis: {bare or 'none at all'}")


def wire(page):
    """The call is one that a shell takes, and the answer what it answers."""
    for details in page.locator("#wire details").all():
        if details.get_attribute("open") is None:
            details.locator("summary").click()
    answer = json.loads(page.locator("#answer").inner_text())
    call, again = page.locator("#call").text_content().split("\n\n# ")
    told = [json.loads(subprocess.run(["bash", "-c", one], capture_output=True, check=True).stdout) for one in (call, again.split("\n", 1)[1])]
    if set(told[0]) != set(answer) or told[1] != answer:
        fault(here, "the calls answer otherwise than the page was")


def offers_lead_on(page, api, out, scheme):
    broken = page.locator("#offers img.sign").evaluate_all("images => images.filter(image => !image.naturalWidth).map(image => image.src)")
    if broken or not page.locator("#offers img.sign").count():
        fault(here, f"logos: {broken or 'none'}")
    for link in page.locator("#offers .go").all()[:3]:
        with page.context.expect_page() as opened:
            link.click()
        partner = opened.value
        partner.wait_for_load_state()
        if not partner.url.startswith(api) or partner.locator("h1").count() != 1:
            fault(here, f"an offer leads to {partner.url}")
        look(partner, here, [])
        partner.screenshot(path=out / f"sample-{scheme}.png", full_page=True)
        partner.close()


def demo(page, api, token, out, scheme):
    # An offer that is still fading in has no colours to be judged by.
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{api}/demo")
    look(page, here, [])
    page.screenshot(path=out / f"demo_form-{scheme}.png", full_page=True)
    fields_of_one_product(page)
    if scheme == "phone":
        reachable(page, "button:visible, select:visible, #token, .choice span, input[type=range]:visible")
    for product in PRODUCTS:
        page.get_by_text(product, exact=True).first.click()
        submit(page, token)
        if not page.locator("#offers .terms > li").count():
            fault(here, f"{product}: no offers")
        if scheme == "phone":
            expect(page.locator("#found")).to_be_focused()
            expect(page.locator("#found")).to_be_in_viewport()
            reachable(page, "#offers .go, #sorting select, #wire summary")
        fits(page, product)
        look(page, here, [])
        page.screenshot(path=out / f"demo_{product.lower()}-{scheme}.png", full_page=True)
    page.get_by_text("Loan", exact=True).first.click()
    submit(page, token)
    payments_with_their_basis(page)
    wire(page)
    fits(page, "what went over the wire")
    look(page, here, [])
    page.screenshot(path=out / f"demo_wire-{scheme}.png", full_page=True)
    offers_lead_on(page, api, out, scheme)


def keyboard(page, api, token):
    """A lead can be sent, and an offer be reached, without a mouse."""
    # From elsewhere: a new fragment alone does not load the page anew.
    page.goto("about:blank")
    page.goto(f"{api}/demo#{token}")
    expect(page.get_by_label("Test token")).to_have_value(token)
    assert "#" not in page.url, "the token does not stay in the address"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "product":
            break
    page.keyboard.press("ArrowRight")
    assert page.locator("input[name=product]:checked").get_attribute("value") == "loan"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "submit":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "no ring"
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Every institution has answered.", timeout=30_000)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "go":
            return
    raise AssertionError("no offer is reached")


def main():
    api, token, screenshots = sys.argv[1:]
    out = pathlib.Path(screenshots)
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme, width, height in LOOKS:
            context = browser.new_context(
                color_scheme="dark" if scheme == "dark" else "light",
                viewport={"width": width, "height": height},
                device_scale_factor=2 if scheme == "phone" else 1,
            )
            page = watched(context, lambda: here)
            context.on("request", lambda request: request.url.startswith((api, "data:")) or fault(here, f"asks {request.url}"))
            for name, visit in [("home", home), ("docs", docs)]:
                at(f"{name} ({scheme})")
                visit(page, api, out, scheme)
            at(f"demo ({scheme})")
            demo(page, api, token, out, scheme)
            at(f"demo by keyboard ({scheme})")
            keyboard(page, api, token)
            context.close()
        browser.close()
    print(f"{len(faults)} faults; screenshots in {out}")
    sys.exit(1 if faults else 0)


main()
