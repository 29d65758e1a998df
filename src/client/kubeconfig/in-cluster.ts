/**
 * The settings of a process that runs in a pod: those of the account whose files are mounted there. Source: upstream's
 * `rest.InClusterConfig`.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "#std/clock.ts";
import type { ConnectionSettings } from "../connection-settings.ts";
import { tokenFileCredentials } from "../credentials.ts";
import { KubeconfigError } from "../kubeconfig-entries.ts";
import { WatchedFiles } from "../watched-file.ts";

const mountedFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface InClusterOptions {
  /** The variables `KUBERNETES_SERVICE_HOST`, `KUBERNETES_SERVICE_PORT` and `POD_NAMESPACE`; default: the process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The folder with the files `token`, `ca.crt` and `namespace`; default: that of Kubernetes' pods. */
  readonly accountFolder?: string;
  /** The time; default: the machine's. */
  readonly clock?: Clock;
}

/** Whether this process runs in a pod with an account. */
export function hasInClusterAccount({
  environment = process.env,
  accountFolder = mountedFolder,
}: InClusterOptions): boolean {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = environment;
  return (
    host !== "" && port !== "" && statSync(join(accountFolder, "token"), { throwIfNoEntry: false })?.isFile() === true
  );
}

/**
 * Returns the settings of the pod's account. Its token and the authority of the server are read again when they change.
 * Rejects with `KubeconfigError`.
 */
export async function inClusterSettings(options: InClusterOptions = {}): Promise<ConnectionSettings> {
  const { environment = process.env, accountFolder = mountedFolder, clock = systemClock } = options;
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = environment;
  if (host === "" || port === "") {
    throw new KubeconfigError(
      "this is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
    );
  }
  const fail = (problem: string): Error => new KubeconfigError(`account of this pod: ${problem}`);
  const server = URL.parse(`https://${host.includes(":") ? `[${host}]` : host}:${port}`);
  if (server === null) throw fail("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no address");
  const credentials = tokenFileCredentials(join(accountFolder, "token"), fail, clock);
  await credentials.current();
  const authorities = new WatchedFiles({
    files: [join(accountFolder, "ca.crt")],
    clock,
    fail,
    parse: ([pem = ""]) => pem,
  });
  await authorities.read();
  return {
    server,
    tls: { ca: () => authorities.read(), insecure: false },
    credentials,
    compress: true,
    namespace: environment["POD_NAMESPACE"] || namespaceIn(accountFolder) || "default",
  };
}

function namespaceIn(accountFolder: string): string {
  try {
    return readFileSync(join(accountFolder, "namespace"), "utf8").trim();
  } catch {
    return "";
  }
}
