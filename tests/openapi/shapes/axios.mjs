// A client made with axios, which takes every status but 2xx for a failure and asks for gzip by itself.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import axios from "axios";

const [api] = process.argv.slice(2);
const offerd = axios.create({ baseURL: api, headers: { Authorization: `Bearer ${process.env.OFFERD_TOKEN}` } });
const lead = {
    productTypes: ["loan"],
    loanInformation: { purpose: "debt_consolidation", loanAmount: 10000 },
    creditInformation: { providedCreditRating: "good" },
    clientTags: { sandbox: ["slow"] },
};

const headers = { "Idempotency-Key": randomUUID() };
const submit = () => offerd.post("/leads/rateTables", lead, { headers });
let { data: table, headers: told } = await submit();
assert.equal((await submit()).data.uuid, table.uuid, "a submit that is sent again is taken once");

const url = `/originator/rateTables/${table.uuid}`;
const held = (etag) => ({ headers: { Prefer: "wait=20", "If-None-Match": etag } });
while (table.pendingResponses.length > 0) {
    ({ data: table, headers: told } = await offerd.get(url, held(told.etag)));
}
assert.ok(table.loanOffers.length > 0);

const unchanged = await offerd.get(url, held(told.etag)).catch((error) => error.response);
assert.equal(unchanged.status, 304);
const refused = await offerd.post("/leads/rateTables", { productTypes: ["yacht"] }).catch((error) => error.response);
assert.equal(refused.status, 422);
assert.deepEqual(refused.data.map((fault) => fault.attribute), ["productTypes[0]"]);
const stranger = await axios.get(api + url).catch((error) => error.response);
assert.equal(stranger.status, 401);
console.log("a client made with axios has its offers");
