// The whole flow by the client that @hey-api/openapi-ts generates: functions named by the document, streams included.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createClient } from "./hey/client/index.js";
import {
    getLead,
    getRateTable,
    listLeadEvents,
    streamRateTable,
    submitLead,
    submitLeadAndWait,
} from "./hey/sdk.gen.js";
import type { LeadCreateData, RateTable } from "./hey/types.gen.js";

const [api, integrations] = process.argv.slice(2);
const auth = process.env["OFFERD_TOKEN"] ?? "";
const client = createClient({ baseUrl: api!, auth });

const slow: LeadCreateData = {
    productTypes: ["loan", "savings"],
    personalInformation: { state: "WA" },
    loanInformation: { purpose: "debt_consolidation", loanAmount: 10000 },
    creditInformation: { providedCreditRating: "good" },
    clientTags: { sandbox: ["slow"] },
};

function got<T>(data: T | undefined, error: unknown): T {
    assert.ok(data !== undefined, `an answer was wanted, got ${JSON.stringify(error)}`);
    return data;
}

const key = { "Idempotency-Key": randomUUID() };
const first = await submitLead({ client, body: slow, headers: key });
let table: RateTable = got(first.data, first.error);
const again = await submitLead({ client, body: slow, headers: key });
assert.equal(got(again.data, again.error).uuid, table.uuid, "a submit that is sent again is taken once");

const path = { uuid: table.uuid };
const versions: RateTable[] = [];
const streaming = (async () => {
    const { stream } = await streamRateTable({ client, path, sseMaxRetryAttempts: 1 });
    for await (const event of stream) versions.push(event as RateTable);
})();

let etag = first.response?.headers.get("etag") ?? "";
while (table.pendingResponses.length > 0) {
    const { data, error, response } = await getRateTable({
        client,
        path,
        headers: { Prefer: "wait=20", "If-None-Match": etag },
    });
    if (response?.status === 304) continue;
    table = got(data, error);
    etag = response?.headers.get("etag") ?? "";
}
assert.ok(table.loanOffers.length > 0 && table.savingsOffers.length > 0);
await streaming;
assert.deepEqual(versions.at(-1), table, "a stream ends with the complete table");

const lead = await getLead({ client, path: { uuid: table.leadUuid } });
assert.equal(got(lead.data, lead.error).uuid, table.leadUuid);

const headers = { "API-Version": "2025-04-01" } as const;
const page = await listLeadEvents({ client, headers, query: { sinceTimestamp: "2026-01-01T00:00:00Z" } });
const paginationToken = new URL(got(page.data, page.error).nextUrl).searchParams.get("paginationToken") ?? "";
const next = await listLeadEvents({ client, headers, query: { paginationToken } });
assert.ok(Array.isArray(got(next.data, next.error).data), "a feed goes on at its token");

const refused = await submitLead({ client, body: { loanInformation: { loanAmount: -1 } } });
const faults = refused.error as { attribute?: string }[] | undefined;
assert.deepEqual(faults?.map((fault) => fault.attribute), ["loanInformation.loanAmount"]);

const blocking = createClient({ baseUrl: integrations!, auth });
const whole = await submitLeadAndWait({ client: blocking, body: slow, baseUrl: integrations! });
assert.deepEqual(got(whole.data, whole.error).pendingResponses, []);
console.log("the whole flow works by the client of @hey-api/openapi-ts");
