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
import type { WatchCache } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import type { Sizes } from "./large-requests.ts";
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
  /** These name those who write. */
  readonly managers: ManagerNames;
  readonly admission: AdmissionChain;
  /** Options of writes that ask for nothing, for admission. */
  readonly plainOptions: Readonly<Record<"CREATE" | "UPDATE", SentOptions>>;
  /** Used again for writes that become creates. */
  readonly authorizer: Authorizer;
  readonly negotiator: Negotiator;
  /** The views of objects that resources offer. */
  readonly transforms: Allows;
  /** Schema of `DeleteOptions`, for bodies of deletes. */
  readonly deleteOptionsSchema: Schema;
  /**
   * The same kind in another of its versions. `undefined` when there is none: of built-in kinds those that are not served
   * count as absent, of custom kinds those that their definition does not have.
   */
  definitionOfVersion(definition: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined;
  /** Whether the values of a resource are encrypted, or hold secrets: no message shows them. */
  isConfidential(definition: ResourceDefinition): boolean;
  /** Schema of a built-in kind. Throws when there is none. */
  schemaOf(gvk: GroupVersionKind): Schema;
  /** Whether deletes may ask to remove objects that cannot be decoded (`AllowUnsafeMalformedObjectDeletion`). */
  readonly forcedDeletion: boolean;
  /** Whether a kind is registered in a version, served or not. */
  isRegistered(gvk: GroupVersionKind): boolean;
  readonly bodyLimitBytes: number;
  readonly sizes: Sizes;
  /** Handles requests that are too large for the event loop. Left out: there is no limit. */
  readonly large?: LargeRequests;
  /** Watches without `timeoutSeconds` last between this and twice this. */
  readonly minRequestTimeoutMs: number;
  /** Counts events sent on watches. */
  observeWatch(definition: ResourceDefinition, events: number, bytes: number): void;
}

export interface Scope {
  readonly parts: HandlerParts;
  readonly request: HandledRequest;
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly store: Store;
  /** A view that is an object of another kind (`scale`) has the resource that it is part of. */
  readonly parent?: ResourceDefinition;
  /** Changes of such a view reach the store by this. */
  readonly writes?: Pick<Store, "update">;
  /** Empty for cluster-scoped resources and lists over all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** The hooks of updates through it. */
  readonly updates: UpdateStrategy;
}

/** Handles requests elsewhere. */
export interface LargeRequests {
  /**
   * The encoded answer of the request's handler, given the scope of the main resource. Rejects as the handler would,
   * and with its own `StatusError`s: no room for the request, time or memory limit exceeded.
   */
  handle(scope: Scope): Promise<Reply>;
  /** `encoding.item` of a value that is large. */
  encode(encoding: Encoding, value: unknown, request: HandledRequest): Promise<Buffer>;
}
