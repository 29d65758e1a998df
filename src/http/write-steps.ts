/**
 * Steps shared by create, update and patch: decoding the body, checking it against the URL, and recording ownership.
 */
import type { AdmissionAttributes, Operation } from "#admission/plugin.ts";
import { checkApplied } from "#apply/check-applied.ts";
import { ConversionProblem, managersProblem, type ObjectVersions, updateManagedFields } from "#apply/managed-fields.ts";
import type { BodyEncoding } from "#codec/encoding.ts";
import { nullEmptyLists } from "#codec/object.ts";
import { apiVersionOf, type GroupVersion, type GroupVersionKind } from "#meta/group-version.ts";
import type { ManagedFieldsEntry, Unstructured, OwnerReference } from "#meta/object-meta.ts";
import { badRequest, unsupportedMediaType } from "#meta/status-error.ts";
import type { ResourceDefinition, WriteAttributes } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import { decodeTyped } from "#schema/typed.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { weightOf } from "./large-requests.ts";
import { sentWriteOptions, type WriteOptions } from "./options.ts";
import { WebhookVersions } from "./webhook-versions.ts";
import type { Scope } from "./scope.ts";

/** An object that a client sent, before it is stored. */
export interface Written {
  readonly object: Unstructured;
  /** Whether `nullEmptyLists` has to run once ownership is recorded. */
  readonly hasEmptyLists: boolean;
  /** Whether ownership is recorded already. */
  readonly isOwned?: boolean;
}

/**
 * Reads the body as an object of the definition, with defaults filled in. Findings about fields become warnings or an
 * error.
 */
export async function readObject(scope: Scope, options: WriteOptions): Promise<Written> {
  const { request, parts } = scope;
  const encoding = parts.negotiator.body(request.headers["content-type"]);
  const bytes = await request.body(parts.bodyLimitBytes);
  parts.sizes.check(weightOf(bytes, encoding));
  return decodeBody(scope, options, bytes, encoding);
}

/** Does the same with given bytes. */
export function decodeBody(
  scope: Scope,
  options: WriteOptions,
  bytes: Buffer,
  encoding: BodyEncoding,
  accepted: readonly GroupVersionKind[] = [],
): Written {
  const { request, parts, definition } = scope;
  const { decoder } = definition;
  // Upstream: the error names this type among the accepted ones, although it is never accepted.
  if (encoding.typedOnly && !servingRulesOf(definition).acceptsTypedFormats)
    throw unsupportedMediaType(parts.negotiator.names);
  const decoded = decoder.decodeBody({
    bytes,
    encoding,
    gvk: definition,
    accepted,
    fieldValidation: options.fieldValidation,
    isRegistered: parts.isRegistered,
    room: parts.sizes.room,
  });
  for (const text of decoded.warnings) scope.context.warn(text);
  const object = applyDefaults(scope, decoded.object);
  request.audit?.sent(object);
  return { object, hasEmptyLists: decoded.hasEmptyLists };
}

/** Adds defaults that a schema cannot express. Throws when checks of the object are too large for the event loop. */
export function applyDefaults(scope: Scope, object: Unstructured): Unstructured {
  const { strategy } = scope.definition;
  const full = strategy.defaults?.(object) ?? object;
  if (strategy.weight !== undefined) scope.parts.sizes.check(strategy.weight(full));
  return full;
}

/**
 * Sets the namespace of the object to that of the URL. Throws when the body names another one; a cluster-scoped object
 * loses it.
 */
export function inNamespace(scope: Scope, object: Unstructured): Unstructured {
  const bodyNamespace = object.metadata.namespace;
  if (!scope.definition.namespaced) {
    if (bodyNamespace === undefined) return object;
    const { namespace: _namespace, ...metadata } = object.metadata;
    return { ...object, metadata };
  }
  if (bodyNamespace === scope.namespace) return object;
  if (bodyNamespace === undefined || bodyNamespace === "") {
    return { ...object, metadata: { ...object.metadata, namespace: scope.namespace } };
  }
  throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

/** Drops system fields that clients must not set in a create, before ownership is recorded. */
export function withoutSystemFields(object: Unstructured): Unstructured {
  const { creationTimestamp = null } = object.metadata;
  if (creationTimestamp === null && systemFields.every((field) => object.metadata[field] === undefined)) return object;
  const metadata: Record<string, unknown> = { ...object.metadata };
  for (const field of systemFields) delete metadata[field];
  if (creationTimestamp !== null) metadata["creationTimestamp"] = null; // the zero time
  return { ...object, metadata };
}

const systemFields = ["deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"] as const;

/** Checks that the name in a body is that of the URL. */
export function checkName(scope: Scope, object: Unstructured): void {
  const { name = "" } = object.metadata;
  if (name === "") {
    throw badRequest(`the name of the object (${scope.name} based on URL) was undeterminable: name must be provided`);
  }
  if (name !== scope.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${scope.name})`);
  }
}

/**
 * Drops repeated owner references with a warning. Upstream checks patched objects later than bodies, and the warning
 * says so. Source: upstream's handlers.
 */
export function dropDuplicateOwners(scope: Scope, object: Unstructured, isPatched = false): Unstructured {
  const owners = object.metadata.ownerReferences;
  if (owners === undefined || owners.length < 2) return object;
  const byUid = new Map<string, OwnerReference>();
  const repeated = new Set<string>();
  for (const owner of owners) {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner;
    const id = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    if (byUid.has(id)) repeated.add(uid);
    else byUid.set(id, owner);
  }
  if (byUid.size === owners.length) return object;
  const late = isPatched ? " after mutating admission happens" : "";
  const uids = [...repeated].slice(0, shownUidsMax).join(", ");
  const more = repeated.size > shownUidsMax ? ` and ${repeated.size - shownUidsMax} more` : "";
  scope.context.warn(
    `.metadata.ownerReferences contains duplicate entries${late}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}${more}`,
  );
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...byUid.values()] } };
}

/** The maximum number of repeated owners that the warning names. */
const shownUidsMax = 20;

/**
 * Returns the object after mutating admission; `changed` is `undefined` when admission did not change it. Plugins may
 * not move it to another namespace; repeated owners that they add are removed with a warning. Source: upstream's
 * handlers.
 */
export function afterAdmission(scope: Scope, object: Unstructured, changed: Unstructured | undefined): Unstructured {
  if (changed === undefined || changed === object) return object;
  return dropDuplicateOwners(scope, inNamespace(scope, withReadableManagers(scope, object, changed)), true);
}

function withReadableManagers(scope: Scope, object: Unstructured, changed: Unstructured): Unstructured {
  const { managedFields } = changed.metadata;
  if (managedFields === undefined || managedFields === object.metadata.managedFields) return changed;
  const problem = managersProblem(managedFields);
  if (problem === undefined) return changed;
  scope.context.warn(
    `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${problem}`,
  );
  const { managedFields: _wrong, ...metadata } = changed.metadata;
  const before = object.metadata.managedFields;
  return { ...changed, metadata: before === undefined ? metadata : { ...metadata, managedFields: before } };
}

/** Returns the answer of admission. A request that waits for other servers leaves seats to other users. */
export function markSlow<T>({ request }: Scope, answer: MaybePromise<T>): MaybePromise<T> {
  if (isLate(answer)) request.seats?.slow();
  return answer;
}

/** The versions of a write's object, and the function that runs code which converts between them. */
interface Ownership {
  readonly versions: ObjectVersions;
  /** Returns the result of `work`, which may run several times. */
  withConversions<T>(work: () => T): MaybePromise<T>;
}

export function ownershipOf(scope: Scope): Ownership {
  const webhook = scope.definition.conversion?.webhook;
  const versions = objectVersions(scope);
  return webhook === undefined
    ? { versions, withConversions: (work) => work() }
    : new WebhookVersions(versions, webhook, scope.request);
}

/** Returns the object with managedFields that record the changes of this write. */
export function withOwnership(
  scope: Scope,
  old: Unstructured | undefined,
  written: Written,
  options: WriteOptions,
  versions: ObjectVersions,
): Unstructured {
  const owned = written.isOwned === true ? written.object : owner(scope, old, written.object, options, versions);
  return written.hasEmptyLists ? nullEmptyLists(scope.definition.schema, owned) : owned;
}

function owner(
  scope: Scope,
  old: Unstructured | undefined,
  next: Unstructured,
  options: WriteOptions,
  versions: ObjectVersions,
): Unstructured {
  const managedFields = managedFieldsAfter(scope, old, next, options, versions);
  const sentFields = next.metadata.managedFields;
  if (managedFields === sentFields) return next;
  // Most clients send none: a plain copy is cheaper than one that leaves a member out.
  if (sentFields === undefined && managedFields !== undefined) {
    return { ...next, metadata: { ...next.metadata, managedFields } };
  }
  const { managedFields: _given, ...metadata } = next.metadata;
  return { ...next, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/**
 * Computes managedFields. Upstream drops all managers when the object cannot be converted to a version of one of them.
 */
function managedFieldsAfter(
  scope: Scope,
  old: Unstructured | undefined,
  next: Unstructured,
  options: WriteOptions,
  versions: ObjectVersions,
): readonly ManagedFieldsEntry[] | undefined {
  const { definition, context, parts, subresource } = scope;
  try {
    if (old !== undefined && onlyRenames(definition) && !fitsManagers(versions, definition, old, next))
      return undefined;
    return updateManagedFields({
      ...versions,
      old,
      next,
      apiVersion: apiVersionOf(definition),
      subresource,
      manager: parts.managers.of(options.fieldManager, context.userAgent),
      now: parts.timestamps.now(),
    });
  } catch (error) {
    if (error instanceof ConversionProblem) return undefined;
    throw error;
  }
}

const onlyRenames = (definition: ResourceDefinition): boolean =>
  servingRulesOf(definition).renamesVersions && definition.conversion?.webhook === undefined;

/**
 * Whether an object can be converted to every version of its field managers, where versions differ only in name: a
 * version may lack a present field.
 */
function fitsManagers(versions: ObjectVersions, own: GroupVersion, old: Unstructured, next: Unstructured): boolean {
  const apiVersion = apiVersionOf(own);
  const others = new Set<string>();
  for (const entry of old.metadata.managedFields ?? []) {
    if (entry.apiVersion !== undefined && entry.apiVersion !== apiVersion) others.add(entry.apiVersion);
  }
  for (const other of others) {
    const schema = versions.schemaFor(other);
    if (schema === undefined) continue;
    for (const { metadata: _metadata, ...content } of [old, next]) {
      if (checkApplied(schema, content) !== undefined) return false;
    }
  }
  return true;
}

/**
 * Returns the versions of the scope's kind, for field managers that wrote in another version than that of the request.
 */
export function objectVersions({ definition, parts, updates: { resetFields } }: Scope): ObjectVersions {
  const own = apiVersionOf(definition);
  const of = (apiVersion: string): ResourceDefinition | undefined =>
    apiVersion === own ? definition : parts.definitionOfVersion(definition, apiVersion);
  return {
    ...(resetFields === undefined
      ? {}
      : { resetFields, resetsOneVersion: servingRulesOf(definition).resetsOneVersion }),
    schemaFor(apiVersion) {
      const version = of(apiVersion);
      if (version === undefined && definition.custom !== undefined) {
        throw new ConversionProblem(`request to convert CR to an invalid group/version: ${apiVersion}`);
      }
      return version?.schema;
    },
    convert(object, from, to) {
      const source = of(from);
      const target = of(to);
      if (source === undefined || target === undefined || servingRulesOf(target).renamesVersions) return object;
      if (source.conversion === undefined && target.conversion === undefined) return object;
      const typed = decodeTyped(
        source.schema,
        object,
        { keys: 0, unknown: false },
        { defaults: false },
      ) as Unstructured; // by its schema
      const hub = source.conversion?.toHub(typed) ?? typed;
      const converted = target.conversion?.fromHub(hub) ?? hub;
      return { ...converted, kind: target.kind, apiVersion: to };
    },
  };
}

/** Makes the attributes of a write, for admission. */
export function admissionAttributes(
  scope: Scope,
  write: Pick<AdmissionAttributes, "object" | "oldObject" | "dryRun"> & {
    readonly operation: Operation;
    readonly name: string;
    readonly isNameGenerated?: boolean;
    /** Only deletes have them. */
    readonly options?: AdmissionAttributes["options"];
  },
): AdmissionAttributes {
  const { definition, context, namespace, subresource, request, parts } = scope;
  const { operation } = write;
  const resource = scope.parent ?? definition;
  return {
    ...write,
    context,
    namespace,
    pathName: scope.name,
    subresource,
    resource,
    kind: definition,
    options:
      operation === "CREATE" || operation === "UPDATE"
        ? sentWriteOptions(request.query, parts.plainOptions[operation])
        : write.options,
  };
}

export function writeAttributes(scope: Scope, options: { readonly dryRun: boolean }): WriteAttributes {
  return { context: scope.context, subresource: scope.subresource, dryRun: options.dryRun, dropsManagedFields: true };
}
