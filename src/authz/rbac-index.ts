/**
 * An index of roles and bindings by subject. Hot path: a decision looks only at bindings of the user and the user's
 * groups in two scopes (the cluster and one namespace), so its cost does not depend on other users' bindings.
 * Benchmark: `bench/access.bench.ts`.
 *
 *     ClusterRoleBinding all-read  -> Group auditors      byGroup  auditors -> ""   -> all-read
 *     RoleBinding shop/edit        -> User eve            byUser   eve      -> shop -> shop/edit
 */
import type { PolicyRule, Role, RoleBinding, RoleRef, Subject } from "#api/rbac/v1.ts";
import { goQuote } from "#meta/field-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Verdict } from "./authorizer.ts";
import type { PreparedRule } from "./rules.ts";

/** The parts of Role and ClusterRole that the index reads. */
type RoleRules = Pick<Role, "rules">;

type RoleReference = Pick<RoleRef, "kind" | "name">;

/** The parts of RoleBinding and ClusterRoleBinding that the index reads. */
interface BindingContent extends Pick<RoleBinding, "subjects"> {
  readonly roleRef: RoleReference;
}

/** A binding in the index. */
export interface IndexedBinding {
  /** The namespace; empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly roleRef: RoleReference;
  /** The key of the role; that of a ClusterRole has no namespace. `undefined` for an unknown kind of role. */
  readonly roleKey: string | undefined;
  readonly subjects: readonly Subject[];
  /** The index of the first subject that names each user or group. Service accounts are users. */
  readonly users: ReadonlyMap<string, number>;
  readonly groups: ReadonlyMap<string, number>;
  /** The verdicts that were given, by subject. */
  readonly verdicts: Verdict[];
}

/** Bindings by namespace; ClusterRoleBindings have the empty one. */
type Scopes = Map<string, Set<IndexedBinding>>;

const accountUser = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;

export class RbacIndex {
  /** The name of the API group, for messages. */
  readonly group: string;
  readonly #compile: (rule: PolicyRule) => PreparedRule;
  readonly #roles = new Map<string, readonly PreparedRule[]>();
  readonly #bindings = new Map<string, IndexedBinding>();
  readonly #byUser = new Map<string, Scopes>();
  readonly #byGroup = new Map<string, Scopes>();

  /** `compile` prepares the rules of roles. */
  constructor(group: string, compile: (rule: PolicyRule) => PreparedRule) {
    this.group = group;
    this.#compile = compile;
  }

  /** Sets a role, or removes it when `role` is `undefined`. `namespace` is empty for cluster roles. */
  setRole(namespace: string, name: string, role: RoleRules | undefined): void {
    const key = keyOf(namespace, name);
    if (role === undefined) this.#roles.delete(key);
    else
      this.#roles.set(
        key,
        (role.rules ?? []).map((rule) => this.#compile(rule)),
      );
  }

  /** Sets a binding, or removes it when `content` is `undefined`. */
  setBinding(namespace: string, name: string, content: BindingContent | undefined): void {
    const key = keyOf(namespace, name);
    const old = this.#bindings.get(key);
    if (old !== undefined) {
      this.#bindings.delete(key);
      for (const user of old.users.keys()) remove(this.#byUser, user, old);
      for (const group of old.groups.keys()) remove(this.#byGroup, group, old);
    }
    if (content === undefined) return;
    const binding = bindingOf(namespace, name, content);
    this.#bindings.set(key, binding);
    for (const user of binding.users.keys()) add(this.#byUser, user, binding);
    for (const group of binding.groups.keys()) add(this.#byGroup, group, binding);
  }

  /** Removes all roles or bindings of the cluster, or all of namespaces. */
  clear(what: "roles" | "bindings", isNamespaced: boolean): void {
    for (const key of (what === "roles" ? this.#roles : this.#bindings).keys()) {
      const slash = key.indexOf("/");
      if (slash > 0 !== isNamespaced) continue;
      if (what === "roles") this.#roles.delete(key);
      else this.setBinding(key.slice(0, slash), key.slice(slash + 1), undefined);
    }
  }

  /** Returns the bindings of a user name in one scope. */
  ofUser(user: string, scope: string): Iterable<IndexedBinding> | undefined {
    return this.#byUser.get(user)?.get(scope);
  }

  ofGroup(group: string, scope: string): Iterable<IndexedBinding> | undefined {
    return this.#byGroup.get(group)?.get(scope);
  }

  /** Returns the bindings that concern a user, each once: those of the cluster, then those of the namespace. */
  bindingsOf(user: UserInfo, namespace: string): ReadonlySet<IndexedBinding> {
    const bindings = new Set<IndexedBinding>();
    for (const scope of namespace === "" ? [""] : ["", namespace]) {
      for (const binding of this.ofUser(user.name, scope) ?? []) bindings.add(binding);
      for (const group of user.groups) for (const binding of this.ofGroup(group, scope) ?? []) bindings.add(binding);
    }
    return bindings;
  }

  /** Returns the rules of a binding's role; `undefined` when there is no such role. */
  rulesOf({ roleKey }: IndexedBinding): readonly PreparedRule[] | undefined {
    return roleKey === undefined ? undefined : this.#roles.get(roleKey);
  }

  /** Returns the rules that a reference gives in a namespace; `undefined` when there is no such role. */
  rulesOfRole(ref: RoleReference, namespace: string): readonly PolicyRule[] | undefined {
    const key = referenceKey(ref, namespace);
    return key === undefined ? undefined : this.#roles.get(key)?.map(({ rule }) => rule);
  }

  /**
   * Explains why a role reference gives no rights. The wording is that of upstream's listers; where upstream reads
   * storage directly, the message names the resource of the request.
   */
  missing(ref: RoleReference, resource = ref.kind.toLowerCase()): string {
    if (ref.kind !== "Role" && ref.kind !== "ClusterRole") {
      return `unsupported role reference kind: ${goQuote(ref.kind)}`;
    }
    return `${resource}.${this.group} ${goQuote(ref.name)} not found`;
  }

  /** Returns the verdict that a binding allows, in upstream's words. It is the same object each time. */
  allowance(binding: IndexedBinding, user: UserInfo): Verdict {
    const at = firstSubject(binding, user);
    let verdict = binding.verdicts[at];
    if (verdict === undefined) {
      verdict = { decision: "allow", reason: `RBAC: allowed by ${describeBinding(binding, user)}` };
      binding.verdicts[at] = verdict;
    }
    return verdict;
  }
}

/** Returns `RoleBinding "b/shop" of Role "reader" to User "eve"`, by the first subject that is this user. */
export function describeBinding(binding: IndexedBinding, user: UserInfo): string {
  const { namespace, name, roleRef, subjects } = binding;
  const which =
    namespace === "" ? `ClusterRoleBinding ${goQuote(name)}` : `RoleBinding ${goQuote(`${name}/${namespace}`)}`;
  const subject = subjects[firstSubject(binding, user)]!;
  return `${which} of ${roleRef.kind} ${goQuote(roleRef.name)} to ${describeSubject(subject, namespace)}`;
}

function describeSubject({ kind, name, namespace = "" }: Subject, scope: string): string {
  if (kind !== "ServiceAccount") return `${kind} ${goQuote(name)}`;
  return `ServiceAccount ${goQuote(`${name}/${namespace === "" ? scope : namespace}`)}`;
}

function firstSubject({ users, groups }: IndexedBinding, user: UserInfo): number {
  let first = users.get(user.name) ?? Number.MAX_SAFE_INTEGER;
  for (const group of user.groups) {
    const at = groups.get(group);
    if (at !== undefined && at < first) first = at;
  }
  return first;
}

/** Returns the key of a role. Names have no slashes. */
const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

function referenceKey({ kind, name }: RoleReference, namespace: string): string | undefined {
  if (kind === "ClusterRole") return keyOf("", name);
  return kind === "Role" && namespace !== "" ? keyOf(namespace, name) : undefined;
}

function bindingOf(namespace: string, name: string, { roleRef, subjects }: BindingContent): IndexedBinding {
  // Most bindings have either users or groups.
  let users = noSubjects;
  let groups = noSubjects;
  const list = subjects ?? [];
  for (const [at, subject] of list.entries()) {
    if (subject.kind === "Group") groups = noted(groups, subject.name, at);
    else if (subject.kind === "User") users = noted(users, subject.name, at);
    else if (subject.kind === "ServiceAccount") {
      const home = (subject.namespace ?? "") === "" ? namespace : subject.namespace!;
      if (home !== "") users = noted(users, accountUser(home, subject.name), at);
    }
  }
  const roleKey = referenceKey(roleRef, namespace);
  return { namespace, name, roleRef, roleKey, subjects: list, users, groups, verdicts: [] };
}

/** Subjects with the first index of each. */
type Subjects = ReadonlyMap<string, number>;

const noSubjects: Subjects = new Map();

function noted(subjects: Subjects, name: string, at: number): Subjects {
  if (subjects.has(name)) return subjects;
  // Safe: none but `noSubjects` is known elsewhere yet.
  return subjects === noSubjects ? new Map([[name, at]]) : (subjects as Map<string, number>).set(name, at);
}

function add(index: Map<string, Scopes>, name: string, binding: IndexedBinding): void {
  let scopes = index.get(name);
  if (scopes === undefined) index.set(name, (scopes = new Map()));
  const bindings = scopes.get(binding.namespace);
  if (bindings === undefined) scopes.set(binding.namespace, new Set([binding]));
  else bindings.add(binding);
}

function remove(index: Map<string, Scopes>, name: string, binding: IndexedBinding): void {
  const scopes = index.get(name);
  const bindings = scopes?.get(binding.namespace);
  bindings?.delete(binding);
  if (bindings?.size !== 0) return;
  scopes!.delete(binding.namespace);
  if (scopes!.size === 0) index.delete(name);
}
