/**
 * The revisions of StatefulSets and DaemonSets: their templates as ControllerRevisions, which `kubectl rollout` reads.
 * Source: upstream's `pkg/controller/history`.
 */
import { isDeepStrictEqual } from "node:util";
import type { PodTemplateSpec } from "#api/core/v1.ts";
import { ApiError } from "#client/api-error.ts";
import type { ReconcileContext } from "#client/controllers.ts";
import type { Kind } from "#client/kind.ts";
import { ControllerRevision, type DaemonSet, type StatefulSet } from "#client/kinds.ts";
import { referenceToOwner } from "#client/owner.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { claim, hashOf, remove } from "./owned.ts";

type Revised = StatefulSet | DaemonSet;

const dataOf = (template: PodTemplateSpec) => ({ spec: { template: { ...template, $patch: "replace" } } });

const hashLabelIn = ({ rename }: ApiDomain): string => rename("controller.kubernetes.io/hash");

/** Returns the hash of a revision, which labels of pods have. */
export const revisionHash = ({ metadata }: ControllerRevision, domain: ApiDomain): string =>
  metadata.labels?.[hashLabelIn(domain)] ?? "";

/** Returns the template that a revision keeps. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec {
  const { $patch: _, ...template } = (data as ReturnType<typeof dataOf>).spec.template; // the revisions are those of `dataOf`
  return template;
}

/** Returns all revisions, oldest first; the last one is that of the present template, which is made if there is none. */
export async function keepRevisions<T extends Revised>(
  context: ReconcileContext<T>,
  [kind, owner]: readonly [Kind<T>, T],
  domain: ApiDomain,
): Promise<readonly ControllerRevision[]> {
  const revisions = await claim(context, [kind, owner], ControllerRevision);
  const sorted = revisions.toSorted((a, b) => Number(a.revision) - Number(b.revision));
  const data = dataOf(owner.spec.template);
  const calls = context.client.kind(ControllerRevision).in(owner.metadata.namespace ?? "");
  const newest = sorted.at(-1);
  const revision = Number(newest?.revision ?? 0) + 1;
  const same = sorted.findLast((one) => isDeepStrictEqual(one.data, data));
  if (same !== undefined && same === newest) return sorted;
  if (same !== undefined) {
    const renewed = await calls.patch(same.metadata.name, { merge: { revision } });
    return [...sorted.filter((one) => one !== same), renewed];
  }
  for (let collisions = 0; ; collisions++) {
    const hash = hashOf(data, collisions);
    const name = `${owner.metadata.name}-${hash}`;
    const labels = { ...owner.spec.template.metadata.labels, [hashLabelIn(domain)]: hash };
    try {
      const metadata = { name, labels, ownerReferences: [referenceToOwner(owner)] };
      return [...sorted, await calls.create({ metadata, data, revision })];
    } catch (error) {
      if (!(error instanceof ApiError && error.reason === "AlreadyExists")) throw error;
      const present = await calls.find(name);
      // Memory may not have it yet.
      if (present !== undefined && isDeepStrictEqual(present.data, data)) return [...sorted, present];
    }
  }
}

/** Deletes the oldest revisions that no pod has, beyond the limit of the history. */
export async function forgetRevisions<T extends Revised>(
  context: ReconcileContext<T>,
  { spec: { revisionHistoryLimit = 10 } }: T,
  revisions: readonly ControllerRevision[],
  isLive: (revision: ControllerRevision) => boolean,
): Promise<void> {
  const idle = revisions.filter((one) => !isLive(one));
  const doomed = idle.slice(0, Math.max(0, idle.length - revisionHistoryLimit));
  for (const revision of doomed) await remove(context, ControllerRevision, revision);
}
