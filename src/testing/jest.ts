/**
 * The entry `binnacle/testing/jest` of the package: a server per worker and a namespace per test. `jest.cjs` loads it
 * outside of the context in which Jest runs tests, so it outlives their files.
 */
import { createTestNamespace, failureReport } from "./namespaces.ts";
import { startTestServer } from "./testing.ts";
import type { TestServerOptions } from "./start-test-server.ts";
import type { TestServer } from "./test-server.ts";

export type { TestServerOptions } from "./start-test-server.ts";

/** The server and the namespace of the running test. Both throw `Error` outside of tests and their hooks. */
export interface JestServer {
  readonly server: TestServer;
  /** The name of a namespace that only this test has. */
  readonly namespace: string;
}

type Hook = (work: () => Promise<void>, timeoutMs?: number) => void;

/** The globals of Jest that are used. */
interface JestGlobals {
  readonly beforeAll: Hook;
  readonly beforeEach: Hook;
  readonly afterEach: Hook;
}

/** The servers of a process, which is a worker of Jest, by their options. */
const serversOf = new WeakMap<NodeJS.Process, Map<string, Promise<TestServer>>>();

/** The time in milliseconds that the first start may take on a busy machine. */
const startMsMax = 60_000;

/**
 * Registers hooks for a test file: its tests share the server of the worker, which each file finds as after its start,
 * and each has a namespace. When a test fails, the server's log is printed. `globals` are those of the test file.
 */
export function useServer(options: TestServerOptions = {}, globals = globalThis as unknown as JestGlobals): JestServer {
  let server: TestServer | undefined;
  let namespace: string | undefined;
  globals.beforeAll(async () => {
    server = await serverOf(options);
    await server.reset();
  }, startMsMax);
  globals.beforeEach(async () => {
    namespace = await createTestNamespace(present(server));
  });
  globals.afterEach(async () => {
    if (hasFailed(globals)) process.stderr.write(failureReport(present(server)));
    namespace = undefined;
  });
  return {
    get server() {
      return present(server);
    },
    get namespace() {
      return present(namespace);
    },
  };
}

function serverOf(options: TestServerOptions): Promise<TestServer> {
  const key = JSON.stringify(options);
  const servers = serversOf.get(process) ?? new Map<string, Promise<TestServer>>();
  serversOf.set(process, servers);
  let server = servers.get(key);
  if (server === undefined) {
    server = startTestServer(options);
    servers.set(key, server);
  }
  return server;
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the server of useServer() is there in tests and their hooks only");
  return value;
}

/** Whether the running test has failed. Jest tells no hook; its runner keeps the test under a symbol of this name. */
function hasFailed(globals: JestGlobals): boolean {
  const symbol = Object.getOwnPropertySymbols(globals).find(({ description }) => description === "JEST_STATE_SYMBOL");
  const state =
    symbol === undefined ? undefined : (globals as unknown as Readonly<Record<symbol, RunnerState>>)[symbol];
  return (state?.currentlyRunningTest?.errors?.length ?? 0) > 0;
}

interface RunnerState {
  readonly currentlyRunningTest?: { readonly errors?: readonly unknown[] } | null;
}
