/**
 * Reads and writes the slices of one controller: reads those of a service live, writes the changes of a plan, and
 * reports changes by other clients.
 */
import type { EndpointSlice } from "#api/discovery/v1.ts";
import type { DeepPartial } from "#client/draft.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { OwnerReference } from "#meta/object-meta.ts";
import type { ControllerEnvironment } from "../controller.ts";
import { inPages } from "../pages.ts";
import { inNamespace } from "../paths.ts";
import { follow } from "../reconcile.ts";
import { triggerTimeAnnotation } from "./annotations.ts";
import { planSlices, type SliceContent, type SliceGroup } from "./slice-plan.ts";

/** The properties that all slices of a service share. */
export interface SliceSet {
  readonly namespace: string;
  /** The name of the service. */
  readonly name: string;
  /** The labels beside those that identify service and manager; other labels are removed. */
  readonly labels: Readonly<Record<string, string>>;
  /** The annotations, with Kubernetes' names; `undefined` leaves the annotations of existing slices alone. */
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly owner: OwnerReference;
  /** The time of the event that changes the endpoints. */
  readonly triggerTime?: string | undefined;
  readonly endpointsMax: number;
  /** Whether slices may be created: not for a service that is being deleted. */
  readonly mayCreate: boolean;
  readonly groups: readonly SliceGroup[];
}

export class SliceKeeper {
  readonly #environment: ControllerEnvironment;
  readonly #managedBy: string;
  readonly #apiVersion: string;
  readonly #serviceLabel: string;
  readonly #managerLabel: string;
  /** The version of each slice that this controller wrote last, by uid. */
  readonly #written = new Map<string, string>();

  /** `manager` is the value of the label that names the manager of these slices, with Kubernetes' names. */
  constructor(environment: ControllerEnvironment, manager: string) {
    const { rename } = environment.domain;
    this.#environment = environment;
    this.#managedBy = rename(manager);
    this.#apiVersion = rename("discovery.k8s.io/v1");
    this.#serviceLabel = rename("kubernetes.io/service-name");
    this.#managerLabel = rename("endpointslice.kubernetes.io/managed-by");
  }

  /** Calls `changed` with the key of a service when another client changed or deleted one of its slices. */
  follow(changed: (key: string) => void): Promise<void> {
    const seen = ({ metadata }: EndpointSlice, isGone: boolean): void => {
      const { namespace = "", uid = "", resourceVersion, labels } = metadata;
      const service = labels?.[this.#serviceLabel];
      const isOwn = this.#written.get(uid) === resourceVersion;
      if (isGone) this.#written.delete(uid);
      if (service === undefined || labels?.[this.#managerLabel] !== this.#managedBy) return;
      if (isGone || !isOwn) changed(`${namespace}/${service}`);
    };
    return follow<EndpointSlice>(this.#environment, {
      what: "endpoint slices",
      path: `/apis/${this.#apiVersion}/endpointslices`,
      replaced: (slices) => {
        this.#written.clear();
        for (const slice of slices) seen(slice, false);
      },
      changed: (type, slice) => seen(slice, type === "DELETED"),
    });
  }

  /** Brings the slices of a service into the wanted state. */
  async keep(set: SliceSet): Promise<void> {
    const existing = await this.#slicesOf(set.namespace, set.name);
    const labels = this.#labelsOf(set);
    const plan = planSlices(existing, set.groups, set.endpointsMax, (slice) => this.#isOutdated(slice, set, labels));
    const { client } = this.#environment;
    const collection = this.#collection(set.namespace);
    if (set.mayCreate) {
      for (const content of plan.create)
        this.#note(await client.create<EndpointSlice>(collection, this.#fresh(set, labels, content)));
    }
    for (const { slice, content } of plan.update) {
      const path = `${collection}/${slice.metadata.name}`;
      this.#note(await client.update<EndpointSlice>(path, this.#renew(slice, set, labels, content)));
    }
    for (const slice of plan.remove) await this.#remove(slice);
  }

  /** Deletes all slices of a service. */
  async clear(namespace: string, name: string): Promise<void> {
    for (const slice of await this.#slicesOf(namespace, name)) await this.#remove(slice);
  }

  async #remove({ metadata: { namespace = "", name = "", uid } }: EndpointSlice): Promise<void> {
    await ignoreNotFound(
      this.#environment.client.delete(`${this.#collection(namespace)}/${name}`, { preconditions: { uid } }),
    );
  }

  #collection(namespace: string): string {
    return inNamespace(`/apis/${this.#apiVersion}/endpointslices`, namespace);
  }

  async #slicesOf(namespace: string, name: string): Promise<readonly EndpointSlice[]> {
    const labelSelector = `${this.#serviceLabel}=${name},${this.#managerLabel}=${this.#managedBy}`;
    const slices: EndpointSlice[] = [];
    const pages = inPages<EndpointSlice>(this.#environment.client, this.#collection(namespace), { labelSelector });
    for await (const slice of pages) if (slice.metadata.deletionTimestamp === undefined) slices.push(slice);
    return slices;
  }

  #labelsOf({ labels, name }: SliceSet): Readonly<Record<string, string>> {
    return { ...labels, [this.#serviceLabel]: name, [this.#managerLabel]: this.#managedBy };
  }

  #isOutdated({ metadata }: EndpointSlice, { owner, annotations }: SliceSet, labels: SliceSet["labels"]): boolean {
    if (!isSame(metadata.labels ?? {}, labels)) return true;
    if (metadata.ownerReferences?.some(({ uid }) => uid === owner.uid) !== true) return true;
    if (annotations === undefined) return false;
    const { [this.#triggerTime]: _, ...present } = metadata.annotations ?? {};
    return !isSame(present, annotations);
  }

  get #triggerTime(): string {
    return this.#environment.domain.rename(triggerTimeAnnotation);
  }

  #annotationsOf(set: SliceSet, present: SliceSet["labels"]): Readonly<Record<string, string>> {
    const { [this.#triggerTime]: _, ...others } = present;
    const annotations = set.annotations ?? others;
    return set.triggerTime === undefined ? annotations : { ...annotations, [this.#triggerTime]: set.triggerTime };
  }

  #fresh(set: SliceSet, labels: SliceSet["labels"], content: SliceContent): DeepPartial<EndpointSlice> {
    const { namespace, name, owner } = set;
    const annotations = this.#annotationsOf(set, {});
    return {
      apiVersion: this.#apiVersion,
      kind: "EndpointSlice",
      metadata: { generateName: `${name}-`, namespace, labels, annotations, ownerReferences: [owner] },
      ...content,
    };
  }

  #renew(slice: EndpointSlice, set: SliceSet, labels: SliceSet["labels"], content: SliceContent): EndpointSlice {
    const annotations = this.#annotationsOf(set, slice.metadata.annotations ?? {});
    const metadata = { ...slice.metadata, labels, annotations, ownerReferences: [set.owner] };
    return { apiVersion: this.#apiVersion, kind: "EndpointSlice", metadata, ...content };
  }

  #note({ metadata: { uid = "", resourceVersion = "" } }: EndpointSlice): void {
    this.#written.set(uid, resourceVersion);
  }
}

function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
