// Submits a lead like any client, and shows its rate table from the event stream.
"use strict";

const form = document.getElementById("lead");
const status = document.getElementById("status");
const lists = { pending: byId("pending"), faults: byId("faults"), offers: byId("offers") };

// A fictitious person: the sections of a complete lead that the form does not ask for.
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

// Additional sections, by product.
const WISHES = {
  loan: (fields) => ({ loanInformation: { purpose: fields.purpose, loanAmount: Number(fields.amount) } }),
  credit_card: () => ({}),
  savings: (fields) => ({ savingsInformation: { minDepositAmount: Number(fields.deposit) } }),
  mortgage: (fields) => ({
    mortgageInformation: {
      mortgageType: "purchase", propertyType: "single_family", propertyStatus: "rent", occupancyType: "primary",
      propertyValue: Number(fields.price), mortgageAmount: fields.price * 4 / 5, downPaymentAmount: fields.price / 5,
      numUnits: 1, propertyState: fields.state,
    },
  }),
};
const EVERYTHING = Object.keys(WISHES);

// Sort orders of the offers; offers without the figure come last.
const ORDERS = {
  score: (one, other) => other.score - one.score,
  rate: (one, other) => one.order.rate - other.order.rate || ORDERS.score(one, other),
  cost: (one, other) => one.order.cost - other.order.cost || ORDERS.score(one, other),
  institution: (one, other) => one.institution.localeCompare(other.institution) || ORDERS.score(one, other),
};

// Narrow: the results are below the form. Broad: the request and the answer fit beside them.
const NARROW = matchMedia("(max-width: 52rem)");
const BROAD = matchMedia("(min-width: 80rem)");

let shown = new Set();
let running = null;
let offers = [];

for (const range of form.querySelectorAll("input[type=range]")) {
  range.addEventListener("input", () => { range.nextElementSibling.textContent = dollars(Number(range.value)); });
}
byId("sort").addEventListener("change", arrange);
for (const button of document.querySelectorAll(".copy")) {
  // Only secure pages, or those of this machine, may write to the clipboard.
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", () => copy(button));
}
form.addEventListener("change", (event) => {
  if (event.target.name === "product") fit();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
addEventListener("hashchange", bringToken);
bringToken();
fit();

// A token after the `#` of the address is not sent to anyone; it moves from the address into the form.
function bringToken() {
  const token = location.hash.slice(1);
  if (!token) return;
  form.elements.token.value = decodeURIComponent(token);
  history.replaceState(null, "", location.pathname + location.search);
}

// Shows only the fields of the chosen product.
function fit() {
  const product = form.elements.product.value;
  for (const field of form.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(product);
}

async function submit() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const fields = Object.fromEntries(new FormData(form));
  const lead = leadOf(fields);
  const headers = { Authorization: `Bearer ${fields.token.trim()}`, "Content-Type": "application/json" };
  const button = form.querySelector("button");
  begin(lead, headers);
  const began = performance.now();
  button.disabled = true;
  try {
    const answer = await fetch("leads/rateTables", { method: "POST", headers, body: JSON.stringify(lead), signal });
    if (!answer.ok) return refuse(await answer.json());
    const table = await answer.json();
    const again = curl(`originator/rateTables/${table.uuid}`, headers);
    byId("call").textContent += `\n\n# Again, about once a second, until pendingResponses is empty:\n${again}`;
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
  const productTypes = fields.product === "all" ? EVERYTHING : [fields.product];
  const wish = Object.assign({}, ...productTypes.map((product) => WISHES[product](fields)));
  return {
    productTypes,
    ...person,
    ...wish,
    personalInformation: { ...person.personalInformation, state: fields.state },
    mortgageInformation: { ...person.mortgageInformation, ...wish.mortgageInformation },
    creditInformation: { providedCreditRating: fields.credit },
  };
}

// Reads the table's event stream to its end. `EventSource` cannot send a token, so the stream is parsed by
// hand.
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

function begin(lead, headers) {
  shown = new Set();
  offers = [];
  for (const list of Object.values(lists)) list.replaceChildren();
  status.textContent = "Asking…";
  byId("sorting").hidden = true;
  byId("call").textContent = curl("leads/rateTables", headers, lead);
  byId("answer").textContent = "";
  byId("wire").hidden = false;
  for (const details of byId("wire").querySelectorAll("details")) details.open ||= BROAD.matches;
  byId("results").classList.add("asked");
  if (NARROW.matches) goToResults();
}

// Scrolls to the results, and moves the focus for screen readers.
function goToResults() {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  byId("found").focus({ preventScroll: true });
  byId("results").scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
}

// The request as a shell command.
function curl(path, headers, body) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const told = body ? headers : { Authorization: headers.Authorization };
  const lines = [`curl -s ${quoted(new URL(path, document.baseURI).href)}`];
  for (const [name, value] of Object.entries(told)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body) lines.push(`-d ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(" \\\n  ");
}

async function copy(button) {
  const label = button.textContent;
  await navigator.clipboard.writeText(byId(button.dataset.of).textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 2000);
}

function refuse(faults) {
  status.textContent = "The lead was not taken.";
  byId("answer").textContent = JSON.stringify(faults, null, 2);
  lists.faults.replaceChildren(...faults.map((fault) => {
    const attribute = fault.attribute ? [element("code", "", fault.attribute), " "] : [];
    return element("li", "", ...attribute, fault.message ?? "No reason was given.");
  }));
}

function show(table, began) {
  offers = offersOf(table);
  const pending = table.pendingResponses;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const count = `${offers.length} offer${offers.length === 1 ? "" : "s"}`;
  status.textContent = pending.length
    ? `${count} after ${seconds} s, ${pending.length} still deciding`
    : `${count}, complete after ${seconds} s`;
  lists.pending.replaceChildren(...pending.map((one) => element("li", "", one.partner?.name ?? one.name ?? "A partner")));
  byId("sorting").hidden = offers.length < 2;
  byId("answer").textContent = JSON.stringify(table, null, 2);
  arrange();
}

// The offers in the chosen order.
function arrange() {
  lists.offers.replaceChildren(...offers.sort(ORDERS[byId("sort").value]).map(card));
  offers.forEach((offer) => shown.add(offer.uuid));
}

// Every offer as a card, with its sort keys: lower is better.
function offersOf(table) {
  return [
    ...table.loanOffers.map((offer) => ({
      ...common(offer, offer.originator.name, offer.originator.images[0]?.url),
      order: order(offer.minApr, offer.minMonthlyPayment),
      about: `up to ${dollars(offer.maxAmount)}${offer.termLength ? `, ${offer.termLength} ${offer.termUnit}s` : ""}`,
      rate: span(offer.minApr, offer.maxApr), unit: "APR",
      beside: beside(amounts(offer.minMonthlyPayment, offer.maxMonthlyPayment), "a month"),
      firm: firmness(offer),
    })),
    ...table.creditCardOffers.map((offer) => ({
      ...common(offer, offer.partner.name, offer.partner.imageUrl),
      order: order(offer.details.minPurchaseApr, offer.details.minAnnualFee ?? offer.details.maxAnnualFee ?? 0),
      about: offer.details.cardName ?? "",
      rate: span(offer.details.minPurchaseApr, offer.details.maxPurchaseApr), unit: "APR",
      beside: offer.details.maxAnnualFee
        ? beside(amounts(offer.details.minAnnualFee, offer.details.maxAnnualFee), "a year")
        : "no annual fee",
      firm: firmness(offer.details),
    })),
    ...table.savingsOffers.map((offer) => ({
      ...common(offer, offer.partner.name, offer.partner.imageUrl), order: order(-offer.details.annualPercentYield),
      about: offer.details.name ?? "", rate: span(offer.details.annualPercentYield), unit: "APY", beside: "", firm: "",
    })),
    ...table.mortgageOffers.map((offer) => ({
      ...common(offer, offer.partner.name, offer.partner.imageUrl),
      order: order(offer.details.apr, offer.details.monthlyPayment),
      about: words(offer.details.loanType ?? ""), rate: span(offer.details.apr), unit: "APR",
      beside: beside(amounts(offer.details.monthlyPayment), "a month"), firm: "",
    })),
    ...table.specialOffers.map((offer) => ({
      ...common(offer, offer.partnerName, offer.partnerImageUrl), order: order(),
      about: offer.name, rate: "", unit: "", beside: "", firm: "",
    })),
  ];
}

function common(offer, institution, logo) {
  const kind = words(offer.productSubType ?? "");
  return { uuid: offer.uuid, url: offer.url, score: offer.recommendationScore ?? 0, institution, kind, logo };
}

// An offer without a figure sorts last.
function order(rate, cost) {
  const figure = (value) => (value == null || Number.isNaN(Number(value)) ? Number.MAX_VALUE : Number(value));
  return { rate: figure(rate), cost: figure(cost) };
}

// The logo if the daemon serves it, since nothing is loaded from other hosts; else the initials.
function signOf({ institution, logo }) {
  const own = logo?.split("/samples/")[1];
  if (own) {
    const image = element("img", "sign");
    image.src = `samples/${own}`;
    image.alt = "";
    return image;
  }
  const initials = institution.split(/\s+/).slice(0, 2).map((word) => word[0]).join("");
  const tone = [...institution].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 6;
  const sign = element("span", `sign t${tone}`, initials);
  sign.setAttribute("aria-hidden", "true");
  return sign;
}

function card(offer) {
  const firm = offer.firm ? [element("span", "firm", offer.firm)] : [];
  const about = [offer.kind, offer.about].filter(Boolean).join(", ");
  const who = element("div", "who", element("strong", "", offer.institution), ...firm, element("span", "", about));
  const rate = element("div", "rate", element("b", "", offer.rate ? `${offer.rate} ${offer.unit}` : ""), element("span", "", offer.beside));
  const go = element("a", "go", "See offer");
  go.href = offer.url;
  go.target = "_blank";
  go.rel = "noopener noreferrer";
  go.setAttribute("aria-label", `See the offer of ${offer.institution}`);
  return element("li", shown.has(offer.uuid) ? "" : "fresh", signOf(offer), who, rate, go);
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

// One amount, or the range of an offer from minimum to maximum.
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
