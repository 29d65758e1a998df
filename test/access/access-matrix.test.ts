/**
 * Tests every verb on every kind of target, allowed by each possible grant and refused without it, with the exact
 * message. Cases are generated: each subject has one verb by one grant and tries all verbs.
 */
import assert from "node:assert/strict";
import { type Answer, patchTypes, type SendOptions } from "../client.ts";
import { type Api, eventually, gated, suite } from "../harness.ts";
import { claim, configMap } from "../objects.ts";

const inBothDomains = suite({ ...gated, minRequestTimeoutSeconds: 1 });

const rbacGroup = "rbac.authorization.k8s.io";
const rbac = `/apis/${rbacGroup}/v1`;

/** The target of requests, with the request of each verb. */
interface Target {
  readonly name: string;
  readonly group: string;
  /** The name of the resource in rules. */
  readonly resource: string;
  readonly namespaced: boolean;
  /** The requests by verb. Other verbs are not served there. */
  readonly requests: Readonly<Record<string, (api: Api, as: SendOptions, where: Where) => Promise<Answer>>>;
}

interface Where {
  /** The path of the collection. */
  readonly collection: string;
  readonly item: string;
}

/** The verbs for one object by its name, which a rule for some names can allow. */
const named = new Set(["get", "update", "patch", "delete"]);

const write = (path: string): string => `${path}?dryRun=All`;

function requestsOf(body: (name: string) => object): Target["requests"] {
  return {
    get: (api, as, { collection, item }) => api.get(`${collection}/${item}`, as),
    list: (api, as, { collection }) => api.get(`${collection}?limit=1`, as),
    watch: (api, as, { collection }) => api.get(`${collection}?watch=true&timeoutSeconds=1`, as),
    create: (api, as, { collection }) => api.post(write(collection), body("new"), as),
    update: (api, as, { collection, item }) => api.put(write(`${collection}/${item}`), body(item), as),
    patch: (api, as, { collection, item }) => api.patch(write(`${collection}/${item}`), {}, patchTypes.merge, as),
    delete: (api, as, { collection, item }) => api.delete(write(`${collection}/${item}`), undefined, as),
    deletecollection: (api, as, { collection }) => api.delete(write(collection), undefined, as),
  };
}

const storageClass = (name: string): object => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name },
  provisioner: "example.com/none",
});

const targets: readonly Target[] = [
  {
    name: "namespaced",
    group: "",
    resource: "configmaps",
    namespaced: true,
    requests: requestsOf((name) => configMap(name)),
  },
  {
    name: "cluster",
    group: "storage.k8s.io",
    resource: "storageclasses",
    namespaced: false,
    requests: requestsOf(storageClass),
  },
  {
    name: "subresource",
    group: "",
    resource: "persistentvolumeclaims/status",
    namespaced: true,
    requests: {
      get: (api, as, { collection, item }) => api.get(`${collection}/${item}/status`, as),
      update: (api, as, { collection, item }) => api.put(write(`${collection}/${item}/status`), claim(item), as),
      patch: (api, as, { collection, item }) =>
        api.patch(write(`${collection}/${item}/status`), {}, patchTypes.merge, as),
    },
  },
];

/** The way in which a subject gets its rights. */
type Way = "role" | "scope" | "name" | "aggregation";
const ways: readonly Way[] = ["role", "scope", "name", "aggregation"];

const metadata = (name: string, labels?: object): object => ({ name, ...(labels === undefined ? {} : { labels }) });
const rbacObject = (kind: string, rest: object): object => ({ apiVersion: `${rbacGroup}/v1`, kind, ...rest });

/** Grants `user` one verb on a target in one way. `ns` is the namespace of the grant, if the way has one. */
async function grant(api: Api, user: string, target: Target, verb: string, way: Way, ns: string): Promise<void> {
  const rule = {
    apiGroups: [target.group],
    resources: [target.resource],
    verbs: [verb],
    ...(way === "name" ? { resourceNames: ["mine"] } : {}),
  };
  const subjects = [{ kind: "User", apiGroup: rbacGroup, name: user }];
  const isLocal = target.namespaced && way !== "aggregation";
  const kind = isLocal && way !== "scope" ? "Role" : "ClusterRole";
  const roles = kind === "Role" ? `${rbac}/namespaces/${ns}/roles` : `${rbac}/clusterroles`;
  if (way === "aggregation") {
    const label = { [`example.com/${user}`]: "yes" };
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: label }] };
    (await api.post(roles, rbacObject("ClusterRole", { metadata: metadata(user), aggregationRule, rules: [] }))).expect(
      201,
    );
    (
      await api.post(roles, rbacObject("ClusterRole", { metadata: metadata(`${user}-part`, label), rules: [rule] }))
    ).expect(201);
  } else {
    (await api.post(roles, rbacObject(kind, { metadata: metadata(user), rules: [rule] }))).expect(201);
  }
  const bindingKind = isLocal ? "RoleBinding" : "ClusterRoleBinding";
  const bindings = isLocal ? `${rbac}/namespaces/${ns}/rolebindings` : `${rbac}/clusterrolebindings`;
  const roleRef = { apiGroup: rbacGroup, kind, name: user };
  (await api.post(bindings, rbacObject(bindingKind, { metadata: metadata(user), roleRef, subjects }))).expect(201);
}

/** Returns the whole message of a refusal. */
function refusal(user: string, target: Target, verb: string, ns: string, name: string): string {
  const resource = target.resource.split("/")[0]!;
  const full = target.group === "" ? resource : `${resource}.${target.group}`;
  const where = target.namespaced ? `in the namespace "${ns}"` : "at the cluster scope";
  const subject = name === "" ? full : `${full} "${name}"`;
  return `${subject} is forbidden: User "${user}" cannot ${verb} resource "${target.resource}" in API group "${target.group}" ${where}`;
}

function collectionOf(target: Target, ns: string): string {
  const root = target.group === "" ? "/api/v1" : `/apis/${target.group}/v1`;
  const resource = target.resource.split("/")[0]!;
  return target.namespaced ? `${root}/namespaces/${ns}/${resource}` : `${root}/${resource}`;
}

const impersonate = (user: string): SendOptions => ({ headers: { "impersonate-user": user } });

/** Tries every verb as a subject that has `held` in one way. */
async function tryAll(api: Api, user: string, target: Target, held: string, way: Way, ns: string, other: string) {
  for (const [verb, request] of Object.entries(target.requests)) {
    for (const namespace of target.namespaced ? [ns, other] : [ns]) {
      for (const item of named.has(verb) ? ["mine", "another"] : [""]) {
        const answer = await request(api, impersonate(user), { collection: collectionOf(target, namespace), item });
        const isAllowed =
          verb === held && (namespace === ns || way === "aggregation") && (way !== "name" || item === "mine");
        if (isAllowed) answer.expect([200, 201]);
        else answer.expectFailure(403, "Forbidden", refusal(user, target, verb, namespace, item));
      }
    }
  }
}

for (const target of targets) {
  for (const way of ways) {
    inBothDomains(
      `${target.name}: each verb alone, allowed by ${way}, and no other [AUTHZ-02] [AUTHZ-07] [AUTHZ-14] [AUTHZ-15] [AUTHZ-16] [AUTHZ-17] [AUTHZ-18] [AUTHZ-19] [AUTHZ-20] [AUTHZ-21] [AUTHZ-22] [RBAC-01] [RBAC-03] [RBAC-04] [RBAC-05] [RBAC-13] [RBAC-14] [RBAC-15] [RBAC-16] [AUTHRES-45]`,
      async (api) => {
        const [first, second] = [await api.createNamespace(), await api.createNamespace()];
        const body = target.name === "subresource" ? claim : target.namespaced ? configMap : storageClass;
        for (const ns of target.namespaced ? [first.ns, second.ns] : [first.ns]) {
          for (const name of ["mine", "another"]) {
            const answer = await api.post(collectionOf(target, ns), body(name));
            // Objects of the cluster stay, since the other ways use them.
            answer.expect(target.namespaced ? 201 : [201, 409]);
          }
        }
        const verbs = Object.keys(target.requests);
        await Promise.all(
          verbs.map(async (verb) => {
            const user = api.unique(`${target.name}-${verb}-${way}`);
            await grant(api, user, target, verb, way, first.ns);
            if (way === "aggregation") {
              await eventually(async () => {
                (await api.get(`${rbac}/clusterroles/${user}`)).has({ "rules.length": 1 });
              });
            }
            await tryAll(api, user, target, verb, way, first.ns, second.ns);
          }),
        );
      },
    );
  }
}

inBothDomains(
  "names narrow a list and a watch only with a field selector on the name [RBAC-15] [RBAC-16]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const target = targets[0]!;
    const collection = collectionOf(target, ns);
    for (const name of ["mine", "another"]) (await api.post(collection, configMap(name))).expect(201);
    for (const verb of ["list", "watch"]) {
      const user = api.unique(verb);
      await grant(api, user, target, verb, "name", ns);
      const query = verb === "watch" ? "watch=true&timeoutSeconds=1&" : "";
      const ask = (selector: string): Promise<Answer> =>
        api.get(`${collection}?${query}fieldSelector=${selector}`, impersonate(user));
      (await ask("metadata.name%3Dmine")).expect(200);
      (await ask("metadata.name%3D%3Dmine,metadata.namespace%3Dx")).expect(200);
      for (const [selector, name] of [
        ["metadata.name%3Danother", "another"],
        ["metadata.name!%3Danother", ""],
        ["metadata.namespace%3Dmine", ""],
      ] as const) {
        (await ask(selector)).expectFailure(403, "Forbidden", refusal(user, target, verb, ns, name));
      }
    }
  },
);

/** Paths outside the API, whose verbs are these methods. */
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

for (const way of ["role", "scope", "aggregation"] as const) {
  inBothDomains(
    `non-resource: each method is a verb of its own, allowed by ${way}, and no other [RBAC-20] [AUTHZ-23] [AUTHZ-24]`,
    async (api) => {
      const { ns } = await api.createNamespace();
      await Promise.all(
        methods.map(async (held) => {
          const user = api.unique(`path-${held.toLowerCase()}`);
          const label = { [`example.com/${user}`]: "yes" };
          const rules = [{ nonResourceURLs: ["/metrics", "/debug/*"], verbs: [held.toLowerCase()] }];
          const part = way === "aggregation" ? `${user}-part` : user;
          (
            await api.post(
              `${rbac}/clusterroles`,
              rbacObject("ClusterRole", { metadata: metadata(part, label), rules }),
            )
          ).expect(201);
          if (way === "aggregation") {
            const aggregationRule = { clusterRoleSelectors: [{ matchLabels: label }] };
            const sum = rbacObject("ClusterRole", { metadata: metadata(user), aggregationRule, rules: [] });
            (await api.post(`${rbac}/clusterroles`, sum)).expect(201);
            await eventually(async () => {
              (await api.get(`${rbac}/clusterroles/${user}`)).has({ "rules.length": 1 });
            });
          }
          const subjects = [{ kind: "User", apiGroup: rbacGroup, name: user }];
          const roleRef = { apiGroup: rbacGroup, kind: "ClusterRole", name: user };
          // A binding of a namespace grants nothing outside namespaces.
          const isLocal = way === "scope";
          const bindings = isLocal ? `${rbac}/namespaces/${ns}/rolebindings` : `${rbac}/clusterrolebindings`;
          const kind = isLocal ? "RoleBinding" : "ClusterRoleBinding";
          (await api.post(bindings, rbacObject(kind, { metadata: metadata(user), roleRef, subjects }))).expect(201);
          for (const method of methods) {
            for (const path of ["/metrics", "/debug/x", "/debug", "/metrics/x"]) {
              const answer = await api.send(method, path, undefined, impersonate(user));
              const isAllowed = !isLocal && method === held && (path === "/metrics" || path === "/debug/x");
              if (isAllowed) assert.notEqual(answer.status, 403, `${method} ${path} as ${user}`);
              else if (method === "HEAD") answer.expect(403);
              else {
                const text = `forbidden: User "${user}" cannot ${method.toLowerCase()} path "${path}"`;
                answer.expectFailure(403, "Forbidden", text, { details: {} });
              }
            }
          }
        }),
      );
    },
  );
}
