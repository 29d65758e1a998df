/**
 * Typed calls on a `Transport`: objects in, objects out, refusals as `ApiError`. The caller names the type that the
 * path answers with (`client.get<Secret>(path)`); without one, only what all objects have can be read and written.
 */
import type { DeleteOptions } from "#api/meta/v1.ts";
import {
  internalError,
  resourceNotFound,
  serviceUnavailable,
  type Status,
  StatusError,
  unauthorized,
} from "#meta/status-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";
import { ApiError } from "./api-error.ts";
import type { DeepPartial } from "./draft.ts";
import type { PageLength } from "./page-length.ts";
import { parseExactJson } from "./parse-json.ts";
import type { ReceivedEvent } from "./received-event.ts";
import type { ClientRequest, ClientResponse, Transport } from "./transport.ts";

/** One page of a collection. */
export interface ObjectList<T extends ApiObject = ApiObject> {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    /** The number of objects that follow, if the server sends it. */
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

/** Returns the items of a list. Servers written in Go may answer with `null` where there are none. */
export const itemsOf = <T>({ items }: { readonly items?: readonly T[] | null }): readonly T[] => items ?? [];

export class RestClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Sends any request; resolves with the decoded body, and rejects with `ApiError` for codes of 400 and more. */
  async call<T>(request: ClientRequest): Promise<T> {
    return read<T>(request, await this.#transport.request(request));
  }

  /** Reads the page of a list, whose length is chosen by what earlier ones had, with a path for each length. */
  async page<T>(
    request: Omit<ClientRequest, "path">,
    length: PageLength,
    path: (length: number) => string,
  ): Promise<T> {
    const asked = { ...request, path: path(length.value) };
    const response = await this.#transport.request(asked);
    length.took(response.body.length);
    return read<T>(asked, response);
  }

  /** The same as `call`, but whole numbers that JavaScript cannot represent are raw, so that they can be sent back. */
  async exact<T>(request: ClientRequest): Promise<T> {
    return read<T>(request, await this.#transport.request(request), parseExactJson);
  }

  /** Sends any request; resolves with the body as bytes. */
  async bytes(request: ClientRequest): Promise<Buffer> {
    const response = await this.#transport.request(request);
    if (response.code >= 400) throw refusal(request, response);
    return response.body;
  }

  get<T extends ApiObject = ApiObject>(path: string): Promise<T> {
    return this.call({ method: "GET", path });
  }

  async list<T extends ApiObject = ApiObject>(path: string): Promise<ObjectList<T>> {
    const list = await this.call<ObjectList<T>>({ method: "GET", path });
    return { ...list, items: itemsOf(list) };
  }

  create<T extends ApiObject = ApiObject>(path: string, object: NoInfer<DeepPartial<T>>): Promise<T> {
    return this.call({ method: "POST", path, ...jsonBody(object) });
  }

  update<T extends ApiObject = ApiObject>(path: string, object: NoInfer<T>): Promise<T> {
    return this.call({ method: "PUT", path, ...jsonBody(object) });
  }

  /** Applies a merge patch. */
  patch<T extends ApiObject = ApiObject>(path: string, patch: NoInfer<DeepPartial<T>>): Promise<T> {
    return this.call({ method: "PATCH", path, ...jsonBody(patch, "application/merge-patch+json") });
  }

  /** Does a server-side apply with `force`, which takes fields from other managers. */
  apply<T extends ApiObject = ApiObject>(path: string, manager: string, object: NoInfer<DeepPartial<T>>): Promise<T> {
    const query = `fieldManager=${encodeURIComponent(manager)}&force=true`;
    return this.call({
      method: "PATCH",
      path: `${path}?${query}`,
      ...jsonBody(object, "application/apply-patch+yaml"),
    });
  }

  delete(path: string, options?: DeepPartial<DeleteOptions>): Promise<ApiObject> {
    return this.call({ method: "DELETE", path, ...(options === undefined ? {} : jsonBody(options)) });
  }

  /** Watches until the stream ends or the request's signal is aborted. */
  async watch(request: ClientRequest, onEvent: (event: ReceivedEvent) => void): Promise<void> {
    const response = await this.#transport.stream(request, onEvent);
    if (response.code >= 400) throw refusal(request, response);
  }
}

/** Resolves with `undefined`, instead of rejecting, when the object does not exist. */
export async function ignoreNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 404) return undefined;
    throw error;
  }
}

/** Returns the body of a request as JSON, with its media type. */
export const jsonBody = (
  value: unknown,
  contentType = "application/json",
): Required<Pick<ClientRequest, "contentType" | "body">> => ({
  contentType,
  body: Buffer.from(JSON.stringify(value)),
});

function read<T>(request: ClientRequest, response: ClientResponse, parse: (text: string) => unknown = JSON.parse): T {
  if (response.code >= 400) throw refusal(request, response);
  try {
    return parse(response.body.toString()) as T; // the caller names what the path answers
  } catch (cause) {
    const problem = `the server answered ${response.code} with something that is not JSON`;
    throw new ApiError(request, internalError(problem).status, { cause });
  }
}

function refusal(request: ClientRequest, response: ClientResponse): ApiError {
  const { code, retryAfterMs } = response;
  return new ApiError(request, { ...statusOf(response), code }, { retryAfterMs });
}

/** Returns a status whose fields have their types: a server may send anything. */
export function checkedStatus(answer: Readonly<Record<string, unknown>>): Status {
  const { metadata, message, reason, details } = answer;
  const { causes, retryAfterSeconds } = isObject(details) ? details : {};
  const checked = {
    ...answer,
    metadata: isObject(metadata) ? metadata : {},
    message: typeof message === "string" ? message : undefined,
    reason: typeof reason === "string" ? reason : undefined,
    details: !isObject(details)
      ? undefined
      : {
          ...details,
          causes: Array.isArray(causes) ? causes.filter(isObject) : undefined,
          retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
        },
  };
  return checked as unknown as Status; // fields that no code reads are as the server sent them
}

/** Returns the status of a refusal. Servers, and proxies before them, sometimes answer with text. */
function statusOf({ code, body }: ClientResponse): Status {
  let problem = `the server answered ${code}`;
  try {
    const status: unknown = JSON.parse(body.toString());
    if (isObject(status) && status["kind"] === "Status") return checkedStatus(status);
  } catch {
    problem += " with something that is not JSON";
  }
  // The answer for a group version that is not served is plain text.
  if (code === 404) return resourceNotFound().status;
  if (code === 401) return unauthorized().status;
  if (code === 503) return serviceUnavailable("the server is currently unable to handle the request").status;
  return internalError(problem).status;
}
