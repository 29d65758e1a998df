/** Connections of the client library for tests. */
import { type Connection, type ConnectionOptions, openConnection } from "#client/connection.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";
import type { TestServer } from "../harness.ts";

/** The part of a test's context that closes things. */
interface Cleanup {
  after(end: () => unknown): void;
}

/** Returns settings for a server of `harness.ts`, as the administrator, or with other fields. */
export function settingsOf(
  { ca, endpoint }: Pick<TestServer, "ca" | "endpoint">,
  others: Partial<ConnectionSettings> = {},
): ConnectionSettings {
  return {
    server: new URL(`https://${endpoint.host}:${endpoint.port}`),
    tls: ca === "" ? { insecure: true } : { ca: () => ca, insecure: false },
    credentials: { current: () => ({ token: endpoint.tokens["admin"]! }), rejected: () => false },
    compress: true,
    namespace: "default",
    ...others,
  };
}

/** Opens a connection that is closed at the end of the test. The environment names no proxy. */
export function openForTest(
  t: Cleanup,
  settings: ConnectionSettings,
  options: Partial<ConnectionOptions> = {},
): Connection {
  const connection = openConnection(settings, {
    clock: systemClock,
    random: seededRandom(1),
    userAgent: "suite/1.0",
    environment: {},
    ...options,
  });
  t.after(() => connection.close());
  return connection;
}
