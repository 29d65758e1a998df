/**
 * Aggregates cluster roles: copies the rules of the selected roles, each once, ordered by the name of their role.
 * Source: upstream's `controller/clusterroleaggregation`.
 */
import type { ClusterRole, PolicyRule } from "#api/rbac/v1.ts";
import { type Informer, keyOf, statesOf } from "#client/informer.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import { untilAborted } from "#std/abort.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { openInformer, workQueue } from "./reconcile.ts";

/** A role that aggregates others, and the selectors of these. */
interface Gathering {
  readonly role: ClusterRole;
  selects(labels: Readonly<Record<string, string>> | undefined): boolean;
}

export const clusterRoleAggregationController: Controller = async (environment) => {
  const apiVersion = `${environment.domain.rename("rbac.authorization.k8s.io")}/v1`;
  const roles = openInformer<ClusterRole>(environment, {
    what: "cluster roles",
    path: `/apis/${apiVersion}/clusterroles`,
  });
  const gathering = new Map<string, Gathering>();
  const queue = workQueue(environment, {
    name: "ClusterRoleAggregator",
    workersMax: 5,
    work: (name) => gather(environment, apiVersion, gathering.get(name), roles),
    logKey: "role",
    failure: "could not aggregate a cluster role; trying again",
  });
  /** Returns the names of roles that aggregate a role. */
  const gatherers = ({ metadata }: ClusterRole): string[] =>
    [...gathering].filter(([, one]) => one.selects(metadata.labels)).map(([name]) => name);
  // Rules of roles that are not known yet would be removed.
  await roles.synced;
  roles.subscribe((event) => {
    const { type, object } = event;
    const name = keyOf(object);
    const own = type === "deleted" ? undefined : gatheringOf(object);
    if (own === undefined) gathering.delete(name);
    else {
      gathering.set(name, own);
      queue.add(name);
    }
    for (const concerned of statesOf(event).flatMap(gatherers)) queue.add(concerned);
  });
  await untilAborted(environment.signal);
};

function gatheringOf(role: ClusterRole): Gathering | undefined {
  const { aggregationRule } = role;
  if (aggregationRule === undefined) return undefined;
  const selectors = (aggregationRule.clusterRoleSelectors ?? []).flatMap((one) => compileLabelSelector(one) ?? []);
  return { role, selects: (labels) => selectors.some((selector) => selector.matches(labels)) };
}

/** Writes the aggregated rules of a role, if it has other ones. */
async function gather(
  { client }: ControllerEnvironment,
  apiVersion: string,
  gathering: Gathering | undefined,
  roles: Informer<ClusterRole>,
): Promise<void> {
  if (gathering === undefined) return;
  const { role } = gathering;
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const matches = compileLabelSelector(selector)?.matches ?? (() => false);
    const selected = roles.list().filter(({ metadata }) => matches(metadata.labels));
    for (const other of selected.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
      if (keyOf(other) === keyOf(role)) continue;
      for (const rule of other.rules ?? []) {
        if (!rules.has(textOf(rule))) rules.set(textOf(rule), rule);
      }
    }
  }
  if ([...rules.keys()].join("\n") === (role.rules ?? []).map(textOf).join("\n")) return;
  const { name = "", uid } = role.metadata;
  // The uid prevents the creation of a role that was just deleted.
  const applied = { apiVersion, kind: "ClusterRole", metadata: { name, uid }, rules: [...rules.values()] };
  const path = `/apis/${apiVersion}/clusterroles/${encodeURIComponent(name)}`;
  // The role is gone, or is another one by now: the watch will report it.
  await ignoreCodes([409], client.apply<ClusterRole>(path, "clusterrole-aggregation-controller", applied));
}

/** Returns a text that is equal for equal rules. */
const textOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups ?? [], resources ?? [], resourceNames ?? [], nonResourceURLs ?? []]);
