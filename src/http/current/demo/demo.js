// Submits a lead like any client, and shows its rate table from the event stream. The offers themselves are those of
// its offer page, shown by that page's script, `offers.js`.
"use strict";

const form = document.getElementById("lead");
const lists = { pending: byId("pending"), faults: byId("faults") };

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

// Narrow: the results are below the form. Broad: the request and the answer fit beside them.
const NARROW = matchMedia("(max-width: 52rem)");
const BROAD = matchMedia("(min-width: 80rem)");

let running = null;

for (const range of form.querySelectorAll("input[type=range]")) {
  range.addEventListener("input", () => { range.nextElementSibling.textContent = dollars(Number(range.value)); });
}
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
    follow(`offers/${table.partnerPageUrl.split("/").pop()}/events`);
    if (table.pendingResponses.length > 0) await poll(table.uuid, headers, began, signal);
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
async function poll(uuid, headers, began, signal) {
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
  source?.close();
  for (const list of [offers, ...Object.values(lists)]) list.replaceChildren();
  tell("Asking…", true);
  byId("took").textContent = "";
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

// Says how far it is. The controls have their place while offers may come.
function tell(words, pending) {
  state.textContent = news.textContent = words;
  state.classList.toggle("pending", pending);
  arrange();
}

function refuse(faults) {
  tell("The lead was not taken.", false);
  byId("answer").textContent = JSON.stringify(faults, null, 2);
  lists.faults.replaceChildren(...faults.map((fault) => {
    const attribute = fault.attribute ? [element("code", fault.attribute), " "] : [];
    return element("li", ...attribute, fault.message ?? "No reason was given.");
  }));
}

function show(table, began) {
  const pending = table.pendingResponses;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  byId("took").textContent = pending.length ? `${seconds} s` : `Complete after ${seconds} s`;
  lists.pending.replaceChildren(...pending.map((one) => element("li", one.partner.name)));
  byId("answer").textContent = JSON.stringify(table, null, 2);
}

function dollars(amount) {
  return Number(amount).toLocaleString("en-US", { style: "currency", currency: "USD", maximumFractionDigits: amount % 1 ? 2 : 0 });
}

function byId(id) {
  return document.getElementById(id);
}

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}
