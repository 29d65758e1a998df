/** The requests of clients to a test server, for assertions such as "three writes, no list". The record has a bound. */
import type { ApiRequest, Reply, RequestInfo } from "#http/api-request.ts";
import { printedTarget } from "#http/request-info.ts";
import { Deque } from "#std/deque.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** One request of a client. */
export interface RecordedRequest {
  readonly method: string;
  /** The path with its query, without tokens. */
  readonly path: string;
  /** The verb as access rules name it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. */
  readonly verb: string;
  /** The API group; empty for the core group, and for paths that are no resources. */
  readonly group: string;
  /** The plural name of the resource; empty for paths that are no resources. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** The name in the path; empty for lists, and for creates, which have it in the body. */
  readonly name: string;
  readonly userAgent: string;
  /** The code of the answer; 0 while there is none, and when the connection was cut. */
  readonly code: number;
}

type Recording = { -readonly [Field in keyof RecordedRequest]: RecordedRequest[Field] };

/** The number of requests that are kept; the oldest are dropped. */
const recordedMax = 10_000;

export class RequestRecord {
  #requests = new Deque<Recording>();
  /** The number of requests that wait for an answer. */
  #running = 0;

  get running(): number {
    return this.#running;
  }

  list(): readonly RecordedRequest[] {
    return Array.from({ length: this.#requests.length }, (_, index) => ({ ...this.#requests.at(index)! }));
  }

  clear(): void {
    this.#requests = new Deque();
  }

  /** Records a request. The caller sets the code of its answer. */
  add(request: ApiRequest, info: RequestInfo): { code: number } {
    const { method, url, headers } = request;
    const { verb, group, resource, subresource, namespace, name } = info;
    const recording: Recording = {
      method,
      path: printedTarget(url),
      verb,
      group,
      resource,
      subresource,
      namespace,
      name,
      userAgent: headers["user-agent"] ?? "",
      code: 0,
    };
    this.#requests.push(recording);
    if (this.#requests.length > recordedMax) this.#requests.shift();
    return recording;
  }

  /** Counts a request as running until its answer is there. */
  async run(answer: () => MaybePromise<Reply>): Promise<Reply> {
    this.#running++;
    try {
      return await answer();
    } finally {
      this.#running--;
    }
  }
}
