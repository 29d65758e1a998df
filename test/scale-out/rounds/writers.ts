/** Clients of a round that read and write the same few objects through all servers, and write down each call. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "#std/random.ts";
import { Http2Client } from "../http2-client.ts";
import type { ServerProcess } from "../server-processes.ts";
import { between, type Call, type CallKind, type Item, nowMicros, pick } from "./history.ts";

export interface ObjectBody {
  readonly metadata: { readonly name?: string; readonly resourceVersion?: string; readonly continue?: string };
  readonly data?: { readonly value?: string };
  readonly items?: readonly ObjectBody[];
  readonly reason?: string;
}

/** The number of calls of each kind among 100. */
const weights: readonly (readonly [CallKind, number])[] = [
  ["get", 14],
  ["list", 5],
  ["create", 12],
  ["update", 21],
  ["patch", 24],
  ["apply", 14],
  ["delete", 10],
];

const pageSize = 5;
const timeoutMs = 6000;
/** The longest time for which a client asks others when a server has failed. */
const avoidedMsMax = 8000;

interface Request {
  readonly kind: CallKind;
  readonly key: string;
  readonly expected?: number;
  readonly wanted?: string;
}

/** The part of the record that a call adds. */
type Answered = Pick<Call, "status" | "reason" | "version" | "value" | "items" | "pageVersions">;

export class Writer {
  readonly calls: Call[] = [];
  readonly #id: number;
  readonly #path: string;
  readonly #keys: readonly string[];
  readonly #random: Random;
  readonly #targets: readonly { readonly name: string; readonly client: Http2Client; avoidedUntil: number }[];
  /** The last version that this client saw of each object. */
  readonly #seen = new Map<string, number>();
  #written = 0;

  constructor(id: number, servers: readonly ServerProcess[], path: string, keys: readonly string[], random: Random) {
    this.#id = id;
    this.#path = path;
    this.#keys = keys;
    this.#random = random;
    this.#targets = servers.map((server) => ({ name: server.name, client: new Http2Client(server), avoidedUntil: 0 }));
  }

  /** Makes calls until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#step();
      await sleep(between(this.#random, 0, 25));
    }
  }

  close(): void {
    for (const { client } of this.#targets) client.close();
  }

  async #step(): Promise<void> {
    const now = nowMicros();
    const rested = this.#targets.filter(({ avoidedUntil }) => avoidedUntil <= now);
    const target = pick(this.#random, rested.length === 0 ? this.#targets : rested);
    const request = this.#choose();
    const begin = nowMicros();
    const answered = await this.#send(target.client, request).catch(
      (error: unknown): Answered => ({ status: 0, reason: String(error) }),
    );
    const end = nowMicros();
    // A client that soon asks again a server that does not answer waits most of the time, and writes little.
    if (answered.status === 0 || answered.status >= 500)
      target.avoidedUntil = end + between(this.#random, 1000, avoidedMsMax) * 1000;
    this.calls.push({ client: this.#id, server: target.name, begin, end, ...request, ...answered });
    if (request.kind !== "list") this.#learn(request.key, answered);
  }

  #learn(key: string, { status, version }: Answered): void {
    if (version !== undefined) this.#seen.set(key, version);
    else if (status === 404 || status === 200) this.#seen.delete(key);
    // Another version is there: the next call of this key reads it.
    else if (status === 409) this.#seen.delete(key);
  }

  #choose(): Request {
    let left = this.#random.next() * 100;
    const [kind] = weights.find(([, weight]) => (left -= weight) < 0) ?? weights[0]!;
    if (kind === "list") return { kind, key: "" };
    const key = pick(this.#random, this.#keys);
    const seen = this.#seen.get(key);
    const value = { wanted: `${this.#id}-${this.#written++}` };
    if (kind === "get") return { kind, key };
    // Most objects that are created are not there, as far as the client knows.
    if (kind === "create" && seen !== undefined && this.#random.next() < 0.8)
      return { kind: "update", key, expected: seen, ...value };
    if (kind === "create" || kind === "patch" || kind === "apply") return { kind, key, ...value };
    if (seen === undefined) return { kind: "get", key };
    return kind === "update" ? { kind, key, expected: seen, ...value } : { kind, key, expected: seen };
  }

  #send(client: Http2Client, request: Request): Promise<Answered> {
    const { kind, key, expected, wanted } = request;
    const path = `${this.#path}/${key}`;
    const data = { value: wanted };
    const of = `fieldManager=w${this.#id}`;
    switch (kind) {
      case "list":
        return this.#list(client);
      case "get":
        return one(client.call(path, { timeoutMs }));
      case "create":
        return one(client.call(this.#path, { method: "POST", body: { metadata: { name: key }, data }, timeoutMs }));
      case "update": {
        const body = { metadata: { name: key, resourceVersion: String(expected) }, data };
        return one(client.call(path, { method: "PUT", body, timeoutMs }));
      }
      case "patch": {
        const type = "application/merge-patch+json";
        return one(client.call(path, { method: "PATCH", body: { data }, type, timeoutMs }));
      }
      case "apply": {
        const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: key }, data };
        const type = "application/apply-patch+yaml";
        return one(client.call(`${path}?${of}&force=true`, { method: "PATCH", body, type, timeoutMs }));
      }
      case "delete": {
        const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { resourceVersion: String(expected) } };
        return deleted(client.call(path, { method: "DELETE", body, timeoutMs }));
      }
    }
  }

  /** Lists at once, or by pages. */
  async #list(client: Http2Client): Promise<Answered> {
    const limit = this.#random.next() < 0.5 ? `?limit=${pageSize}` : "";
    const pageVersions: number[] = [];
    const items: Record<string, Item> = {};
    let path = `${this.#path}${limit}`;
    for (;;) {
      const { status, text } = await client.call(path, { timeoutMs });
      const body = JSON.parse(text) as ObjectBody;
      if (status !== 200) return { status, reason: body.reason ?? "" };
      pageVersions.push(Number(body.metadata.resourceVersion));
      for (const item of body.items ?? []) items[item.metadata.name ?? ""] = itemOf(item);
      const next = body.metadata.continue ?? "";
      if (next === "") return { status, version: pageVersions[0]!, pageVersions, items };
      path = `${this.#path}${limit}&continue=${encodeURIComponent(next)}`;
    }
  }
}

export const itemOf = ({ metadata, data }: ObjectBody): Item => ({
  version: Number(metadata.resourceVersion),
  value: data?.value,
});

async function one(answer: Promise<{ readonly status: number; readonly text: string }>): Promise<Answered> {
  const { status, text } = await answer;
  const body = JSON.parse(text) as ObjectBody;
  if (status >= 300) return { status, reason: body.reason ?? "" };
  const { version, value } = itemOf(body);
  return { status, version, ...(value === undefined ? {} : { value }) };
}

async function deleted(answer: Promise<{ readonly status: number; readonly text: string }>): Promise<Answered> {
  const { status, text } = await answer;
  const { reason = "" } = JSON.parse(text) as ObjectBody;
  return status >= 300 ? { status, reason } : { status };
}
