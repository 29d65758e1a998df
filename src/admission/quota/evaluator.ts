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
  /** Whether such a write can use more. */
  handles(operation: Operation, subresource: string): boolean;
  /** Whether a name in a quota is about these objects: `requests.cpu` is about pods. */
  counts(name: string): boolean;
  /** Whether every object uses the same. */
  readonly isConstant?: boolean;
  /** Returns what an object uses. It is read only where its content matters. */
  usage(read: () => ApiObject): Quantities;
  /** Whether an object is in a scope. Left out: none of these objects is in any. */
  isInScope?(object: ApiObject, scope: ScopedResourceSelectorRequirement): boolean;
  /** Returns what an object has to say and does not, given the names in the quota; empty when it says all. */
  missing?(object: ApiObject, names: readonly string[]): string;
}

/** The name of the number of objects in quotas: `count/deployments.apps`. */
const countName = ({ group, resource }: GroupResource): string => `count/${resource}${group === "" ? "" : `.${group}`}`;

/** Resources that had names in quotas before there was `count/…`. */
const olderNames: ReadonlySet<string> = new Set(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"]);

/** Counts objects of any kind. */
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

/** The resource that a name of the form `count/…`, or an older one, is about. */
export function countedResource(name: string): GroupResource | undefined {
  if (olderNames.has(name)) return { group: "", resource: name };
  const [, resource = "", group = ""] = /^count\/([^./]+)(?:\.([^/]+))?$/.exec(name) ?? [];
  return resource === "" ? undefined : { group, resource };
}
