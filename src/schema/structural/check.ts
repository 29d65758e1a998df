/** Which schemas a definition may have. */
import type { FieldError } from "#meta/field-error.ts";
import type { Schema } from "../schema.ts";
import type { JsonSchemaProps } from "./json-schema.ts";

export interface CheckOptions {
  /** The version has a status subresource. */
  readonly statusSubresource?: boolean;
  /** Of built-in kinds, for defaults inside of metadata. */
  readonly metadata?: Schema;
  /** What an update need not keep because the stored definition did not: see `ratchetedChecks`. On unless false. */
  readonly structural?: boolean;
  readonly prunedDefaults?: boolean;
  readonly validTypes?: boolean;
  readonly atomicSets?: boolean;
  readonly mapKeys?: boolean;
}

export function checkStructural(_props: JsonSchemaProps, _path: string, _options: CheckOptions = {}): FieldError[] {
  return [];
}

export function isStructural(_props: JsonSchemaProps): boolean {
  return true;
}

export function ratchetedChecks(_old: readonly JsonSchemaProps[]): CheckOptions {
  return {};
}
