/** The settings of a credential plugin, checked. Source: upstream's `ExecConfig`. */
import { sep } from "node:path";
import type { Cluster } from "#api/clientauthentication/v1.ts";
import { apiDomain } from "#meta/api-domain.ts";
import { entryError, pathBeside, type UserEntry } from "../kubeconfig-entries.ts";

/** A cluster as plugins are told of it. */
export interface ExecCluster extends Omit<Cluster, "config"> {
  /** Returns the data for plugins of this API domain in the cluster's extensions; null if there is none. */
  readonly configOf: (domain: string) => unknown;
}

export interface ExecConfig {
  /** The name of the user, for messages. */
  readonly user: string;
  /** A path, or a name that the variable `PATH` leads to. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** The API domain of the version, such as `k8s.io`. */
  readonly domain: string;
  /** The variable that tells the plugin how it is run. */
  readonly infoVariable: string;
  readonly interactiveMode: InteractiveMode;
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
}

const interactiveModes = ["Never", "IfAvailable", "Always"] as const;
type InteractiveMode = (typeof interactiveModes)[number];

/** Checks the field `exec` of a user. Throws `KubeconfigError`. */
export function checkExec(user: string, { exec = {}, origin }: UserEntry): ExecConfig {
  const fail = (field: string, problem: string): Error => entryError("user", user, origin, `exec.${field}: ${problem}`);
  const { command = "", apiVersion = "", env = [] } = exec;
  if (command === "") throw fail("command", "must name the program that gives the credentials");
  const [, domain = "", version = ""] = /^client\.authentication\.([a-z0-9.-]+)\/(v1|v1beta1)$/.exec(apiVersion) ?? [];
  if (version === "") {
    const versions = "client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1";
    const problem = apiVersion === "" ? "must be set" : `${JSON.stringify(apiVersion)} is not supported`;
    throw fail("apiVersion", `${problem}: use ${versions}, as the plugin does`);
  }
  const names = env.map(({ name = "" }) => name);
  if (names.some((name) => name === "" || name.includes("="))) throw fail("env", "every variable must have a name");
  // The runtime refuses such texts with a message that quotes them, and they may be secrets.
  const texts = {
    command: [command],
    args: exec.args ?? [],
    env: env.flatMap(({ name = "", value = "" }) => [name, value]),
  };
  for (const [field, parts] of Object.entries(texts)) {
    if (parts.some((part) => part.includes("\0"))) throw fail(field, "must not contain the character 0");
  }
  const mode = exec.interactiveMode ?? (version === "v1beta1" ? "IfAvailable" : "");
  const interactiveMode = interactiveModes.find((known) => known === mode);
  if (interactiveMode === undefined) {
    const problem = mode === "" ? "must be set in v1" : `${JSON.stringify(mode)} is not known`;
    throw fail("interactiveMode", `${problem}: use ${interactiveModes.join(", ")}`);
  }
  const { prefix } = apiDomain(domain);
  return {
    user,
    command: isPath(command) ? pathBeside(origin, command) : command,
    args: exec.args ?? [],
    env: Object.fromEntries(env.map(({ name = "", value = "" }) => [name, value])),
    apiVersion,
    domain,
    infoVariable: `${prefix === "kube" ? "KUBERNETES" : prefix.toUpperCase().replaceAll("-", "_")}_EXEC_INFO`,
    interactiveMode,
    installHint: exec.installHint ?? "",
    provideClusterInfo: exec.provideClusterInfo ?? false,
  };
}

const isPath = (command: string): boolean => command.includes("/") || command.includes(sep);
