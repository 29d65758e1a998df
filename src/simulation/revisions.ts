/**
 * The revisions of StatefulSets and DaemonSets: their templates as ControllerRevisions, which `kubectl rollout` reads.
 * Source: upstream's `pkg/controller/history`.
 */
import { isDeepStrictEqual } from "node:util";
import type { ReconcileContext } from "#client/controllers.ts";
import { ControllerRevision, type DaemonSet, type PodTemplateSpec, type StatefulSet } from "#client/kinds.ts";
import { hashOf } from "./pods.ts";

type Revised = StatefulSet | DaemonSet;

/** The label of pods with the hash or the name of their revision. */
export const revisionLabel = "controller-revision-hash";

const dataOf = (template: PodTemplateSpec) => ({ spec: { template: { ...template, $patch: "replace" } } });

/** Returns the template that a revision keeps. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec {
  const { $patch: _, ...template } = (data as ReturnType<typeof dataOf>).spec.template; // the revisions are those of `dataOf`
  return template;
}

/** Returns all revisions, oldest first; the last one is that of the present template, which is made if there is none. */
export async function keepRevisions<T extends Revised>(
  { metadata, spec: { template } }: T,
  { claim, create, client }: ReconcileContext<T>,
): Promise<readonly ControllerRevision[]> {
  const sorted = (await claim(ControllerRevision)).toSorted((a, b) => Number(a.revision) - Number(b.revision));
  const newest = sorted.at(-1);
  const data = dataOf(template);
  const same = sorted.findLast((one) => isDeepStrictEqual(one.data, data));
  if (same !== undefined && same === newest) return sorted;
  const revision = Number(newest?.revision ?? 0) + 1;
  const hash = hashOf(template);
  const labels = { ...template.metadata?.labels, [revisionLabel]: hash };
  const own = { name: `${metadata.name}-${hash}`, labels };
  if (same === undefined) return [...sorted, await create(ControllerRevision, { metadata: own, data, revision })];
  const calls = client.kind(ControllerRevision).in(metadata.namespace ?? "");
  const renewed = await calls.patch(same.metadata.name, { merge: { revision } });
  return [...sorted.filter((one) => one !== same), renewed];
}
