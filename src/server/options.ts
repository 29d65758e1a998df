/**
 * All options of a server. The flag tables of the features are combined into one table, which yields the type, command
 * line, configuration file, help and checks. Flags have kube-apiserver's names where such names exist; our own flags
 * are in the group `Binnacle`.
 */
import {
  checkSettings,
  type OptionsOf,
  parseArguments,
  printChosenHelp,
  printHelp,
  readConfig,
  type Settings,
} from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { admissionFlags, withAdmissionControl } from "./admission/flags.ts";
import { aggregationFlags, checkProxyClientFiles } from "./aggregation/flags.ts";
import { auditFlags } from "./audit/flags.ts";
import { externalAuthenticationFlags } from "./authentication/external-flags.ts";
import { authenticationFlags } from "./authentication/flags.ts";
import { authorizationFlags } from "./authorization/flags.ts";
import { consoleFlags } from "./console/flags.ts";
import { controllerFlags } from "./controllers/flags.ts";
import { checkServingFiles, credentialFlags } from "./credentials/flags.ts";
import { egressFlags } from "./egress/flags.ts";
import { encryptionFlags } from "./encryption/flags.ts";
import { checkFairness, fairnessFlags } from "./flow-control/flags.ts";
import { generalFlags } from "./general-flags.ts";
import { inertFlags } from "./inert-flags.ts";
import { metricFlags } from "./metrics/flags.ts";
import { listenerFlags } from "./listener/flags.ts";
import { requestFlags } from "./request-flags.ts";
import { kindFlags } from "./served-kinds/flags.ts";
import { checkKubeletFiles, nodeFlags } from "./nodes/flags.ts";
import { checkProcesses } from "./processes.ts";
import { checkPlanes, planeFlags } from "./plane-flags.ts";
import { simulationFlags } from "./simulation/flags.ts";
import { tracingFlags } from "./tracing/flags.ts";
import { checkNodePort, serviceFlags } from "./services/flags.ts";
import { checkEtcd, etcdFlags } from "./store/etcd-flags.ts";
import { checkHistory, storeFlags } from "./store/flags.ts";

export const serverFlags = {
  // A flag that another table has, too, takes effect.
  ...inertFlags,
  ...generalFlags,
  ...storeFlags,
  ...etcdFlags,
  ...encryptionFlags,
  ...egressFlags,
  ...credentialFlags,
  ...listenerFlags,
  ...requestFlags,
  ...fairnessFlags,
  ...kindFlags,
  ...authenticationFlags,
  ...externalAuthenticationFlags,
  ...authorizationFlags,
  ...admissionFlags,
  ...auditFlags,
  ...metricFlags,
  ...tracingFlags,
  ...aggregationFlags,
  ...serviceFlags,
  ...nodeFlags,
  ...controllerFlags,
  ...planeFlags,
  ...simulationFlags,
  ...consoleFlags,
};

/** The complete, validated options of a server. Durations are in milliseconds unless the name says otherwise. */
export type ServerOptions = OptionsOf<typeof serverFlags>;

/** Some of the options; the others have their defaults. */
export type ServerSettings = Settings<typeof serverFlags>;

interface ServeArguments {
  readonly settings: ServerSettings;
  readonly help: boolean;
  readonly rest: readonly string[];
}

/** Returns the settings of a command line. Throws `StartError`. */
export const parseServeArguments = (args: readonly string[]): ServeArguments => parseArguments(serverFlags, args);

/** The flags that people use most, in the order of `serve --help`. */
const mainFlags = [
  serverFlags.dataDir,
  serverFlags.storage,
  serverFlags.etcdServers,
  serverFlags.apiDomain,
  serverFlags.bindAddress,
  serverFlags.securePort,
  serverFlags.tlsSan,
  serverFlags.tokenAuthFile,
  serverFlags.processes,
  serverFlags.history,
  serverFlags.config,
  serverFlags.verbosity,
];

/** Returns the help of the flags that people use most, for a terminal of `width` columns. */
export const shortServeHelp = (width: number): string => printChosenHelp(mainFlags, width);

/** Returns the help of all flags for a terminal of `width` columns. */
export const serveHelp = (width: number): string => printHelp(serverFlags, width);

/**
 * Returns the settings in the text of a configuration file. js-yaml is loaded only for such a file. Throws
 * `StartError`.
 */
export async function readConfigFile(file: string, content: string): Promise<ServerSettings> {
  if (content.trim() === "") return {};
  const { load } = await import("js-yaml");
  let config: unknown;
  try {
    config = load(content);
  } catch (error) {
    throw new StartError(`${file}: not YAML: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
  }
  const settings = readConfig(serverFlags, file, config);
  if (settings.config !== undefined) throw new StartError(`${file}: a configuration file cannot name another`);
  return settings;
}

/**
 * Checks settings as strictly as flags, and completes them with the defaults. Later layers take precedence over
 * earlier ones. Throws `StartError`.
 */
export function resolveOptions(...layers: readonly ServerSettings[]): ServerOptions {
  const defaults = Object.fromEntries(Object.entries(serverFlags).map(([key, flag]) => [key, flag.default]));
  const checked = layers.map((layer) => checkSettings(serverFlags, layer));
  const given = withAdmissionControl(Object.assign(defaults, ...checked) as ServerOptions); // defaults hold every key
  // Servers and processes that share a store share the work of the controllers, unless a setting says otherwise.
  const isAsked = checked.some(({ leaderElect }) => leaderElect !== undefined);
  const isShared = given.etcdServers.length > 0 || given.processes > 1;
  const options = isAsked ? given : { ...given, leaderElect: isShared };
  checkServingFiles(options);
  checkProxyClientFiles(options);
  checkKubeletFiles(options);
  checkHistory(options);
  checkEtcd(options);
  checkFairness(options);
  checkNodePort(options);
  checkProcesses(options);
  checkPlanes(options);
  return options;
}

/** Returns one line for every given flag that has no effect, or should not be given any more. */
export function flagNotes(settings: ServerSettings): string[] {
  const keys = Object.keys(settings) as (keyof typeof serverFlags)[]; // settings have only the table's keys
  return keys.flatMap((key) => {
    const flag = serverFlags[key];
    return [
      ...(flag.deprecated === undefined ? [] : [`--${flag.name} is deprecated: ${flag.deprecated}`]),
      ...(flag.inert === undefined ? [] : [`--${flag.name} does nothing yet: ${flag.inert}`]),
    ];
  });
}
