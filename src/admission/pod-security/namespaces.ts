/**
 * Checks writes of namespaces: their labels must be readable, and a user who raises the enforced level is warned about
 * pods that violate the new level already. The number of pods that are checked, and the time for it, have bounds.
 */
import type { Namespace, Pod } from "#api/core/v1.ts";
import { invalidObject, StatusError } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { compareCodePoints } from "#std/code-points.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { runCooperatively, Yielder, type Steps } from "#std/cooperative.ts";
import type { AdmissionAttributes } from "../plugin.ts";
import { toCheckedPod, plural } from "./check.ts";
import {
  isPrivileged,
  isSameStandard,
  modes,
  type SecurityPolicy,
  type PolicyLabels,
  type ReadPolicy,
  type Standard,
  standardText,
  strictness,
} from "./policy.ts";
import type { Standards } from "./standards.ts";

/** The pods of a namespace at one moment. */
export interface NamespacePods {
  readonly count: number;
  /** Returns a pod, in the order of names. Throws `StatusError` for a stored object that cannot be read. */
  pod(index: number): Pod;
}

export interface NamespaceOptions {
  readonly labels: PolicyLabels;
  readonly standards: Standards;
  readonly clock: Clock;
  readonly relaxesUserNamespaces: boolean;
  /** The policy of namespaces whose labels say nothing. */
  readonly defaults: SecurityPolicy;
  readonly exemptNamespaces: ReadonlySet<string>;
  readonly exemptRuntimeClasses: ReadonlySet<string>;
  podsOf(namespace: string): NamespacePods;
}

/** Upstream's bounds: the number of checked pods, and the time for them. */
const checkedMax = 3000;
const checkMsMax = 1000;

type Labels = Readonly<Record<string, string>>;

/** Checks a create or an update of a namespace. Throws `StatusError` for labels that cannot be read. */
export function checkNamespace(attributes: AdmissionAttributes, options: NamespaceOptions): MaybePromise<void> {
  const { context, operation, subresource, name } = attributes;
  if (subresource !== "") return undefined;
  const { metadata } = attributes.object as Namespace; // of the resource
  const read = options.labels.read(metadata.labels);
  const { policy, errors } = read;
  const old = operation === "UPDATE" ? options.labels.read(attributes.oldObject?.metadata.labels) : undefined;
  // Upstream: labels that could not be read before may stay if all errors about them are the same.
  if (errors.length > 0 && complaints(errors) !== complaints(old?.errors ?? [])) {
    throw invalidObject({ group: "", kind: "Namespace" }, name, errors);
  }
  if (old !== undefined && !isStricter(policy.enforce, old.policy.enforce)) return undefined;
  if (options.exemptNamespaces.has(name)) {
    const ignored = ignoredPolicy(read, metadata.labels ?? {}, options);
    if (ignored !== undefined) {
      context.warn(
        `namespace "${name}" is exempt from Pod Security, and the policy (${ignored}) will be ignored`,
        "admission",
      );
    }
    return undefined;
  }
  return old === undefined ? undefined : runCooperatively(warnAboutPods(attributes, policy.enforce, options));
}

const complaints = (errors: readonly { readonly field: string; readonly message: string }[]): string =>
  errors.map(({ field, message }) => `${field}: ${message}`).join("\n");

/** Whether pods that were allowed may violate the new standard. */
function isStricter(next: Standard, last: Standard): boolean {
  if (isSameStandard(next, last) || isPrivileged(next)) return false;
  return next.version !== last.version || strictness(next) > strictness(last);
}

/**
 * Returns the policy that the labels of an exempt namespace ask for in vain; `undefined` when they ask for nothing
 * beyond the defaults.
 */
function ignoredPolicy(read: ReadPolicy, labels: Labels, options: NamespaceOptions): string | undefined {
  const { policy } = read;
  const { defaults } = options;
  const isEqual = (one: Standard, other: Standard): boolean =>
    isSameStandard(one, other) || (isPrivileged(one) && isPrivileged(other));
  if (read.isPrivileged || modes.every((mode) => isEqual(policy[mode], defaults[mode]))) return undefined;
  return modes
    .filter((mode) => options.labels.names(labels, mode) && !isPrivileged(policy[mode]))
    .map((mode) => `${mode}=${standardText(policy[mode])}`)
    .join(", ");
}

interface Violation {
  readonly pod: string;
  readonly count: number;
}

function* warnAboutPods(
  { context, name: namespace }: AdmissionAttributes,
  standard: Standard,
  options: NamespaceOptions,
): Steps<void> {
  const { clock, podsOf, exemptRuntimeClasses } = options;
  const pods = podsOf(namespace);
  const started = clock.monotonic();
  const timeMs = Math.min(checkMsMax, (context.deadlineMs - clock.now()) / 2);
  const yielder = new Yielder(clock);
  const isOver = (share: number): boolean => clock.monotonic() - started > timeMs * share;
  const violations = new Map<string, Violation>();
  let checked = 0;
  let chosen: readonly Pod[] | undefined;
  try {
    if (pods.count > checkedMax) chosen = yield* choosePods(pods, yielder, () => isOver(0.5));
    const count = chosen?.length ?? pods.count;
    while (checked < count && (checked === 0 || !isOver(1))) {
      if (yielder.isDue) yield yielder.pause();
      const pod = chosen?.[checked] ?? pods.pod(checked);
      checked++;
      if (!exemptRuntimeClasses.has(pod.spec.runtimeClassName ?? "")) {
        yield* addViolation(violations, pod, standard, options);
      }
    }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    context.warn("failed to list pods while checking new PodSecurity enforce level", "admission");
    return;
  }
  if (checked < pods.count) {
    const so = `${checked} of ${pods.count} existing pods`;
    context.warn(`new PodSecurity enforce level only checked against the first ${so}`, "admission");
  }
  if (violations.size === 0) return;
  const text = standardText(standard);
  context.warn(
    `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${text}"`,
    "admission",
  );
  const lines = [...violations].map(([reasons, violation]) => `${violators(violation)}: ${reasons}`);
  for (const line of lines.sort(compareCodePoints)) context.warn(line, "admission");
}

function* addViolation(
  violations: Map<string, Violation>,
  { metadata, spec }: Pod,
  standard: Standard,
  { standards, relaxesUserNamespaces }: NamespaceOptions,
): Steps<void> {
  const findings = yield* standards.evaluate(standard, toCheckedPod(metadata, spec, relaxesUserNamespaces));
  if (findings.length === 0) return;
  const reasons = findings.map(({ reason }) => reason).join(", ");
  const { pod, count = 0 } = violations.get(reasons) ?? {};
  const name = metadata.name ?? "";
  violations.set(reasons, { pod: pod !== undefined && pod < name ? pod : name, count: count + 1 });
}

function violators({ pod, count }: Violation): string {
  return count === 1 ? pod : `${pod} (and ${count - 1} other ${plural("pod", count - 1)})`;
}

/** Chooses the pods to check: first one pod of each controller, since the other pods of a controller are alike. */
function* choosePods(pods: NamespacePods, yielder: Yielder, isOver: () => boolean): Steps<readonly Pod[]> {
  const firsts: Pod[] = [];
  const others: Pod[] = [];
  const controllers = new Set<string>();
  for (let index = 0; index < pods.count && firsts.length < checkedMax; index++) {
    if (yielder.isDue) yield yielder.pause();
    if (isOver()) break;
    const pod = pods.pod(index);
    const { uid } = pod.metadata.ownerReferences?.find(({ controller }) => controller === true) ?? {};
    if (uid === undefined || !controllers.has(uid)) firsts.push(pod);
    else if (others.length < checkedMax) others.push(pod);
    if (uid !== undefined) controllers.add(uid);
  }
  return [...firsts, ...others].slice(0, checkedMax);
}
