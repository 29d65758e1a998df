/**
 * Starts and stops the aggregated API server of `server-process.ts`, registers it, and has the requests that it
 * received.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type FakeAuthority, fakeAuthority } from "#authn/fake-authority.ts";
import { type Api, eventually, file } from "../harness.ts";
import { namespace as namespaceOf, namespaces } from "../objects.ts";
import type { Fields } from "../view.ts";

export const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
export const group = "wardle.example.com";
export const base = `/apis/${group}/v1`;

/** The number of bytes that the route `flood` sends: far more than two connections can buffer. */
export const floodBytes = 256 * 1024 * 1024;

const program = fileURLToPath(new URL("server-process.ts", import.meta.url));

interface Received {
  readonly method: string;
  readonly url: string;
  /** The headers as `name: value`, with names in lower case. */
  readonly headers: readonly string[];
  /** The common name of the client's certificate. */
  readonly client: string | undefined;
  readonly body: string;
}

interface Flooded {
  readonly flooded: string;
  readonly bytes: number;
}

export class AggregatedServer {
  readonly received: Received[] = [];
  /** The URLs of requests that were aborted before their answer was complete. */
  readonly cut: string[] = [];
  /** The number of bytes that answers of the route `flood` wrote before they were blocked, by URL. */
  readonly flooded = new Map<string, number>();
  readonly #authority: FakeAuthority;
  readonly #settings: object;
  #child: ChildProcess | undefined;
  #port = 0;

  private constructor(authority: FakeAuthority, settings: object) {
    this.#authority = authority;
    this.#settings = settings;
  }

  /** Starts a server for the service `api` in a namespace. */
  static async start(
    api: Api,
    namespace: string,
    { hasAggregated = true, protocol = "HTTP/2" } = {},
  ): Promise<AggregatedServer> {
    const authority = await fakeAuthority("aggregated");
    const { certificate, key } = await authority.issue({ usage: "server", hosts: [`api.${namespace}.svc`] });
    const settings = { certificate, key, domain: api.domain, hasAggregated, floodBytes, protocol };
    const server = new AggregatedServer(authority, settings);
    await server.start();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get caBundle(): string {
    return Buffer.from(this.#authority.certificate).toString("base64");
  }

  /** Starts the server again on its port. */
  async start(): Promise<void> {
    const settings = file("settings.json", JSON.stringify({ ...this.#settings, port: this.#port }));
    const child = spawn(process.execPath, [program, settings], { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    const lines = createInterface({ input: child.stdout });
    const ready = Promise.withResolvers<void>();
    lines.on("line", (line) => {
      const value = JSON.parse(line) as Received | { readonly port: number } | { readonly cut: string } | Flooded;
      if ("method" in value) this.received.push(value);
      else if ("cut" in value) this.cut.push(value.cut);
      else if ("flooded" in value) this.flooded.set(value.flooded, value.bytes);
      else {
        this.#port = value.port;
        ready.resolve();
      }
    });
    child.once("exit", (code) => ready.reject(new Error(`the aggregated server ended with ${code}`)));
    ready.promise.catch(() => undefined);
    await ready.promise;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill();
    await exited;
  }

  /** The requests of clients, without those of the API server itself. */
  get asked(): readonly Received[] {
    return this.received.filter(
      ({ headers }) => !headers.some((header) => header.startsWith("x-remote-user: system:")),
    );
  }
}

/** Returns the APIService of the server, with other fields of its spec. */
export const apiService = (namespace: string, spec: object): object => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `v1.${group}` },
  spec: {
    group,
    version: "v1",
    service: { namespace, name: "api", port: 443 },
    groupPriorityMinimum: 1500,
    versionPriority: 10,
    ...spec,
  },
});

/** Registers a running server as that of the service `api`, and waits until it is available. */
export async function register(api: Api, namespace: string, server: AggregatedServer): Promise<void> {
  (await api.post(namespaces, namespaceOf(namespace))).expect(201);
  const service = { metadata: { name: "api" }, spec: { type: "ExternalName", externalName: "localhost" } };
  (await api.post(`/api/v1/namespaces/${namespace}/services`, service)).expect(201);
  const spec = { service: { namespace, name: "api", port: server.port }, caBundle: server.caBundle };
  (await api.post(apiServices, apiService(namespace, spec))).expect(201);
  await becomes(api, "True", "Passed");
}

/** Waits until the APIService has a state. */
export const becomes = (api: Api, status: string, reason: string, message?: string | RegExp): Promise<unknown> =>
  eventually(async () =>
    (await api.get(`${apiServices}/v1.${group}`)).expect(200, {
      "status.conditions.length": 1,
      "status.conditions.0.type": "Available",
      "status.conditions.0.status": status,
      "status.conditions.0.reason": reason,
      ...(message === undefined ? {} : { "status.conditions.0.message": message }),
    }),
  );

/** Waits until aggregated discovery shows these fields of the group. */
export const waitForDiscovery = (api: Api, fields: Fields): Promise<unknown> =>
  eventually(async () => {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const items = (await api.get("/apis", { accept })).expect(200).list("items");
    items.find((item) => item.string("metadata.name") === group)!.has(fields);
  });
