/** Kinds of `meta.k8s.io/v1` that upstream registers in other versions too: answers, options and events of a watch. */

const ofAllVersions: ReadonlySet<string> = new Set([
  "Status",
  "APIVersions",
  "APIGroup",
  "APIGroupList",
  "APIResourceList",
]);

const ofKnownVersions: ReadonlySet<string> = new Set([
  "WatchEvent",
  "ListOptions",
  "GetOptions",
  "DeleteOptions",
  "CreateOptions",
  "UpdateOptions",
  "PatchOptions",
]);

/** Whether a kind exists in every version, even of groups that nobody knows. */
export const isKindOfAllVersions = (kind: string): boolean => ofAllVersions.has(kind);

/** Whether a kind exists in each version of each known group. */
export const isKindOfKnownVersions = (kind: string): boolean => ofKnownVersions.has(kind);
