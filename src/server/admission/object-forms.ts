/** Converts objects between served versions for admission, and lists the versions of a resource. */
import type { Matched } from "#admission/matching.ts";
import type { ObjectForms } from "#admission/object-form.ts";
import { applyJsonPatch } from "#apply/json-patch.ts";
import { PatchError } from "#apply/patch-error.ts";
import { nullEmptyLists, strictMessage } from "#codec/object.ts";
import { typedDecoder } from "#registry/object-decoder.ts";
import { decodeJsonPatch } from "#codec/patch-body.ts";
import {
  apiVersionOf,
  type GroupVersionKind,
  type GroupVersionResource,
  parseApiVersion,
} from "#meta/group-version.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import { badRequest, internalError, objectTooLarge, StatusError } from "#meta/status-error.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import { isLongerThan, ByteBudget, withBigInts } from "#schema/json-values.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { runCooperatively, type Steps } from "#std/cooperative.ts";
import { largeBytes } from "#http/large-requests.ts";

interface ServedFormsOptions {
  /** The served resources. */
  table(): ResourceTable;
  /** Schema of a built-in kind. Throws when there is none. */
  schemaOf(gvk: GroupVersionKind): Schema;
  /** The maximum bytes of an object after defaults and patches were applied. */
  readonly objectBytesMax: number;
}

/** Answers questions of admission about versions from the table of served resources. */
export class ServedForms implements ObjectForms {
  readonly #options: ServedFormsOptions;
  /** The generation of the table from which the maps below were made. */
  #generation = -1;
  readonly #equivalents = new Map<string, readonly Matched[]>();

  constructor(options: ServedFormsOptions) {
    this.#options = options;
  }

  equivalents(resource: GroupVersionResource, subresource: string): readonly Matched[] {
    const table = this.#options.table();
    if (table.generation !== this.#generation) {
      this.#equivalents.clear();
      this.#generation = table.generation;
    }
    const key = `${resource.group}/${resource.version}/${resource.resource}/${subresource}`;
    let matched = this.#equivalents.get(key);
    if (matched === undefined) {
      matched = equivalentsIn(table, resource, subresource);
      this.#equivalents.set(key, matched);
    }
    return matched;
  }

  convertTo(object: ApiObject, kind: GroupVersionKind): MaybePromise<ApiObject> {
    const apiVersion = apiVersionOf(kind);
    if (object.apiVersion === apiVersion && object.kind === kind.kind) return object;
    const from = parseApiVersion(object.apiVersion ?? "");
    const source = from && this.#options.table().findKind(from.group, from.version, object.kind ?? "");
    const target = this.#options.table().findKind(kind.group, kind.version, kind.kind);
    if (source === undefined || target === undefined || storedResourceOf(source) !== storedResourceOf(target)) {
      throw internalError(
        `${object.apiVersion}, Kind=${object.kind} cannot be converted to ${apiVersion}, Kind=${kind.kind}`,
      );
    }
    const unstructured = object as Unstructured; // of any kind
    const remote = source.conversion?.webhook;
    if (remote !== undefined) return remote.convert([unstructured], apiVersion).then(([converted]) => converted!); // as many as were sent
    if (servingRulesOf(target).renamesVersions) return { ...unstructured, apiVersion };
    const hub = source.conversion?.toHub(unstructured) ?? unstructured;
    const converted =
      target.conversion?.fromHub({ ...hub, apiVersion: apiVersionOf(target.storage), kind: target.storage.kind }) ??
      hub;
    return { ...converted, apiVersion, kind: kind.kind };
  }

  reread(value: unknown, kind: GroupVersionKind): MaybePromise<Unstructured> {
    return runCooperatively(this.#checkedAndReread(value, kind, { isStrict: true }));
  }

  applyPatch(object: ApiObject, kind: GroupVersionKind, patch: Buffer): MaybePromise<Unstructured> {
    return runCooperatively(this.#applyPatch(object, kind, patch));
  }

  /** Pauses after each step of a long patch, so that other work of the event loop has a turn. */
  *#applyPatch(object: ApiObject, kind: GroupVersionKind, patch: Buffer): Steps<Unstructured> {
    const isLong = patch.length > largeBytes;
    if (isLong) yield undefined;
    const operations = yield* asInternalPieces(decodeJsonPatch(patch));
    if (isLong) yield undefined;
    const changed = asInternal(() => applyJsonPatch(withBigInts(object), operations));
    return yield* this.#checkedAndReread(changed, kind, { isStrict: false });
  }

  /** Throws for an object that is too large: a short patch may make a long object, by copies. */
  *#checkedAndReread(
    value: unknown,
    kind: GroupVersionKind,
    options: { readonly isStrict: boolean },
  ): Steps<Unstructured> {
    const { objectBytesMax } = this.#options;
    if (yield* isLongerThan(value, objectBytesMax)) throw objectTooLarge(objectBytesMax);
    return asInternal(() => this.#reread(value, kind, options));
  }

  #reread(value: unknown, kind: GroupVersionKind, { isStrict }: { readonly isStrict: boolean }): Unstructured {
    const { table, schemaOf, objectBytesMax } = this.#options;
    const definition = table().findKind(kind.group, kind.version, kind.kind);
    const decoder = definition?.decoder ?? typedDecoder(() => schemaOf(kind));
    const isChecked = isStrict && (definition === undefined || servingRulesOf(definition).refusesUnknownFields);
    const { object, hasEmptyLists, warnings } = decoder.decodePatched({
      value,
      gvk: kind,
      problems: [],
      fieldValidation: isChecked ? "Warn" : "Ignore",
      room: () => new ByteBudget(objectBytesMax, () => objectTooLarge(objectBytesMax)),
    });
    if (warnings.length > 0) throw badRequest(strictMessage(warnings));
    const { type } = decoder;
    const canonicalObject = hasEmptyLists && type !== undefined ? nullEmptyLists(type, object) : object;
    return definition?.strategy.defaults?.(canonicalObject) ?? canonicalObject;
  }
}

/** Runs a step whose errors become internal errors: the client has not made the change of a webhook or a policy. */
function asInternal<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw internal(error);
  }
}

function* asInternalPieces<T>(pieces: Steps<T>): Steps<T> {
  try {
    return yield* pieces;
  } catch (error) {
    throw internal(error);
  }
}

function internal(error: unknown): unknown {
  if (!(error instanceof StatusError || error instanceof PatchError)) return error;
  // The message leaves out the object, which may be large or secret.
  const why = error.cause instanceof DecodeError ? error.cause : error;
  return new StatusError(internalError(why.message).status, { showsValues: true });
}

const storedResourceOf = ({ storage }: ResourceDefinition): string => `${storage.group}/${storage.resource}`;

function equivalentsIn(table: ResourceTable, of: GroupVersionResource, subresource: string): readonly Matched[] {
  const own = table.find(of.group, of.version, of.resource);
  if (own === undefined) return [];
  const stored = storedResourceOf(own);
  const all = [
    own,
    ...table.definitions.filter((other) => other !== own && other.stored && storedResourceOf(other) === stored),
  ];
  return all.flatMap((definition) => {
    const { group, version, resource } = definition;
    const kind = subresource === "" ? definition : definition.subresources.find(({ name }) => name === subresource);
    return kind === undefined
      ? []
      : [
          {
            resource: { group, version, resource },
            kind: { group: kind.group, version: kind.version, kind: kind.kind },
          },
        ];
  });
}
