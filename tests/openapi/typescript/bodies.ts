// Leads as a client writes them. `tsc --strict` lets the right ones pass, and must refuse every wrong one: a line behind
// `@ts-expect-error` that compiles is an error itself.
import type { components } from "./offerd.js";

type Lead = components["schemas"]["LeadCreateData"];

export const right: Lead[] = [
    {},
    {
        productTypes: ["loan", "credit_card"],
        personalInformation: { firstName: "Jane", state: "CA", dateOfBirth: "1987-03-12", activeMilitary: false },
        loanInformation: { purpose: "debt_consolidation", loanAmount: 15000 },
        legalInformation: { consentsToFcra: true, fcraLanguage: "I agree." },
        refinanceLoans: [{ interestRate: 6.8 }],
        clientTags: { campaign: ["autumn"] },
        autoInsuranceInformation: { numberOfVehicles: 1, vehiclesInformation: [{ year: 2021 }] },
    },
    // Null for what nobody filled in.
    { loanInformation: { purpose: null, loanAmount: null }, creditInformation: null, productTypes: null },
];

export const wrong: Lead[] = [
    // @ts-expect-error: an amount in words
    { loanInformation: { loanAmount: "lots" } },
    // @ts-expect-error: an amount as text
    { loanInformation: { loanAmount: "15000" } },
    // @ts-expect-error: blanks
    { loanInformation: { loanAmount: "" } },
    // @ts-expect-error: no value of the enumeration
    { loanInformation: { purpose: "yacht" } },
    // @ts-expect-error: no product type
    { productTypes: ["yacht"] },
    // @ts-expect-error: no list
    { productTypes: "loan" },
    // @ts-expect-error: a flag as text
    { legalInformation: { consentsToFcra: "true" } },
    // @ts-expect-error: a number as text, within a list
    { refinanceLoans: [{ interestRate: "6.8" }] },
    // @ts-expect-error: text for a section
    { personalInformation: "Jane" },
    // @ts-expect-error: no attribute
    { loanInformation: { loanAmmount: 15000 } },
];
