// A lead of every section, by the client that openapi-generator makes; its table is read until it is complete.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Configuration, LeadCreateDataFromJSON, RateTablesApi } from "./generated/index.js";

const accessToken = process.env["OFFERD_TOKEN"] ?? "";
const tables = new RateTablesApi(new Configuration({ basePath: process.env["API"] ?? "", accessToken }));
const leadCreateData = LeadCreateDataFromJSON(JSON.parse(readFileSync(process.argv[2]!, "utf8")));
assert.ok(leadCreateData.personalInformation?.dateOfBirth instanceof Date);
let table = await tables.submitLead({ leadCreateData });
while (table.pendingResponses.length > 0) {
    table = await tables.getRateTable({ uuid: table.uuid, prefer: "wait=20" });
}
assert.ok(table.loanOffers.length > 0 && table.creditCardOffers.length > 0 && table.savingsOffers.length > 0);
console.log("a lead of every section works by openapi-generator in TypeScript");
