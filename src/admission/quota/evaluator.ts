/** Computes how much of each quota name the objects of one resource use. */
import type { ScopedResourceSelectorRequirement } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Operation } from "../plugin.ts";
import { one, type Quantities } from "../quantities.ts";

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface Evaluator extends GroupResource {
  /** Whether a write of this operation and subresource can use more. */
  handles(operation: Operation, subresource: string): boolean;
  /** Whether a name in a quota is about these objects: `requests.cpu` is about pods. */
  counts(name: string): boolean;
  /** Whether all objects use the same amounts. */
  readonly isConstant?: boolean;
  /** Returns the quantities that an object uses. `read` is called only if the content matters. */
  usage(read: () => ApiObject): Quantities;
  /** Whether an object is in a scope. Left out: none of these objects is in any. */
  isInScope?(object: ApiObject, scope: ScopedResourceSelectorRequirement): boolean;
  /**
   * Returns a text about the requests and limits that an object must state under a quota with these names, and does
   * not; empty when it states all.
   */
  missing?(object: ApiObject, names: readonly string[]): string;
}

/** The name of the number of objects in quotas: `count/deployments.apps`. */
const countName = ({ group, resource }: GroupResource): string => `count/${resource}${group === "" ? "" : `.${group}`}`;

/** Resources that had names in quotas before the form `count/…` existed. */
const olderNames: ReadonlySet<string> = new Set(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"]);

/** Makes an evaluator that counts the objects of a resource. */
export function countEvaluator(of: GroupResource): Evaluator {
  const names = [countName(of), ...(of.group === "" && olderNames.has(of.resource) ? [of.resource] : [])];
  const usage = new Map(names.map((name) => [name, one]));
  return {
    group: of.group,
    resource: of.resource,
    isConstant: true,
    handles: (operation, subresource) => operation === "CREATE" && subresource === "",
    counts: (name) => names.includes(name),
    usage: () => usage,
  };
}

/** Returns the resource that a name of the form `count/…`, or an older one, is about. */
export function countedResource(name: string): GroupResource | undefined {
  if (olderNames.has(name)) return { group: "", resource: name };
  const [, resource = "", group = ""] = /^count\/([^./]+)(?:\.([^/]+))?$/.exec(name) ?? [];
  return resource === "" ? undefined : { group, resource };
}
