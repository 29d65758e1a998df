/** A harbour for tests of controllers: boats in a server in memory, and a clock that stands still. */
import type { Unstructured } from "#meta/object-meta.ts";
import type { Clock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { type Cluster, connect } from "../cluster.ts";
import { type RunnableController, run, type RunOptions } from "../controllers.ts";
import { FakeApi } from "../fake-api.ts";
import type { Kind, StoredObject } from "../kind.ts";
import type { ClientRequest, Transport } from "../transport.ts";

export interface Boat extends StoredObject {
  readonly spec: { readonly length: number };
  readonly status?: { readonly afloat?: boolean; readonly conditions?: readonly { readonly type: string }[] };
}

export const Boat: Kind<Boat> = {
  group: "harbour.example.com",
  version: "v1",
  kind: "Boat",
  resource: "boats",
  namespaced: true,
};

export const boatsPath = "/apis/harbour.example.com/v1/boats";
export const mapsPath = "/api/v1/configmaps";

/** Lets everything happen that does not wait for time. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
}

interface Running {
  readonly failures: unknown[];
  /** Ends the controllers in order. */
  stop(): void;
  /** Resolves with the error with which `run` ended; `undefined` if there was none. */
  readonly ended: Promise<unknown>;
  readonly cluster: Cluster;
}

export class Harbour {
  readonly api = new FakeApi();
  readonly clock = new FakeClock();
  readonly #running: Running[] = [];

  /** Writes a boat as its owner does. */
  boat(name: string, spec: Boat["spec"] = { length: 9 }): void {
    const present = this.find(name);
    const generation = Number(present?.metadata.generation ?? 0) + 1;
    this.api.store(boatsPath, `shop/${name}`, {
      ...present,
      apiVersion: "harbour.example.com/v1",
      kind: "Boat",
      metadata: { ...present?.metadata, name, namespace: "shop", generation },
      spec,
    });
  }

  find(name: string): Unstructured | undefined {
    return this.api.objects(boatsPath).get(`shop/${name}`);
  }

  /** Deletes a boat as its owner does: it stays while it has finalizers. */
  async delete(name: string): Promise<void> {
    const { lose } = this.api;
    this.api.lose = () => undefined;
    const path = `${boatsPath.replace(/boats$/, "namespaces/shop/boats")}/${name}`;
    const deletion = this.api.request({ method: "DELETE", path });
    this.api.lose = lose;
    await deletion;
  }

  /** Runs controllers over the server, or over another way to it. */
  async run(
    controllers: readonly RunnableController[],
    {
      transport = this.api,
      clock = this.clock,
      ...options
    }: RunOptions & { transport?: Transport; clock?: Clock } = {},
  ): Promise<Running> {
    const stop = new AbortController();
    const failures: unknown[] = [];
    const cluster = await connect({ transport, clock, manager: "harbour" });
    const settings = { signal: stop.signal, failed: (error: unknown) => failures.push(error), ...options };
    const ended = run(cluster, settings, controllers).then(
      () => undefined,
      (error: unknown) => error,
    );
    const running = { failures, stop: () => stop.abort(), ended, cluster };
    this.#running.push(running);
    await settle();
    return running;
  }

  /** Moves time forward in steps. */
  async advance(ms: number, step = Math.max(1, ms / 20)): Promise<void> {
    for (let passed = 0; passed < ms; passed += step) {
      this.clock.advance(Math.min(step, ms - passed));
      await settle();
    }
  }

  /** Ends everything that runs. `work` is called in each second that this takes. */
  async close(work?: () => Promise<void>): Promise<void> {
    for (const { stop } of this.#running) stop();
    const ended = Promise.all(this.#running.map((running) => running.ended));
    for (let seconds = 0; seconds < 60; seconds++) {
      await settle();
      this.clock.advance(1000);
      await work?.();
    }
    await ended;
  }
}

/** A way to a server that can be cut, as when a process dies or a network is divided. */
export class Way implements Transport {
  readonly #inner: Transport;
  isCut = false;
  /** The number of requests after which the way is cut; the last one may have its effect without an answer. */
  limit = Number.POSITIVE_INFINITY;
  isLastDone = false;
  count = 0;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async request(request: ClientRequest) {
    this.count++;
    if (this.isCut || this.count > this.limit) {
      if (!this.isCut && this.isLastDone) await this.#inner.request(request);
      this.isCut = true;
      throw new Error("the connection is lost");
    }
    return this.#inner.request(request);
  }

  async stream(...[request, onEvent]: Parameters<Transport["stream"]>) {
    if (this.isCut) throw new Error("the connection is lost");
    return this.#inner.stream(request, (event) => {
      if (!this.isCut) onEvent(event);
    });
  }
}

/** Works with a harbour, which is closed at the end. */
export async function inHarbour(work: (harbour: Harbour) => Promise<void>): Promise<void> {
  const harbour = new Harbour();
  try {
    await work(harbour);
  } finally {
    await harbour.close();
  }
}
