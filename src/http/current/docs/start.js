"use strict";

// Follows the reader's colour scheme.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Contacts no other host: disables the validator that Swagger UI would call for the document.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#interface",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  persistAuthorization: true,
  validatorUrl: null,
});
