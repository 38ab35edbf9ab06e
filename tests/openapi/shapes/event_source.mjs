// A standard EventSource: it comes back after every end with the last id that it has seen, and must stop for good once the
// table is complete.
import assert from "node:assert/strict";
import { EventSource } from "eventsource";

const [api] = process.argv.slice(2);
const authorization = { Authorization: `Bearer ${process.env.OFFERD_TOKEN}` };
const lead = { productTypes: ["loan"], loanInformation: { loanAmount: 10000 }, clientTags: { sandbox: ["slow"] } };
lead.creditInformation = { providedCreditRating: "good" };
const submitted = await fetch(`${api}/leads/rateTables`, {
    method: "POST",
    headers: { ...authorization, "Content-Type": "application/json" },
    body: JSON.stringify(lead),
});
const { uuid } = await submitted.json();

const answers = [];
const source = new EventSource(`${api}/originator/rateTables/${uuid}/events`, {
    fetch: async (url, init) => {
        const answer = await fetch(url, { ...init, headers: { ...init.headers, ...authorization } });
        answers.push([answer.status, init.headers["Last-Event-ID"]]);
        return answer;
    },
});
const versions = [];
source.addEventListener("rateTable", (event) => versions.push({ id: event.lastEventId, table: JSON.parse(event.data) }));
await new Promise((stopped) => {
    source.addEventListener("error", () => source.readyState === EventSource.CLOSED && stopped());
});

const last = versions.at(-1);
assert.deepEqual(last.table.pendingResponses, []);
assert.ok(last.table.loanOffers.length > 0);
assert.deepEqual(answers, [[200, undefined], [204, last.id]], "it came back once, and stopped");
console.log("an EventSource has every version, and stops");
