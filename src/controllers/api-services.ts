/**
 * Maintains an APIService for each group version that this server serves: for built-in ones from the start, for those
 * of custom resources while they are served. Objects that users marked as their own are left alone. Source of labels
 * and rules: upstream's `kube-aggregator/pkg/controllers/autoregister`.
 */
import { isDeepStrictEqual } from "node:util";
import type { APIService, APIServiceSpec } from "#api/apiregistration/v1.ts";
import { groupPriorities } from "#api/group-priorities.ts";
import type { DeepPartial } from "#client/draft.ts";
import { type Informer, keyOf } from "#client/informer.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { untilAborted } from "#std/abort.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { openInformer, workQueue } from "./reconcile.ts";

type Priorities = Pick<APIServiceSpec, "groupPriorityMinimum" | "versionPriority">;
type Management = "onstart" | "true";

/** A group version that this server serves itself. */
export interface LocalVersion {
  readonly group: string;
  readonly version: string;
  /** The priorities; left out: those of `groupPriorities`. */
  readonly priorities?: Priorities;
  /** `onstart`: the APIService is written once; `true`: it is restored when others change it. */
  readonly management: Management;
}

export interface LocalVersions {
  /** Lists all versions, each at least once. */
  list(): Iterable<LocalVersion>;
  /** Sets a listener that is called after every change, and sometimes without one. */
  onChange(changed: () => void): void;
}

interface Wanted {
  readonly spec: APIServiceSpec;
  readonly management: Management;
}

export const apiServicesController =
  (local: LocalVersions): Controller =>
  (environment) =>
    new Keeper(environment, local).run();

/** The number of objects that are written at the same time; they share a commit. */
const workersMax = 16;

class Keeper {
  readonly #environment: ControllerEnvironment;
  readonly #local: LocalVersions;
  readonly #label: string;
  readonly #path: string;
  /** Priorities of the built-in versions, by the names of their objects. */
  readonly #builtIn: ReadonlyMap<string, Priorities>;
  readonly #queue: WorkQueue;
  #wanted = new Map<string, Wanted>();
  readonly #present: Informer<APIService>;
  /** The names of the objects that existed at the start; `undefined` before it. */
  #atStart: ReadonlySet<string> | undefined;
  /** Names of objects that this process has written or removed. */
  readonly #done = new Set<string>();

  constructor(environment: ControllerEnvironment, local: LocalVersions) {
    const { domain } = environment;
    this.#environment = environment;
    this.#local = local;
    this.#label = domain.rename("kube-aggregator.kubernetes.io/automanaged");
    this.#path = `/apis/${domain.rename("apiregistration.k8s.io")}/v1/apiservices`;
    this.#builtIn = new Map(
      groupPriorities.flatMap(([group, groupPriorityMinimum, versions]) =>
        Object.entries(versions).map(([version, versionPriority]) => [
          `${version}.${domain.rename(group)}`,
          { groupPriorityMinimum, versionPriority },
        ]),
      ),
    );
    const source = { ...environment, reader: environment.client };
    this.#present = openInformer<APIService>(source, { what: "APIServices", path: this.#path });
    this.#queue = workQueue(environment, {
      name: "autoregister",
      workersMax,
      work: (name) => this.#reconcile(name),
      logKey: "name",
      failure: "an APIService was not written; trying again",
    });
  }

  async run(): Promise<void> {
    this.#local.onChange(() => this.#refresh());
    await this.#present.synced;
    this.#atStart = new Set(this.#present.list().map(keyOf));
    // The wanted objects are written first, then the others are removed.
    this.#refresh();
    this.#present.subscribe(({ object }) => this.#queue.add(keyOf(object)));
    await untilAborted(this.#environment.signal);
  }

  /** Queues every object that a change of the served versions may affect. */
  #refresh(): void {
    if (this.#atStart === undefined || this.#environment.signal.aborted) return;
    const before = this.#wanted;
    this.#wanted = new Map();
    for (const version of this.#local.list()) {
      const name = `${version.version}.${version.group}`;
      if (this.#wanted.has(name)) continue;
      const existing = before.get(name) ?? this.#want(version);
      if (existing === undefined) continue;
      this.#wanted.set(name, existing);
      if (!before.has(name)) this.#queue.add(name);
    }
    for (const name of before.keys()) if (!this.#wanted.has(name)) this.#queue.add(name);
  }

  #want({ group, version, management, ...local }: LocalVersion): Wanted | undefined {
    const priorities = local.priorities ?? this.#builtIn.get(`${version}.${group}`);
    if (priorities === undefined) return undefined;
    const spec: APIServiceSpec = { ...(group === "" ? {} : { group }), version, ...priorities };
    return { spec, management };
  }

  async #reconcile(name: string): Promise<void> {
    const wanted = this.#wanted.get(name);
    const object = this.#present.get(name);
    if (object === undefined) {
      if (wanted !== undefined && !(wanted.management === "onstart" && this.#done.has(name))) {
        await this.#create(name, wanted);
      }
      return;
    }
    const management = object.metadata.labels?.[this.#label];
    if (management !== "onstart" && management !== "true") return;
    // Another client created it while this server was running.
    if (management === "onstart" && this.#atStart?.has(name) !== true) return;
    if (wanted === undefined) await this.#remove(name, object, management);
    else await this.#update(name, object, wanted, management);
  }

  async #create(name: string, { spec, management }: Wanted): Promise<void> {
    const group = this.#environment.domain.rename("apiregistration.k8s.io");
    const object: DeepPartial<APIService> = {
      kind: "APIService",
      apiVersion: `${group}/v1`,
      metadata: { name, labels: { [this.#label]: management } },
      spec,
    };
    // If another client created it, its watch event will be processed.
    await ignoreCodes([409], this.#environment.client.create<APIService>(`${this.#path}?${this.#manager}`, object));
    this.#done.add(name);
  }

  async #update(name: string, object: APIService, wanted: Wanted, management: Management): Promise<void> {
    const isOnce = management === "onstart" || wanted.management === "onstart";
    if (isOnce && this.#done.has(name)) return;
    if (!isDeepStrictEqual(object.spec, wanted.spec)) {
      const path = `${this.#path}/${encodeURIComponent(name)}?${this.#manager}`;
      await ignoreNotFound(this.#environment.client.update<APIService>(path, { ...object, spec: wanted.spec }));
    }
    this.#done.add(name);
  }

  async #remove(name: string, object: APIService, management: Management): Promise<void> {
    if (management === "onstart" && this.#done.has(name)) return;
    const { uid } = object.metadata;
    const path = `${this.#path}/${encodeURIComponent(name)}`;
    await ignoreNotFound(
      this.#environment.client.delete(path, uid === undefined ? undefined : { preconditions: { uid } }),
    );
    this.#done.add(name);
  }

  get #manager(): string {
    return `fieldManager=${this.#environment.domain.prefix}-apiserver`;
  }
}
