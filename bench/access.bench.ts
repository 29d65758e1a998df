/**
 * Authentication and authorization: service account tokens with RBAC, for 2,000 roles, 2,000 bindings and 10,000
 * accounts, in process and through the whole server. To run it alone, after a build: `node --conditions=source
 * bench/access.bench.ts`.
 */
import { generateKeyPairSync } from "node:crypto";
import type { PolicyRule } from "#api/rbac/v1.ts";
import type { FindObject } from "#api/object-types.ts";
import { type Authenticator, type RequestCredentials, union, withAuthenticatedGroup } from "#authn/authenticator.ts";
import { bearerToken, forAudiences } from "#authn/bearer-token.ts";
import { signJwt } from "#authn/jwt.ts";
import { readSigningKey, readVerificationKeys, VerificationKeys } from "#authn/service-account-keys.ts";
import { boundClaims, ServiceAccountTokens } from "#authn/service-account-token.ts";
import { readTokenFile } from "#authn/token-file.ts";
import { union as anyOf, type Authorizer } from "#authz/authorizer.ts";
import { privilegedGroups } from "#authz/privileged-groups.ts";
import { rbac } from "#authz/rbac.ts";
import { RbacIndex } from "#authz/rbac-index.ts";
import { compileRule } from "#authz/rules.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { systemClock } from "#std/clock.ts";
import { closedLoop } from "./closed-loop.ts";
import { Connection, requestBytes, textOf } from "./connection.ts";
import { floodAside } from "./flood.ts";
import { bestOf } from "./in-process.ts";
import { usageOf } from "./process-usage.ts";
import { runAlone } from "./report.ts";
import { type Server, startServer } from "./server-process.ts";
import { defaultWarmupSeconds, type Measurement, median, type Run, type Suite } from "./suite.ts";
import { Client, type Target } from "./target.ts";

export const accessSuite: Suite = {
  name: "access",
  about: "tokens of 10,000 service accounts against 2,000 roles and 2,000 bindings",
  rows: {
    "check-allowed": "a known token, authenticated and allowed by a role; no server",
    "check-refused": "the same, allowed by nothing",
    "check-allowed-50000": "the same with 50,000 bindings of others",
    "get-account-16": "a config map read with a service account's token, on 16 connections",
    "access-review-16": "SubjectAccessReviews about service accounts, on 16 connections",
    "token-review-16": "TokenReviews of service accounts' tokens, on 16 connections",
    "bad-tokens-10000": "10,000 forged tokens a second; the times are those of good requests beside them",
    "bad-tokens": "as many forged tokens as the server takes",
  },
  workloads: [],
  measure,
};

const roles = 2000;
const accounts = 10_000;
const namespaces = 20;
const connections = 16;

const namespaceOf = (at: number): string => `bench-access-${at % namespaces}`;
const ruleOf = (at: number): PolicyRule => ({
  verbs: ["get", "list", "watch"],
  apiGroups: [""],
  resources: [`kind-${at % 50}`, "configmaps"],
});
const reader = ["system:discovery", "system:basic-user", "system:public-info-viewer"];

async function measure(run: Run): Promise<void> {
  await measureAlone(run);
  if (["get-account-16", "access-review-16", "token-review-16"].some((name) => run.isWanted(name)))
    await measureServer(run);
  if (["bad-tokens-10000", "bad-tokens"].some((name) => run.isWanted(name))) await measureFloods(run);
}

/** Measures the parts that a request passes, without the request. */
async function measureAlone(run: Run): Promise<void> {
  if (!["check-allowed", "check-refused", "check-allowed-50000"].some((name) => run.isWanted(name))) return;
  const pem = generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();
  const key = readSigningKey(pem);
  const present = new Map<string, ApiObject>();
  for (let at = 0; at < accounts; at++) {
    present.set(`${namespaceOf(at)}/a${at}`, {
      kind: "ServiceAccount",
      apiVersion: "v1",
      metadata: { name: `a${at}`, uid: `u${at}` },
    });
  }
  const issuer = "https://issuer.example.com";
  const authenticator = withAuthenticatedGroup(
    union([
      bearerToken([
        readTokenFile('admin-token,admin,,"system:masters"\n', "tokens"),
        forAudiences(
          [issuer],
          new ServiceAccountTokens({
            domain: kubernetesDomain,
            clock: systemClock,
            issuers: [issuer],
            keys: new VerificationKeys(readVerificationKeys(pem)),
            audiences: [issuer],
            lookup: true,
            find: ((_resource, namespace, name) => present.get(`${namespace}/${name}`)) as FindObject, // accounts only
            usedSecret() {},
          }),
        ),
      ]),
    ]),
  );
  const headers: RequestCredentials[] = [];
  for (let at = 0; at < 256; at++) {
    const claims = boundClaims(
      {
        namespace: namespaceOf(at),
        account: { name: `a${at}`, uid: `u${at}` },
        audiences: [issuer],
        id: `id-${at}`,
        issuer,
        issuedAt: Math.floor(systemClock.now() / 1000),
        lifetimeSeconds: 3600,
        warnAfterSeconds: 0,
      },
      kubernetesDomain,
    );
    const token = await signJwt(claims, key.key, key.id);
    headers.push({
      headers: { authorization: `Bearer ${token}` },
      path: "",
      warnings: [],
    } as unknown as RequestCredentials); // the authenticators read no other members
  }
  for (const sent of headers) await authenticator.authenticate(sent);
  const check = (name: string, bindings: number, resource: string): Promise<void> => {
    const authorizer = anyOf([privilegedGroups(["system:masters"]), rbac(indexOf(bindings), systemClock)]);
    return run.row(name, () =>
      bestOf(name, 100_000, (at) => checkOne(authenticator, authorizer, headers[at % headers.length]!, at, resource)),
    );
  };
  await check("check-allowed", roles, "configmaps");
  await check("check-refused", roles, "secrets");
  await check("check-allowed-50000", 50_000, "configmaps");
}

/**
 * Returns an index in which every account has a binding of its own, if there are enough, and the bindings of everybody.
 */
function indexOf(bindings: number): RbacIndex {
  const index = new RbacIndex("rbac.authorization.k8s.io", compileRule);
  for (const name of reader) {
    index.setRole("", name, { rules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/version"] }] });
    index.setBinding("", name, {
      roleRef: { kind: "ClusterRole", name },
      subjects: [{ kind: "Group", name: "system:authenticated" }],
    });
  }
  for (let at = 0; at < roles; at++) index.setRole(namespaceOf(at), `r${at}`, { rules: [ruleOf(at)] });
  for (let at = 0; at < bindings; at++) {
    index.setBinding(namespaceOf(at), `b${at}`, {
      roleRef: { kind: "Role", name: `r${at % roles}` },
      subjects: [{ kind: "ServiceAccount", name: `a${at}` }],
    });
  }
  return index;
}

function checkOne(
  authenticator: Authenticator,
  authorizer: Authorizer,
  sent: RequestCredentials,
  at: number,
  resource: string,
): void {
  const known = authenticator.authenticate(sent);
  if (known instanceof Promise || known.outcome !== "user") throw new Error("a known token has to be known at once");
  const verdict = authorizer.authorize({
    user: known.user,
    verb: "get",
    isResourceRequest: true,
    path: "",
    group: "",
    version: "v1",
    resource,
    subresource: "",
    namespace: namespaceOf(at % 256),
    name: "one",
  });
  if (verdict instanceof Promise) throw new Error("a decision has to be made at once");
  if ((verdict.decision === "allow") !== (resource === "configmaps")) throw new Error(`decided ${verdict.decision}`);
}

async function measureServer(run: Run): Promise<void> {
  const server = await startServer();
  try {
    const tokens = await populate(server);
    const loop = (name: string, next: (worker: number, count: number) => Buffer): Promise<void> =>
      run.row(name, () => closedLoop(server, { name, connections, seconds: run.seconds, next }));
    const reads = tokens.map((token, at) =>
      requestBytes("GET", `/api/v1/namespaces/${namespaceOf(at)}/configmaps/one`, token),
    );
    await loop("get-account-16", (worker) => reads[worker % reads.length]!);
    const asks = Array.from({ length: 64 }, (_, at) =>
      requestBytes(
        "POST",
        `/apis/authorization.${server.domain}/v1/subjectaccessreviews`,
        server.token,
        accessReview(at, server),
      ),
    );
    await loop("access-review-16", (_worker, count) => asks[count % asks.length]!);
    const shown = tokens.map((token) =>
      requestBytes(
        "POST",
        `/apis/authentication.${server.domain}/v1/tokenreviews`,
        server.token,
        JSON.stringify({ apiVersion: `authentication.${server.domain}/v1`, kind: "TokenReview", spec: { token } }),
      ),
    );
    await loop("token-review-16", (_worker, count) => shown[count % shown.length]!);
  } finally {
    await server.stop();
  }
}

/** Measures floods on a server of its own, so that memory of other rows does not count. */
async function measureFloods(run: Run): Promise<void> {
  const server = await startServer();
  try {
    const client = await Client.open(server);
    await client.send(
      "POST",
      "/api/v1/namespaces/default/serviceaccounts",
      JSON.stringify({ metadata: { name: "a" } }),
    );
    const answer = await client.send("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", "{}");
    client.close();
    const { token } = (JSON.parse(answer) as { readonly status: { readonly token: string } }).status;
    const floods = (name: string, rate: number): Promise<void> =>
      run.row(name, () => measureFlooded(run, server, token, rate));
    await floods("bad-tokens-10000", 10_000);
    await floods("bad-tokens", 0);
  } finally {
    await server.stop();
  }
}

/**
 * Measures a flood, with one good request after the other beside it. The CPU time is that of both kinds of requests,
 * per bad token. The longest time is the 99th percentile.
 */
async function measureFlooded(run: Run, server: Server, goodToken: string, rate: number): Promise<Measurement> {
  const { host, port, ca } = server;
  const flood = { host, port, ca, kind: "forged", good: goodToken, rate } as const;
  await floodAside({ ...flood, seconds: defaultWarmupSeconds });
  const connection = await Connection.open(server);
  const bytes = requestBytes("GET", "/version", goodToken);
  const before = usageOf(server.pid);
  let isOver = false;
  const flooding = floodAside({ ...flood, seconds: run.seconds }).finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  while (!isOver) {
    const startedMs = performance.now();
    const { code } = await connection.request(bytes);
    if (code !== 200) throw new Error(`a good token was answered with ${code}`);
    times.push(performance.now() - startedMs);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const { answers, rate: reached } = await flooding;
  const after = usageOf(server.pid);
  connection.close();
  const refusals = answers["401"] ?? 0;
  if (Object.keys(answers).length !== 1 || refusals === 0) throw new Error(`answers: ${JSON.stringify(answers)}`);
  return {
    name: rate === 0 ? "bad-tokens" : `bad-tokens-${rate}`,
    rate: reached,
    cpuUsPerOp: (after.cpuUs - before.cpuUs) / refusals,
    rssMb: after.rssMb,
    ms: median(times),
    longestMs: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN,
  };
}

const accessReview = (at: number, { domain }: Target): string =>
  JSON.stringify({
    apiVersion: `authorization.${domain}/v1`,
    kind: "SubjectAccessReview",
    spec: {
      user: `system:serviceaccount:${namespaceOf(at)}:a${at}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespaceOf(at)}`, "system:authenticated"],
      resourceAttributes: { namespace: namespaceOf(at), verb: "get", resource: "configmaps", name: "one" },
    },
  });

/** Creates accounts, roles and bindings. Returns the tokens of the first accounts. */
async function populate(target: Target): Promise<string[]> {
  const { domain } = target;
  const rbacRoot = `/apis/rbac.authorization.${domain}/v1/namespaces`;
  const apiVersion = `rbac.authorization.${domain}/v1`;
  const client = await Client.open(target);
  for (let at = 0; at < namespaces; at++) {
    await client.send("POST", "/api/v1/namespaces", JSON.stringify({ metadata: { name: namespaceOf(at) } }));
    await client.send(
      "POST",
      `/api/v1/namespaces/${namespaceOf(at)}/configmaps`,
      JSON.stringify({ metadata: { name: "one" } }),
    );
  }
  const open = await Promise.all(Array.from({ length: 64 }, () => Connection.open(target)));
  const each = async (count: number, request: (at: number) => Buffer): Promise<void> => {
    let next = 0;
    await Promise.all(
      open.map(async (connection) => {
        for (let at = next++; at < count; at = next++) {
          const answer = await connection.request(request(at));
          if (answer.code >= 300) throw new Error(`${target.name}: ${answer.code} ${textOf(answer).slice(0, 300)}`);
        }
      }),
    );
  };
  const post = (path: string, body: object): Buffer => requestBytes("POST", path, target.token, JSON.stringify(body));
  await each(accounts, (at) =>
    post(`/api/v1/namespaces/${namespaceOf(at)}/serviceaccounts`, { metadata: { name: `a${at}` } }),
  );
  await each(roles, (at) =>
    post(`${rbacRoot}/${namespaceOf(at)}/roles`, {
      apiVersion,
      kind: "Role",
      metadata: { name: `r${at}` },
      rules: [ruleOf(at)],
    }),
  );
  await each(roles, (at) =>
    post(`${rbacRoot}/${namespaceOf(at)}/rolebindings`, {
      apiVersion,
      kind: "RoleBinding",
      metadata: { name: `b${at}` },
      roleRef: { kind: "Role", name: `r${at}` },
      subjects: [{ kind: "ServiceAccount", name: `a${at}` }],
    }),
  );
  for (const connection of open) connection.close();
  const tokens: string[] = [];
  for (let at = 0; at < connections; at++) {
    const path = `/api/v1/namespaces/${namespaceOf(at)}/serviceaccounts/a${at}/token`;
    const answer = JSON.parse(await client.send("POST", path, "{}")) as { readonly status: { readonly token: string } };
    tokens.push(answer.status.token);
  }
  client.close();
  return tokens;
}

if (import.meta.main) await runAlone(accessSuite);
