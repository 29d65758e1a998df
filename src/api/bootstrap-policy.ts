/**
 * The built-in roles and bindings, as data. Source: `tables/policy.json`, generated from upstream's bootstrap policy of
 * 1.32.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from "./rbac/v1.ts";
import { readTable } from "./tables.ts";

/** A role or binding of any of the four kinds, as `kind` tells: the kinds of a namespace have no other fields. */
export type PolicyObject = ClusterRole | ClusterRoleBinding;

interface Row extends Partial<Pick<ClusterRole, "aggregationRule">>, Partial<Pick<ClusterRoleBinding, "subjects" | "roleRef">> {
  readonly kind: "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding";
  readonly name: string;
  readonly namespace?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly rules?: readonly PolicyRule[] | null;
  /** Names of gates joined by `&&`: the object exists only while all are on. */
  readonly gate?: string;
  /** Rules that exist only while a gate is on; `at` is their place among the others, by default the end. */
  readonly gatedRules?: readonly { readonly gate: string; readonly at?: number; readonly rules: readonly PolicyRule[] }[];
}

/** Returns all roles, then all bindings, with the names of the domain. `gate` returns whether a feature gate is on. */
export function bootstrapPolicy(domain: ApiDomain, gate: (name: string) => boolean): readonly PolicyObject[] {
  const rows = JSON.parse(domain.rename(readTable("policy"))) as readonly Row[]; // written by the generator
  const isOn = (names: string): boolean => names.split("&&").every((name) => gate(name.trim()));
  const apiVersion = `${domain.rename("rbac.authorization.k8s.io")}/v1`;
  return rows.flatMap((row): PolicyObject[] => {
    const { kind, name, namespace, labels, annotations, rules, gate: gates, gatedRules = [], roleRef, ...content } = row;
    if (gates !== undefined && !isOn(gates)) return [];
    const all = [...(rules ?? [])];
    for (const part of gatedRules) if (isOn(part.gate)) all.splice(part.at ?? all.length, 0, ...part.rules);
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }), labels, annotations };
    if (roleRef !== undefined) return [{ kind, apiVersion, metadata, ...content, roleRef }];
    return [{ kind, apiVersion, metadata, ...content, rules: rules === null ? null : all }];
  });
}
