"use strict";

// Nothing outside is asked: not even the validator that Swagger UI would ask about the document.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#interface",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  validatorUrl: null,
});
