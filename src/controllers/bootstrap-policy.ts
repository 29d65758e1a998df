/**
 * Creates the built-in roles and bindings at each start, and restores removed rules and subjects unless `autoupdate:
 * "false"` is set. Additions stay. Source: upstream's `rbac/reconciliation` and its post-start hook.
 */
import { isDeepStrictEqual } from "node:util";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import type { PolicyObject } from "#api/bootstrap-policy.ts";
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from "#api/rbac/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";

interface BootstrapPolicyOptions {
  readonly client: RestClient;
  readonly domain: ApiDomain;
  readonly policy: readonly PolicyObject[];
  /** Returns single rights of `wanted` that `rules` do not cover. */
  missingRights(rules: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[];
}

const resources: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  Role: "roles",
  RoleBinding: "rolebindings",
};

/**
 * The number of objects written at the same time: enough that a commit has many, and few enough that the heap does not
 * keep what all of them need at once.
 */
const underWayMax = 32;
/** The number of attempts to write an object that others change at the same time. */
const triesMax = 5;

/** Reconciles the stored objects with the policy. Rejects with the first failure after everything was tried. */
export async function reconcileBootstrapPolicy(options: BootstrapPolicyOptions): Promise<void> {
  const { client, domain, policy } = options;
  const root = `/apis/${domain.rename("rbac.authorization.k8s.io")}/v1`;
  const present = new Map<string, PolicyObject>();
  await Promise.all(
    Object.entries(resources).map(async ([kind, resource]) => {
      const { items } = await client.list<PolicyObject>(`${root}/${resource}`);
      for (const object of items) present.set(keyOf(kind, object), { ...object, kind });
    }),
  );
  const manager = `fieldManager=${domain.prefix}-apiserver`;
  const reconcile = async (wanted: PolicyObject): Promise<void> => {
    const { namespace, name = "" } = wanted.metadata;
    const home = namespace === undefined ? root : `${root}/namespaces/${namespace}`;
    const kind = wanted.kind ?? "";
    const collection = `${home}/${resources[kind]}`;
    const path = `${collection}/${encodeURIComponent(name)}`;
    let object = present.get(keyOf(kind, wanted));
    for (let tries = 1; ; tries++) {
      try {
        return await write(wanted, object, collection);
      } catch (error) {
        // Another server does the same at the same time.
        if (!(error instanceof StatusError) || error.status.code !== 409 || tries === triesMax) throw error;
      }
      const found = await ignoreNotFound(client.get<PolicyObject>(path));
      object = found && { ...found, kind };
    }
  };
  const write = async (wanted: PolicyObject, object: PolicyObject | undefined, collection: string): Promise<void> => {
    if (object === undefined) {
      await client.create<PolicyObject>(`${collection}?${manager}`, wanted);
      return;
    }
    if (object.metadata.annotations?.[domain.rename("rbac.authorization.kubernetes.io/autoupdate")] === "false") return;
    const path = `${collection}/${encodeURIComponent(wanted.metadata.name ?? "")}`;
    if (isBinding(wanted) && isBinding(object) && !isDeepStrictEqual(object.roleRef, wanted.roleRef)) {
      // The role of a binding is immutable, so the binding is created again.
      await ignoreNotFound(client.delete(path, { preconditions: { uid: object.metadata.uid } }));
      await client.create<PolicyObject>(`${collection}?${manager}`, wanted);
      return;
    }
    const next = reconcileObject(object, wanted, options);
    if (next !== object) await client.update<PolicyObject>(`${path}?${manager}`, next);
  };
  const waiting = policy.values();
  const failures: unknown[] = [];
  const reconcileNext = async (): Promise<void> => {
    for (const wanted of waiting) await reconcile(wanted).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: underWayMax }, reconcileNext));
  if (failures.length > 0) throw failures[0];
}

/** Returns the key of an object. Names have no slashes. */
function keyOf(kind: string, { metadata }: ApiObject): string {
  return `${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
}

const isBinding = (object: PolicyObject): object is ClusterRoleBinding => "roleRef" in object;

/** Returns the object with missing parts added; the object itself when it lacks nothing. Both are of one kind. */
function reconcileObject(object: PolicyObject, wanted: PolicyObject, options: BootstrapPolicyOptions): PolicyObject {
  const next = withTexts(withTexts(object, wanted, "labels"), wanted, "annotations");
  if (isBinding(next)) return isBinding(wanted) ? withSubjects(next, wanted) : next;
  return isBinding(wanted) ? next : withRules(next, wanted, options);
}

function withSubjects(object: ClusterRoleBinding, wanted: ClusterRoleBinding): ClusterRoleBinding {
  const lost = missingFrom(object.subjects, wanted.subjects);
  return lost.length === 0 ? object : { ...object, subjects: [...(object.subjects ?? []), ...lost] };
}

function withRules(object: ClusterRole, wanted: ClusterRole, options: BootstrapPolicyOptions): ClusterRole {
  if (wanted.aggregationRule === undefined) {
    const lost = options.missingRights(object.rules ?? [], wanted.rules ?? []);
    return lost.length === 0 ? object : { ...object, rules: [...(object.rules ?? []), ...lost] };
  }
  const selectors = object.aggregationRule?.clusterRoleSelectors;
  const lost = missingFrom(selectors, wanted.aggregationRule.clusterRoleSelectors);
  if (lost.length === 0) return object;
  return { ...object, aggregationRule: { clusterRoleSelectors: [...(selectors ?? []), ...lost] } };
}

/** Adds missing labels or annotations; existing ones stay. */
function withTexts<T extends ApiObject>(object: T, wanted: ApiObject, field: "labels" | "annotations"): T {
  const has = object.metadata[field] ?? {};
  const wants = wanted.metadata[field] ?? {};
  if (Object.keys(wants).every((key) => Object.hasOwn(has, key))) return object;
  return { ...object, metadata: { ...object.metadata, [field]: { ...wants, ...has } } };
}

function missingFrom<T>(has: readonly T[] | undefined, wants: readonly T[] | undefined): readonly T[] {
  return (wants ?? []).filter((want) => !(has ?? []).some((one) => isDeepStrictEqual(one, want)));
}
