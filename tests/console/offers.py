"""Looks at the page of a rate table as the person does whose offers they are: in light, in dark, on a phone, with the keyboard, by
what a screen reader is told, without a script, and in a frame of another site. Keeps screenshots.

usage: offers.py API TOKEN LEADS SCREENSHOTS
"""

import json
import pathlib
import sys
import urllib.request

from playwright.sync_api import expect, sync_playwright

from look import LOOKS, fault, faults, look, watched

# How partners of the lead answer, so that offers arrive while the page is open.
LATER = ["northquill_lending=slow", "oakenvale_direct=slow", "tallowmere_loans=timed_out"]
COMPLETE = "Every institution has answered."
# From the smallest phone to a desk, and the widths at which rows of figures break.
WIDTHS = [320, 360, 390, 480, 560, 640, 760, 900, 1024, 1280]
# What of a card lies over something else of it, and whether the page is broader than its window.
UNTIDY = """() => {
  const untidy = [];
  const beyond = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (beyond > 0) untidy.push(`it scrolls sideways by ${beyond}`);
  for (const card of document.querySelectorAll(".cards > li")) {
    const lines = [];
    const texts = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (!text.data.trim() || text.parentElement.closest(".unseen") || !text.parentElement.checkVisibility()) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      for (const at of range.getClientRects()) if (at.width > 1) lines.push([text, at]);
    }
    lines.forEach(([text, at], nth) => lines.slice(nth + 1).forEach(([other, there]) => {
      const across = Math.min(at.right, there.right) - Math.max(at.left, there.left);
      const down = Math.min(at.bottom, there.bottom) - Math.max(at.top, there.top);
      const figures = text.parentElement.closest("dd") && other.parentElement.closest("dd");
      if (text !== other && down > 4 && across > (figures ? -6 : 1)) {
        untidy.push(`"${text.data.trim()}" runs into "${other.data.trim()}"`);
      }
    }));
  }
  return untidy;
}"""
# A site that is made up here may show what this machine serves.
FLAGS = ["--no-sandbox", "--disable-features=LocalNetworkAccessChecks"]


def submit(api, token, leads, name, **more):
    """A lead's rate table, with whatever is still outstanding."""
    lead = json.loads((pathlib.Path(leads) / f"{name}.json").read_text()) | more
    lead.setdefault("personalInformation", {})["email"] = f"offers.{len(faults)}.{submit.count}@example.com"
    submit.count += 1
    request = urllib.request.Request(
        f"{api}/leads/rateTables",
        data=json.dumps(lead).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    return json.load(urllib.request.urlopen(request))


submit.count = 0


def slow(api, token, leads):
    return submit(api, token, leads, "personal_loan", clientTags={"sandbox": LATER})


def arriving(page, table, out, name):
    """Offers come to a page that is open, in their places, and are said; who reads the first is not disturbed."""
    seen = []
    page.on("request", lambda request: request.url.endswith("/seen.gif") and seen.append(request.url))
    page.goto(table["partnerPageUrl"])
    state, cards, news = page.locator("#status"), page.locator(".terms > li"), page.locator("#news")
    said = []
    page.expose_function("say", lambda words: said.append(words))
    page.evaluate("new MutationObserver(() => say(news.textContent)).observe(news, { childList: true })")
    expect(state).to_contain_text("still deciding")
    before = cards.count()
    assert before > 0, "those that answer at once are there"
    page.screenshot(path=out / f"offers_pending-{name}.png", full_page=True)
    cards.locator(".go").first.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    link = page.evaluate("document.activeElement.href")
    assert "/click/" in link, f"no stop is an offer but {link}"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", "no ring"
    expect(state).to_contain_text(COMPLETE, timeout=40_000)
    assert cards.count() > before, "offers have arrived"
    expect(news).to_contain_text(COMPLETE)
    assert page.evaluate("document.activeElement.href") == link, "the focus has moved"
    names = [name for words in said if words.startswith("New: ") for name in words[5:].split(". ")[0].split(", ")]
    assert names and len(names) == len(set(names)), f"each partner is announced once: {said}"
    assert page.locator(".pending").count() == 0
    assert seen and len(seen) == len(set(seen)), "each offer is seen once"
    ids = cards.evaluate_all("cards => cards.map(card => card.id)")
    page.reload()
    assert ids == page.locator(".terms > li").evaluate_all("cards => cards.map(card => card.id)"), "the order is another"


def scrolled(page, table):
    """Every offer that was scrolled past was seen."""
    seen = set()
    page.on("request", lambda request: request.url.endswith("/seen.gif") and seen.add(request.url))
    page.goto(table["partnerPageUrl"])
    cards = page.locator(".terms > li")
    for nth in range(cards.count()):
        cards.nth(nth).scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert len(seen) == cards.count(), f"{len(seen)} of {cards.count()} offers were seen"


def tidy(browser, table):
    """Whatever the window's width, nothing lies over anything else, and nobody has to scroll sideways."""
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(table["partnerPageUrl"])
        for untidy in page.evaluate(UNTIDY)[:5]:
            fault(f"offers at {width} pixels", untidy)
        page.close()


def ended(browser, table):
    """An offer whose time comes while the page is open stands no more, and is counted no more."""
    context = browser.new_context()
    context.clock.install()
    page = context.new_page()
    page.goto(table["partnerPageUrl"])
    state, links = page.locator("#status"), page.locator(".cards .go")
    expect(state).to_contain_text(COMPLETE, timeout=40_000)
    before, ending = links.count(), page.locator("[data-ends-in]").count()
    expect(state).to_have_text(f"{before} offers. {COMPLETE}")
    assert ending, "no offer ends while its page is open"
    context.clock.fast_forward(30 * 24 * 3600 * 1000)
    expect(page.locator(".over")).to_have_count(ending)
    expect(state).to_have_text(f"{before - ending} offers. {COMPLETE}")
    context.close()


def without_script(browser, table):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(table["partnerPageUrl"])
    expect(page.locator("#status")).to_contain_text("still deciding")
    before = page.locator(".terms > li").count()
    assert not page.locator("#sorting").is_visible(), "controls that do nothing"
    again = page.get_by_role("link", name="Look again")
    for _ in range(100):
        if not again.count():
            break
        page.wait_for_timeout(200)
        again.click() if again.count() else None
    expect(page.locator("#status")).to_contain_text(COMPLETE)
    assert page.locator(".terms > li").count() > before


def sorted_and_filtered(page, table):
    """The controls order the offers of each kind and leave out what is not wanted, and say so."""
    page.goto(table["partnerPageUrl"])
    expect(page.locator("#status")).to_contain_text(COMPLETE, timeout=40_000)
    every, shown = page.locator("#loans .terms > li"), page.locator(".terms > li:visible")
    groups = page.locator("#loans .cards > li h3").all_inner_texts()
    assert len(groups) == len(set(groups)), f"an institution has two cards: {groups}"
    at_first = every.evaluate_all("all => all.map(one => one.id)")

    def least(key):
        return page.locator("#loans .cards > li").evaluate_all(
            "(cards, key) => cards.map(card => Math.min(...[...card.querySelectorAll('.terms > li')].map(one => one.dataset[key] ?? 1e9)))", key
        )

    place = page.locator("#offers").bounding_box()
    for order, key in [("Lowest monthly payment", "payment"), ("Best rate", "rate"), ("Shortest term", "months")]:
        page.get_by_label("Sort by").select_option(label=order)
        assert least(key) == sorted(least(key)), f"{order}: {least(key)}"
    page.get_by_label("Sort by").select_option(label="Best match")
    assert every.evaluate_all("all => all.map(one => one.id)") == at_first, "the first order does not come back"

    total = page.locator(".terms > li").count()
    term = page.locator("[name=term] option").nth(1).text_content()
    page.locator("[name=term]").select_option(label=term)
    assert set(shown.evaluate_all("all => all.map(one => one.dataset.term)")) == {term}
    expect(page.locator("#news")).to_have_text(f"Showing {shown.count()} of {total} offers.")
    assert page.locator("#offers").bounding_box()["y"] == place["y"], "the offers jump"
    page.get_by_role("button", name="Show all").click()
    expect(shown).to_have_count(total)


def framed(browser, table, out):
    """A site that the operator allows shows the page, at its height, and no other does."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    html = f"""<h1>Shop</h1><iframe src="{table["embedUrl"]}?return=http://shop.example/" title="Your offers" width="100%" height="600"></iframe>
      <script>addEventListener("message", ({{ source, data }}) => {{
        const frame = document.querySelector("iframe");
        if (source === frame.contentWindow && data.offerdHeight) frame.height = data.offerdHeight;
      }})</script>"""
    context.route("http://*.example/", lambda route: route.fulfill(body=html, content_type="text/html"))
    page = context.new_page()
    page.goto("http://shop.example/")
    expect(page.frame_locator("iframe").locator(".cards > li").first).to_be_visible()
    expect(page.locator("iframe")).not_to_have_attribute("height", "600")
    inside = page.frames[1].evaluate("document.documentElement.scrollHeight - innerHeight")
    assert abs(inside) <= 1, f"the frame scrolls by {inside}"
    page.screenshot(path=out / "offers_framed-phone.png")
    page.goto("http://other.example/")
    page.wait_for_load_state("networkidle")
    assert not page.frames[1].locator(".cards").count(), "another site shows the page"


def main():
    api, token, leads, screenshots = sys.argv[1:]
    out = pathlib.Path(screenshots)
    out.mkdir(parents=True, exist_ok=True)
    everything = submit(api, token, leads, "everything")
    cards = submit(api, token, leads, "credit_card")
    missing = f"{api}/offers/0193a7b2-1c7e-8d5a-9c11-2f6c5a0e4b77"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        here = "start"
        scrolled(watched(browser.new_context(), lambda: "scrolled"), cards)
        without_script(browser, slow(api, token, leads))
        framed(browser, everything, out)
        sorted_and_filtered(watched(browser.new_context(), lambda: "sorted"), everything)
        ended(browser, submit(api, token, leads, "mortgage_purchase"))
        tidy(browser, everything)
        for scheme, width, height in LOOKS:
            context = browser.new_context(
                color_scheme="dark" if scheme == "dark" else "light",
                viewport={"width": width, "height": height},
                device_scale_factor=2 if scheme == "phone" else 1,
                # An offer that is still fading in has no colours to be judged by.
                reduced_motion="reduce",
            )
            page = watched(context, lambda: here)
            here = f"offers that arrive ({scheme})"
            arriving(page, slow(api, token, leads), out, scheme)
            for name, address in [
                ("offers", everything["partnerPageUrl"]),
                ("offers_cards", cards["partnerPageUrl"]),
                ("offers_embed", cards["embedUrl"]),
            ]:
                here = f"{name} ({scheme})"
                page.goto(address)
                expect(page.locator("#status")).to_contain_text(COMPLETE, timeout=40_000)
                for summary in page.locator("summary").all()[:1]:
                    summary.click()
                look(page, here, [])
                page.screenshot(path=out / f"{name}-{scheme}.png", full_page=True)
            context.close()
            # What is answered with 404 is a complaint of the browser; the page is looked at all the same.
            page = browser.new_context(color_scheme="dark" if scheme == "dark" else "light").new_page()
            assert page.goto(missing).status == 404
            look(page, f"a page that is not there ({scheme})", [])
            page.screenshot(path=out / f"offers_missing-{scheme}.png")
        browser.close()
    print(f"{len(faults)} faults; screenshots in {out}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
