// A page of another origin that calls the older edition with jQuery: the browser asks first, and reads what it may.
import assert from "node:assert/strict";
import { subscribe } from "node:diagnostics_channel";
import jquery from "jquery";
import { JSDOM } from "jsdom";

const [api] = process.argv.slice(2);
const { window } = new JSDOM("", { url: "http://shop.example/" });
const $ = jquery(window);
const methods = [];
subscribe("http.client.request.start", ({ request }) => methods.push(request.method));

/** The answer as the page sees it, whatever its status. */
function call(method, path, body) {
    const request = $.ajax({
        url: api + path,
        method,
        headers: { Accept: "application/vnd.acme.v1+json", Authorization: `Bearer ${process.env.OFFERD_TOKEN}` },
        contentType: "application/json; charset=utf-8",
        data: body === undefined ? undefined : JSON.stringify(body),
        dataType: "json",
        xhrFields: { withCredentials: true },
    });
    const seen = () => ({ status: request.status, json: request.responseJSON, etag: request.getResponseHeader("ETag") });
    return new Promise((resolve) => request.always(() => resolve(seen())));
}

const submitted = await call("POST", "/leads/rateTables", {
    productTypes: ["loan", "credit_card"],
    loanInformation: { purpose: "auto", loanAmount: 10000 },
    creditInformation: { providedCreditRating: "good" },
    creditCardInformation: { cardBenefits: ["travel_incentives"] },
    clientTags: { sandbox: ["slow"] },
});
assert.equal(submitted.status, 201, JSON.stringify(submitted));
assert.ok(methods.includes("OPTIONS"), "the browser asked whether it may");
assert.ok(submitted.etag, "the page may read the tag");

let table = submitted.json;
assert.ok(table.pendingOriginators.length > 0, "slow lenders are outstanding");
while (table.pendingResponses.length > 0) {
    table = (await call("GET", `/originator/rateTables/${table.uuid}`)).json;
}
assert.deepEqual(table.pendingOriginators, []);
assert.ok(table.loanOffers.length > 0);
for (const offer of table.creditCardOffers) assert.equal(typeof offer.details.annualFee, "number");

const refused = await call("POST", "/leads/rateTables", { loanInformation: { purpose: "auto_purchase" } });
assert.deepEqual([refused.status, refused.json[0].attribute], [400, "loanInformation.purpose"]);
const unknown = await call("GET", "/originator/rateTables/00000000-0000-0000-0000-000000000000");
assert.equal(unknown.status, 404, "a page of another origin reads refusals too");
window.close();
console.log("a page with jQuery has its offers from the older edition");
