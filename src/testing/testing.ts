/**
 * The entry `binnacle/testing` of the package. It loads the server on demand, so that an old Node gets a sentence
 * instead of an error about missing parts. `testing.cjs` is the same for `require`, also in Jest.
 */
import { checkNodeVersion } from "#std/node-version.ts";
import type { TestServerOptions } from "./start-test-server.ts";
import type { TestServer } from "./test-server.ts";

export type { RequestFault, RequestMatch } from "./faults.ts";
export type { RecordedRequest } from "./request-record.ts";
export type { TestServerOptions } from "./start-test-server.ts";
export type { ClockControls, FaultControls, Snapshot, TestServer } from "./test-server.ts";

/**
 * Starts a server for tests: in memory, with Kubernetes' names, silent, on a free port of this machine. It does not keep
 * the process alive. Rejects with `StartError` for settings that cannot be, and with `Error` on an old Node.
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  checkNodeVersion("binnacle/testing");
  const kit = await import("./start-test-server.ts");
  return kit.startTestServer(options);
}
