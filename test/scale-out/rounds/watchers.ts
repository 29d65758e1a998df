/** Clients of a round that watch, and go on at another server with the last version when the stream ends. */
import type { ClientHttp2Stream } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "#std/random.ts";
import { Http2Client } from "../http2-client.ts";
import type { ServerProcess } from "../server-processes.ts";
import { between, type Segment, type WatchedEvent } from "./history.ts";
import { itemOf, type ObjectBody } from "./writers.ts";

interface Frame {
  readonly type: string;
  readonly object: ObjectBody & { readonly code?: number };
}

const gone = 410;

export class Watcher {
  readonly segments: Segment[] = [];
  readonly #id: number;
  readonly #path: string;
  readonly #random: Random;
  readonly #targets: readonly { readonly name: string; readonly client: Http2Client }[];
  #at: number;
  /** The number of lists after the first one: the server no longer knew the version. */
  relists = 0;
  /** The number of streams. */
  streams = 0;

  constructor(id: number, servers: readonly ServerProcess[], path: string, random: Random) {
    this.#id = id;
    this.#path = path;
    this.#random = random;
    this.#targets = servers.map((server) => ({ name: server.name, client: new Http2Client(server) }));
    this.#at = id;
  }

  /** The version up to which this watcher has heard everything; 0 before its first list. */
  get heard(): number {
    const segment = this.segments.at(-1);
    return segment === undefined ? 0 : (segment.events.at(-1)?.version ?? segment.from);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.segments.length === 0) await this.#list();
        await this.#watch(signal);
      } catch {
        // The next server is asked.
      }
      this.#at++;
      await sleep(between(this.#random, 10, 200));
    }
    for (const { client } of this.#targets) client.close();
  }

  get #target() {
    return this.#targets[this.#at % this.#targets.length]!;
  }

  async #list(): Promise<void> {
    const { status, text } = await this.#target.client.call(this.#path);
    if (status !== 200) throw new Error(text);
    const from = Number((JSON.parse(text) as ObjectBody).metadata.resourceVersion);
    this.segments.push({ watcher: this.#id, from, events: [], servers: [] });
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { name, client } = this.#target;
    const segment = this.segments.at(-1)!; // there was a list
    const stream = client.open(`${this.#path}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.heard}`);
    // Some streams last for seconds, so that most of them end by faults and not by the client.
    const timer = setTimeout(() => stream.close(), between(this.#random, 2000, 15_000));
    const stop = (): void => stream.close();
    signal.addEventListener("abort", stop);
    this.streams++;
    segment.servers.push(name);
    try {
      if (await readFrames(stream, segment.events)) return;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      stream.close();
    }
    this.relists++;
    await this.#list();
  }
}

/** Adds the events of a stream until it ends. Returns false when the version is too old. */
async function readFrames(stream: ClientHttp2Stream, events: WatchedEvent[]): Promise<boolean> {
  let rest = "";
  let status = 0;
  stream.once("response", (headers) => {
    status = Number(headers[":status"]);
  });
  stream.setEncoding("utf8");
  for await (const piece of stream as AsyncIterable<string>) {
    if (status !== 200) return status !== gone;
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as Frame;
      if (type === "ERROR") return object.code !== gone;
      const { version, value } = itemOf(object);
      if (type === "BOOKMARK") events.push({ type, version });
      else if (type === "ADDED" || type === "MODIFIED" || type === "DELETED")
        events.push({ type, key: object.metadata.name ?? "", version, value });
    }
  }
  return true;
}
