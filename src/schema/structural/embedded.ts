/**
 * Checks embedded objects: their own apiVersion, kind and metadata. Source: upstream's
 * `apiextensions-apiserver/pkg/apiserver/schema/objectmeta`.
 */
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import { dns1035Label } from "#meta/names.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { validateObjectMeta } from "#meta/validate-object-meta.ts";
import { addAll } from "#std/add-all.ts";
import { DecodeError } from "../decode-error.ts";
import type { Schema } from "../schema.ts";
import { decodeTyped } from "../typed.ts";
import { type Json, kindOf, shown } from "../go-json.ts";
import type { SchemaNode } from "./node.ts";

/** The options for metadata that may be malformed. */
interface EmbeddedMetaOptions {
  /** The type of metadata; without it, metadata is not checked. */
  readonly metadata?: Schema | undefined;
  /** Whether metadata was decoded by its type already. */
  readonly isRead?: boolean;
  /** Whether the value itself is a whole object, whatever its schema. */
  readonly isWhole?: boolean;
}

/** Returns the errors of embedded objects, members in the order of their names. */
export function embeddedFindings(
  node: SchemaNode | undefined,
  value: unknown,
  field: FieldPath,
  options: EmbeddedMetaOptions,
): FieldError[] {
  const findings: FieldError[] = [];
  walk(node, value, field, options, findings);
  return findings;
}

function walk(
  node: SchemaNode | undefined,
  value: unknown,
  field: FieldPath,
  options: EmbeddedMetaOptions,
  findings: FieldError[],
): void {
  const isWhole = options.isWhole === true;
  if (node === undefined || (!node.hasEmbedded && !isWhole)) return;
  const inner = isWhole ? { ...options, isWhole: false } : options;
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) walk(node.items, item, field.index(at), inner, findings);
    return;
  }
  if (kindOf(value) !== "object") return;
  const object = value as Json;
  if (node.embedded || isWhole) checkWhole(object, field, options, findings);
  for (const name of Object.keys(object).sort()) {
    const property = node.properties?.get(name);
    if (property !== undefined) walk(property, object[name], field.child(name), inner, findings);
    else if (typeof node.additional === "object") {
      walk(node.additional, object[name], field.key(name), inner, findings);
    }
  }
}

function checkWhole(object: Json, field: FieldPath, options: EmbeddedMetaOptions, findings: FieldError[]): void {
  for (const name of ["apiVersion", "kind"]) {
    if (!Object.hasOwn(object, name)) findings.push(required(field.child(name), "must not be empty"));
  }
  for (const name of ["apiVersion", "kind"]) {
    if (!Object.hasOwn(object, name)) continue;
    const value = object[name];
    const path = field.child(name);
    if (typeof value !== "string") findings.push(invalid(path, shown(value), "must be a string"));
    else if (value === "") findings.push(invalid(path, shown(value), "must not be empty"));
    else addAll(findings, name === "kind" ? checkKind(value, path) : checkApiVersion(value, path));
  }
  if (!Object.hasOwn(object, "metadata")) return;
  const path = field.child("metadata");
  const meta =
    // `isRead` says that the value is metadata.
    options.isRead === true ? (object["metadata"] as ObjectMeta) : readMetadata(object["metadata"], options.metadata);
  if (typeof meta === "string") findings.push(invalid(path, shown(object["metadata"]), meta));
  else addAll(findings, checkMetadata(meta, path));
}

function checkKind(kind: string, field: FieldPath): FieldError[] {
  const messages = dns1035Label(kind.toLowerCase());
  if (messages.length === 0) return [];
  return [invalid(field, kind, `may have mixed case, but should otherwise match: ${messages.join(",")}`)];
}

function checkApiVersion(apiVersion: string, field: FieldPath): FieldError[] {
  if (parseApiVersion(apiVersion) !== undefined) return [];
  return [invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
}

/** Checks metadata. The name may be absent. */
function checkMetadata(meta: ObjectMeta, field: FieldPath): FieldError[] {
  const named = meta.name === undefined || meta.name === "" ? { ...meta, name: "fakename" } : meta;
  const namespaced = meta.namespace !== undefined && meta.namespace !== "";
  return validateObjectMeta(named, { namespaced, nameRule: "pathSegment", field });
}

/** Returns the metadata, or the error of its types in Go's words. Without a schema, returns empty metadata. */
function readMetadata(value: unknown, schema: Schema | undefined): ObjectMeta | string {
  if (value === null || schema === undefined) return {};
  try {
    // The value has the type of the schema.
    return decodeTyped(schema, value, { keys: 0, unknown: false }, { defaults: false }) as ObjectMeta;
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}

/**
 * Returns the error of the first part of an embedded object that has a wrong type. Callers use it before all other
 * checks.
 */
export function coerceFinding(
  node: SchemaNode | undefined,
  value: unknown,
  field: FieldPath,
  options: EmbeddedMetaOptions,
): FieldError | undefined {
  const isWhole = options.isWhole === true;
  if (node === undefined || (!node.hasEmbedded && !isWhole)) return undefined;
  const inner = { ...options, isWhole: false };
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      const finding = coerceFinding(node.items, item, field.index(at), inner);
      if (finding !== undefined) return finding;
    }
    return undefined;
  }
  if (kindOf(value) !== "object") return undefined;
  const object = value as Json;
  for (const name of Object.keys(object).sort()) {
    const member = object[name];
    const path = field.child(name);
    if (node.embedded || isWhole) {
      if ((name === "apiVersion" || name === "kind") && typeof member !== "string") {
        return invalid(path, shown(member), "must be a string");
      }
      const meta = name === "metadata" ? readMetadata(member, options.metadata) : undefined;
      if (typeof meta === "string") return invalid(path, shown(member), meta);
    }
    const property = node.properties?.get(name);
    const additional = typeof node.additional === "object" ? node.additional : undefined;
    const finding =
      property !== undefined
        ? coerceFinding(property, member, path, inner)
        : coerceFinding(additional, member, field.key(name), inner);
    if (finding !== undefined) return finding;
  }
  return undefined;
}
