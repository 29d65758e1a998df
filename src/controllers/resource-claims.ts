/**
 * Creates resource claims from templates for pods, reserves claims for pods with a node but no scheduler, and releases
 * and deletes claims without users. Source: upstream's resource claim controller.
 */
import type { Pod, PodResourceClaim } from "#api/core/v1.ts";
import type { ResourceClaim, ResourceClaimConsumerReference, ResourceClaimTemplate } from "#api/resource/v1beta1.ts";
import { type Informer, type InformerEvent, keyOf } from "#client/informer.ts";
import { referenceToOwner } from "#client/owner.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";
import { untilAborted } from "#std/abort.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { eventTeller, type TellEvent } from "./events.ts";
import { findListed } from "./find-listed.ts";
import { ignoreCodes, isNamespaceEnding } from "./ignore-codes.ts";
import { inPages } from "./pages.ts";
import { inNamespace, objectPath } from "./paths.ts";
import { isTerminal } from "./pods.ts";
import { openInformer, workQueue } from "./reconcile.ts";
import type { SharedInformers } from "./shared-informers.ts";

interface ResourceClaimsOptions {
  readonly informers: SharedInformers;
  /** The served version of resource claims. */
  readonly version: string;
}

/** Upstream's number of claims that are processed at a time. */
const workersMax = 50;
/** Upstream's maximum number of pods that use a claim. */
const reservedMax = 256;
/** The finalizer of claims that the scheduler allocated. */
const protectionFinalizer = "resource.kubernetes.io/delete-protection";
/** The annotation of a claim that says which of the pod's claims it is. */
const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
/** Upstream's field manager for the names of claims in the status of pods. */
const manager = "ResourceClaimController";

export const resourceClaimsController =
  (options: ResourceClaimsOptions): Controller =>
  (environment) =>
    new ResourceClaims(environment, options).run();

class ResourceClaims {
  readonly #environment: ControllerEnvironment;
  readonly #informers: SharedInformers;
  readonly #claims: Informer<ResourceClaim>;
  readonly #apiVersion: string;
  /** The path of the claims. */
  readonly #path: string;
  readonly #podQueue: WorkQueue;
  readonly #claimQueue: WorkQueue;
  readonly #tellEvent: TellEvent;

  constructor(environment: ControllerEnvironment, { informers, version }: ResourceClaimsOptions) {
    this.#environment = environment;
    this.#informers = informers;
    this.#apiVersion = `${environment.domain.rename("resource.k8s.io")}/${version}`;
    this.#path = `/apis/${this.#apiVersion}/resourceclaims`;
    this.#claims = openInformer<ResourceClaim>(environment, { what: "resource claims", path: this.#path });
    this.#tellEvent = eventTeller(environment, "resource_claim");
    this.#podQueue = workQueue(environment, {
      name: "resource_claim",
      workersMax,
      work: (key) => this.#lookAtPod(key),
      logKey: "pod",
      failure: "could not make the resource claims of a pod; trying again",
    });
    this.#claimQueue = workQueue(environment, {
      name: "resource_claim",
      workersMax,
      work: (key) => this.#lookAtClaim(key),
      logKey: "claim",
      failure: "could not release a resource claim; trying again",
    });
  }

  async run(): Promise<void> {
    this.#claims.subscribe((event) => this.#claimChanged(event));
    this.#informers.pods.subscribe((event) => this.#podChanged(event));
    await untilAborted(this.#environment.signal);
  }

  #podChanged({ type, object: pod }: InformerEvent<Pod>): void {
    if ((pod.spec.resourceClaims ?? []).length === 0) return;
    if (type === "deleted" || isDone(pod)) {
      for (const name of claimNames(pod)) this.#claimQueue.add(`${pod.metadata.namespace}/${name}`);
      for (const claim of this.#claimsOf(pod)) this.#claimQueue.add(keyOf(claim));
    } else this.#podQueue.add(keyOf(pod));
  }

  #claimChanged(event: InformerEvent<ResourceClaim>): void {
    const { type, object: claim } = event;
    const owner = podOwner(claim);
    if (type !== "deleted") this.#claimQueue.add(keyOf(claim));
    // The pod of the claim may need another one, or wait for what was allocated to this one.
    if (owner !== undefined) this.#podQueue.add(`${claim.metadata.namespace}/${owner.name}`);
    else if (isNewlyAllocated(event)) this.#wakeUsers(claim);
  }

  /** Queues the pods that use a claim and have a node, for which no scheduler reserves it. */
  #wakeUsers({ metadata: { namespace = "", name = "" } }: ResourceClaim): void {
    for (const pod of this.#informers.pods.in(namespace))
      if (claimNames(pod).includes(name)) this.#podQueue.add(keyOf(pod));
  }

  /** Returns the claims that were made for a pod. */
  #claimsOf(pod: Pod): ResourceClaim[] {
    return this.#claims.in(pod.metadata.namespace ?? "").filter((claim) => podOwner(claim)?.uid === pod.metadata.uid);
  }

  async #lookAtPod(key: string): Promise<void> {
    await Promise.all([this.#claims.synced, this.#informers.pods.synced]);
    const pod = this.#informers.pods.get(key);
    if (pod === undefined || isDone(pod) || pod.metadata.deletionTimestamp !== undefined) return;
    const names = new Map((pod.status.resourceClaimStatuses ?? []).map((one) => [one.name, one.resourceClaimName]));
    const added = new Map<string, string>();
    for (const wanted of pod.spec.resourceClaims ?? []) {
      const claim = await this.#claimOf(pod, wanted, names.get(wanted.name));
      if (claim !== undefined && names.get(wanted.name) !== claim) added.set(wanted.name, claim);
    }
    if (added.size > 0) await this.#applyNames(pod, new Map([...names, ...added]));
    if ((pod.spec.nodeName ?? "") !== "") await this.#reserveAll(pod);
  }

  /** Returns the name of the claim made from a template, which is created if there is none. */
  async #claimOf(pod: Pod, wanted: PodResourceClaim, claimName: string | undefined): Promise<string | undefined> {
    const { resourceClaimTemplateName: template } = wanted;
    if (template === undefined) return undefined;
    const { namespace = "" } = pod.metadata;
    const annotation = this.#environment.domain.rename(podClaimAnnotation);
    if (claimName !== undefined && podOwner(this.#claims.get(`${namespace}/${claimName}`))?.uid === pod.metadata.uid)
      return claimName;
    // The claims are read from the server: a second claim would never be noticed.
    for await (const { metadata } of inPages<ResourceClaim>(
      this.#environment.client,
      inNamespace(this.#path, namespace),
    )) {
      const isMade =
        podOwner({ metadata })?.uid === pod.metadata.uid && metadata.annotations?.[annotation] === wanted.name;
      if (isMade && metadata.deletionTimestamp === undefined) return metadata.name;
    }
    try {
      return (await this.#make(pod, wanted.name, template)).metadata.name;
    } catch (error) {
      if (isNamespaceEnding(error)) return undefined;
      const why = error instanceof Error ? error.message : String(error);
      const message = `PodResourceClaim ${wanted.name}: ${why}`;
      this.#tellEvent({ ...pod, kind: "Pod" }, "Warning", "FailedResourceClaimCreation", message);
      throw error;
    }
  }

  async #make(pod: Pod, podClaim: string, templateName: string): Promise<ResourceClaim> {
    const { client, domain, reader } = this.#environment;
    const { namespace = "", name = "" } = pod.metadata;
    const templates = inNamespace(`/apis/${this.#apiVersion}/resourceclaimtemplates`, namespace);
    // The client that may read everything gets the template: the controller's role does not name templates.
    const template = await findListed<ResourceClaimTemplate>(reader, templates, templateName);
    if (template === undefined) throw new Error(noTemplate(templateName));
    const { labels, annotations } = template.spec.metadata;
    return client.create<ResourceClaim>(inNamespace(this.#path, namespace), {
      apiVersion: this.#apiVersion,
      kind: "ResourceClaim",
      metadata: {
        generateName: generatedBase(name, podClaim),
        labels,
        annotations: { ...annotations, [domain.rename(podClaimAnnotation)]: podClaim },
        ownerReferences: [referenceToOwner({ ...pod, apiVersion: "v1", kind: "Pod" })],
      },
      spec: template.spec.spec,
    });
  }

  async #applyNames({ metadata }: Pod, names: ReadonlyMap<string, string | undefined>): Promise<void> {
    const { namespace = "", name = "", uid } = metadata;
    const resourceClaimStatuses = [...names].map(([podClaim, claim]) => ({
      name: podClaim,
      ...(claim === undefined ? {} : { resourceClaimName: claim }),
    }));
    const path = `${objectPath("/api/v1/pods", metadata)}/status`;
    const applied = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, uid },
      status: { resourceClaimStatuses },
    };
    await ignoreNotFound(this.#environment.client.apply<Pod>(path, manager, applied));
  }

  async #reserveAll(pod: Pod): Promise<void> {
    const { namespace = "", uid = "", name = "" } = pod.metadata;
    for (const claimName of claimNames(pod)) {
      const claim = await this.#live(namespace, claimName);
      if (claim?.status.allocation === undefined || claim.metadata.deletionTimestamp !== undefined) continue;
      const { reservedFor = [] } = claim.status;
      if (reservedFor.length >= reservedMax || reservedFor.some((one) => one.uid === uid)) continue;
      await this.#writeStatus(claim, {
        ...claim.status,
        reservedFor: [...reservedFor, { resource: "pods", name, uid }],
      });
    }
  }

  async #lookAtClaim(key: string): Promise<void> {
    await Promise.all([this.#claims.synced, this.#informers.pods.synced]);
    const [namespace = "", name = ""] = key.split("/");
    let claim = await this.#live(namespace, name);
    if (claim === undefined) return;
    const { reservedFor = [] } = claim.status;
    const stays: ResourceClaimConsumerReference[] = [];
    for (const user of reservedFor) if (await this.#isUsing(namespace, user)) stays.push(user);
    if (stays.length < reservedFor.length) claim = await this.#release(claim, stays);
    else if (stays.length === 0 && claim.metadata.deletionTimestamp !== undefined)
      claim = await this.#release(claim, []);
    if (claim === undefined || stays.length > 0 || claim.metadata.deletionTimestamp !== undefined) return;
    await this.#removeUnneeded(claim);
  }

  /** Whether a user of a claim may still run. Users other than pods count as running, since their state is unknown. */
  async #isUsing(
    namespace: string,
    { apiGroup = "", resource, name, uid }: ResourceClaimConsumerReference,
  ): Promise<boolean> {
    if (apiGroup !== "" || resource !== "pods") return true;
    const cachedPod = this.#informers.pods.get(`${namespace}/${name}`);
    if (cachedPod?.metadata.uid === uid) return !isDone(cachedPod);
    const pod = await this.#livePod(namespace, name);
    return pod?.metadata.uid === uid && !isDone(pod);
  }

  /** Writes that only `reservedFor` use the claim. When there are none, what was allocated to it is free again. */
  async #release(
    claim: ResourceClaim,
    reservedFor: readonly ResourceClaimConsumerReference[],
  ): Promise<ResourceClaim | undefined> {
    const { allocation, devices, reservedFor: _, ...rest } = claim.status;
    const isFree = reservedFor.length === 0;
    const status = isFree
      ? rest
      : {
          ...rest,
          ...(allocation === undefined ? {} : { allocation }),
          ...(devices === undefined ? {} : { devices }),
          reservedFor,
        };
    const isChanged = allocation !== undefined || (claim.status.reservedFor ?? []).length > 0;
    const written = isChanged ? await this.#writeStatus(claim, status) : claim;
    const finalizer = this.#environment.domain.rename(protectionFinalizer);
    if (written === undefined || !isFree || !written.metadata.finalizers?.includes(finalizer)) return written;
    const finalizers = written.metadata.finalizers.filter((one) => one !== finalizer);
    const typed = { ...written, ...this.#type, metadata: { ...written.metadata, finalizers } };
    return ignoreNotFound(
      this.#environment.client.update<ResourceClaim>(objectPath(this.#path, written.metadata), typed),
    );
  }

  /** Deletes a claim that was made for a pod which will not run. A pod that is gone takes its claims with it. */
  async #removeUnneeded(claim: ResourceClaim): Promise<void> {
    const { namespace = "", uid } = claim.metadata;
    const owner = podOwner(claim);
    const ownerPod = owner && this.#informers.pods.get(`${namespace}/${owner.name}`);
    if (owner === undefined || ownerPod === undefined) return;
    // A pod with another uid may be an older one: a claim may be seen before its pod.
    const pod = ownerPod.metadata.uid === owner.uid ? ownerPod : await this.#livePod(namespace, owner.name);
    if (pod === undefined || (pod.metadata.uid === owner.uid && !isDone(pod))) return;
    await ignoreCodes(
      [404, 409],
      this.#environment.client.delete(objectPath(this.#path, claim.metadata), { preconditions: { uid } }),
    );
  }

  async #writeStatus(claim: ResourceClaim, status: ResourceClaim["status"]): Promise<ResourceClaim | undefined> {
    const path = `${objectPath(this.#path, claim.metadata)}/status`;
    return ignoreNotFound(this.#environment.client.update<ResourceClaim>(path, { ...claim, ...this.#type, status }));
  }

  #livePod(namespace: string, name: string): Promise<Pod | undefined> {
    return ignoreNotFound(this.#environment.client.get<Pod>(objectPath("/api/v1/pods", { namespace, name })));
  }

  #live(namespace: string, name: string): Promise<ResourceClaim | undefined> {
    return ignoreNotFound(this.#environment.client.get<ResourceClaim>(objectPath(this.#path, { namespace, name })));
  }

  get #type(): { readonly apiVersion: string; readonly kind: string } {
    return { apiVersion: this.#apiVersion, kind: "ResourceClaim" };
  }
}

/** Whether a pod uses nothing any more: it has ended, or is being deleted and never had a node. */
const isDone = (pod: Pod): boolean =>
  isTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && (pod.spec.nodeName ?? "") === "");

const isNewlyAllocated = (event: InformerEvent<ResourceClaim>): boolean =>
  event.type !== "deleted" &&
  event.object.status.allocation !== undefined &&
  !(event.type === "changed" && event.previous.status.allocation !== undefined);

/** Returns the pod that a claim was made for. */
const podOwner = (claim: ApiObject | undefined): OwnerReference | undefined =>
  claim?.metadata.ownerReferences?.find(
    ({ apiVersion, kind, controller }) => controller === true && apiVersion === "v1" && kind === "Pod",
  );

/** Returns the known names of the claims of a pod. */
function claimNames({ spec, status }: Pod): string[] {
  return (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName }) => {
    const claimName = status.resourceClaimStatuses?.find((one) => one.name === name)?.resourceClaimName;
    return resourceClaimName ?? claimName ?? [];
  });
}

/**
 * Upstream's maximum length of the beginning of a name that the server completes; if the two parts are too long, each
 * gets half.
 */
const baseMax = 57;

function generatedBase(pod: string, podClaim: string): string {
  if (pod.length + podClaim.length + 1 <= baseMax) return `${pod}-${podClaim}-`;
  const half = Math.floor((baseMax - 1) / 2);
  const [podRoom, claimRoom] =
    pod.length <= half
      ? [pod.length, baseMax - 1 - pod.length]
      : podClaim.length <= half
        ? [baseMax - 1 - podClaim.length, podClaim.length]
        : [half, baseMax - 1 - half];
  return `${pod.slice(0, podRoom)}-${podClaim.slice(0, claimRoom)}-`;
}

const noTemplate = (name: string): string =>
  `resource claim template ${goQuote(name)}: resourceclaimtemplate.resource.k8s.io ${goQuote(name)} not found`;
