/** A request inside a thread of large requests, in the form that the router and handlers read. */
import type { HandledRequest, AuditedBody, Headers, RequestInfo } from "#http/api-request.ts";
import { parseQuery } from "#http/request-info.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { CallHost } from "./rpc-client.ts";
import type { SentRequest } from "./messages.ts";
import { bufferOf } from "./worker-cache.ts";

export class WorkerRequest implements HandledRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly remoteAddress = "";
  readonly signal: AbortSignal = new AbortController().signal;
  readonly aborted = false;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly receivedMs: number;
  readonly deadlineMs: number;
  readonly warnings: string[] = [];
  readonly auditId: string;
  readonly audit: AuditedBody | undefined;
  readonly #body: Buffer;

  constructor(sent: SentRequest, callHost: CallHost) {
    this.method = sent.method;
    this.url = sent.url;
    this.path = sent.path;
    const queryStart = sent.url.indexOf("?");
    this.query = parseQuery(queryStart < 0 ? "" : sent.url.slice(queryStart + 1));
    this.headers = sent.headers;
    this.info = sent.info;
    this.user = sent.user;
    this.receivedMs = sent.receivedMs;
    this.deadlineMs = sent.deadlineMs;
    this.auditId = sent.auditId;
    this.audit = sent.isAudited
      ? {
          wantsRequest: true,
          sent: (object) => void callHost("sent", Buffer.from(JSON.stringify(object))),
          sentPatch: () => void callHost("sent", undefined),
        }
      : undefined;
    this.#body = bufferOf(sent.body);
  }

  headerValues(name: string): readonly string[] {
    const value = this.headers[name];
    return value === undefined ? [] : [value];
  }

  /** Does nothing: the event loop annotates the audit event. */
  annotate(): void {}

  /** Does nothing: the thread of an ended request is ended too. */
  abort(): void {}

  body(): Promise<Buffer> {
    return Promise.resolve(this.#body);
  }
}
