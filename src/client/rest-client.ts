/** Typed calls on a `Transport`: objects in, objects out, failures as `StatusError`. */
import { internalError, type Status, StatusError } from "#meta/status-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ClientRequest, ClientResponse, Transport } from "./transport.ts";

/** One page of a collection. */
export interface ObjectList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly Unstructured[];
}

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Unstructured;
}

export class RestClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Any request; resolves with the decoded body, rejects with `StatusError` for codes of 400 and more. */
  async call<T>(request: ClientRequest): Promise<T> {
    return read<T>(await this.#transport.request(request));
  }

  get(path: string): Promise<Unstructured> {
    return this.call({ method: "GET", path });
  }

  list(path: string): Promise<ObjectList> {
    return this.call({ method: "GET", path });
  }

  create(path: string, object: Unstructured): Promise<Unstructured> {
    return this.call({ method: "POST", path, ...json(object) });
  }

  update(path: string, object: Unstructured): Promise<Unstructured> {
    return this.call({ method: "PUT", path, ...json(object) });
  }

  /** Merge patch. */
  patch(path: string, patch: unknown): Promise<Unstructured> {
    const body = Buffer.from(JSON.stringify(patch));
    return this.call({ method: "PATCH", path, contentType: "application/merge-patch+json", body });
  }

  delete(path: string, options?: unknown): Promise<Unstructured> {
    return this.call({ method: "DELETE", path, ...(options === undefined ? {} : json(options)) });
  }

  /** Calls `onEvent` for every event until the stream ends or `signal` is aborted. */
  async watch(path: string, signal: AbortSignal, onEvent: (event: WatchEvent) => void): Promise<void> {
    const response = await this.#transport.stream({ method: "GET", path, signal }, (line) => {
      onEvent(JSON.parse(line.toString()) as WatchEvent); // what the server's watch writes
    });
    if (response.code >= 400) read(response);
  }
}

/** `undefined` instead of a rejection when there is no such object. */
export async function found<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 404) return undefined;
    throw error;
  }
}

function json(object: unknown): { contentType: string; body: Buffer } {
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(object)) };
}

function read<T>(response: ClientResponse): T {
  const text = response.body.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw internalError(`the server answered ${response.code} with something that is not JSON`, cause);
  }
  if (response.code < 400) return value as T; // the caller names what the path answers
  const status = value as Partial<Status>;
  if (status.kind === "Status") throw new StatusError(value as Status); // kind was checked
  throw internalError(`the server answered ${response.code}`);
}
