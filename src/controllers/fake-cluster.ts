/** The environment of a controller under test: a server in memory, which fails as the test wants, and a clock. */
import { failure, FakeApi, targetOf } from "#client/fake-api.ts";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { FakeClock } from "#std/fake-clock.ts";
import type { ControllerEnvironment } from "./controller.ts";

export class FakeCluster {
  /** All requests so far, watches included: `GET /api/v1/secrets`, without query. */
  readonly requests: string[] = [];
  readonly logged: string[] = [];
  readonly #api = new FakeApi();
  readonly #stop = new AbortController();
  readonly #clock: FakeClock;
  /** Is given each request in the form of `requests`; a code other than 0 is the answer. */
  fails: (request: string) => number = () => 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  readonly transport: Transport = {
    request: async (request) => this.#refusal(request) ?? this.#api.request(request),
    stream: async (request, onEvent) => this.#refusal(request) ?? this.#api.stream(request, onEvent),
  };

  get environment(): ControllerEnvironment {
    const client = new RestClient(this.transport);
    const log = (_fields: object, message: string): void => void this.logged.push(message);
    return {
      client,
      reader: client,
      clock: this.#clock,
      domain: kubernetesDomain,
      signal: this.#stop.signal,
      log: { info: log, warn: log },
    };
  }

  /** Creates or replaces an object, as another client would. `path` ends with its name. */
  put(path: string, object: object = {}): Unstructured {
    const { collection, namespace, name, key } = targetOf(path);
    const { metadata } = object as Partial<Unstructured>;
    const own = namespace === undefined ? { name } : { name, namespace };
    return this.#api.store(collection, key, { ...object, metadata: { ...metadata, ...own } })!; // it was not deleted
  }

  remove(path: string): void {
    const { collection, key } = targetOf(path);
    this.#api.store(collection, key, undefined);
  }

  get(path: string): Unstructured | undefined {
    const { collection, key } = targetOf(path);
    return this.#api.objects(collection).get(key);
  }

  /** Resolves when everything has happened that waits for no clock. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async advance(ms: number): Promise<void> {
    await this.settled();
    this.#clock.advance(ms);
    await this.settled();
  }

  stop(): void {
    this.#stop.abort();
  }

  #refusal({ method, path }: ClientRequest): ClientResponse | undefined {
    const asked = `${method} ${path.split("?")[0]}`;
    this.requests.push(asked);
    const code = this.fails(asked);
    return code === 0 ? undefined : failure(code, "");
  }
}
