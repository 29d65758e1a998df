/** The built-in controllers by upstream name, and their selection by `--controllers`. */
import { pause } from "#std/clock.ts";
import type { Service } from "#api/core/v1.ts";
import { podReferences } from "#authz/pod-references.ts";
import { WorkQueueMetrics } from "#client/work-queue-metrics.ts";
import { apiServiceAvailabilityController } from "#controllers/api-service-availability.ts";
import { apiServicesController, type LocalVersions } from "#controllers/api-services.ts";
import type { Controller } from "#controllers/controller.ts";
import { claimAttributesClassController } from "#controllers/claim-attributes-class.ts";
import { bootstrapTokenControllers } from "#controllers/bootstrap-tokens.ts";
import { certificateControllers } from "#controllers/certificate-requests.ts";
import { coordinatedElectionController } from "#controllers/coordinated-election.ts";
import { clusterRoleAggregationController } from "#controllers/cluster-role-aggregation.ts";
import { extensionAuthenticationController } from "#controllers/extension-authentication.ts";
import { garbageCollectorController, type ServedResources } from "#controllers/garbage-collector.ts";
import { type KubernetesServiceOptions, kubernetesServiceController } from "#controllers/kubernetes-service.ts";
import { legacyTokenControllers } from "#controllers/legacy-tokens.ts";
import { namespaceController } from "#controllers/namespace.ts";
import { claimProtectionController, volumeProtectionController } from "#controllers/protection.ts";
import { policyTypeCheckingController, type ServedKinds } from "#controllers/policy-type-checking.ts";
import { type QuotaCountOptions, resourceQuotaController } from "#controllers/resource-quota.ts";
import { rootCaController } from "#controllers/root-ca.ts";
import { SharedInformers } from "#controllers/shared-informers.ts";
import { serviceRepairController } from "#controllers/service-repair.ts";
import { serviceAccountControllers } from "#controllers/service-accounts.ts";
import { storageVersionControllers } from "#controllers/storage-versions.ts";
import { systemPriorityClassesController } from "#controllers/system-priority-classes.ts";
import type { ScaledKinds } from "#controllers/disruption.ts";
import { type ProxyClient, publishedTrust, type PublishedTrustFlags } from "./aggregation/proxy-client.ts";
import type { ClientTrust } from "./authentication/client-trust.ts";
import type { ControllerClients } from "./controllers/clients.ts";
import type { ControllerCredentials } from "./controllers/credentials.ts";
import { electControllers, type Relay, relay } from "./controllers/election.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import { type Identity, identityCollectors, identityControllers } from "./controllers/identity-controllers.ts";
import { controllerName, offByDefault } from "./controllers/names.ts";
import { type NamedController, podControllers } from "./controllers/pod-controllers.ts";
import { publicKubeconfig } from "./kubeconfig.ts";
import type { ServerParts } from "./server-parts.ts";
import { givenAddresses } from "./services/addresses.ts";
import type { ServiceFlags } from "./services/flags.ts";

/**
 * Returns the controllers from which `--controllers` selects. Their accounts have upstream's names, like their roles.
 */
function selectable(parts: ControllersParts, informers: SharedInformers): readonly NamedController[] {
  const { clients, credentials, domain, options, random, url, resourceClaims, serves } = parts;
  const { rootCertificates } = credentials;
  const kubeconfig = publicKubeconfig(url, rootCertificates);
  const named = (name: string, account: string, controller: Controller): NamedController => ({
    name,
    client: clients.account(account),
    controller,
  });
  return [
    ...podControllers(named, { options, informers, kinds: parts.scaledKinds, resourceClaims, serves }),
    named(
      "bootstrap-signer-controller",
      "bootstrap-signer",
      bootstrapTokenControllers.signer(clients.server, kubeconfig),
    ),
    named("certificatesigningrequest-approving-controller", "certificate-controller", certificateControllers.approving),
    named("certificatesigningrequest-cleaner-controller", "certificate-controller", certificateControllers.cleaner),
    named(
      "certificatesigningrequest-signing-controller",
      "certificate-controller",
      certificateControllers.signing({
        authority: (signer) => credentials.authority(signer),
        durationMs: options.clusterSigningDurationMs,
        random,
      }),
    ),
    named("clusterrole-aggregation-controller", "clusterrole-aggregation-controller", clusterRoleAggregationController),
    named(
      "garbage-collector-controller",
      "generic-garbage-collector",
      garbageCollectorController({ served: parts.served }),
    ),
    named(
      "legacy-serviceaccount-token-cleaner-controller",
      "legacy-service-account-token-cleaner",
      legacyTokenControllers.cleaner({
        periodMs: options.legacyTokenPeriodMs,
        secretsOf: (pod) => podReferences(pod).secrets,
      }),
    ),
    named("namespace-controller", "namespace-controller", namespaceController),
    named("persistentvolume-protection-controller", "pv-protection-controller", volumeProtectionController),
    named("persistentvolumeclaim-protection-controller", "pvc-protection-controller", claimProtectionController),
    named("resourcequota-controller", "resourcequota-controller", resourceQuotaController(parts.quotas)),
    named("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", rootCaController(rootCertificates)),
    named("serviceaccount-controller", "service-account-controller", serviceAccountControllers.defaultAccounts),
    {
      name: "serviceaccount-token-controller",
      // This controller has no account, as upstream, since it makes the tokens of accounts.
      client: clients.manager("tokens-controller"),
      controller: serviceAccountControllers.tokens({
        sign: (parties) => credentials.signToken(parties, domain),
        rootCertificates,
      }),
    },
    named("token-cleaner-controller", "token-cleaner", bootstrapTokenControllers.cleaner),
    named(
      "validatingadmissionpolicy-status-controller",
      "validatingadmissionpolicy-status-controller",
      policyTypeCheckingController(parts.kinds),
    ),
    ...gatedControllers(named, parts),
  ];
}

/** Returns the controllers whose kinds are served with a feature gate only. */
function gatedControllers(
  named: (name: string, account: string, controller: Controller) => NamedController,
  { attributesClasses, migratesStorage, identity }: ControllersParts,
): readonly NamedController[] {
  const migrator = "storage-version-migrator-controller";
  return [
    ...(migratesStorage ? [named(migrator, migrator, storageVersionControllers.migration)] : []),
    ...identityCollectors(identity, named),
    // This controller does not exist upstream and has no role, so it uses the role of the controller that watches
    // claims.
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

/** Returns the controllers that upstream runs inside the API server, so they cannot be deselected. */
const ownControllers = (parts: ControllersParts): readonly NamedController[] => {
  const { server } = parts.clients;
  const addresses = givenAddresses(parts.options);
  return [
    ...identityControllers(parts.identity, server),
    ...(parts.hasCandidates
      ? [{ name: "leader-election-controller", client: server, controller: coordinatedElectionController }]
      : []),
    { name: "autoregister-controller", client: server, controller: apiServicesController(parts.localVersions) },
    {
      name: "apiservice-status-controller",
      client: server,
      controller: apiServiceAvailabilityController({
        check: parts.checkApi,
        hasGivenAddress: (...service) => addresses(...service) !== undefined,
      }),
    },
    {
      name: "extension-authentication-controller",
      client: server,
      controller: extensionAuthenticationController(() => publishedTrust(parts.options, parts.clientTrust)),
    },
    { name: "legacy-token-tracking-controller", client: server, controller: legacyTokenControllers.tracking },
    { name: "service-ip-repair-controller", client: server, controller: serviceRepairController(parts.isIncomplete) },
    {
      name: "kubernetes-service-controller",
      client: server,
      controller: kubernetesServiceController(parts.kubernetesService),
    },
    { name: "system-priority-classes", client: server, controller: systemPriorityClassesController },
  ];
};

interface ControllersParts extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics"> {
  readonly options: ControllerFlags & PublishedTrustFlags & Pick<ServiceFlags, "serviceAddress">;
  readonly credentials: ControllerCredentials;
  readonly proxyClient: ProxyClient;
  readonly clientTrust: ClientTrust;
  readonly clients: ControllerClients;
  /** The URL by which clients reach the server, possibly from another machine. */
  readonly url: string;
  /** The served version of volume attributes classes; empty when none is served. */
  readonly attributesClasses: string;
  /** The served version of resource claims; empty when none is served. */
  readonly resourceClaims: string;
  /** Whether lease candidates are served, among which this server chooses. */
  readonly hasCandidates: boolean;
  /** Whether a built-in resource is served. */
  serves(resource: string): boolean;
  /** The identity of this server; `undefined` without the feature gate `APIServerIdentity`. */
  readonly identity: Identity | undefined;
  /** Whether storage version migrations are served. */
  readonly migratesStorage: boolean;
  readonly localVersions: LocalVersions;
  readonly served: ServedResources;
  readonly kinds: ServedKinds;
  readonly scaledKinds: ScaledKinds;
  /** Returns the reason why the server of an APIService is not available; `undefined` when it is available. */
  checkApi(name: string, signal: AbortSignal): Promise<string | undefined>;
  readonly kubernetesService: KubernetesServiceOptions;
  readonly quotas: QuotaCountOptions;
  /** Whether a stored service lacks an address. */
  isIncomplete(service: Service): boolean;
}

/** Starts the selected controllers, at once or after this server is elected. The returned function ends them. */
export function startControllers(parts: ControllersParts): () => Promise<void> {
  const { clients, clock, domain, log, metrics, options, random } = parts;
  const stop = new AbortController();
  const { signal } = stop;
  const reader = clients.manager("shared-informers");
  const queueMetrics = new WorkQueueMetrics(metrics, clock);
  const run = (all: readonly NamedController[], until: AbortSignal): Promise<unknown> =>
    Promise.all(
      all.map(async ({ name, client, controller }) => {
        const named = log.with({ controller: name });
        try {
          await late(controller)({ client, reader, clock, domain, queueMetrics, log: named, signal: until });
        } catch (error) {
          if (!until.aborted) named.error({ error }, "a controller has ended");
        }
      }),
    );
  const runSelected = async (own: ControllersParts, until: AbortSignal): Promise<void> => {
    const informers = new SharedInformers({ reader, clock, domain, log, signal: until });
    const chosen = selectable(own, informers).filter(({ name }) => isSelected(name, options.controllers));
    await run(chosen, until);
  };
  const terms = termsOf(parts);
  const client = clients.manager("leader-election");
  const selected = options.leaderElect
    ? electControllers({
        options,
        client,
        domain,
        clock,
        random,
        log,
        signal,
        lead: (term) => terms((own) => runSelected({ ...own, clients: clients.within(term) }, term.signal)),
      })
    : runSelected(parts, signal);
  const running = [selected, run(ownControllers(parts), signal)];
  const unfollow = parts.credentials.follow(clock, log);
  const unfollowProxy = parts.proxyClient.follow(clock, log);
  return async () => {
    unfollow();
    unfollowProxy();
    stop.abort();
    await Promise.all(running);
  };
}

/** Returns a function that runs work with sources whose listeners are removed when the work ends. */
function termsOf(parts: ControllersParts): (work: (own: ControllersParts) => Promise<void>) => Promise<void> {
  const { served, quotas } = parts;
  let relays: { served: Relay<[]>; overcharged: Relay<[string]>; quotasServed: Relay<[]> } | undefined;
  return async (work) => {
    relays ??= {
      served: relay((listener) => served.onChange(listener)),
      overcharged: relay((listener) => quotas.onOvercharged(listener)),
      quotasServed: relay((listener) => quotas.onServed(listener)),
    };
    const { served: ofServed, overcharged, quotasServed } = relays;
    await work({
      ...parts,
      served: { list: () => served.list(), onChange: (listener) => ofServed.add(listener) },
      quotas: {
        ...quotas,
        onOvercharged: (listener) => overcharged.add(listener),
        onServed: (listener) => quotasServed.add(listener),
      },
    });
    for (const one of Object.values(relays)) one.clear();
  };
}

/** The delay in milliseconds before controllers start, so that they do not delay the first requests of clients. */
const startDelayMs = 50;

const late =
  (controller: Controller): Controller =>
  async (environment) => {
    const { clock, signal } = environment;
    await pause(clock, startDelayMs, signal);
    if (!signal.aborted) await controller(environment);
  };

/** Whether `--controllers` selects a controller: the first entry that names it decides, then `*`. */
function isSelected(name: string, selected: readonly string[]): boolean {
  for (const entry of selected) {
    if (controllerName(entry) === name) return true;
    if (entry.startsWith("-") && controllerName(entry.slice(1)) === name) return false;
  }
  return (selected.length === 0 || selected.includes("*")) && !offByDefault.has(name);
}
