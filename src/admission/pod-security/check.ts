/**
 * This file says what a check of the Pod Security Standards sees and finds, and has the words that several checks
 * share.
 */
import type { Container, EphemeralContainer, PodSecurityContext, PodSpec, SecurityContext } from "#api/core/v1.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { compareCodePoints } from "#std/code-points.ts";

export type AnyContainer = Container | EphemeralContainer;

/** A pod, or the pod of a template. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  readonly security: PodSecurityContext;
  /** Initial, common and ephemeral ones, in this order. */
  readonly containers: readonly AnyContainer[];
  readonly isWindows: boolean;
  /** Its users are not those of the node, and checks that concern users are left out for this. */
  readonly hasOwnUsers: boolean;
}

export interface Finding {
  /** The forbidden thing, for the list of existing pods. */
  readonly reason: string;
  /** The containers or fields that violate the standard, and the allowed values; may be empty. */
  readonly detail: string;
}

/** Returns what the pod violates; `undefined` when it does not. */
export type StandardCheck = (pod: CheckedPod) => Finding | undefined;

const none = Object.freeze({});

export function checkedPod(
  metadata: Pick<ObjectMeta, "annotations">,
  spec: PodSpec,
  relaxesUserNamespaces: boolean,
): CheckedPod {
  const { containers, initContainers, ephemeralContainers } = spec;
  return {
    annotations: metadata.annotations ?? none,
    spec,
    security: spec.securityContext ?? none,
    containers: [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])],
    isWindows: spec.os?.name === "windows",
    hasOwnUsers: relaxesUserNamespaces && spec.hostUsers === false,
  };
}

export const findingText = ({ reason, detail }: Finding): string => (detail === "" ? reason : `${reason} (${detail})`);

/** Names of the containers whose security settings, empty where there are none, are like that. */
export function containersWhere(
  { containers }: CheckedPod,
  isFound: (security: SecurityContext) => boolean,
): readonly string[] {
  const names: string[] = [];
  for (const { name, securityContext } of containers) if (isFound(securityContext ?? none)) names.push(name);
  return names;
}

/** A check of the settings of each container, without exceptions. */
export function containerCheck(
  reason: string,
  isFound: (security: SecurityContext) => boolean,
  demand: string,
): StandardCheck {
  return (pod) => {
    const found = containersWhere(pod, isFound);
    return found.length === 0 ? undefined : { reason, detail: `${named("container", found)} ${demand}` };
  };
}

/** A check that later versions of the standard leave out for Windows. */
export const exceptWindows =
  (check: StandardCheck): StandardCheck =>
  (pod) =>
    pod.isWindows ? undefined : check(pod);

/** `container "a"`, `containers "a", "b"`. */
export const named = (what: string, names: readonly string[]): string =>
  `${plural(what, names.length)} ${quoted(names)}`;

export const plural = (what: string, count: number): string => (count === 1 ? what : `${what}s`);

/** Upstream: without escapes. */
export const quoted = (texts: readonly string[]): string => `"${texts.join('", "')}"`;

/** The pod itself and its containers, `pod and container "a"`; empty if it is none of them. */
export function podAndContainers(isPod: boolean, names: readonly string[]): string {
  const containers = names.length === 0 ? [] : [named("container", names)];
  return [...(isPod ? ["pod"] : []), ...containers].join(" and ");
}

export const sorted = (texts: ReadonlySet<string>): readonly string[] => [...texts].sort(compareCodePoints);
