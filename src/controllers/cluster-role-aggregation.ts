/**
 * Aggregates cluster roles: copies the rules of the selected roles, each once, ordered by the name of their role.
 * Source: upstream's `controller/clusterroleaggregation`.
 */
import type { ClusterRole, PolicyRule } from "#api/rbac/v1.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { follow, workQueue } from "./reconcile.ts";

/** A role that aggregates others, and the selectors of these. */
interface Gathering {
  readonly role: ClusterRole;
  selects(labels: Readonly<Record<string, string>> | undefined): boolean;
}

export const clusterRoleAggregationController: Controller = async (environment) => {
  const apiVersion = `${environment.domain.rename("rbac.authorization.k8s.io")}/v1`;
  const roles = new Map<string, ClusterRole>();
  const gathering = new Map<string, Gathering>();
  const queue = workQueue(environment, {
    name: "ClusterRoleAggregator",
    workersMax: 5,
    work: (name) => gather(environment, apiVersion, gathering.get(name), roles),
    logKey: "role",
    failure: "could not aggregate a cluster role; trying again",
  });
  /** Returns the names of roles that aggregate a role in its present or earlier state. */
  const gatherers = (role: ClusterRole | undefined): string[] =>
    role === undefined
      ? []
      : [...gathering].filter(([, one]) => one.selects(role.metadata.labels)).map(([name]) => name);
  /** Records a role, and returns the names of roles that must be aggregated again. */
  const learn = (name: string, role: ClusterRole | undefined): string[] => {
    const before = gatherers(roles.get(name));
    const own = role === undefined ? undefined : gatheringOf(role);
    if (role === undefined) roles.delete(name);
    else roles.set(name, role);
    if (own === undefined) gathering.delete(name);
    else gathering.set(name, own);
    return [...before, ...gatherers(role), ...(own === undefined ? [] : [name])];
  };
  await follow<ClusterRole>(environment, {
    what: "cluster roles",
    path: `/apis/${apiVersion}/clusterroles`,
    replaced(objects) {
      const gone = new Set(roles.keys());
      for (const { metadata } of objects) gone.delete(metadata.name ?? "");
      for (const name of gone) learn(name, undefined);
      for (const object of objects) learn(object.metadata.name ?? "", object);
      // Aggregate only when all roles are known: rules of unknown ones would be removed.
      for (const name of gathering.keys()) queue.add(name);
    },
    changed(type, object) {
      const concerned = learn(object.metadata.name ?? "", type === "DELETED" ? undefined : object);
      for (const name of concerned) queue.add(name);
    },
  });
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
  roles: ReadonlyMap<string, ClusterRole>,
): Promise<void> {
  if (gathering === undefined) return;
  const { role } = gathering;
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const matches = compileLabelSelector(selector)?.matches ?? (() => false);
    const names = [...roles].filter(([, { metadata }]) => matches(metadata.labels)).map(([name]) => name);
    for (const name of names.sort((a, b) => (a < b ? -1 : 1))) {
      if (name === role.metadata.name) continue;
      for (const rule of roles.get(name)?.rules ?? []) {
        if (!rules.has(keyOf(rule))) rules.set(keyOf(rule), rule);
      }
    }
  }
  if ([...rules.keys()].join("\n") === (role.rules ?? []).map(keyOf).join("\n")) return;
  const { name = "", uid } = role.metadata;
  // The uid prevents the creation of a role that was just deleted.
  const applied = { apiVersion, kind: "ClusterRole", metadata: { name, uid }, rules: [...rules.values()] };
  const path = `/apis/${apiVersion}/clusterroles/${encodeURIComponent(name)}`;
  // The role is gone, or is another one by now: the watch will report it.
  await ignoreCodes([409], client.apply<ClusterRole>(path, "clusterrole-aggregation-controller", applied));
}

/** Returns a text that is equal for equal rules. */
const keyOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups ?? [], resources ?? [], resourceNames ?? [], nonResourceURLs ?? []]);
