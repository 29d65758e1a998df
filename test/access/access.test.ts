/** Authentication and authorization: client certificates, static tokens, anonymous requests, and refusals. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { type FakeAuthority, fakeAuthority, type IssueOptions } from "#authn/fake-authority.ts";
import type { ServerSettings } from "#server/options.ts";
import { patchTypes, type SendOptions } from "../client.ts";
import { Api, gated, openServer, suite, temporaryFolder, tokenFile, tokenLines, withOwnServer } from "../harness.ts";
import { claim, configMap, namespaces } from "../objects.ts";
import { present } from "../view.ts";

const inBothDomains = suite();

const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const nobody = { as: "nobody" } as const;

/** Returns the message that refuses `user`. */
const cannot = (
  user: string,
  verb: string,
  where = ' in the namespace "default"',
  name = "",
  resource = "persistentvolumeclaims",
): string =>
  `${resource.split("/")[0]}${name === "" ? "" : ` "${name}"`} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group ""${where}`;

/** Checks the name by which the server knows a caller. */
async function isKnownAs(api: Api, options: SendOptions, user: string): Promise<void> {
  (await api.get(claims, options)).expectFailure(403, "Forbidden", cannot(user, "list"));
}

/** Makes two authorities, whose certificates are in one file. */
async function authorities(): Promise<{ first: FakeAuthority; second: FakeAuthority; settings: ServerSettings }> {
  const first = await fakeAuthority("first");
  const second = await fakeAuthority("second");
  const file = join(temporaryFolder(), "ca.crt");
  writeFileSync(file, `${first.certificate}${second.certificate}`);
  return { first, second, settings: { ...gated, clientCaFile: file } };
}

/** Makes a connection with a client certificate. */
async function presentCertificate(api: Api, authority: FakeAuthority, options: IssueOptions): Promise<SendOptions> {
  const { certificate, key } = await authority.issue(options);
  return { as: "nobody", agent: new https.Agent({ ca: api.server.ca, cert: certificate, key }) };
}

const { first, second, settings: withAuthorities } = await authorities();

withOwnServer(
  "a client certificate names its user and its groups [ACERT-01] [ACERT-03] [ACERT-04] [AUTHN-05] [AUTHN-06]",
  withAuthorities,
  async (api) => {
    await isKnownAs(
      api,
      await presentCertificate(api, first, { commonName: "alice", organizations: ["a", "b"] }),
      "alice",
    );
    const root = await presentCertificate(api, first, { commonName: "root", organizations: ["a", "system:masters"] });
    (await api.get(claims, root)).expect(200);
  },
);

withOwnServer("several authorities may be in the file [ACERT-02]", withAuthorities, async (api) => {
  await isKnownAs(api, await presentCertificate(api, first, { commonName: "one" }), "one");
  await isKnownAs(api, await presentCertificate(api, second, { commonName: "two" }), "two");
});

withOwnServer("a certificate of another authority is refused [ACERT-01] [ACERT-05]", gated, async (api) => {
  const stranger = await presentCertificate(api, first, { commonName: "mallory", organizations: ["system:masters"] });
  const answer = await api.get(claims, stranger);
  answer.expect([401, 403]);
  assert.doesNotMatch(answer.text, /mallory/);
});

withOwnServer("an expired certificate, or one for servers, is refused [ACERT-06]", withAuthorities, async (api) => {
  const masters = { commonName: "mallory", organizations: ["system:masters"] };
  const past = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() - 60_000) };
  for (const options of [{ ...masters, ...past }, { ...masters, usage: "server" } as const]) {
    const answer = await api.get(claims, await presentCertificate(api, first, options)).catch(() => undefined);
    if (answer === undefined) continue;
    answer.expect([401, 403]);
    assert.doesNotMatch(answer.text, /mallory/);
  }
});

inBothDomains(
  "a token of the file names its user and its groups [ATOK-01] [ATOK-02] [ATOK-03] [ABEAR-01]",
  async (api) => {
    await isKnownAs(api, { as: "alice" }, "alice");
    (await api.get(claims, { as: "admin" })).expect(200);
    await isKnownAs(api, { ...nobody, headers: { authorization: "Bearer alice-token" } }, "alice");
    for (const authorization of ["Basic YWxpY2U6YWxpY2U=", "Basic alice-token", "Token alice-token", "alice-token"]) {
      const answer = await api.get(claims, { ...nobody, headers: { authorization } });
      answer.expect([401, 403]);
      assert.doesNotMatch(answer.text, /alice/);
    }
  },
);

const oddTokens = [
  ...tokenLines,
  'many,grouped,u1,"a,system:masters,b"',
  "plain,plain,u2",
  "a.b-c_d~e+f/g=,punctuated,u3",
];

withOwnServer(
  "groups are one quoted column, and may be missing [ATOK-03] [ATOK-04] [AUTHN-10]",
  { ...gated, tokenAuthFile: tokenFile(oddTokens) },
  async (api) => {
    (await api.get(claims, { as: "many" })).expect(200);
    await isKnownAs(api, { as: "plain" }, "plain");
    // Every authenticated user may read discovery.
    (await api.get("/apis", { as: "plain" })).expect(200);
  },
);

withOwnServer(
  "a token may hold what a header may [ABEAR-02]",
  { ...gated, tokenAuthFile: tokenFile(oddTokens) },
  async (api) => {
    await isKnownAs(api, { as: "a.b-c_d~e+f/g=" }, "punctuated");
  },
);

const spaced = [...tokenLines, '"odd",name with spaces:and colons,u1', "u,üser,u2"];

withOwnServer("names are taken as they are [AUTHN-07]", { ...gated, tokenAuthFile: tokenFile(spaced) }, async (api) => {
  await isKnownAs(api, { as: "odd" }, "name with spaces:and colons");
  await isKnownAs(api, { as: "u" }, "üser");
});

withOwnServer("the file is read at start only [ATOK-05]", gated, async (api) => {
  const file = tokenFile();
  const server = await openServer(api.domain, { ...gated, tokenAuthFile: file });
  try {
    const first = new Api(server);
    writeFileSync(file, `${[...tokenLines, "late-token,late,u9"].join("\n")}\n`);
    (await first.get(claims, { as: "late-token" })).expectFailure(401, "Unauthorized");
    (await first.get(claims, { as: "admin" })).expect(200);
  } finally {
    await server.close();
  }
  const again = await openServer(api.domain, { ...gated, tokenAuthFile: file });
  try {
    await isKnownAs(new Api(again), { as: "late-token" }, "late");
  } finally {
    await again.close();
  }
});

inBothDomains("an unknown token is refused [ABEAR-03] [AANON-03] [AUTHZ-01]", async (api) => {
  for (const token of ["nope", "x".repeat(10_000), "alice-token2", "alice-toke"]) {
    (await api.get(claims, { as: token })).expectFailure(401, "Unauthorized", "Unauthorized", { code: 401 });
  }
  (await api.get("/healthz", { as: "nope" })).expectFailure(401, "Unauthorized");
});

withOwnServer(
  "several methods work beside each other, and one decides [AUTHN-08] [AUTHN-09]",
  withAuthorities,
  async (api) => {
    const certified = await presentCertificate(api, first, { commonName: "carl", organizations: ["x"] });
    await isKnownAs(api, certified, "carl");
    await isKnownAs(api, { as: "alice" }, "alice");
    const both = await api.get(claims, { ...certified, as: "bob" });
    both.expectFailure(403, "Forbidden", /User "(carl|bob)" cannot list/);
  },
);

inBothDomains(
  "a request without credentials is anonymous, and not in the group of authenticated users [AANON-01] [AANON-02] [AANON-04]",
  async (api) => {
    await isKnownAs(api, nobody, "system:anonymous");
    (await api.get("/api", { as: "bob" })).expect(200);
    (await api.get("/api", nobody)).expectFailure(
      403,
      "Forbidden",
      'forbidden: User "system:anonymous" cannot get path "/api"',
    );
  },
);

withOwnServer("anonymous requests can be switched off [AANON-05]", { ...gated, anonymousAuth: false }, async (api) => {
  (await api.get(claims, nobody)).expectFailure(401, "Unauthorized");
  (await api.get(claims)).expect(200);
});

inBothDomains("the default is to refuse [AUTHZ-02] [AUTHZ-07]", async (api) => {
  (await api.get(claims, { as: "bob" })).expectFailure(403, "Forbidden", cannot("bob", "list"), {
    details: { kind: "persistentvolumeclaims" },
  });
  (await api.get("/apis/storage.k8s.io/v1beta1/volumeattributesclasses/v1", { as: "bob" })).expectFailure(
    403,
    "Forbidden",
    'volumeattributesclasses.storage.k8s.io "v1" is forbidden: User "bob" cannot get resource "volumeattributesclasses" in API group "storage.k8s.io" at the cluster scope',
    { details: { name: "v1", group: "storage.k8s.io", kind: "volumeattributesclasses" } },
  );
});

inBothDomains(
  "a refusal names verb, resource, sub-resource, object and namespace [AUTHZ-12] [AUTHZ-14] [AUTHZ-15] [AUTHZ-16] [AUTHZ-17] [AUTHZ-18] [AUTHZ-19] [AUTHZ-20] [AUTHZ-21] [AUTHZ-22]",
  async (api) => {
    const bob = { as: "bob" };
    const c1 = `${claims}/c1`;
    const here = ' in the namespace "default"';
    const expectRefusal = async (answer: Promise<Awaited<ReturnType<Api["get"]>>>, message: string): Promise<void> => {
      (await answer).expectFailure(403, "Forbidden", message);
    };
    await expectRefusal(api.post(claims, claim("c1"), bob), cannot("bob", "create"));
    await expectRefusal(api.get(c1, bob), cannot("bob", "get", here, "c1"));
    await expectRefusal(api.get(claims, bob), cannot("bob", "list"));
    await expectRefusal(api.get(`${claims}?watch=true`, bob), cannot("bob", "watch"));
    await expectRefusal(api.get(`${claims}?watch=1`, bob), cannot("bob", "watch"));
    await expectRefusal(api.put(c1, claim("c1"), bob), cannot("bob", "update", here, "c1"));
    await expectRefusal(api.patch(c1, {}, patchTypes.merge, bob), cannot("bob", "patch", here, "c1"));
    await expectRefusal(api.delete(c1, undefined, bob), cannot("bob", "delete", here, "c1"));
    await expectRefusal(api.delete(claims, undefined, bob), cannot("bob", "deletecollection"));
    const status = "persistentvolumeclaims/status";
    await expectRefusal(
      api.patch(`${c1}/status`, {}, patchTypes.merge, bob),
      cannot("bob", "patch", here, "c1", status),
    );
    await expectRefusal(api.get(`${c1}/status`, bob), cannot("bob", "get", here, "c1", status));
    await expectRefusal(api.get("/api/v1/persistentvolumeclaims", bob), cannot("bob", "list", " at the cluster scope"));
    await expectRefusal(
      api.get(`${namespaces}/ns1`, bob),
      cannot("bob", "get", ' in the namespace "ns1"', "ns1", "namespaces"),
    );
    assert.equal((await api.send("HEAD", c1, undefined, bob)).status, 403);
  },
);

inBothDomains("a refusal comes before anything about the object is told [AUTHZ-02] [AUTHZ-08]", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1"))).expect(201);
  const bob = { as: "bob" };
  const there = await api.get(`${configMaps}/m1`, bob);
  const missing = await api.get(`${configMaps}/m2`, bob);
  assert.equal(there.expect(403).text.replaceAll("m1", "m2"), missing.expect(403).text);
  (await api.post(configMaps, "no json", bob)).expect(403);
  (await api.post(configMaps.replace(ns, "no-such-namespace"), configMap("m1"), bob)).expect(403);
  (await api.get(`${configMaps}?limit=x`, bob)).expect(403);
});

inBothDomains(
  "other paths are named by themselves, with the method as verb [AUTHZ-10] [AUTHZ-11] [AUTHZ-23] [AUTHZ-24]",
  async (api) => {
    for (const path of ["/metrics", "/logs", "/debug/pprof"]) {
      (await api.get(path, { as: "bob" })).expectFailure(
        403,
        "Forbidden",
        `forbidden: User "bob" cannot get path "${path}"`,
      );
    }
    for (const path of ["/api", "/apis", "/apis/storage.k8s.io"]) {
      (await api.get(path, nobody)).expectFailure(
        403,
        "Forbidden",
        `forbidden: User "system:anonymous" cannot get path "${path}"`,
      );
    }
    (await api.post("/metrics", {}, { as: "bob" })).expectFailure(
      403,
      "Forbidden",
      'forbidden: User "bob" cannot post path "/metrics"',
    );
  },
);

inBothDomains("group system:masters may do everything [AUTHZ-52]", async (api) => {
  for (const path of [
    claims,
    namespaces,
    "/metrics",
    "/api",
    "/apis",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ]) {
    (await api.get(path)).expect(200);
  }
});

inBothDomains("normal users are no objects [AUTHN-04]", async (api) => {
  (await api.get("/api/v1/users")).expect(404);
});

inBothDomains("service accounts are objects of a namespace [AUTHN-02]", async (api) => {
  const { serviceAccounts, ns } = await api.createNamespace();
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
  (await api.post(serviceAccounts, account)).expect(201, { "metadata.namespace": ns, "metadata.uid": present });
});
