/** Answers OpenAPI in both versions. This file is loaded on the first request for OpenAPI. */
import type { Reply } from "#http/api-request.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { OpenApiV2 } from "./openapi/v2.ts";
import { type OpenApiOptions, type OpenApiRequest, OpenApiV3 } from "./openapi/v3.ts";

export class OpenApi {
  readonly #v2: OpenApiV2;
  readonly #v3: OpenApiV3;

  constructor(options: OpenApiOptions) {
    this.#v2 = new OpenApiV2(options);
    this.#v3 = new OpenApiV3(options);
  }

  /** Returns the answer for a path of OpenAPI. */
  reply(request: OpenApiRequest): MaybePromise<Reply> {
    return (request.path === "/openapi/v2" ? this.#v2 : this.#v3).reply(request);
  }
}
