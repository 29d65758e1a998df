/** The scope of a resource request, for handlers: the server's parts, the resource, and the parsed request. */
import type { AdmissionChain } from "#admission/chain.ts";
import type { ManagerNames } from "#apply/managed-fields.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { Encoding } from "#codec/encoding.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { RequestContext } from "#meta/request-context.ts";
import type { Timestamps } from "#meta/time.ts";
import type { ResourceDefinition, UpdateStrategy } from "#registry/resource-definition.ts";
import type { Store } from "#registry/store.ts";
import type { StoredObjects } from "#registry/stored-object.ts";
import type { Schema } from "#schema/schema.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import type { Sizes } from "./large-requests.ts";
import type { NodeAccess } from "./node-access.ts";
import type { Allows, Negotiator } from "./negotiation.ts";
import type { SentOptions } from "./options.ts";

/** Parts that live as long as the server. */
export interface HandlerParts {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly timestamps: Timestamps;
  readonly random: Random;
  readonly cache: WatchCache;
  readonly objects: StoredObjects;
  /** The names of field managers. */
  readonly managers: ManagerNames;
  readonly admission: AdmissionChain;
  /** The options of writes without parameters, for admission. */
  readonly plainOptions: Readonly<Record<"CREATE" | "UPDATE", SentOptions>>;
  /** The authorizer for writes that become creates. */
  readonly authorizer: Authorizer;
  readonly negotiator: Negotiator;
  /** The transformations that resources offer. */
  readonly transforms: Allows;
  /** The schema of `DeleteOptions`, for bodies of deletes. */
  readonly deleteOptionsSchema: Schema;
  /**
   * Returns the same kind in another of its versions; `undefined` when there is none. A version of a built-in kind that
   * is not served counts as absent; a version of a custom kind does if its definition does not have it.
   */
  definitionOfVersion(definition: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined;
  /** Whether the values of a resource are encrypted, or hold secrets: no message shows them. */
  isConfidential(definition: ResourceDefinition): boolean;
  /** Returns the schema of a built-in kind. Throws when there is none. */
  schemaOf(gvk: GroupVersionKind): Schema;
  /** Whether deletes may ask to remove objects that cannot be decoded (`AllowUnsafeMalformedObjectDeletion`). */
  readonly forcedDeletion: boolean;
  /** Whether watches may ask for the current objects first (`WatchList`). */
  readonly streamsLists: boolean;
  /** Whether clients may ask for one stream of a container's log (`PodLogsQuerySplitStreams`). */
  readonly splitsLogs: boolean;
  /** Whether configurations to apply may be CBOR. */
  readonly acceptsCborPatches: boolean;
  /** Whether a kind is registered in a version, served or not, where objects of the group `asked` are served. */
  isRegistered(gvk: GroupVersionKind, asked: string): boolean;
  /** The means to reach nodes; absent in threads, which connect to nothing. */
  readonly nodes?: NodeAccess;
  readonly bodyLimitBytes: number;
  readonly sizes: Sizes;
  /** Handles requests that are too large for the event loop in threads. Left out: there is no limit. */
  readonly large?: LargeRequests;
  /** The minimum duration of watches without `timeoutSeconds`; they last at most twice as long. */
  readonly minRequestTimeoutMs: number;
  /**
   * Resolves when what a request has written is in force on the other servers of the store, with warnings about those that
   * do not say so. Left out where there are no others.
   */
  inForce?(written: WrittenObject): MaybePromise<readonly string[]>;
  /** Aborted when the server ends before its port, with the reason for clients: watches end with it. */
  readonly endOfService?: AbortSignal | undefined;
  /** Counts events that were sent on watches. */
  observeWatch(definition: ResourceDefinition, events: number, bytes: number): void;
}

/** The object that a request has written. */
export interface WrittenObject {
  readonly definition: ResourceDefinition;
  readonly request: HandledRequest;
  /** The revision of the newest version that this server sees, which may be one of its own after the request's. */
  readonly revision: Revision;
}

export interface Scope {
  readonly parts: HandlerParts;
  readonly request: HandledRequest;
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly store: Store;
  /** The resource of a subresource whose bodies are of another kind (`scale`). */
  readonly parent?: ResourceDefinition;
  /** Stores the changes of such a subresource. */
  readonly writes?: Pick<Store, "update">;
  /** The namespace; empty for cluster-scoped resources and lists over all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** The hooks of updates through the subresource. */
  readonly updates: UpdateStrategy;
}

/** Handles requests in threads. */
export interface LargeRequests {
  /**
   * Returns the encoded answer of the request's handler, given the scope of the main resource. Rejects with the errors
   * of the handler, and with `StatusError`s of its own: too little room for the request, time or memory limit exceeded.
   */
  handle(scope: Scope): Promise<Reply>;
  /** Encodes a large value as `encoding.item` does. */
  encode(encoding: Encoding, value: unknown, request: HandledRequest): Promise<Buffer>;
}
