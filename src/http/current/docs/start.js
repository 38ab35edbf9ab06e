"use strict";

// Light or dark, as the reader has it.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Nothing outside is asked: not even the validator that Swagger UI would ask about the document.
SwaggerUIBundle({
  url: "openapi-all.json",
  dom_id: "#interface",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  validatorUrl: null,
});
