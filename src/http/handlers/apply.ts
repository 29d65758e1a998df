/**
 * PATCH with an applied configuration: merges it into the object by its schema, reports conflicts with other managers,
 * and creates a missing object. The result is processed like every patched object.
 */
import { checkApplied } from "#apply/check-applied.ts";
import { ConversionProblem, type ObjectVersions } from "#apply/managed-fields.ts";
import { type AppliedResult, applyFields, type FieldApply } from "#apply/server-side-apply.ts";
import { type AppliedBody, decodeApplied, decodeAppliedCbor } from "#codec/applied-body.ts";
import { cborBodies } from "#codec/cbor-encoding.ts";
import { nullEmptyLists } from "#codec/object.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { perDomain } from "#meta/api-domain.ts";
import { apiVersionOf, parseApiVersion } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { applyConflict, badRequest, conflict, unclassified } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Reply } from "../api-request.ts";
import { isUnchanged } from "../is-unchanged.ts";
import { weightOf } from "../large-requests.ts";
import { objectReply } from "../object-reply.ts";
import { applyOptions, type WriteOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import {
  checkName,
  dropDuplicateOwners,
  applyDefaults,
  inNamespace,
  writeAttributes,
  type Written,
} from "../write-steps.ts";
import { replaceObject } from "./replace.ts";

const openBrace = 0x7b;

/** The formats of configurations. Clients send JSON as YAML, which it is too. */
type ConfigurationFormat = "YAML" | "CBOR";

export async function applyObject(scope: Scope, format: ConfigurationFormat): Promise<Reply> {
  const { request, parts } = scope;
  const options = applyOptions(request.query, parts.domain);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const bytes = await request.body(parts.bodyLimitBytes);
  const textEncoding = bytes[0] === openBrace ? jsonEncoding : yamlEncoding;
  parts.sizes.check(weightOf(bytes, format === "CBOR" ? cborBodies : textEncoding));
  request.audit?.sentPatch(bytes);
  const sent: Sent = { scope, options, bytes, format, body: undefined };
  const stored = await replaceObject(
    scope,
    options,
    { ...writeAttributes(scope, options), dropsManagedFields: false },
    {
      allowCreate: scope.subresource === "",
      next: (current, versions) => mergeConfiguration(sent, current, versions),
    },
  );
  return objectReply(scope, negotiated, stored.created ? 201 : 200, stored.object, stored.entry);
}

/** An applied configuration as it was sent; it is parsed at the first attempt. */
interface Sent {
  readonly scope: Scope;
  readonly options: WriteOptions;
  readonly bytes: Buffer;
  readonly format: ConfigurationFormat;
  body: AppliedBody | undefined;
}

/** Returns the object that the apply makes of the current one. */
function mergeConfiguration(sent: Sent, current: Unstructured | undefined, versions: ObjectVersions): Written {
  const { scope, options } = sent;
  // The body is parsed late: a missing object is the first error that a client gets.
  sent.body ??= readConfiguration(sent);
  return apply(scope, options, current, sent.body, versions);
}

/** Reads the configuration, and checks that its type is right. Throws `badRequest`. */
function readConfiguration({ scope, bytes, format, options }: Sent): AppliedBody {
  const { definition } = scope;
  const body = format === "CBOR" ? decodeAppliedCbor(bytes) : decodeApplied(bytes, options.fieldValidation);
  const { value } = body;
  const { apiVersion, kind, metadata } = value;
  const isText = typeof kind === "string" && typeof apiVersion === "string";
  if (!isText || kind !== definition.kind || apiVersion !== apiVersionOf(definition)) {
    throw badRequest(`invalid object type: ${typeText(apiVersion, kind)}`);
  }
  const named = metadata as { readonly managedFields?: unknown } | null | undefined;
  if (Array.isArray(named?.managedFields)) throw badRequest("metadata.managedFields must be nil");
  const problem = checkApplied(definition.schema, value);
  if (problem !== undefined) {
    throw badRequest(`failed to create typed patch object (${namespacedName(value)}; ${typeOf(scope)}): ${problem}`);
  }
  if (named?.managedFields !== null) return body;
  // A null is what clients leave when they strip the managers of an object that they read; it is no value to apply.
  const { managedFields: _null, ...bare } = named;
  return { ...body, value: { ...value, metadata: bare } };
}

function typeText(apiVersion: unknown, kind: unknown): string {
  const gv = parseApiVersion(typeof apiVersion === "string" ? apiVersion : "");
  // Without a version that can be read, upstream reads no kind.
  if (gv === undefined) return "/, Kind=";
  return `${gv.group}/${gv.version}, Kind=${typeof kind === "string" ? kind : ""}`;
}

function typeOf({ definition: { group, version, kind } }: Scope): string {
  return `${group}/${version}, Kind=${kind}`;
}

function namespacedName(value: Readonly<Record<string, unknown>>): string {
  const metadata = value["metadata"] as { readonly namespace?: unknown; readonly name?: unknown } | null | undefined;
  const text = (part: unknown): string => (typeof part === "string" ? part : "");
  return `${text(metadata?.namespace)}/${text(metadata?.name)}`;
}

/** The annotation in which `kubectl apply` keeps what it applied. */
const lastAppliedAnnotation = perDomain(({ rename }) => rename("kubectl.kubernetes.io/last-applied-configuration"));

function apply(
  scope: Scope,
  options: WriteOptions,
  current: Unstructured | undefined,
  body: AppliedBody,
  versions: ObjectVersions,
): Written {
  const { definition, subresource, parts } = scope;
  const result = appliedFields({
    ...versions,
    live: current,
    applied: body.value,
    apiVersion: apiVersionOf(definition),
    subresource,
    manager: options.fieldManager,
    force: options.force === true,
    now: parts.timestamps.now(),
    lastAppliedAnnotation: lastAppliedAnnotation(parts.domain),
  });
  if (!result.ok) {
    const { message, causes } = result.conflicts;
    throw applyConflict(
      message,
      causes.map((cause) => ({ reason: "FieldManagerConflict", ...cause })),
    );
  }
  const written =
    result.changed || current === undefined
      ? decodeMerged(scope, result.object, current, namespacedName(body.value))
      : { object: result.object as Unstructured, hasEmptyLists: false }; // the present object, with other metadata
  if (options.fieldValidation === "Strict" && body.problem !== undefined) throw badRequest(body.problem);
  for (const text of body.warnings) scope.context.warn(text);
  const { uid = "" } = written.object.metadata;
  if (current === undefined && uid !== "") {
    const reason = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(definition, scope.name, reason);
  }
  const named = inNamespace(scope, written.object);
  checkName(scope, named);
  const object = dropDuplicateOwners(scope, named, true);
  const withoutEmptyLists = written.hasEmptyLists ? nullEmptyLists(definition.schema, object) : object;
  const isSame = current !== undefined && isUnchanged(withoutEmptyLists, current);
  return { object: isSame ? current : object, hasEmptyLists: written.hasEmptyLists, isOwned: true };
}

function appliedFields(apply: FieldApply): AppliedResult {
  try {
    return applyFields(apply);
  } catch (error) {
    throw error instanceof ConversionProblem ? unclassified(error.message) : error;
  }
}

/**
 * Decodes the merged object as one of its kind, and fills in defaults. `displayName` is the namespace and name that the
 * configuration gives itself.
 */
function decodeMerged(
  scope: Scope,
  value: Readonly<Record<string, unknown>>,
  live: Unstructured | undefined,
  displayName: string,
): Written {
  const { definition, parts } = scope;
  try {
    const { object, hasEmptyLists } = definition.decoder.decodeMerged({
      value,
      live,
      gvk: definition,
      room: parts.sizes.room,
    });
    return { object: applyDefaults(scope, object), hasEmptyLists };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const type = typeOf(scope);
    throw badRequest(
      `failed to convert new object (${displayName}; ${type}) to proper version: unable to convert unstructured object to ${type}: ${error.message}`,
      error,
    );
  }
}
