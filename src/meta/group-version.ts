/** The identity of types and endpoints: group, version, kind, resource. */

export interface GroupVersion {
  /** The group; empty for the core group. */
  readonly group: string;
  readonly version: string;
}

export interface GroupVersionKind extends GroupVersion {
  readonly kind: string;
}

export interface GroupVersionResource extends GroupVersion {
  /** The plural in lower case, as in paths. */
  readonly resource: string;
}

/** Returns the value of `apiVersion`: `v1` for the core group, `group/version` otherwise. */
export function apiVersionOf(gv: GroupVersion): string {
  return gv.group === "" ? gv.version : `${gv.group}/${gv.version}`;
}

/** Returns the path of a group version: `/api/v1` for the core group, `/apis/group/version` otherwise. */
export function apiPathOf({ group, version }: GroupVersion): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** Parses an `apiVersion`; `undefined` when it has more than one slash. The empty text is the empty version. */
export function parseApiVersion(text: string): GroupVersion | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return { group: "", version: text };
  if (text.includes("/", slash + 1)) return undefined;
  return { group: text.slice(0, slash), version: text.slice(slash + 1) };
}

/** Returns `resource` or `resource.group`, the form of resource names in messages. */
export function qualifiedResource(of: { readonly group: string; readonly resource: string }): string {
  return of.group === "" ? of.resource : `${of.resource}.${of.group}`;
}

/** The version of upstream's internal types, in which objects can be named and not sent. */
export const internalVersion = "__internal";

/** Returns the name of the package with upstream's internal types of a group, which some errors show. */
export function internalPackage(group: string): string {
  const name = group.split(".", 1)[0]!;
  if (name === "" || name === "events") return "core";
  return name === "internal" ? "apiserverinternal" : name;
}
