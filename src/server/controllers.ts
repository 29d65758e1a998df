/** The controllers a server runs, by their upstream names, and how `--controllers` selects them. */
import { pause } from "#client/reflector.ts";
import type { RestClient } from "#client/rest-client.ts";
import { apiServicesController, type LocalVersions } from "#controllers/api-services.ts";
import type { Controller } from "#controllers/controller.ts";
import { bootstrapSignerController } from "#controllers/bootstrap-signer.ts";
import { claimAttributesClassController } from "#controllers/claim-attributes-class.ts";
import { claimProtectionController } from "#controllers/claim-protection.ts";
import { clusterRoleAggregationController } from "#controllers/cluster-role-aggregation.ts";
import { csrApprovingController } from "#controllers/csr-approving.ts";
import { csrCleanerController } from "#controllers/csr-cleaner.ts";
import { csrSigningController } from "#controllers/csr-signing.ts";
import { namespaceController } from "#controllers/namespace.ts";
import { rootCaController } from "#controllers/root-ca.ts";
import { serviceAccountTokensController } from "#controllers/service-account-tokens.ts";
import { serviceAccountsController } from "#controllers/service-accounts.ts";
import { tokenCleanerController } from "#controllers/token-cleaner.ts";
import { volumeProtectionController } from "#controllers/volume-protection.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Random } from "#std/random.ts";
import type { ControllerCredentials } from "./controller-credentials.ts";
import { controllerName, offByDefault } from "./controller-names.ts";
import { publicKubeconfig } from "./kubeconfig.ts";

type Named = readonly [name: string, controller: Controller];

const controllers = ({
  attributesClasses,
  credentials,
  domain,
  random,
  signingDurationMs,
  url,
}: ControllersOptions): readonly Named[] => [
  ["bootstrap-signer-controller", bootstrapSignerController(publicKubeconfig(url, credentials.rootCertificates))],
  ["certificatesigningrequest-approving-controller", csrApprovingController],
  ["certificatesigningrequest-cleaner-controller", csrCleanerController],
  [
    "certificatesigningrequest-signing-controller",
    csrSigningController({
      authority: (signer) => credentials.authority(signer),
      durationMs: signingDurationMs,
      random,
    }),
  ],
  ["clusterrole-aggregation-controller", clusterRoleAggregationController],
  ["namespace-controller", namespaceController],
  ["persistentvolume-protection-controller", volumeProtectionController],
  ["persistentvolumeclaim-protection-controller", claimProtectionController],
  ["root-ca-certificate-publisher-controller", rootCaController(credentials.rootCertificates)],
  ["serviceaccount-controller", serviceAccountsController],
  [
    "serviceaccount-token-controller",
    serviceAccountTokensController({
      sign: (parties) => credentials.signToken(parties, domain),
      rootCertificates: credentials.rootCertificates,
    }),
  ],
  ["token-cleaner-controller", tokenCleanerController],
  ...(attributesClasses === ""
    ? []
    : ([["volumeattributesclass-controller", claimAttributesClassController(attributesClasses)]] as const)),
];

export interface ControllersOptions {
  readonly client: RestClient;
  readonly clock: Clock;
  readonly domain: ApiDomain;
  readonly log: Log;
  readonly random: Random;
  readonly credentials: ControllerCredentials;
  /** Longest life of a certificate that is asked for. */
  readonly signingDurationMs: number;
  /** Where clients reach the server. */
  readonly url: string;
  /** Values of `--controllers`: `*`, a name, or `-` and a name. Empty: all. */
  readonly selected: readonly string[];
  /** Served version of volume attributes classes; empty when they are not served. */
  readonly attributesClasses: string;
  readonly localVersions: LocalVersions;
}

/** Starts the selected controllers. The returned function ends them. */
export function startControllers(options: ControllersOptions): () => Promise<void> {
  const { client, clock, domain, log, selected, localVersions } = options;
  const stop = new AbortController();
  const chosen = controllers(options).filter(([name]) => isSelected(name, selected));
  // Upstream: part of the API server itself, so nobody can deselect it.
  const running = [...chosen, ["autoregister-controller", apiServicesController(localVersions)] as const].map(
    ([name, controller]) => {
      const controllerLog = {
        warn: (fields: object, message: string) => log.warn({ controller: name, ...fields }, message),
      };
      return late(controller)({ client, clock, domain, log: controllerLog, signal: stop.signal });
    },
  );
  const unfollow = options.credentials.follow(clock, log);
  return async () => {
    unfollow();
    stop.abort();
    await Promise.all(running);
  };
}

/** Who waits for the server to start does not wait for what controllers read and write then. */
const startDelayMs = 50;

const late =
  (controller: Controller): Controller =>
  async (environment) => {
    const { clock, signal } = environment;
    await pause(clock, startDelayMs, signal);
    if (!signal.aborted) await controller(environment);
  };

/** The first entry that names the controller decides, then `*`. */
function isSelected(name: string, selected: readonly string[]): boolean {
  for (const entry of selected) {
    if (controllerName(entry) === name) return true;
    if (entry.startsWith("-") && controllerName(entry.slice(1)) === name) return false;
  }
  return (selected.length === 0 || selected.includes("*")) && !offByDefault.has(name);
}
