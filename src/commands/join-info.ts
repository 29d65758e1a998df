/**
 * `binnacle join-info`: fetches the public information of a cluster, which nobody vouches for, and prints it once a
 * bootstrap token proves that it is genuine. The token is not sent.
 */
import { ClusterInfoError, verifyClusterInfo } from "#client/cluster-info.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import { ApiError } from "#client/api-error.ts";
import { fixedCredentials } from "#client/credentials.ts";
import { withServer } from "#server/running-server.ts";
import { binnacleFlag, list, optional } from "#std/flags.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";
import { command } from "./command.ts";
import { pathPart } from "./discovery.ts";

const flags = {
  token: optional(binnacleFlag("token"), "id.secret", "A bootstrap token of the cluster, which may sign."),
  namespace: list(
    binnacleFlag("namespace"),
    "name",
    "Where the information is; default: kube-public, or platform-public if that has none.",
  ),
};

const help = `Prints the kubeconfig that a cluster shows to everybody, once a bootstrap token proves that it is genuine.

Usage: binnacle join-info URL --token=ID.SECRET

  URL                             address of a server, such as https://10.0.0.1:6443
  -h, --help                      print this

The config map cluster-info is fetched without credentials, over a connection whose other end is not known yet, so
anonymous users must be allowed to get it. The token stays here: it verifies the signature, which must be HS256.

Examples:
  binnacle join-info https://10.0.0.1:6443 --token=abcdef.0123456789abcdef > cluster.kubeconfig

`;

const publicNamespaces = ["kube-public", "platform-public"];

/** Runs `binnacle join-info`. Rejects with `StartError`. */
export const joinInfo = command(flags, help, async (settings, rest) => {
  const [text = "", ...more] = rest;
  const server = URL.parse(text);
  if (server?.protocol !== "https:" || more.length > 0) {
    throw new StartError(
      "join-info takes the https URL of a server: binnacle join-info https://10.0.0.1:6443 --token=…",
    );
  }
  const { token, namespace = publicNamespaces } = settings;
  if (token === undefined) throw new StartError("name a bootstrap token with --token=ID.SECRET");
  const data = await fetchClusterInfo(server, namespace);
  try {
    process.stdout.write(verifyClusterInfo(data, token));
  } catch (error) {
    if (error instanceof ClusterInfoError) throw new StartError(error.message, { cause: error });
    throw error;
  }
});

/** Returns the data of the config map in the first of the namespaces that has it. */
async function fetchClusterInfo(server: URL, namespaces: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const settings: ConnectionSettings = {
    server,
    tls: { insecure: true },
    credentials: fixedCredentials({}),
    compress: true,
    namespace: "default",
  };
  let said = "";
  const found = await withServer(settings, async ({ rest }) => {
    for (const namespace of namespaces) {
      const path = `/api/v1/namespaces/${pathPart(namespace)}/configmaps/cluster-info`;
      try {
        const value = await rest.call<unknown>({ method: "GET", path });
        // Nobody vouches for the answer, which may be anything.
        return isObject(value) && isObject(value["data"]) ? (value["data"] as Readonly<Record<string, string>>) : {};
      } catch (error) {
        if (!(error instanceof ApiError) || ![401, 403, 404].includes(error.code)) throw error;
        said ||= error.said;
      }
    }
    return undefined;
  });
  if (found !== undefined) return found;
  throw new StartError(`cluster-info cannot be read in ${namespaces.join(" or ")}: ${said}`);
}
