/** Parts that both OpenAPI versions share. */

/** The title and the release of the API. */
export const apiInfo = { title: "Binnacle", version: "1.32" } as const;

/** The descriptions of status codes, which the formats require. */
export const answerTexts = { 200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized" } as const;

/** The way of authentication: a token in a header. */
export const bearerToken = {
  description: "A bearer token",
  type: "apiKey",
  name: "authorization",
  in: "header",
} as const;
