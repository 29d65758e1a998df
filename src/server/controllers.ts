/** The built-in controllers by upstream name, and their selection by `--controllers`. */
import type { Service } from "#api/core/v1.ts";
import { podReferences } from "#authz/pod-references.ts";
import { pause } from "#client/reflector.ts";
import type { RestClient } from "#client/rest-client.ts";
import { apiServiceAvailabilityController } from "#controllers/api-service-availability.ts";
import { apiServicesController, type LocalVersions } from "#controllers/api-services.ts";
import type { Controller } from "#controllers/controller.ts";
import { bootstrapSignerController } from "#controllers/bootstrap-signer.ts";
import { claimAttributesClassController } from "#controllers/claim-attributes-class.ts";
import { clusterRoleAggregationController } from "#controllers/cluster-role-aggregation.ts";
import { csrApprovingController } from "#controllers/csr-approving.ts";
import { csrCleanerController } from "#controllers/csr-cleaner.ts";
import { csrSigningController } from "#controllers/csr-signing.ts";
import { extensionAuthenticationController } from "#controllers/extension-authentication.ts";
import { garbageCollectorController, type ServedResources } from "#controllers/garbage-collector.ts";
import { legacyTokenCleanerController } from "#controllers/legacy-token-cleaner.ts";
import { type KubernetesServiceOptions, kubernetesServiceController } from "#controllers/kubernetes-service.ts";
import { legacyTokenTrackingController } from "#controllers/legacy-token-tracking.ts";
import { namespaceController } from "#controllers/namespace.ts";
import { claimProtectionController, volumeProtectionController } from "#controllers/protection.ts";
import { policyTypeCheckingController, type ServedKinds } from "#controllers/policy-type-checking.ts";
import { type ResourceQuotaOptions, resourceQuotaController } from "#controllers/resource-quota.ts";
import { rootCaController } from "#controllers/root-ca.ts";
import { serviceRepairController } from "#controllers/service-repair.ts";
import { serviceAccountTokensController } from "#controllers/service-account-tokens.ts";
import { serviceAccountsController } from "#controllers/service-accounts.ts";
import { systemPriorityClassesController } from "#controllers/system-priority-classes.ts";
import { tokenCleanerController } from "#controllers/token-cleaner.ts";
import { publishedTrust } from "./aggregation/proxy-client.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import type { ControllerClients } from "./controllers/clients.ts";
import { controllerName, offByDefault } from "./controllers/names.ts";
import { publicKubeconfig } from "./kubeconfig.ts";
import { givenAddresses } from "./service-addresses.ts";

interface Named {
  readonly name: string;
  readonly client: RestClient;
  readonly controller: Controller;
}

/** The controllers `--controllers` selects from. Account names are upstream's, since roles have these names. */
function selectable(config: ControllersOptions): readonly Named[] {
  const { attributesClasses, clients, controllerCredentials: credentials, domain, options, random, url } = config;
  const { rootCertificates } = credentials;
  const kubeconfig = publicKubeconfig(url, rootCertificates);
  const named = (name: string, account: string, controller: Controller): Named => ({
    name,
    client: clients.account(account),
    controller,
  });
  return [
    named("bootstrap-signer-controller", "bootstrap-signer", bootstrapSignerController(clients.server, kubeconfig)),
    named("certificatesigningrequest-approving-controller", "certificate-controller", csrApprovingController),
    named("certificatesigningrequest-cleaner-controller", "certificate-controller", csrCleanerController),
    named(
      "certificatesigningrequest-signing-controller",
      "certificate-controller",
      csrSigningController({
        authority: (signer) => credentials.authority(signer),
        durationMs: options.clusterSigningDurationMs,
        random,
      }),
    ),
    named("clusterrole-aggregation-controller", "clusterrole-aggregation-controller", clusterRoleAggregationController),
    named(
      "garbage-collector-controller",
      "generic-garbage-collector",
      garbageCollectorController({ served: config.served }),
    ),
    named(
      "legacy-serviceaccount-token-cleaner-controller",
      "legacy-service-account-token-cleaner",
      legacyTokenCleanerController({
        periodMs: options.legacyTokenPeriodMs,
        secretsOf: (pod) => podReferences(pod).secrets,
      }),
    ),
    named("namespace-controller", "namespace-controller", namespaceController),
    named("persistentvolume-protection-controller", "pv-protection-controller", volumeProtectionController),
    named("persistentvolumeclaim-protection-controller", "pvc-protection-controller", claimProtectionController),
    named("resourcequota-controller", "resourcequota-controller", resourceQuotaController(config.quotas)),
    named("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", rootCaController(rootCertificates)),
    named("serviceaccount-controller", "service-account-controller", serviceAccountsController),
    {
      name: "serviceaccount-token-controller",
      // Upstream: it has no account, since it makes what accounts act by.
      client: clients.manager("tokens-controller"),
      controller: serviceAccountTokensController({
        sign: (parties) => credentials.signToken(parties, domain),
        rootCertificates,
      }),
    },
    named("token-cleaner-controller", "token-cleaner", tokenCleanerController),
    named(
      "validatingadmissionpolicy-status-controller",
      "validatingadmissionpolicy-status-controller",
      policyTypeCheckingController(config.kinds),
    ),
    // Ours, so there is no role of its name: that of the controller that looks after claims being changed.
    ...(attributesClasses === ""
      ? []
      : [
          named(
            "volumeattributesclass-controller",
            "expand-controller",
            claimAttributesClassController(attributesClasses),
          ),
        ]),
  ];
}

/** Upstream: part of the API server itself, so they cannot be deselected. */
const ownControllers = (config: ControllersOptions): readonly Named[] => {
  const { server } = config.clients;
  const given = givenAddresses(config.options);
  return [
    { name: "autoregister-controller", client: server, controller: apiServicesController(config.localVersions) },
    {
      name: "apiservice-status-controller",
      client: server,
      controller: apiServiceAvailabilityController({
        check: config.checkApi,
        hasGivenAddress: (...service) => given(...service) !== undefined,
      }),
    },
    {
      name: "extension-authentication-controller",
      client: server,
      controller: extensionAuthenticationController(() => publishedTrust(config.options, config.clientTrust)),
    },
    { name: "legacy-token-tracking-controller", client: server, controller: legacyTokenTrackingController },
    { name: "service-ip-repair-controller", client: server, controller: serviceRepairController(config.isIncomplete) },
    {
      name: "kubernetes-service-controller",
      client: server,
      controller: kubernetesServiceController(config.kubernetesService),
    },
    { name: "system-priority-classes", client: server, controller: systemPriorityClassesController },
  ];
};

export interface ControllersOptions extends AssembleConfig {
  readonly clients: ControllerClients;
  /** Where clients reach the server, which may be elsewhere. */
  readonly url: string;
  /** Served version of volume attributes classes; empty when they are not served. */
  readonly attributesClasses: string;
  readonly localVersions: LocalVersions;
  readonly served: ServedResources;
  readonly kinds: ServedKinds;
  /** What is wrong with the server of an APIService, if anything. */
  checkApi(name: string, signal: AbortSignal): Promise<string | undefined>;
  readonly kubernetesService: KubernetesServiceOptions;
  readonly quotas: ResourceQuotaOptions;
  /** Whether a stored service lacks an address. */
  isIncomplete(service: Service): boolean;
}

/** Starts the selected controllers. The returned function ends them. */
export function startControllers(config: ControllersOptions): () => Promise<void> {
  const { clients, clock, domain, log } = config;
  const stop = new AbortController();
  const reader = clients.manager("shared-informers");
  const chosen = selectable(config).filter(({ name }) => isSelected(name, config.options.controllers));
  const running = [...chosen, ...ownControllers(config)].map(async ({ name, client, controller }) => {
    const named = log.with({ controller: name });
    try {
      await late(controller)({ client, reader, clock, domain, log: named, signal: stop.signal });
    } catch (error) {
      named.error({ error }, "a controller has ended");
    }
  });
  const unfollow = config.controllerCredentials.follow(clock, log);
  const unfollowProxy = config.proxyClient.follow(clock, log);
  return async () => {
    unfollow();
    unfollowProxy();
    stop.abort();
    await Promise.all(running);
  };
}

/** Delays controllers, so that clients that wait for the start do not wait for them. */
const startDelayMs = 50;

const late =
  (controller: Controller): Controller =>
  async (environment) => {
    const { clock, signal } = environment;
    await pause(clock, startDelayMs, signal);
    if (!signal.aborted) await controller(environment);
  };

/** By the values of `--controllers`: the first entry that names the controller decides, then `*`. */
function isSelected(name: string, selected: readonly string[]): boolean {
  for (const entry of selected) {
    if (controllerName(entry) === name) return true;
    if (entry.startsWith("-") && controllerName(entry.slice(1)) === name) return false;
  }
  return (selected.length === 0 || selected.includes("*")) && !offByDefault.has(name);
}
