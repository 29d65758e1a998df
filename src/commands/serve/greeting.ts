/** The lines that `binnacle serve` prints when its server is ready: for people, or as JSON for programs. */
import { styleText } from "node:util";
import { shellWord } from "#meta/printed-command.ts";
import type { RunningServer } from "#server/start-server.ts";

/** The facts about a running server that are printed; plain data, which a process can send to another. */
export interface ServerFacts extends Pick<RunningServer, "url" | "port" | "kubeconfigFile"> {
  readonly options: Pick<
    RunningServer["options"],
    "apiDomain" | "storage" | "dataDir" | "etcdServers" | "tlsCertFile" | "processes"
  >;
}

export function factsOf({ url, port, kubeconfigFile, options }: RunningServer): ServerFacts {
  const { apiDomain, storage, dataDir, etcdServers, tlsCertFile, processes } = options;
  return { url, port, kubeconfigFile, options: { apiDomain, storage, dataDir, etcdServers, tlsCertFile, processes } };
}

export type OutputFormat = "text" | "json";

/** Returns what is printed, which ends with a line break. */
export const announcement = (facts: ServerFacts, output: OutputFormat): string =>
  output === "json" ? `${JSON.stringify(summary(facts))}\n` : greeting(facts);

function summary({ options, url, port, kubeconfigFile }: ServerFacts): Record<string, unknown> {
  return {
    url,
    port,
    apiDomain: options.apiDomain,
    storage: options.storage,
    dataDir: options.dataDir,
    kubeconfig: kubeconfigFile,
  };
}

/** Returns where the objects are, for people. */
function storageOf({ etcdServers, storage, dataDir }: ServerFacts["options"]): string {
  if (etcdServers.length > 0) return `etcd at ${etcdServers.join(", ")}`;
  return storage === "disk" ? dataDir : "memory: objects are gone when the server ends";
}

function greeting({ options, url, kubeconfigFile }: ServerFacts): string {
  const dim = (text: string): string => styleText("dim", text);
  const pki = `${options.dataDir}/pki`;
  const rows: readonly (readonly [string, string])[] = [
    ["server", url],
    ...(options.processes === 1 ? [] : [["processes", String(options.processes)] as const]),
    ["API domain", options.apiDomain],
    ["storage", storageOf(options)],
    ["kubeconfig", kubeconfigFile ?? "none"],
  ];
  const lines = rows.map(([name, value]) => `  ${dim(name.padEnd(12))}${value}`);
  if (kubeconfigFile === undefined) return `${styleText("bold", "Binnacle is ready.")}\n\n${lines.join("\n")}\n`;
  const next =
    options.apiDomain === "k8s.io"
      ? `kubectl --kubeconfig ${shellWord(`${options.dataDir}/admin.kubeconfig`)} get namespaces`
      : `curl --cacert ${shellWord(options.tlsCertFile ?? `${pki}/ca.crt`)} --cert ${shellWord(`${pki}/admin.crt`)} --key ${shellWord(`${pki}/admin.key`)} ${shellWord(`${url}/api/v1/namespaces`)}`;
  return `${styleText("bold", "Binnacle is ready.")}\n\n${lines.join("\n")}\n\nTry next:\n  ${next}\n`;
}
