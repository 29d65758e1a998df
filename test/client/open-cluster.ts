/** Clusters of the client library over the servers of `test/harness.ts`. */
import type { TestContext } from "node:test";
import { type Cluster, connect, type ConnectOptions } from "#client/cluster.ts";
import type { Transport } from "#client/transport.ts";
import { Namespace } from "#client/kinds.ts";
import type { Api } from "../harness.ts";
import { openForTest, settingsAs } from "./settings.ts";

/** Returns a connection to the server as a user, which is closed after the test. */
export function transportOf(api: Api, t: TestContext, user = "admin"): Transport {
  return openForTest(t, settingsAs(user, api.server));
}

/** Returns a cluster over the server, which is closed after the test. */
export function clusterOf(
  api: Api,
  t: TestContext,
  { transport = transportOf(api, t), manager = "harbour", ...options }: ConnectOptions = {},
): Promise<Cluster> {
  return connect({ transport, manager, ...options });
}

/** Passes requests on, and keeps them as `GET /api/v1/pods`, without their query. */
export function recorded(transport: Transport): Transport & { readonly requests: string[] } {
  const requests: string[] = [];
  const keep = ({ method, path }: { readonly method: string; readonly path: string }): void => {
    requests.push(`${method} ${path.split("?")[0]}`);
  };
  return {
    requests,
    request(request) {
      keep(request);
      return transport.request(request);
    },
    stream(request, onEvent) {
      keep(request);
      return transport.stream(request, onEvent);
    },
  };
}

const run = process.env["TEST_RUN"];
/** The labels by which `npm run test:client` finds what it has to remove from the server. */
export const runLabels: Readonly<Record<string, string>> = run === undefined ? {} : { "binnacle-test": run };

/** Creates a namespace for a test, and returns its name, which begins with `prefix`. */
export async function makeNamespace(cluster: Cluster, prefix: string): Promise<string> {
  const metadata = { generateName: `${prefix}-`, labels: runLabels };
  return (await cluster.kind(Namespace).create({ metadata })).metadata.name;
}
