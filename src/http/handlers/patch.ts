/**
 * PATCH of an object or its status: JSON Patch, merge patch, strategic merge patch; `apply.ts` has apply. A patched
 * object is processed like a PUT body: decoded by its schema, defaulted, owned, admitted, compared and swapped.
 */
import { applyJsonPatch, jsonPatchSchema } from "#apply/json-patch.ts";
import { applyMergePatch } from "#apply/merge-patch.ts";
import { PatchError } from "#apply/patch-error.ts";
import { applyStrategicMergePatch } from "#apply/strategic-merge-patch.ts";
import { decodePatch, type PatchedObject, type PatchedValue } from "#codec/patch-body.ts";
import { metaGroup } from "#meta/api-domain.ts";
import { forbidden } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { apiVersionOf, parseApiVersion } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import {
  badRequest,
  contentTypeNotConsumed,
  contentTypeUnrouted,
  failedPatch,
  invalidObject,
  representationNotAcceptable,
  requestTooLarge,
  unclassified,
  unsupportedMediaType,
} from "#meta/status-error.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import { withBigInts } from "#schema/json-values.ts";
import { isObject } from "#std/is-object.ts";
import type { Reply } from "../api-request.ts";
import { weightOf } from "../large-requests.ts";
import { isConsumable } from "../negotiation.ts";
import { objectReply } from "../object-reply.ts";
import { writeOptions, type WriteOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import {
  checkName,
  dropDuplicateOwners,
  applyDefaults,
  inNamespace,
  objectVersions,
  writeAttributes,
  type Written,
} from "../write-steps.ts";
import { applyObject } from "./apply.ts";
import { replaceObject } from "./replace.ts";

const jsonPatchType = "application/json-patch+json";
const mergePatchType = "application/merge-patch+json";
const strategicPatchType = "application/strategic-merge-patch+json";
const applyPatchType = "application/apply-patch+yaml";
const applyCborType = "application/apply-patch+cbor";

const customPatchTypes = [jsonPatchType, mergePatchType, applyPatchType];
const patchTypes = [...customPatchTypes, strategicPatchType];

export async function patchObject(scope: Scope): Promise<Reply> {
  const { request, parts, definition } = scope;
  const contentType = request.headers["content-type"];
  const rules = servingRulesOf(scope.parent ?? definition);
  const textTypes = rules.acceptsStrategicPatches ? patchTypes : customPatchTypes;
  const types = parts.acceptsCborPatches ? [...textTypes, applyCborType] : textTypes;
  if (!isConsumable(contentType, types)) {
    if (!rules.hasRoutes) throw unsupportedMediaType(types);
    // Upstream looks for a type of the answer if no length is announced, after no route is left.
    const length = request.headers["content-length"] ?? "";
    if (Number(length) > 0) throw contentTypeNotConsumed();
    throw length === "" ? contentTypeUnrouted() : representationNotAcceptable([]);
  }
  const type = contentType!.split(";", 1)[0]!.trim();
  if (type === applyPatchType) return applyObject(scope, "YAML");
  if (type === applyCborType) return applyObject(scope, "CBOR");
  const options = writeOptions(request.query, "PatchOptions", parts.domain);
  if (options.force !== undefined) {
    throw invalidObject({ group: metaGroup(parts.domain), kind: "PatchOptions" }, "", [
      forbidden(FieldPath.of("force"), "may not be specified for non-apply patch"),
    ]);
  }
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const bytes = await request.body(parts.bodyLimitBytes);
  parts.sizes.check(weightOf(bytes));
  request.audit?.sentPatch(bytes);
  let patch: Patch | undefined;
  const stored = await replaceObject(scope, options, writeAttributes(scope, options), {
    allowCreate: false,
    next(current) {
      // The patch is parsed late: a missing object is the first error that a client gets.
      patch ??= readPatch(scope, type, bytes, options);
      // There always is a current object: patches other than apply do not create one.
      return applyPatch(scope, options, current!, patch);
    },
  });
  return objectReply(scope, negotiated, 200, stored.object, stored.entry);
}

interface Patch {
  apply(current: Unstructured): unknown;
  /** The patch itself, if it is a strategic merge patch. */
  readonly strategic?: unknown;
  /** Unknown and double fields of the patch itself. */
  readonly problems: readonly string[];
}

function readPatch(scope: Scope, type: string, bytes: Buffer, options: WriteOptions): Patch {
  const { definition, parts } = scope;
  const { schema } = definition;
  const { value, problems } = decodePatch(bytes, type === jsonPatchType ? jsonPatchSchema : undefined, {
    form: type === strategicPatchType ? "strategic" : "merge",
    fieldValidation: options.fieldValidation,
  });
  switch (type) {
    case jsonPatchType:
      return { problems, apply: (current) => applyJsonPatch(current, value, parts.sizes.copies?.()) };
    case mergePatchType:
      return { problems, apply: (current) => applyMergePatch(current, value) };
    default: {
      const patch = withoutType(value);
      return { problems, strategic: value, apply: (current) => applyStrategicMergePatch(current, patch, schema) };
    }
  }
}

/**
 * Removes the type from a strategic merge patch, which may name any (clients send the resource's kind to its scale):
 * the path decides.
 */
function withoutType(patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const { apiVersion, kind, ...rest } = patch;
  const isSaid = (value: unknown): boolean => value !== undefined && value !== null && typeof value !== "string";
  return isSaid(apiVersion) || isSaid(kind) ? patch : rest;
}

/** Decodes the patched object; the patch may have changed its version. */
function decodeResult(
  scope: Scope,
  patched: Pick<PatchedValue, "value" | "fieldValidation" | "problems" | "before" | "strategic">,
): PatchedObject {
  const { definition, parts } = scope;
  const { decoder } = definition;
  const result = { ...patched, gvk: definition, room: parts.sizes.room };
  const { apiVersion, kind } = (result.value ?? {}) as Readonly<Record<string, unknown>>; // looked at, whatever it is
  const own = apiVersionOf(definition);
  const isOther = apiVersion !== own && typeof apiVersion === "string" && kind === definition.kind;
  if (!isOther || !servingRulesOf(definition).patchesMayChangeVersion) return decoder.decodePatched(result);
  const other = parts.definitionOfVersion(definition, apiVersion);
  if (other?.group === definition.group) {
    const decoded = other.decoder.decodePatched({ ...result, gvk: other });
    const { convert } = objectVersions(scope);
    return { ...decoded, object: (convert?.(decoded.object, apiVersion, own) ?? decoded.object) as Unstructured }; // of the same kind
  }
  const said = parseApiVersion(apiVersion);
  const isKnown = said?.group === definition.group && parts.isRegistered({ ...said, kind }, said.group);
  return decoder.decodePatched({ ...result, ...(isKnown ? { accepted: [{ ...said, kind }] } : {}) });
}

function applyPatch(scope: Scope, options: WriteOptions, current: Unstructured, patch: Patch): Written {
  const { definition, context } = scope;
  const { patchesKeepLargeIntegers } = servingRulesOf(definition);
  const before = patchesKeepLargeIntegers ? (withBigInts(current) as Unstructured) : current;
  let value: unknown;
  try {
    value = patch.apply(before);
  } catch (error) {
    if (error instanceof PatchError) throw statusOf(error);
    throw error;
  }
  const { fieldValidation } = options;
  const { problems, strategic } = patch;
  const result = { value, fieldValidation, problems, before, ...(strategic === undefined ? {} : { strategic }) };
  const { object, warnings, hasEmptyLists } = decodeResult(scope, result);
  for (const text of warnings) context.warn(text);
  const placed = inNamespace(scope, object);
  checkName(scope, placed);
  return { object: dropDuplicateOwners(scope, applyDefaults(scope, placed), true), hasEmptyLists };
}

function statusOf(error: PatchError): Error {
  switch (error.kind) {
    case "bad-request":
      return badRequest(error.message, error);
    case "too-large":
      return requestTooLarge(error.message);
    case "invalid":
      return failedPatch(error);
    case "internal":
      return unclassified(error.message, error);
  }
}
