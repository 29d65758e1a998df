/** Connections of the client library for tests. */
import { type Connection, type ConnectionOptions, openConnection } from "#client/connection.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import { fixedCredentials } from "#client/credentials.ts";
import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";
import { patienceMs } from "../client.ts";
import type { TestServer } from "../harness.ts";

/** The part of a test's context that closes things. */
interface Cleanup {
  after(end: () => unknown): void;
}

/** The part of a server that connections need. */
type Location = Pick<TestServer, "ca" | "endpoint" | "url" | "admin">;

/** Returns settings for a server of `harness.ts`, as the administrator, or with other fields. */
export function settingsOf(
  { ca, endpoint, url, admin }: Location,
  others: Partial<ConnectionSettings> = {},
): ConnectionSettings {
  return {
    server: new URL(url),
    tls: ca === "" ? { insecure: true } : { ca: () => ca, insecure: false },
    credentials: fixedCredentials(admin ?? { token: endpoint.tokens["admin"]! }),
    compress: true,
    namespace: "default",
    ...others,
  };
}

/** Returns settings for the way to a server through a proxy of `faulty-proxy.ts`, with other fields. */
export function settingsThrough(
  { port }: { readonly port: number },
  server: Location,
  others: Partial<ConnectionSettings> = {},
): ConnectionSettings {
  const { tls, ...direct } = settingsOf(server, others);
  const { hostname } = direct.server;
  const isHere = hostname === "127.0.0.1";
  return {
    ...direct,
    server: new URL(`https://127.0.0.1:${port}`),
    tls: isHere ? tls : { ...tls, serverName: hostname },
  };
}

/** Returns settings for a user: by its token, or impersonated where the server does not know it. */
export function settingsAs(user: string, server: Location): ConnectionSettings {
  if (user === "admin") return settingsOf(server);
  if (server.admin !== undefined) return settingsOf(server, { impersonate: { user, groups: [], extra: {} } });
  return settingsOf(server, { credentials: fixedCredentials({ token: `${user}-token` }) });
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
    timing: { connectMs: patienceMs, ...options.timing },
  });
  t.after(() => connection.close());
  return connection;
}
