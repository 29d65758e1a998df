/** The interface of a check of the Pod Security Standards, and the words that several checks share. */
import { allContainers, type AnyContainer } from "#api/core/containers.ts";
import type { PodSecurityContext, PodSpec, SecurityContext } from "#api/core/v1.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { compareCodePoints } from "#std/code-points.ts";

/** A pod, or the pod of a template. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  readonly security: PodSecurityContext;
  /** The init containers, the common and the ephemeral ones, in this order. */
  readonly containers: readonly AnyContainer[];
  readonly isWindows: boolean;
  /**
   * Whether it has a user namespace of its own (`hostUsers: false`), so that checks that concern users are left out.
   */
  readonly hasOwnUsers: boolean;
}

export interface Finding {
  /** The violated rule, for the list of existing pods. */
  readonly reason: string;
  /** The containers or fields that violate the standard, and the allowed values; may be empty. */
  readonly detail: string;
}

/** Returns the violation of a pod; `undefined` when there is none. */
export type StandardCheck = (pod: CheckedPod) => Finding | undefined;

const none = Object.freeze({});

export function toCheckedPod(
  metadata: Pick<ObjectMeta, "annotations">,
  spec: PodSpec,
  relaxesUserNamespaces: boolean,
): CheckedPod {
  return {
    annotations: metadata.annotations ?? none,
    spec,
    security: spec.securityContext ?? none,
    containers: allContainers(spec),
    isWindows: spec.os?.name === "windows",
    hasOwnUsers: relaxesUserNamespaces && spec.hostUsers === false,
  };
}

export const findingText = ({ reason, detail }: Finding): string => (detail === "" ? reason : `${reason} (${detail})`);

/** Names the containers for whose security settings `isFound` holds; absent settings count as empty ones. */
export function containersWhere(
  { containers }: CheckedPod,
  isFound: (security: SecurityContext) => boolean,
): readonly string[] {
  const names: string[] = [];
  for (const { name, securityContext } of containers) if (isFound(securityContext ?? none)) names.push(name);
  return names;
}

/** Makes a check of the settings of each container, without exceptions. */
export function containerCheck(
  reason: string,
  isFound: (security: SecurityContext) => boolean,
  demand: string,
): StandardCheck {
  return (pod) => {
    const containers = containersWhere(pod, isFound);
    return containers.length === 0 ? undefined : { reason, detail: `${printNames("container", containers)} ${demand}` };
  };
}

/** Makes a check that leaves out pods for Windows, as later versions of the standard do. */
export const exceptWindows =
  (check: StandardCheck): StandardCheck =>
  (pod) =>
    pod.isWindows ? undefined : check(pod);

/** Prints names with their noun: `container "a"`, `containers "a", "b"`. */
export const printNames = (what: string, names: readonly string[]): string =>
  `${plural(what, names.length)} ${quoteTexts(names)}`;

export const plural = (what: string, count: number): string => (count === 1 ? what : `${what}s`);

/** Quotes texts. Upstream: without escapes. */
export const quoteTexts = (texts: readonly string[]): string => `"${texts.join('", "')}"`;

/** Names the pod itself, if `isPod`, and containers: `pod and container "a"`; empty if there are none. */
export function podAndContainers(isPod: boolean, names: readonly string[]): string {
  const containers = names.length === 0 ? [] : [printNames("container", names)];
  return [...(isPod ? ["pod"] : []), ...containers].join(" and ");
}

export const sortTexts = (texts: ReadonlySet<string>): readonly string[] => [...texts].sort(compareCodePoints);
