/**
 * Serves the stored custom resource definitions and writes their conditions. It follows the store, so it sees the
 * definitions of all writers; a writer waits (`caughtUpTo`) until its definition is in force. Source of the conditions: upstream's controllers in
 * `apiextensions-apiserver/pkg/controller`.
 */
import type { RuleTimes } from "#cel/schema-rules.ts";
import { approvalAnnotation, approvalOf, isProtectedGroup } from "#api/apiextensions/approval.ts";
import {
  cleanupFinalizer,
  type ConditionContent,
  findCondition,
  isConditionTrue,
  sameContent,
  withCondition,
} from "#api/apiextensions/conditions.ts";
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionStatus,
} from "#api/apiextensions/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { updateManagedFields } from "#apply/managed-fields.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { StatusError } from "#meta/status-error.ts";
import { type InformerHandlers, StoreInformer, type StoreInformerOptions } from "#registry/informer.ts";
import type { ResourceDefinition, WriteAttributes } from "#registry/resource-definition.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import { timestampOf } from "#meta/time.ts";
import { LostTurn, Store, type StoreOptions } from "#registry/store.ts";
import type { AppliedRevision } from "#registry/applied-revision.ts";
import type { StoredObjects } from "#registry/stored-object.ts";
import type { Schema } from "#schema/schema.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Random } from "#std/random.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { runCooperatively, Yielder, type Steps } from "#std/cooperative.ts";
import { Cleanup } from "./cleanup.ts";
import type { ConvertObjects } from "./conversion-review.ts";
import { CustomKind } from "./custom-kind.ts";
import { decideNames, establishing, type NamesDecision, sameNames, takenNames } from "./names.ts";

type ResourceId = Pick<ResourceDefinition, "group" | "resource">;

interface CustomResourceControllerOptions extends Pick<StoreOptions, "collectsGarbage"> {
  /** The definition of custom resource definitions; its strategy need not wait for this controller. */
  readonly definition: ResourceDefinition;
  /** Built-in kinds, which are always served. Custom kinds of the same group version are not served. */
  readonly builtIn: ResourceTable;
  /** Resources that custom ones never replace: the built-in resources, served or not. */
  readonly reserved: readonly ResourceId[];
  /** The schema of every object's metadata. */
  readonly metadata: Schema;
  /** The maximum bytes of a stored object. */
  readonly objectBytesMax: number;
  /** Calls conversion webhooks. */
  readonly convert: ConvertObjects;
  /** Learns how long rules of schemas take. */
  readonly ruleTimes?: RuleTimes;
  readonly domain: ApiDomain;
  readonly cache: Cache;
  readonly objects: StoredObjects;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called when versions of groups are added or removed, once the new table is in force. */
  readonly changed?: () => void;
  /** Is told of the definitions that are in force. Left out where there are no other servers. */
  readonly applied?: AppliedRevision | undefined;
  /** Resolves when all servers that live act by the definitions as they are at a revision. Left out: there is only this one. */
  inForceEverywhere?(revision: number): Promise<void>;
}

type Cache = StoreOptions["cache"] & StoreInformerOptions["cache"];
type Entry = NonNullable<ReturnType<Cache["get"]>>;
type StoreEvent = Parameters<InformerHandlers["handle"]>[0][number];

/** The known state of a definition. */
interface DefinitionState {
  readonly entry: Entry;
  readonly group: string;
  readonly accepted: CustomResourceDefinitionNames | undefined;
  /** The served kind; `undefined` while it is not served. */
  readonly kind: CustomKind | undefined;
  /** The entries in the table, without resources that the server defines itself. */
  readonly served: readonly ResourceDefinition[];
  /** Whether the objects of the definition, and then the definition itself, are being deleted. */
  readonly isEnding: boolean;
  /** Whether a decision about the definition may be needed. */
  readonly isOpen: boolean;
}

/**
 * The state of a definition for which its conditions were written. They are written once for it, and later writes of
 * clients stay, so that servers do not fight.
 */
interface WrittenFor {
  /** The annotation that approves a protected group, empty if it is absent. */
  readonly approval?: string;
  /** The uid of the definition. */
  readonly uid?: string | undefined;
  /** The generation whose schemas were found to be structural. */
  readonly structural?: number;
}

/** A write of the status of a definition, if that is still at `revision`. */
interface StatusWrite extends Pick<WriteAttributes, "turn"> {
  readonly name: string;
  readonly revision?: number;
}

const retryMs = 1000;

/** The number of decisions about names that are made one after the other, when other servers are faster. */
const triesMax = 10;
/** The longest pause in milliseconds between them. */
const lostPauseMsMax = 50;

/** The bytes from which each step of the work on a definition is a separate piece. */
const largeBytes = 64 * 1024;

export class CustomResourceController {
  readonly #options: CustomResourceControllerOptions;
  readonly #store: Store;
  readonly #cleanup: Cleanup;
  readonly #informer: StoreInformer;
  readonly #states = new Map<string, DefinitionState>();
  readonly #written = new Map<string, WrittenFor>();
  /** The group versions and the resources that belong to the server itself, once they are needed. */
  #ownKeys: ReadonlySet<string> | undefined;
  #table: ResourceTable;
  /** The revision up to which all definitions are known. */
  #seen = 0;
  /** Whether the known definitions differ from the table. */
  #isChanged = false;
  /** Whether the set of served versions has changed, rather than only their content. */
  #hasOtherVersions = false;
  #closed = false;

  constructor(options: CustomResourceControllerOptions) {
    this.#options = options;
    this.#store = new Store({ ...options });
    const { applied } = options;
    this.#informer = new StoreInformer({
      ...options,
      prefix: this.#store.prefix,
      replace: (entries) => this.#replace(entries),
      handle: (events) => this.#handle(events),
      ...(applied === undefined ? {} : { reached: (revision) => applied.reached(revision) }),
    });
    applied?.add(this.#informer);
    this.#table = options.builtIn;
    this.#cleanup = new Cleanup({
      ...options,
      definitions: this.#store,
      isOverlapping: (group, resource) => this.#own.has(resourceKeyOf({ group, resource })),
      kindOf: (name) => this.#states.get(name)?.kind,
      setStatus: (name, change, finish) => this.#writeStatus({ name }, change, finish),
    });
  }

  get #own(): ReadonlySet<string> {
    const { builtIn, reserved } = this.#options;
    return (this.#ownKeys ??= new Set([...builtIn.definitions.map(versionOf), ...reserved.map(resourceKeyOf)]));
  }

  /** The current table. */
  get table(): ResourceTable {
    return this.#table;
  }

  /** Serves the stored definitions and follows their changes. Resolves when all stored definitions are in force. */
  start(): Promise<void> {
    return this.#informer.start();
  }

  /** Resolves when all writes of definitions up to `revision` are in force. */
  caughtUpTo(revision: number): MaybePromise<void> {
    return this.#informer.caughtUpTo(revision);
  }

  /** Resolves when all definitions that reads see now are in force. */
  inStep(): Promise<void> {
    return this.#informer.inStep();
  }

  /** Whether the served resources are in step with the store. */
  get isSynced(): boolean {
    return this.#informer.synced;
  }

  /** Whether all definitions that the controller was told of are in force. */
  get isIdle(): boolean {
    return this.#informer.idle;
  }

  close(): void {
    this.#closed = true;
    this.#informer.close();
    this.#cleanup.close();
  }

  async #replace(entries: readonly Entry[]): Promise<void> {
    const names = await this.#learnAll(entries);
    this.#publish();
    await this.#decide(names);
  }

  /** Records all definitions, as reads see them now. Returns their names. */
  async #learnAll(entries: readonly Entry[]): Promise<ReadonlySet<string>> {
    const { cache, clock } = this.#options;
    const { revision } = cache;
    const names = new Set(entries.map((entry) => this.#nameOf(entry)));
    for (const [name, state] of this.#states) if (!names.has(name)) this.#lose(name, state);
    const yielder = new Yielder(clock);
    for (const entry of entries) {
      if (yielder.isDue) await yielder.pause();
      await this.#learn(entry);
    }
    this.#seen = Math.max(this.#seen, revision);
    return names;
  }

  async #handle(events: readonly StoreEvent[]): Promise<void> {
    const yielder = new Yielder(this.#options.clock);
    const changed = new Set<string>();
    for (const { type, entry } of events) {
      if (yielder.isDue) await yielder.pause();
      const name = this.#nameOf(entry);
      if (type === "DELETED") this.#forget(name, entry, changed);
      else {
        const before = this.#states.get(name);
        await this.#learn(entry);
        changed.add(name);
        const now = this.#states.get(name);
        // Another server has decided about names, which matters to the others of the group.
        if (now !== undefined && !jsonEquals(now.accepted, before?.accepted)) this.#addGroup(now.group, changed);
      }
    }
    this.#seen = Math.max(this.#seen, events.at(-1)!.revision);
    this.#publish();
    await this.#decide(changed);
  }

  #nameOf(entry: Entry): string {
    return entry.key.slice(this.#store.prefix.length);
  }

  /**
   * Records a definition, unless a newer state is known, or it is not `wanted` any more. One that cannot be decoded is not
   * served. Others have turns meanwhile, and may record another state of it; then this begins again.
   */
  async #learn(entry: Entry, wanted: () => boolean = () => true): Promise<void> {
    const name = this.#nameOf(entry);
    for (;;) {
      const old = this.#states.get(name);
      if (this.#closed || !wanted() || (old !== undefined && old.entry.revision >= entry.revision)) return;
      let next: DefinitionState | undefined;
      try {
        next = await runCooperatively(this.#build(entry, old));
      } catch (error) {
        this.#options.log.error({ name, error: String(error) }, "a definition that cannot be read is not served");
      }
      if (this.#states.get(name) !== old || !wanted()) continue;
      if (next !== undefined) this.#take(name, next, old);
      else if (old !== undefined) this.#lose(name, old);
      return;
    }
  }

  /** Returns the new state for an entry, without changing anything yet. */
  *#build(entry: Entry, old: DefinitionState | undefined): Steps<DefinitionState> {
    const isLarge = entry.valueLength > largeBytes;
    const definition = this.#read(entry);
    const { spec, status, metadata } = definition;
    const isServed = isConditionTrue(definition, "NamesAccepted") || isConditionTrue(definition, "Established");
    let kind: CustomKind | undefined;
    if (isServed) {
      if (isLarge) yield undefined;
      const before = old?.kind === undefined ? undefined : { kind: old.kind, definition: this.#read(old.entry) };
      if (isLarge) yield undefined;
      kind = yield* CustomKind.inPieces(definition, () => this.#read(entry), this.#options, before);
    }
    const served = kind?.definitions.filter((custom) => !this.#isOwn(custom)) ?? [];
    const isEnding =
      metadata.deletionTimestamp !== undefined &&
      (metadata.finalizers ?? []).includes(this.#options.domain.rename(cleanupFinalizer));
    const accepted = status?.acceptedNames;
    const isOpen =
      isEnding ||
      accepted === undefined ||
      !sameNames(spec.names, accepted) ||
      establishing(definition).length > 0 ||
      findCondition(status?.conditions, nonStructural) !== undefined ||
      isProtectedGroup(spec.group, this.#options.domain);
    return { entry, group: spec.group, accepted, kind, served, isEnding, isOpen };
  }

  #take(name: string, next: DefinitionState, old: DefinitionState | undefined): void {
    if (old?.kind !== undefined) {
      if (next.kind === undefined) old.kind.retire();
      else next.kind.follow(old.kind);
    }
    if (next.kind !== old?.kind) this.#markChanged(old?.served ?? [], next.served);
    this.#states.set(name, next);
  }

  /**
   * Group versions of the server are all its own, as in 1.32. So is every version of a resource that it has: custom
   * objects would lie among the built-in ones, past all that is checked about those.
   */
  #isOwn(definition: ResourceDefinition): boolean {
    return this.#own.has(versionOf(definition)) || this.#own.has(resourceKeyOf(definition));
  }

  #forget(name: string, entry: Entry, changed: Set<string>): void {
    const current = this.#states.get(name);
    if (current === undefined || current.entry.revision > entry.revision) return;
    this.#lose(name, current);
    // The names of this definition are free for other definitions of its group.
    this.#addGroup(current.group, changed);
  }

  #addGroup(wanted: string, names: Set<string>): void {
    for (const [name, { group }] of this.#states) if (group === wanted) names.add(name);
  }

  #lose(name: string, { kind, served }: DefinitionState): void {
    kind?.retire();
    if (kind !== undefined) this.#markChanged(served, []);
    this.#states.delete(name);
    this.#written.delete(name);
  }

  #markChanged(before: readonly ResourceDefinition[], after: readonly ResourceDefinition[]): void {
    this.#isChanged = true;
    if (before.length !== after.length || before.some(({ version }, at) => version !== after[at]!.version)) {
      this.#hasOtherVersions = true;
    }
  }

  /** Publishes the new table, which everybody sees from now on. */
  #publish(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const all = [...this.#options.builtIn.definitions];
    for (const { served } of this.#states.values()) for (const definition of served) all.push(definition);
    this.#table = new ResourceTable(all, this.#table.generation + 1, this.#table);
    if (!this.#hasOtherVersions) return;
    this.#hasOtherVersions = false;
    this.#options.changed?.();
  }

  /**
   * Decides about the names of the definitions in `changed` and of those they conflict with, and writes the results.
   */
  async #decide(changed: Iterable<string>): Promise<void> {
    const open = [...changed].filter((name) => this.#states.get(name)?.isOpen === true);
    const groups = Map.groupBy(open, (name) => this.#states.get(name)!.group);
    await Promise.all([...groups.values()].map((names) => this.#decideGroup(new Set(names))));
    this.#publish();
  }

  /** Decides about one definition after the other, since each name can belong to one definition only. */
  async #decideGroup(waiting: Set<string>): Promise<void> {
    const yielder = new Yielder(this.#options.clock);
    for (const name of waiting) {
      if (yielder.isDue) await yielder.pause();
      waiting.delete(name);
      const current = this.#states.get(name);
      if (current?.isOpen !== true || this.#closed) continue;
      try {
        if (!(await this.#decideInTurn(name, current))) continue;
        for (const [other, { group }] of this.#states)
          if (group === current.group && other !== name) waiting.add(other);
      } catch (error) {
        if (!this.#closed) this.#retry(name, error);
      }
    }
  }

  /**
   * Decides about one definition. Where another server has written names of its group meanwhile, its definitions are read
   * and the decision is made again. Returns whether anything was written.
   */
  async #decideInTurn(name: string, first: DefinitionState): Promise<boolean> {
    const { cache, clock, random } = this.#options;
    let state: DefinitionState | undefined = first;
    for (let tries = 1; state !== undefined && !this.#closed; tries++) {
      try {
        return await this.#decideOne(name, state);
      } catch (error) {
        if (!(error instanceof LostTurn) || tries === triesMax) throw error;
      }
      await new Promise<void>((resume) => void clock.after(random.next() * lostPauseMsMax, resume));
      await this.#learnAll(cache.range(this.#store.prefix).entries);
      state = this.#states.get(name);
    }
    return false;
  }

  /** Returns whether anything was written. Rejects with `LostTurn`. */
  async #decideOne(name: string, state: DefinitionState): Promise<boolean> {
    if (state.isEnding) {
      this.#cleanup.begin(name);
      return false;
    }
    const definition = this.#read(state.entry);
    const { uid } = definition.metadata;
    const last = this.#written.get(name);
    const written: WrittenFor = last !== undefined && last.uid === uid ? last : { uid };
    const seen = this.#seen;
    const decision = decideNames(definition, takenNames(this.#acceptedIn(state.group)));
    const approval = this.#approval(definition, written);
    const conditions = [...(decision?.conditions ?? establishing(definition)), ...approval];
    const dropped = hasStaleSchemaCondition(definition, written) ? nonStructural : undefined;
    if (decision === undefined && conditions.length === 0 && dropped === undefined) return false;
    const now = timestampOf(this.#options.clock.now());
    const turn = decision === undefined ? undefined : { name: `names.${state.group}`, seen };
    const isWritten = await this.#writeStatus({ name, revision: state.entry.revision, turn }, (status) => ({
      ...withDecision(status, decision),
      conditions: conditions.reduce<NonNullable<CustomResourceDefinitionStatus["conditions"]>>(
        (list, condition) => withCondition(list, condition, now),
        (status.conditions ?? []).filter(({ type }) => type !== dropped),
      ),
    }));
    if (!isWritten) return false;
    const { metadata } = definition;
    this.#written.set(name, {
      ...written,
      ...(approval.length > 0 && { approval: this.#approvalText(definition) }),
      ...(dropped !== undefined && { structural: Number(metadata.generation ?? 0) }),
    });
    return true;
  }

  /** Decodes the definition of an entry. It is not cached: definitions are large, and few are read twice. */
  #read(entry: Entry): CustomResourceDefinition {
    // Safe: the entry is valid and was encoded by this server.
    return this.#options.objects.peek(entry) as unknown as CustomResourceDefinition;
  }

  *#acceptedIn(group: string): Iterable<CustomResourceDefinitionNames> {
    for (const current of this.#states.values())
      if (current.group === group && current.accepted) yield current.accepted;
  }

  /** Returns the condition about the approval of a protected group, if it has to be written. */
  #approval(definition: CustomResourceDefinition, { approval }: WrittenFor): readonly ConditionContent[] {
    const { domain } = this.#options;
    const { spec, metadata, status: current } = definition;
    if (!isProtectedGroup(spec.group, domain) || approval === this.#approvalText(definition)) return [];
    const { state, reason: message } = approvalOf(metadata.annotations, domain);
    const type = "KubernetesAPIApprovalPolicyConformant";
    const reasons = { invalid: "Invalid", missing: "Missing", approved: "Approved", bypassed: "Unapproved" } as const;
    const status = state === "approved" ? "True" : "False";
    const condition: ConditionContent = { type, status, reason: `${reasons[state]}Annotation`, message };
    const old = findCondition(current?.conditions, type);
    return old !== undefined && sameContent(old, condition) ? [] : [condition];
  }

  #approvalText({ metadata }: CustomResourceDefinition): string {
    return metadata.annotations?.[approvalAnnotation(this.#options.domain)] ?? "";
  }

  /**
   * Writes the status of a definition if it is still at `revision` (`undefined`: any), and remembers the result.
   * Returns whether it was written. Does not wait for its own write to take effect. Rejects with `LostTurn`.
   */
  async #writeStatus(
    { name, revision, turn }: StatusWrite,
    change: (status: CustomResourceDefinitionStatus) => CustomResourceDefinitionStatus,
    finish?: (object: Unstructured) => Unstructured,
  ): Promise<boolean> {
    const { definition, domain, clock } = this.#options;
    const apiVersion = apiVersionOf(definition);
    let before: number | undefined;
    try {
      const written = await this.#store.update(
        "",
        name,
        { ...statusWrite, turn },
        {
          allowCreate: false,
          transform: (current) => {
            const old = current!; // updates that do not create always have one
            before = Number(old.metadata.resourceVersion);
            if (revision !== undefined && before !== revision) return old;
            const { status } = old as unknown as CustomResourceDefinition; // by its schema
            const changed: Unstructured = {
              ...old,
              status: change(status ?? { acceptedNames: { plural: "", kind: "" } }),
            };
            const next = finish === undefined ? changed : finish(changed);
            const managedFields = updateManagedFields({
              old,
              next,
              apiVersion,
              subresource: "status",
              schemaFor: () => definition.schema,
              manager: `${domain.prefix}-apiserver`,
              now: timestampOf(clock.now()),
            });
            return managedFields === undefined ? next : { ...next, metadata: { ...next.metadata, managedFields } };
          },
        },
      );
      const { entry } = written;
      if (entry === undefined) return false;
      // If it was not written, another server was faster; the definition is in force as that has left it.
      await this.#learn(entry, () => this.#store.peek("", name)?.revision === entry.revision);
      return entry.revision !== before;
    } catch (error) {
      if (error instanceof StatusError && (error.status.code === 404 || error.status.code === 409)) return false;
      throw error;
    }
  }

  #retry(name: string, error: unknown): void {
    this.#options.log.warn({ name, error: String(error) }, "the status of a definition was not written");
    this.#options.clock.after(retryMs, () => {
      if (!this.#closed) void this.#decide([name]);
    });
  }
}

const versionOf = ({ group, version }: ResourceDefinition): string => `${group}/${version}`;
const resourceKeyOf = ({ group, resource }: ResourceId): string => `${group}//${resource}`;

/** The condition of schemas that are not structural. No stored definition has such schemas. */
const nonStructural = "NonStructuralSchema";

/** Whether a client has written the condition of schemas that are not structural, and it has to go. */
function hasStaleSchemaCondition({ metadata, status }: CustomResourceDefinition, { structural }: WrittenFor): boolean {
  const isChecked = structural !== undefined && Number(metadata.generation ?? 0) <= structural;
  return !isChecked && findCondition(status?.conditions, nonStructural) !== undefined;
}

function withDecision(
  status: CustomResourceDefinitionStatus,
  decision: NamesDecision | undefined,
): CustomResourceDefinitionStatus {
  return decision === undefined ? status : { ...status, acceptedNames: decision.acceptedNames };
}

/** The context of writes by the server itself. */
const serverContext: RequestContext = {
  user: { name: "system:apiserver", groups: ["system:masters"] },
  userAgent: "",
  signal: undefined,
  deadlineMs: 0,
  warn() {},
  annotate() {},
};

const statusWrite: WriteAttributes = { context: serverContext, subresource: "status", dryRun: false };
