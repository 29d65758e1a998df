/**
 * Service account tokens: request, binding, use, review, verification with the published keys, and invalidation when a
 * bound object is deleted. Also bootstrap tokens and tokens in Secrets.
 */
import assert from "node:assert/strict";
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { writeFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { signJwt } from "#authn/jwt.ts";
import { openLog } from "#std/log.ts";
import type { Answer, SendOptions } from "../client.ts";
import { Api, domains, eventually, gated, openServer, suite, temporaryFolder, withOwnServer } from "../harness.ts";
import { objectTypes } from "../media-types.ts";
import { pod, secret } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite({ ...gated, enableBootstrapTokenAuth: true });

const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
const defaultIssuer = "https://kubernetes.default.svc.cluster.local";

const bearer = (token: string): SendOptions => ({ as: "nobody", headers: { authorization: `Bearer ${token}` } });
const subject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const review = (token: string, audiences?: readonly string[]) => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token, ...(audiences === undefined ? {} : { audiences }) },
});
const request = (spec: object = {}) => ({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec });
const account = (name: string) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });

const ask = (api: Api, token: string): Promise<Answer> => api.post(whoAmI, subject, bearer(token));

/** Returns the claims of a token without verification. */
function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;
}

/** Creates an account in a new namespace, with a function that requests its tokens. */
async function robot(api: Api) {
  const paths = await api.createNamespace();
  const created = (await api.post(paths.serviceAccounts, account("robot"))).expect(201);
  const path = `${paths.serviceAccounts}/robot`;
  return {
    ...paths,
    core: `/api/v1/namespaces/${paths.ns}`,
    path,
    uid: created.string("metadata.uid"),
    user: `system:serviceaccount:${paths.ns}:robot`,
    request: (spec?: object): Promise<Answer> => api.post(`${path}/token`, request(spec)),
    token: async (spec?: object): Promise<string> =>
      (await api.post(`${path}/token`, request(spec))).expect(201).string("status.token"),
  };
}

inBothDomains(
  "a token is asked for and names its account, the groups of accounts and itself [ASA-01] [ASA-07] [ASA-08] [ASA-09] [ASA-10] [AUTHN-01] [AUTHN-02] [AUTHN-10]",
  async (api) => {
    const { ns, uid, user, request: asked } = await robot(api);
    const answer = (await asked()).expect(201, {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      "metadata.name": "robot",
      "metadata.namespace": ns,
      "metadata.creationTimestamp": present,
      "spec.expirationSeconds": 3600,
      "spec.audiences": [defaultIssuer],
      "spec.boundObjectRef": null,
      // The sender also owns a field that the request did not set.
      "metadata.managedFields.0.fieldsV1": { "f:spec": { "f:expirationSeconds": {} } },
    });
    const token = answer.string("status.token");
    const claims = claimsOf(token);
    const { iat, exp, nbf, jti } = claims as Record<string, number>;
    assert.equal(exp! - iat!, 3600);
    assert.equal(Date.parse(answer.string("status.expirationTimestamp")), exp! * 1000);
    assert.deepEqual(
      [nbf, claims["sub"], claims["iss"], claims["aud"], claims[api.name("kubernetes.io")]],
      [iat, user, defaultIssuer, [defaultIssuer], { namespace: ns, serviceaccount: { name: "robot", uid } }],
    );
    (await ask(api, token)).expect(201, {
      "status.userInfo.username": user,
      "status.userInfo.uid": uid,
      "status.userInfo.groups": ["system:serviceaccounts", `system:serviceaccounts:${ns}`, "system:authenticated"],
      "status.userInfo.extra[authentication.kubernetes.io/credential-id]": [`JTI=${jti}`],
    });
    for (const changed of [`${token}x`, `${token.slice(0, -9)}AAAAAAAAA`, token.toUpperCase(), token.split(".")[1]!]) {
      (await ask(api, changed)).expectFailure(401, "Unauthorized", "Unauthorized");
    }
  },
);

inBothDomains(
  "a token ends the moment its account does, and does not come back with the name [ASA-06]",
  async (api) => {
    const { path, serviceAccounts, token } = await robot(api);
    const mine = await token();
    (await ask(api, mine)).expect(201);
    (await api.delete(path)).expect(200);
    (await ask(api, mine)).expectFailure(401, "Unauthorized");
    (await api.post(serviceAccounts, account("robot"))).expect(201);
    (await ask(api, mine)).expectFailure(401, "Unauthorized");
    (await ask(api, await token())).expect(201);
  },
);

inBothDomains("a token is for its audiences, and reviews say so [AUTHRES-19]", async (api) => {
  const it = await robot(api);
  const answer = (await it.request({ audiences: ["vault", "other"], expirationSeconds: 600 })).expect(201, {
    "spec.audiences": ["vault", "other"],
    "spec.expirationSeconds": 600,
  });
  const token = answer.string("status.token");
  (await ask(api, token)).expectFailure(401, "Unauthorized");
  (await api.post(reviews, review(token, ["unknown", "vault"]))).expect(201, {
    "status.authenticated": true,
    "status.user.username": it.user,
    "status.user.uid": it.uid,
    "status.user.groups.2": "system:authenticated",
    "status.audiences": ["vault"],
    "status.error": absent,
  });
  for (const [audiences, names] of [
    [undefined, `"${defaultIssuer}"`],
    [["unknown", "u2"], '"unknown" "u2"'],
  ] as const) {
    (await api.post(reviews, review(token, audiences))).expect(201, {
      "status.authenticated": absent,
      "status.user": {},
      "status.error": `[invalid bearer token, token audiences ["vault" "other"] is invalid for the target audiences [${names}]]`,
    });
  }
});

inBothDomains(
  "a review names the user of a token of any kind, or says that it is not valid [AUTHRES-19]",
  async (api) => {
    (await api.post(reviews, review("alice-token"))).expect(201, {
      kind: "TokenReview",
      "spec.token": "alice-token",
      "status.authenticated": true,
      "status.user": { username: "alice", uid: "alice-uid", groups: ["developers", "system:authenticated"] },
      "status.audiences": [defaultIssuer],
    });
    (await api.post(reviews, review("alice-token", ["elsewhere"]))).expect(201, { "status.authenticated": absent });
    for (const token of ["no such token", "a.b.c", "x".repeat(200_000), "é", "Bearer alice-token"]) {
      (await api.post(reviews, review(token))).expect(201, {
        "status.authenticated": absent,
        "status.user": {},
        "status.error": "invalid bearer token",
      });
    }
    (await api.post(reviews, review(""))).expectFailure(
      400,
      "BadRequest",
      "token is required for TokenReview in authentication",
    );
    (await api.post(reviews, review("alice-token"), { as: "bob" })).expectFailure(403, "Forbidden");
    (await api.get(reviews)).expectFailure(405, "MethodNotAllowed");
  },
);

inBothDomains(
  "a self review names the user, after impersonation too [AUTHRES-01] [AUTHRES-02] [AUTHRES-03] [AUTHRES-04] [AUTHRES-05] [AUTHRES-06] [AUTHRES-07] [REVIEW-01] [REVIEW-02] [REVIEW-03]",
  async (api) => {
    (await api.post(whoAmI, subject)).expect(201, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      "metadata.creationTimestamp": present,
      "status.userInfo": { username: "admin", uid: "admin-uid", groups: ["system:masters", "system:authenticated"] },
    });
    const headers = { "impersonate-user": "dave", "impersonate-group": ["g"], "impersonate-extra-k": ["a", "b"] };
    (await api.post(whoAmI, { ...subject, status: { userInfo: { username: "eve" } } }, { headers })).expect(201, {
      "status.userInfo": { username: "dave", groups: ["g", "system:authenticated"], extra: { k: ["a", "b"] } },
    });
    (await api.post(`${whoAmI}?fieldValidation=Strict`, { ...subject, spec: {} })).expectFailure(400, "BadRequest");
    (await api.post(whoAmI.replace("/v1/", "/v1alpha1/"), subject)).expect(404);
    (await api.post(whoAmI, subject, { as: "nobody" })).expect([401, 403]);
  },
);

withOwnServer(
  "authenticated users may create self reviews, by a role that can be taken away [REVIEW-04] [REVIEW-05] [REVIEW-07]",
  { ...gated, authorizationMode: ["RBAC"] },
  async (api) => {
    (await api.post(whoAmI, subject, { as: "bob" })).expect(201, { "status.userInfo.username": "bob" });
    (await api.post(whoAmI, subject, { as: "nobody" })).expectFailure(
      403,
      "Forbidden",
      api.name(
        'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
      ),
    );
    (await api.get(whoAmI)).expect(405);
    const mine = bearer(await (await robot(api)).token());
    for (const path of ["/openid/v1/jwks", "/.well-known/openid-configuration"]) {
      (await api.get(path, mine)).expect(200);
      (await api.get(path, { as: "nobody" })).expectFailure(403, "Forbidden");
    }
    (await api.delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:basic-user")).expect(200);
    (await api.post(whoAmI, subject, { as: "bob" })).expectFailure(403, "Forbidden");
  },
);

inBothDomains("a token bound to a Secret dies with it, and with its uid [ASA-06]", async (api) => {
  const { secrets, token } = await robot(api);
  const make = async () => (await api.post(secrets, secret("tie"))).expect(201).string("metadata.uid");
  const uid = await make();
  const ref = { apiVersion: "v1", kind: "Secret", name: "tie" };
  const bound = await token({ boundObjectRef: { ...ref, uid } });
  (await ask(api, bound)).expect(201);
  (await api.delete(`${secrets}/tie`)).expect(200);
  (await ask(api, bound)).expectFailure(401, "Unauthorized");
  await make();
  (await ask(api, bound)).expectFailure(401, "Unauthorized");
  (await ask(api, await token({ boundObjectRef: ref }))).expect(201);
});

inBothDomains("a token bound to a pod names it and its node, and dies with it [ASA-06]", async (api) => {
  const it = await robot(api);
  const node = api.unique("node");
  const nodeUid = (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: node } }))
    .expect(201)
    .string("metadata.uid");
  const podUid = (await api.post(`${it.core}/pods`, pod("p", { serviceAccountName: "robot", nodeName: node })))
    .expect(201)
    .string("metadata.uid");
  const ref = { apiVersion: "v1", kind: "Pod", name: "p" };
  const token = await it.token({ boundObjectRef: ref });
  const extra = "status.userInfo.extra";
  (await ask(api, token)).expect(201, {
    [`${extra}[authentication.kubernetes.io/pod-name]`]: ["p"],
    [`${extra}[authentication.kubernetes.io/pod-uid]`]: [podUid],
    [`${extra}[authentication.kubernetes.io/node-name]`]: [node],
    [`${extra}[authentication.kubernetes.io/node-uid]`]: [nodeUid],
  });
  (await api.delete(`/api/v1/nodes/${node}`)).expect(200);
  (await ask(api, token)).expect(201);
  const lonely = claimsOf(await it.token({ boundObjectRef: ref }))[api.name("kubernetes.io")];
  assert.deepEqual((lonely as { node: unknown }).node, { name: node });
  (await api.post(it.serviceAccounts, account("other"))).expect(201);
  (await api.post(`${it.serviceAccounts}/other/token`, request({ boundObjectRef: ref }))).expectFailure(
    400,
    "BadRequest",
    'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.',
  );
  (await api.delete(`${it.core}/pods/p?gracePeriodSeconds=0`)).expect(200);
  (await ask(api, token)).expectFailure(401, "Unauthorized");
});

inBothDomains("a token bound to a node dies with it [ASA-06]", async (api) => {
  const it = await robot(api);
  const name = api.unique("node");
  (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } })).expect(201);
  const token = await it.token({ boundObjectRef: { apiVersion: "v1", kind: "Node", name } });
  (await ask(api, token)).expect(201, {
    "status.userInfo.extra[authentication.kubernetes.io/node-name]": [name],
    "status.userInfo.extra[authentication.kubernetes.io/pod-name]": absent,
  });
  (await api.delete(`/api/v1/nodes/${name}`)).expect(200);
  (await ask(api, token)).expectFailure(401, "Unauthorized");
});

inBothDomains("what a token cannot be bound to is refused in upstream's words [AUTHRES-19]", async (api) => {
  const it = await robot(api);
  const uid = "00000000-0000-0000-0000-000000000000";
  (await api.post(it.secrets, secret("tie"))).expect(201);
  const bind = (kind: string, name: string, more: object = {}) =>
    it.request({ boundObjectRef: { apiVersion: "v1", kind, name, ...more } });
  (await bind("Secret", "none")).expectFailure(404, "NotFound", 'secrets "none" not found');
  (await bind("Pod", "none")).expectFailure(404, "NotFound", 'pods "none" not found');
  (await bind("Node", "none")).expectFailure(404, "NotFound", 'nodes "none" not found');
  (await bind("Node", "")).expectFailure(400, "BadRequest", "Name parameter required.");
  (await bind("ConfigMap", "tie")).expectFailure(
    400,
    "BadRequest",
    "cannot bind token to object of type /v1, Kind=ConfigMap",
  );
  (await bind("Secret", "tie", { apiVersion: "apps/v1" })).expectFailure(
    400,
    "BadRequest",
    "cannot bind token to object of type apps/v1, Kind=Secret",
  );
  (await bind("Secret", "tie", { uid })).expectFailure(
    409,
    "Conflict",
    `Operation cannot be fulfilled on Secret "tie": the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
  );
});

inBothDomains("what is not stored has no table", async (api) => {
  const accept = api.name("application/json;as=Table;v=v1;g=meta.k8s.io");
  const it = await robot(api);
  const text = `only the following media types are accepted: ${objectTypes.join(", ")}`;
  (await api.post(reviews, review("x"), { accept })).expectFailure(406, "NotAcceptable", text);
  (await api.post(`${it.path}/token`, request(), { accept })).expectFailure(406, "NotAcceptable", text);
  const either = `${accept},application/json`;
  (await api.post(`${it.path}/token`, request(), { accept: either })).expect(201, { kind: "TokenRequest" });
});

inBothDomains("a space before a reviewed token leaves none [AUTHRES-19]", async (api) => {
  const token = await (await robot(api)).token();
  (await api.post(reviews, review(`${token} `))).expect(201, { "status.authenticated": true });
  (await api.post(reviews, review(` ${token}`))).expect(201, {
    "status.authenticated": absent,
    "status.error": "invalid bearer token",
  });
});

inBothDomains("requests outside the limits are refused, and so are other accounts [ASA-10]", async (api) => {
  const it = await robot(api);
  const invalid = (seconds: number, text: string) =>
    `TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: ${seconds}: ${text}`;
  for (const [seconds, text] of [
    [10, "may not specify a duration less than 10 minutes"],
    [0, "may not specify a duration less than 10 minutes"],
    [-1, "may not specify a duration less than 10 minutes"],
    [4_294_967_297, "may not specify a duration larger than 2^32 seconds"],
  ] as const) {
    (await it.request({ expirationSeconds: seconds })).expectFailure(422, "Invalid", api.name(invalid(seconds, text)));
  }
  (await it.request({ expirationSeconds: 4_294_967_296 })).expect(201);
  (await api.post(`${it.serviceAccounts}/none/token`, request())).expectFailure(
    404,
    "NotFound",
    'serviceaccounts "none" not found',
  );
  (await api.post(`${it.path}/token`, { ...request(), metadata: { name: "other" } })).expectFailure(
    422,
    "Invalid",
    api.name(
      'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified',
    ),
  );
  (await api.post(`${it.path}/token`, { ...request(), metadata: { namespace: "other" } })).expectFailure(
    400,
    "BadRequest",
  );
  (await api.get(`${it.path}/token`)).expectFailure(405, "MethodNotAllowed");
  (await api.post(`${it.path}/token`, request(), { as: "bob" })).expectFailure(
    403,
    "Forbidden",
    `serviceaccounts "robot" is forbidden: User "bob" cannot create resource "serviceaccounts/token" in API group "" in the namespace "${it.ns}"`,
  );
});

inBothDomains("anybody can verify a token with the published documents", async (api) => {
  const it = await robot(api);
  const token = await it.token();
  const answer = (await api.get("/.well-known/openid-configuration")).expect(200, {
    issuer: defaultIssuer,
    jwks_uri: `${api.server.url}/openid/v1/jwks`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(answer.headers["cache-control"], "public, max-age=3600");
  const keys = (await api.get("/openid/v1/jwks")).expect(200, { "keys.length": 1, "keys.0.d": absent });
  assert.equal(keys.headers["content-type"], "application/jwk-set+json");
  const [header = "", , signature = ""] = token.split(".");
  const { kid } = JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string };
  assert.equal(kid, keys.at("keys.0.kid"));
  const key = createPublicKey({ key: keys.at("keys.0") as Record<string, string>, format: "jwk" });
  const body = Buffer.from(token.slice(0, token.lastIndexOf(".")));
  const dsaEncoding = "ieee-p1363";
  assert.ok(verify("sha256", body, { key, dsaEncoding }, Buffer.from(signature, "base64url")));
  (await api.get("/openid/v1/jwks/")).expect(200, { "keys.length": 1 });
  (await api.post("/openid/v1/jwks", {})).expect(405);
});

inBothDomains(
  "a bootstrap token is a user of its id while its Secret is there [ABOOT-01] [ABOOT-02] [ABOOT-03] [ABOOT-04]",
  async (api) => {
    const id = api.unique("").slice(1, 7);
    const token = `${id}.0123456789abcdef`;
    const secrets = "/api/v1/namespaces/kube-system/secrets";
    const body = {
      ...secret(`bootstrap-token-${id}`, {
        "token-id": id,
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:workers",
      }),
      type: "bootstrap.kubernetes.io/token",
    };
    (await ask(api, token)).expectFailure(401, "Unauthorized");
    (await api.post(secrets, body)).expect(201);
    (await api.post(reviews, review(token))).expect(201, {
      "status.user.username": `system:bootstrap:${id}`,
      "status.user.groups": ["system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"],
    });
    (await ask(api, token)).expect([201, 403]);
    (await ask(api, `${id}.0123456789abcdeF`)).expectFailure(401, "Unauthorized");
    (await ask(api, `${id}.0123456789abcdee`)).expectFailure(401, "Unauthorized");
    (await api.delete(`${secrets}/bootstrap-token-${id}`)).expect(200);
    (await ask(api, token)).expectFailure(401, "Unauthorized");
  },
);

withOwnServer("without the option a bootstrap token is refused [ABOOT-01]", gated, async (api) => {
  const data = { "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true" };
  const body = { ...secret("bootstrap-token-abcdef", data), type: "bootstrap.kubernetes.io/token" };
  (await api.post("/api/v1/namespaces/kube-system/secrets", body)).expect(201);
  (await ask(api, "abcdef.0123456789abcdef")).expectFailure(401, "Unauthorized");
});

/** Writes keys of all kinds to files, and returns settings that name them. */
function keyFiles() {
  const folder = temporaryFolder();
  const write = (name: string, key: KeyObject): string => {
    const file = join(folder, name);
    const isPublic = key.type === "public";
    writeFileSync(
      file,
      key.export({ type: isPublic ? "spki" : "pkcs8", format: "pem" } as { type: "spki"; format: "pem" }),
    ); // the type fits the key
    return file;
  };
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const elliptic = generateKeyPairSync("ec", { namedCurve: "P-384" });
  return {
    rsa,
    elliptic,
    rsaPrivate: write("rsa.key", rsa.privateKey),
    rsaPublic: write("rsa.pub", rsa.publicKey),
    ellipticPrivate: write("ec.key", elliptic.privateKey),
    ellipticPublic: write("ec.pub", elliptic.publicKey),
  };
}

const files = keyFiles();

/** Writes a serving certificate of another authority to files, and makes a connection that trusts it. */
async function startWithFiles() {
  const authority = await fakeAuthority();
  const { certificate, key } = await authority.issue({ usage: "server" });
  const folder = temporaryFolder();
  const settings = { tlsCertFile: join(folder, "tls.crt"), tlsPrivateKeyFile: join(folder, "tls.key") };
  writeFileSync(settings.tlsCertFile, certificate);
  writeFileSync(settings.tlsPrivateKeyFile, key);
  return { settings, key: createPrivateKey(key), agent: new https.Agent({ ca: authority.certificate }) };
}

withOwnServer(
  "tokens are signed with the key that is named, and verified with every key that is [ASA-02] [ASA-03] [ASA-04]",
  {
    ...gated,
    serviceAccountSigningKeyFile: files.ellipticPrivate,
    serviceAccountKeyFile: [files.rsaPublic, files.ellipticPublic],
    serviceAccountIssuer: ["https://new.example.com", "https://old.example.com"],
    apiAudiences: ["api"],
    externalHostname: "api.example.com",
  },
  async (api) => {
    const it = await robot(api);
    const token = await it.token();
    const claims = claimsOf(token);
    assert.deepEqual([claims["iss"], claims["aud"]], ["https://new.example.com", ["api"]]);
    (await ask(api, token)).expect(201);
    // The server does not know the key id, so it tries all keys.
    const old = { ...claims, iss: "https://old.example.com", jti: undefined };
    (await ask(api, await signJwt(old, files.rsa.privateKey, ""))).expect(201, { "status.userInfo.username": it.user });
    (await ask(api, await signJwt({ ...old, iss: "https://x.example.com" }, files.rsa.privateKey, ""))).expect(401);
    const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    (await ask(api, await signJwt(old, stranger, ""))).expect(401);
    (await api.get("/.well-known/openid-configuration")).expect(200, {
      issuer: "https://new.example.com",
      jwks_uri: `https://api.example.com:${new URL(api.server.url).port}/openid/v1/jwks`,
      id_token_signing_alg_values_supported: ["ES384", "RS256"],
    });
  },
);

withOwnServer(
  "forged tokens are refused: no algorithm, a public key as secret, another time, issuer, audience or account",
  { ...gated, serviceAccountSigningKeyFile: files.rsaPrivate },
  async (api) => {
    const it = await robot(api);
    const token = await it.token();
    const claims = claimsOf(token);
    const keys = (await api.get("/openid/v1/jwks")).expect(200);
    const kid = keys.string("keys.0.kid");
    const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
    const body = encode(claims);
    const jwk = JSON.stringify(keys.at("keys.0"));
    const pem = files.rsa.publicKey.export({ type: "spki", format: "pem" }).toString();
    const der = files.rsa.publicKey.export({ type: "spki", format: "der" });
    const shared = encode({ alg: "HS256", kid });
    for (const secretKey of [pem, pem.trim(), der, jwk, kid, ""]) {
      const signature = createHmac("sha256", secretKey).update(`${shared}.${body}`).digest("base64url");
      (await ask(api, `${shared}.${body}.${signature}`)).expectFailure(401, "Unauthorized", "Unauthorized");
    }
    const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
    for (const header of [
      { alg: "none" },
      { alg: "none", kid },
      { alg: "nOnE", kid },
      { alg: "RS256", kid, jwk: own.publicKey.export({ format: "jwk" }) },
      { alg: "RS256", kid, jku: "https://127.0.0.1:1/", x5u: "https://127.0.0.1:1/" },
      { alg: "RS256", kid, crit: ["exp"] },
      { alg: "ES256", kid },
    ]) {
      const signed = `${encode(header)}.${body}`;
      const signature = sign("sha256", Buffer.from(signed), own.privateKey).toString("base64url");
      for (const forged of [`${signed}.${signature}`, `${signed}.`, `${signed}.AA`, signed]) {
        (await ask(api, forged)).expectFailure(401, "Unauthorized", "Unauthorized");
      }
    }
    // The tokens below are signed with the right key.
    const now = Math.floor(Date.now() / 1000);
    const named = claims[api.name("kubernetes.io")] as object;
    for (const change of [
      { exp: now - 120 },
      { nbf: now + 120 },
      { iat: now + 120 },
      { iss: "https://evil.example.com" },
      { iss: `${defaultIssuer}/` },
      { aud: ["https://evil.example.com"] },
      { aud: `${defaultIssuer}/` },
      { [api.name("kubernetes.io")]: { ...named, namespace: "default" } },
      { [api.name("kubernetes.io")]: { ...named, serviceaccount: { name: "robot", uid: "" } } },
      { [api.name("kubernetes.io")]: { ...named, pod: { name: "../p", uid: "" } } },
    ]) {
      const changed = await signJwt({ ...claims, ...change }, files.rsa.privateKey, kid);
      (await ask(api, changed)).expectFailure(401, "Unauthorized", "Unauthorized");
    }
    (await ask(api, await signJwt(claims, files.rsa.privateKey, kid))).expect(201);
  },
);

withOwnServer(
  "a life time beyond the bound is shortened with a warning, an issuer that is no URL has no documents",
  { ...gated, serviceAccountMaxTokenExpirationMs: 3_600_000, serviceAccountIssuer: ["issuer"] },
  async (api) => {
    const it = await robot(api);
    const answer = (await it.request({ expirationSeconds: 7200 })).expect(201, { "spec.expirationSeconds": 3600 });
    assert.deepEqual(answer.warnings, ["requested expiration of 7200 seconds shortened to 3600 seconds"]);
    (await ask(api, answer.string("status.token"))).expect(201);
    (await api.get("/.well-known/openid-configuration")).expect(404);
    (await api.get("/openid/v1/jwks")).expect(404);
  },
);

for (const extend of [true, false]) {
  withOwnServer(
    `a token that is put into a pod lives ${extend ? "for a year" : "an hour"} with --service-account-extend-token-expiration=${extend}`,
    { ...gated, serviceAccountExtendTokenExpiration: extend },
    async (api) => {
      const it = await robot(api);
      const spec = { serviceAccountName: "robot", containers: [{ name: "c", image: "i" }] };
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec };
      (await api.post(`${it.core}/pods`, pod)).expect(201);
      const ref = { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p" }, expirationSeconds: 3607 };
      const answer = (await it.request(ref)).expect(201, { "spec.expirationSeconds": 3607 });
      const { iat, exp, ...claims } = claimsOf(answer.string("status.token")) as Record<string, number>;
      const own = claims[api.name("kubernetes.io")] as unknown as { warnafter?: number };
      assert.deepEqual([exp! - iat!, own.warnafter], extend ? [31_536_000, iat! + 3607] : [3607, undefined]);
      assert.equal(Date.parse(answer.string("status.expirationTimestamp")), (iat! + 3607) * 1000);
    },
  );
}

withOwnServer(
  "a token kept in a Secret holds while the Secret holds it, and its use is noted there [ASA-06] [ASA-07]",
  { ...gated, serviceAccountSigningKeyFile: files.rsaPrivate },
  async (api) => {
    const it = await robot(api);
    const prefix = api.name("kubernetes.io/serviceaccount");
    const claims = {
      iss: "kubernetes/serviceaccount",
      [`${prefix}/namespace`]: it.ns,
      [`${prefix}/secret.name`]: "kept",
      [`${prefix}/service-account.name`]: "robot",
      [`${prefix}/service-account.uid`]: it.uid,
      sub: it.user,
    };
    const token = await signJwt(claims, files.rsa.privateKey, "");
    (await ask(api, token)).expectFailure(401, "Unauthorized");
    (await api.post(it.secrets, secret("kept", { token }))).expect(201);
    (await ask(api, token)).expect(201, { "status.userInfo.username": it.user, "status.userInfo.extra": absent });
    const day = /^\d{4}-\d\d-\d\d$/;
    await eventually(async () =>
      (await api.get(`${it.secrets}/kept`)).expect(200, {
        "metadata.labels[kubernetes.io/legacy-token-last-used]": day,
      }),
    );
    (await ask(api, token)).expect(201);
    const counted = (await api.get("/metrics")).text;
    assert.match(counted, /^serviceaccount_legacy_manual_token_uses_total [1-9]/m);
    assert.match(counted, /^serviceaccount_legacy_auto_token_uses_total 0$/m);
    (await api.patch(`${it.secrets}/kept`, { stringData: { token: "another" } })).expect(200);
    (await ask(api, token)).expectFailure(401, "Unauthorized");
  },
);

withOwnServer("a flood of bad tokens leaves good ones alone", gated, async (api) => {
  const it = await robot(api);
  const token = await it.token();
  (await ask(api, token)).expect(201);
  const [header = "", body = ""] = token.split(".");
  const forge = (i: number): string => `${header}.${body}.${Buffer.alloc(64, `${i}.`).toString("base64url")}`;
  const flood = Array.from({ length: 1000 }, async (_, i) => (await ask(api, forge(i))).status);
  for (let i = 0; i < 20; i++) (await ask(api, token)).expect(201);
  assert.deepEqual(new Set(await Promise.all(flood)), new Set([401]));
  (await ask(api, token)).expect(201);
});

withOwnServer("successful and failed authentications are counted, without names", gated, async (api) => {
  const it = await robot(api);
  (await ask(api, await it.token())).expect(201);
  (await ask(api, "nobody's")).expect(401);
  const counted = (await api.get("/metrics")).text;
  assert.match(counted, /^authentication_attempts\{result="success"\} [1-9]/m);
  assert.match(counted, /^authentication_attempts\{result="error"\} 1$/m);
  assert.match(counted, /^authentication_duration_seconds_count\{result="error"\} 1$/m);
  assert.match(counted, /^authorization_attempts_total\{result="allowed"\} [1-9]/m);
  assert.match(counted, /^authenticated_user_requests\{username="admin"\} [1-9]/m);
  assert.match(counted, /^authenticated_user_requests\{username="other"\} [1-9]/m);
  assert.doesNotMatch(counted, /robot/);
});

withOwnServer("an oversized token ends with its request, not with the server", gated, async (api) => {
  const long = `eyJhbGciOiJFUzI1NiJ9.${"A".repeat(100_000)}.AA`;
  const answer = await ask(api, long).catch(() => undefined);
  if (answer !== undefined) answer.expect([400, 401, 431]);
  (await api.post(reviews, review(long))).expect(201, { "status.authenticated": absent });
  (await api.get("/version")).expect(200);
});

for (const domain of domains) {
  test(`${domain}: no token reaches the log, whatever becomes of it`, async () => {
    const lines: string[] = [];
    const log = openLog({ format: "json", verbosity: 10, write: (line) => void lines.push(line) });
    const server = await openServer(domain, { ...gated, verbosity: 10 }, { log });
    const api = new Api(server);
    try {
      const it = await robot(api);
      const token = await it.token();
      const sent = [token, `${token.slice(0, -9)}AAAAAAAAA`, "abcdef.0123456789abcdef", "plain-secret-token"];
      for (const one of sent) {
        await ask(api, one);
        await api.post(reviews, review(one));
      }
      (await api.delete(it.path)).expect(200);
      await ask(api, token);
      await log.flush();
      assert.ok(lines.some((line) => line.includes("unable to authenticate the request")));
      const written = [...sent, "admin-token"].filter((one) => lines.some((line) => line.includes(one)));
      assert.deepEqual(written, []);
    } finally {
      api.close();
      await server.close();
    }
  });

  test(`${domain}: the key is kept over restarts, a lost one ends its tokens, and TLS keys stand in for key files [ASA-05]`, async () => {
    const folder = join(temporaryFolder(), "data");
    const settings = { ...gated, storage: "disk", dataDir: folder } as const;
    const within = async <T>(more: object, work: (api: Api) => Promise<T>): Promise<T> => {
      const server = await openServer(domain, { ...settings, ...more });
      const api = new Api(server);
      try {
        return await work(api);
      } finally {
        api.close();
        await server.close();
      }
    };
    const token = await within({}, async (api) => (await robot(api)).token());
    await within({}, async (api) => (await ask(api, token)).expect(201));
    await within({ serviceAccountSigningKeyFile: files.rsaPrivate }, async (api) =>
      (await ask(api, token)).expect(401),
    );
    const tls = await startWithFiles();
    const status = async (api: Api, key: KeyObject): Promise<number> => {
      const options = { ...bearer(await signJwt(claimsOf(token), key, "")), agent: tls.agent };
      return (await api.post(whoAmI, subject, options)).status;
    };
    await within(tls.settings, async (api) => {
      assert.equal(await status(api, tls.key), 201);
      assert.equal(await status(api, files.rsa.privateKey), 401);
    });
    await within({ ...tls.settings, serviceAccountKeyFile: [files.rsaPublic] }, async (api) => {
      assert.equal(await status(api, tls.key), 401);
      assert.equal(await status(api, files.rsa.privateKey), 201);
    });
  });

  test(`${domain}: invalid files and values stop the start with one line`, async () => {
    const folder = temporaryFolder();
    const bad = join(folder, "bad.pem");
    writeFileSync(bad, "no key");
    for (const [settings, message] of [
      [{ serviceAccountKeyFile: [bad] }, /bad\.pem: data does not contain any valid RSA or ECDSA public keys/],
      [{ serviceAccountSigningKeyFile: bad }, /bad\.pem: data does not contain a valid RSA or ECDSA private key/],
      [{ serviceAccountSigningKeyFile: join(folder, "none") }, /cannot read .*none: no such file/],
      [{ serviceAccountJwksUri: "http://a" }, /--service-account-jwks-uri: must be an https URL/],
      [{ serviceAccountMaxTokenExpirationMs: 60_000 }, /between 1 hour and 2\^32 seconds/],
      [{ serviceAccountIssuer: ["a", "a"] }, /names an issuer twice/],
    ] as const) {
      await assert.rejects(openServer(domain, { ...gated, ...settings }), message);
    }
  });
}
