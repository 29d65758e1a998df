/** The built-in controllers by upstream name, and their selection by `--controllers`. */
import { RestClient } from "#client/rest-client.ts";
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
import { defaultServiceCidrController, serviceCidrsController } from "#controllers/service-cidrs.ts";
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
import { type Identity, identityControllers } from "./controllers/identity-controllers.ts";
import { accountOf, controllerName, offByDefault } from "./controllers/names.ts";
import { type Controllers, podControllers } from "./controllers/pod-controllers.ts";
import { publicKubeconfig } from "./kubeconfig.ts";
import type { ServerParts } from "./server-parts.ts";
import { givenAddresses } from "./services/addresses.ts";
import type { ServiceFlags } from "./services/flags.ts";

/** Returns the controllers from which `--controllers` selects. */
function selectable(parts: ControllersParts, informers: SharedInformers): Controllers {
  const { clients, credentials, domain, identity, options, random, attributesClasses } = parts;
  const { rootCertificates } = credentials;
  return {
    ...podControllers({ ...parts, informers }),
    "bootstrap-signer-controller": bootstrapTokenControllers.signer(
      clients.server,
      publicKubeconfig(parts.url, rootCertificates),
    ),
    "certificatesigningrequest-approving-controller": certificateControllers.approving,
    "certificatesigningrequest-cleaner-controller": certificateControllers.cleaner,
    "certificatesigningrequest-signing-controller": certificateControllers.signing({
      authority: (signer) => credentials.authority(signer),
      durationMs: options.clusterSigningDurationMs,
      random,
    }),
    "clusterrole-aggregation-controller": clusterRoleAggregationController,
    "garbage-collector-controller": options.enableGarbageCollector
      ? garbageCollectorController({ served: parts.served })
      : undefined,
    "legacy-serviceaccount-token-cleaner-controller": legacyTokenControllers.cleaner({
      periodMs: options.legacyTokenPeriodMs,
      secretsOf: (pod) => podReferences(pod).secrets,
    }),
    "namespace-controller": namespaceController,
    "persistentvolume-protection-controller": volumeProtectionController,
    "persistentvolumeclaim-protection-controller": claimProtectionController,
    "resourcequota-controller": resourceQuotaController(parts.quotas),
    "root-ca-certificate-publisher-controller": rootCaController(rootCertificates),
    "service-cidr-controller": parts.serviceCidrs === undefined ? undefined : serviceCidrsController,
    "serviceaccount-controller": serviceAccountControllers.defaultAccounts,
    "serviceaccount-token-controller": serviceAccountControllers.tokens({
      sign: (parties) => credentials.signToken(parties, domain),
      rootCertificates,
    }),
    "token-cleaner-controller": bootstrapTokenControllers.cleaner,
    "validatingadmissionpolicy-status-controller": policyTypeCheckingController(parts.kinds),
    "storage-version-migrator-controller": parts.migratesStorage ? storageVersionControllers.migration : undefined,
    "storageversion-garbage-collector-controller":
      identity?.storedResources && storageVersionControllers.collector(identity),
    "volumeattributesclass-controller":
      attributesClasses === "" ? undefined : claimAttributesClassController(attributesClasses),
  };
}

/** Returns the controllers that upstream runs inside the API server, so they cannot be deselected. */
function ownControllers(parts: ControllersParts): Controllers {
  const addresses = givenAddresses(parts.options);
  return {
    ...identityControllers(parts.identity),
    "leader-election-controller": parts.hasCandidates ? coordinatedElectionController : undefined,
    "autoregister-controller": apiServicesController(parts.localVersions),
    "apiservice-status-controller": apiServiceAvailabilityController({
      check: parts.checkApi,
      hasGivenAddress: (...service) => addresses(...service) !== undefined,
    }),
    "extension-authentication-controller": extensionAuthenticationController(() =>
      publishedTrust(parts.options, parts.clientTrust),
    ),
    "legacy-token-tracking-controller": legacyTokenControllers.tracking,
    "default-service-cidr-controller":
      parts.serviceCidrs === undefined ? undefined : defaultServiceCidrController(parts.serviceCidrs),
    "service-ip-repair-controller": serviceRepairController(parts.isIncomplete),
    "kubernetes-service-controller": kubernetesServiceController(parts.kubernetesService),
    "system-priority-classes": systemPriorityClassesController,
  };
}

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
  /** The ranges of service addresses by flags; `undefined` unless ranges are objects. */
  readonly serviceCidrs: readonly string[] | undefined;
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
  const run = (all: Controllers, clientOf: (name: string) => RestClient, until: AbortSignal): Promise<unknown> =>
    Promise.all(
      Object.entries(all).map(async ([name, controller]) => {
        if (controller === undefined) return;
        const client = clientOf(name);
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
    const all = Object.entries(selectable(own, informers));
    const chosen = Object.fromEntries(all.filter(([name]) => isSelected(name, options.controllers)));
    await run(chosen, (name) => clientFor(name, own.clients), until);
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
  const running = [selected, run(ownControllers(parts), () => clients.server, signal)];
  const unfollow = parts.credentials.follow(clock, log);
  const unfollowProxy = parts.proxyClient.follow(clock, log);
  return async () => {
    unfollow();
    unfollowProxy();
    stop.abort();
    await Promise.all(running);
  };
}

/** Returns the client with which a controller writes. */
function clientFor(name: string, clients: ControllerClients): RestClient {
  // This controller has no account, as upstream, since it makes the tokens of accounts.
  return name === "serviceaccount-token-controller"
    ? clients.manager("tokens-controller")
    : clients.account(accountOf(name));
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
