// The whole flow by openapi-fetch, with the types that openapi-typescript makes of the document.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient from "openapi-fetch";
import type { components, paths } from "./offerd.js";

type Lead = components["schemas"]["LeadCreateData"];
type Table = components["schemas"]["RateTable"];

const [api, integrations] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${process.env["OFFERD_TOKEN"]}` };
const offerd = createClient<paths>({ baseUrl: api!, headers });

const slow: Lead = {
    productTypes: ["loan", "credit_card"],
    personalInformation: { state: "WA" },
    loanInformation: { purpose: "debt_consolidation", loanAmount: 10000 },
    creditInformation: { providedCreditRating: "good" },
    clientTags: { sandbox: ["slow"] },
};

function got<T>(data: T | undefined, error: unknown): T {
    assert.ok(data !== undefined, `an answer was wanted, got ${JSON.stringify(error)}`);
    return data;
}

/** A submit that is sent again under its key is taken once. */
async function submitted(): Promise<{ table: Table; etag: string }> {
    const header = { "Idempotency-Key": randomUUID() };
    const send = () => offerd.POST("/leads/rateTables", { params: { header }, body: slow });
    const first = await send();
    const table = got(first.data, first.error);
    assert.ok(table.pendingResponses.length > 0, "slow partners are outstanding");
    const again = await send();
    assert.equal(got(again.data, again.error).uuid, table.uuid);
    return { table, etag: first.response.headers.get("etag") ?? "" };
}

/** Waits for each change, until nobody is outstanding. */
async function polled(table: Table, etag: string): Promise<Table> {
    while (table.pendingResponses.length > 0) {
        const header = { Prefer: "wait=20", "If-None-Match": etag };
        const params = { path: { uuid: table.uuid }, header };
        const { data, error, response } = await offerd.GET("/originator/rateTables/{uuid}", { params });
        if (response.status === 304) continue;
        table = got(data, error);
        etag = response.headers.get("etag") ?? "";
    }
    const params = { path: { uuid: table.uuid }, header: { "If-None-Match": etag } };
    const unchanged = await offerd.GET("/originator/rateTables/{uuid}", { params });
    assert.equal(unchanged.response.status, 304, "a complete table never changes");
    return table;
}

/** Every version of the table, until it is complete. */
async function streamed(uuid: string): Promise<Table[]> {
    const params = { path: { uuid } };
    const { data, error } = await offerd.GET("/originator/rateTables/{uuid}/events", { params, parseAs: "stream" });
    const events = got(data ?? undefined, error)
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream());
    const versions: Table[] = [];
    for await (const event of events) versions.push(JSON.parse(event.data) as Table);
    return versions;
}

/** Each page goes on where the one before ended. */
async function feeds(): Promise<void> {
    const newer = { "API-Version": "2025-04-01" } as const;
    const sinceTimestamp = "2026-01-01T00:00:00Z";
    const first = await offerd.GET("/supplyAnalytics/leadEvents", {
        params: { header: newer, query: { sinceTimestamp } },
    });
    const paginationToken = new URL(got(first.data, first.error).nextUrl).searchParams.get("paginationToken");
    assert.ok(paginationToken);
    const second = await offerd.GET("/supplyAnalytics/leadEvents", {
        params: { header: newer, query: { paginationToken } },
    });
    const seen = new Set(got(first.data, first.error).data.map((event) => event.id));
    assert.ok(got(second.data, second.error).data.every((event) => !seen.has(event.id)), "nothing is told twice");

    const older = await offerd.GET("/supplyAnalytics/leadPayouts", { params: { query: { timestamp: sinceTimestamp } } });
    const timestamp = new URL(got(older.data, older.error).nextUrl).searchParams.get("timestamp");
    assert.ok(timestamp);
    const next = await offerd.GET("/supplyAnalytics/leadPayouts", { params: { query: { timestamp } } });
    assert.ok(Array.isArray(got(next.data, next.error).data));
}

async function faults(): Promise<void> {
    const body: Lead = { personalInformation: { dateOfBirth: "yesterday" }, loanInformation: { loanAmount: -1 } };
    const { error } = await offerd.POST("/leads/rateTables", { body });
    const attributes = (error ?? []).map((fault) => fault.attribute).sort();
    assert.deepEqual(attributes, ["loanInformation.loanAmount", "personalInformation.dateOfBirth"]);
}

const { table, etag } = await submitted();
const versions = streamed(table.uuid);
const complete = await polled(table, etag);
assert.ok(complete.loanOffers.length > 0 && complete.creditCardOffers.length > 0);
assert.deepEqual((await versions).at(-1), complete, "a stream ends with the complete table");
const lead = await offerd.GET("/leads/{uuid}", { params: { path: { uuid: table.leadUuid } } });
assert.equal(got(lead.data, lead.error).isTest, true);
const blocking = createClient<paths>({ baseUrl: integrations!, headers });
const whole = await blocking.POST("/blocking/leads/rateTables", { body: slow });
assert.deepEqual(got(whole.data, whole.error).pendingResponses, []);
await feeds();
await faults();
console.log("the whole flow works by openapi-fetch");
