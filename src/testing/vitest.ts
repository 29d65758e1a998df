/** The entry `binnacle/testing/vitest` of the package: fixtures with a server per worker and a namespace per test. */
import { createTestNamespace, failureReport } from "./namespaces.ts";
import { startTestServer } from "./testing.ts";
import type { TestServerOptions } from "./start-test-server.ts";
import type { TestServer } from "./test-server.ts";

/** The context that vitest gives a fixture, as far as these fixtures use it. */
interface TestContext {
  readonly server: TestServer;
  onTestFailed(report: () => void): void;
}

type ServerFixture = (context: object, use: (server: TestServer) => Promise<void>) => Promise<void>;

export interface ServerFixtures {
  /** The server of the worker, which all its test files share. */
  readonly server: ServerFixture;
  /** The name of a namespace that only this test has. */
  readonly namespace: (context: TestContext, use: (namespace: string) => Promise<void>) => Promise<void>;
}

/** Returns the fixtures for `test.extend` of vitest. When a test fails, the server's log is printed. */
export function serverFixtures(options: TestServerOptions = {}): ServerFixtures {
  // Vitest reads the names of other fixtures from this pattern, so it has to be there.
  // oxlint-disable-next-line no-empty-pattern
  const server: ServerFixture = async ({}, use) => {
    await using server = await startTestServer(options);
    await use(server);
  };
  return {
    // Vitest takes options in this form, from which its types cannot tell the type of the fixture.
    server: [server, { scope: "worker" }] as unknown as ServerFixture,
    namespace: async ({ server, onTestFailed }, use) => {
      onTestFailed(() => void process.stderr.write(failureReport(server)));
      await use(await createTestNamespace(server));
    },
  };
}
