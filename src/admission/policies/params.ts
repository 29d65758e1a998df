/** The parameters of a policy: objects of the kind that the policy names, selected by each binding. */
import type { ParamKind, ParamRef } from "#api/admissionregistration/v1.ts";
import { type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { LabelSelector } from "#meta/selector.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";

/** The objects of one kind, from memory. */
export interface ParamObjects {
  readonly namespaced: boolean;
  get(namespace: string, name: string): MaybePromise<ApiObject | undefined>;
  /**
   * Lists the objects that the selector matches, in the order of their names. `namespace` is empty for cluster-scoped
   * kinds.
   */
  list(namespace: string, selector: LabelSelector): MaybePromise<readonly ApiObject[]>;
}

/** Finds the objects of a kind; `undefined` for a kind that is not served. */
export type FindParams = (kind: GroupVersionKind) => ParamObjects | undefined;

/** The reason why parameters cannot be found, in upstream's words. */
export class ParamProblem extends Error {}

/** Returns the objects of the kind. Throws `ParamProblem` for a kind that is not served. */
export function paramObjects({ apiVersion = "", kind = "" }: ParamKind, find: FindParams): ParamObjects {
  const version = parseApiVersion(apiVersion);
  const objects = version === undefined ? undefined : find({ ...version, kind });
  if (version !== undefined && objects !== undefined) return objects;
  const shown = version === undefined ? apiVersion : `${version.group}/${version.version}`;
  throw new ParamProblem(`failed to find resource referenced by paramKind: '${shown}, Kind=${kind}'`);
}

/**
 * Returns the parameters that a binding selects for a request in `namespace`; a binding without a reference has the
 * only parameter `undefined`. Throws `ParamProblem`.
 */
export function collectParams(
  objects: ParamObjects | undefined,
  ref: ParamRef | undefined,
  namespace: string,
): MaybePromise<readonly (ApiObject | undefined)[]> {
  if (objects === undefined || ref === undefined) return [undefined];
  const { name = "", selector, parameterNotFoundAction } = ref;
  const paramNamespace = namespaceOf(objects, ref, namespace);
  if (name !== "") return requireParams(objects.get(paramNamespace, name), parameterNotFoundAction);
  if (selector === undefined) throw new ParamProblem("one of name or selector must be provided");
  const compiled = compileLabelSelector(selector);
  if (compiled === undefined) throw new ParamProblem("the selector cannot be read");
  return requireParams(objects.list(paramNamespace, compiled), parameterNotFoundAction);
}

function namespaceOf({ namespaced }: ParamObjects, ref: ParamRef, namespace: string): string {
  const refNamespace = ref.namespace ?? "";
  if (!namespaced) {
    if (refNamespace === "") return "";
    throw new ParamProblem("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  if (refNamespace !== "") return refNamespace;
  if (namespace !== "") return namespace;
  throw new ParamProblem("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
}

type ParamMatch = ApiObject | undefined | readonly ApiObject[];

function requireParams(
  objects: MaybePromise<ParamMatch>,
  action: string | undefined,
): MaybePromise<readonly ApiObject[]> {
  return andThen(objects, (there) => checkParams(there, action));
}

function checkParams(objects: ParamMatch, action: string | undefined): readonly ApiObject[] {
  const list = objects === undefined ? [] : "metadata" in objects ? [objects] : objects;
  if (list.length > 0 || action !== "Deny") return list;
  throw new ParamProblem("no params found for policy binding with `Deny` parameterNotFoundAction");
}
