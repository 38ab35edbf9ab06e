// Sends a lead as any client would, and shows its rate table as the event stream tells of it.
"use strict";

const form = document.getElementById("lead");
const status = document.getElementById("status");
const lists = { pending: byId("pending"), faults: byId("faults"), offers: byId("offers") };

// Nobody: what a whole person tells beside the form.
const PERSON = {
  personalInformation: {
    firstName: "Maren", lastName: "Tolliver", email: "maren.tolliver@example.com", primaryPhone: "2065550143",
    address1: "4127 Fremont Avenue N", city: "Seattle", zipcode: "98103", dateOfBirth: "1987-04-19", ssn: "536-22-8714",
    citizenshipStatus: "citizen", monthsAtAddress: 41,
  },
  mortgageInformation: { propertyStatus: "rent" },
  financialInformation: {
    employmentStatus: "employed_full_time", employmentPayFrequency: "biweekly", annualIncome: 68500, monthlyNetIncome: 4350,
    monthlyDebt: 640, monthlyHousingPayment: 1450, creditCardDebt: 9300, bankAccountType: "checking",
  },
  employmentInformation: { employerName: "Puget Tile & Stone", monthsEmployed: 55, directDeposit: true },
  legalInformation: { consentsToFcra: true, consentsToTcpa: true },
  educationInformation: { educationLevel: "bachelors", graduationDate: "2009-06-12" },
};

// What is asked for beside, by product.
const WISHES = {
  loan: (fields) => ({ loanInformation: { purpose: fields.purpose, loanAmount: Number(fields.amount) } }),
  credit_card: () => ({}),
  savings: () => ({}),
  mortgage: (fields) => ({
    mortgageInformation: {
      mortgageType: "purchase", propertyType: "single_family", propertyStatus: "rent", occupancyType: "primary",
      propertyValue: 565000, mortgageAmount: 452000, downPaymentAmount: 113000, numUnits: 1, propertyState: fields.state,
    },
  }),
};

let shown = new Set();
let running = null;

byId("amount").addEventListener("input", (event) => {
  byId("amount-shown").textContent = dollars(Number(event.target.value));
});
form.addEventListener("change", (event) => {
  if (event.target.name === "product") fit();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
bringToken();
fit();

// A token after the `#` of the address is not sent to anyone; it goes into the form and out of the address.
function bringToken() {
  const token = location.hash.slice(1);
  if (!token) return;
  form.elements.token.value = decodeURIComponent(token);
  history.replaceState(null, "", location.pathname + location.search);
}

// Only what is asked about the chosen product.
function fit() {
  const product = form.elements.product.value;
  for (const field of form.querySelectorAll("[data-for]")) field.hidden = field.dataset.for !== product;
}

async function submit() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const fields = Object.fromEntries(new FormData(form));
  const lead = leadOf(fields);
  const headers = { Authorization: `Bearer ${fields.token.trim()}`, "Content-Type": "application/json" };
  const button = form.querySelector("button");
  begin(lead);
  const began = performance.now();
  button.disabled = true;
  try {
    const answer = await fetch("leads/rateTables", { method: "POST", headers, body: JSON.stringify(lead), signal });
    if (!answer.ok) return refuse(await answer.json());
    const table = await answer.json();
    show(table, began);
    if (table.pendingResponses.length > 0) await follow(table.uuid, headers, began, signal);
  } catch (error) {
    if (error.name !== "AbortError") refuse([{ message: `The daemon cannot be reached: ${error.message}` }]);
  } finally {
    if (!signal.aborted) button.disabled = false;
  }
}

function leadOf(fields) {
  const person = fields.person ? PERSON : {};
  const wish = WISHES[fields.product](fields);
  return {
    productTypes: [fields.product],
    ...person,
    ...wish,
    personalInformation: { ...person.personalInformation, state: fields.state },
    mortgageInformation: { ...person.mortgageInformation, ...wish.mortgageInformation },
    creditInformation: { providedCreditRating: fields.credit },
  };
}

// Reads the table's event stream to its end. `EventSource` cannot send a token, so the stream is read by hand.
async function follow(uuid, headers, began, signal) {
  const answer = await fetch(`originator/rateTables/${uuid}/events`, { headers, signal });
  if (!answer.ok) return refuse(await answer.json());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) show(JSON.parse(data.slice(6)), began);
    }
  }
}

function begin(lead) {
  shown = new Set();
  for (const list of Object.values(lists)) list.replaceChildren();
  status.textContent = "Asking…";
  byId("sent").textContent = `POST leads/rateTables\n\n${JSON.stringify(lead, null, 2)}`;
  byId("wire").hidden = false;
}

function refuse(faults) {
  status.textContent = "The lead was not taken.";
  lists.faults.replaceChildren(...faults.map((fault) => {
    const attribute = fault.attribute ? [element("code", "", fault.attribute), " "] : [];
    return element("li", "", ...attribute, fault.message ?? "No reason was given.");
  }));
}

function show(table, began) {
  const offers = offersOf(table);
  const pending = table.pendingResponses;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const count = `${offers.length} offer${offers.length === 1 ? "" : "s"}`;
  status.textContent = pending.length
    ? `${count} after ${seconds} s, ${pending.length} still deciding`
    : `${count}, complete after ${seconds} s`;
  lists.pending.replaceChildren(...pending.map((one) => element("li", "", one.partner?.name ?? one.name ?? "A partner")));
  lists.offers.replaceChildren(...offers.map(card));
  offers.forEach((offer) => shown.add(offer.uuid));
}

// Every offer in the words of a card, the best first.
function offersOf(table) {
  const all = [
    ...table.loanOffers.map((offer) => ({
      ...common(offer, offer.originator.name),
      about: `up to ${dollars(offer.maxAmount)}${offer.termLength ? `, ${offer.termLength} ${offer.termUnit}s` : ""}`,
      rate: span(offer.minApr, offer.maxApr), unit: "APR",
      beside: beside(amounts(offer.minMonthlyPayment, offer.maxMonthlyPayment), "a month"),
      firm: firmness(offer),
    })),
    ...table.creditCardOffers.map((offer) => ({
      ...common(offer, offer.partner.name),
      about: offer.details.cardName ?? "",
      rate: span(offer.details.minPurchaseApr, offer.details.maxPurchaseApr), unit: "APR",
      beside: offer.details.maxAnnualFee
        ? beside(amounts(offer.details.minAnnualFee, offer.details.maxAnnualFee), "a year")
        : "no annual fee",
      firm: firmness(offer.details),
    })),
    ...table.savingsOffers.map((offer) => ({
      ...common(offer, offer.partner.name),
      about: offer.details.name ?? "", rate: span(offer.details.annualPercentYield), unit: "APY", beside: "", firm: "",
    })),
    ...table.mortgageOffers.map((offer) => ({
      ...common(offer, offer.partner.name),
      about: words(offer.details.loanType ?? ""), rate: span(offer.details.apr), unit: "APR",
      beside: beside(amounts(offer.details.monthlyPayment), "a month"), firm: "",
    })),
    ...table.specialOffers.map((offer) => ({
      ...common(offer, offer.partnerName), about: offer.name, rate: "", unit: "", beside: "", firm: "",
    })),
  ];
  return all.sort((one, other) => other.score - one.score);
}

function common(offer, institution) {
  const kind = words(offer.productSubType ?? "");
  return { uuid: offer.uuid, url: offer.url, score: offer.recommendationScore ?? 0, institution, kind };
}

function card(offer) {
  const initials = offer.institution.split(/\s+/).slice(0, 2).map((word) => word[0]).join("");
  const tone = [...offer.institution].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 6;
  const sign = element("span", `sign t${tone}`, initials);
  sign.setAttribute("aria-hidden", "true");
  const firm = offer.firm ? [element("span", "firm", offer.firm)] : [];
  const about = [offer.kind, offer.about].filter(Boolean).join(", ");
  const who = element("div", "who", element("strong", "", offer.institution), ...firm, element("span", "", about));
  const rate = element("div", "rate", element("b", "", offer.rate ? `${offer.rate} ${offer.unit}` : ""), element("span", "", offer.beside));
  const go = element("a", "go", "See offer");
  go.href = offer.url;
  go.target = "_blank";
  go.rel = "noopener noreferrer";
  go.setAttribute("aria-label", `See the offer of ${offer.institution}`);
  return element("li", shown.has(offer.uuid) ? "" : "fresh", sign, who, rate, go);
}

function firmness(offer) {
  if (offer.preApproved) return "pre-approved";
  if (offer.preQualified) return "pre-qualified";
  return offer.preSelected ? "pre-selected" : "";
}

function span(low, high = low) {
  const figure = (value) => `${Number(value).toFixed(2)} %`;
  if (low == null && high == null) return "";
  if (low == null || high == null || low === high) return figure(low ?? high);
  return `${Number(low).toFixed(2)}–${figure(high)}`;
}

// One amount or, of an offer that is a range, its least and its greatest.
function amounts(low, high = low) {
  if (low == null && high == null) return "";
  if (low == null) return `up to ${dollars(high)}`;
  return high == null || low === high ? dollars(low) : `${dollars(low)}–${dollars(high)}`;
}

function beside(figure, unit) {
  return figure && `${figure} ${unit}`;
}

function dollars(amount) {
  return Number(amount).toLocaleString("en-US", { style: "currency", currency: "USD", maximumFractionDigits: amount % 1 ? 2 : 0 });
}

function words(name) {
  return name.replaceAll("_", " ");
}

function byId(id) {
  return document.getElementById(id);
}

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}
