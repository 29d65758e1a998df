/** Certificate requests from creation to use of the certificate: approval and signing. */
import assert from "node:assert/strict";
import { createPublicKey, X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { JsonName } from "@peculiar/x509";
import type { ServerSettings } from "#server/options.ts";
import { keyPem, newKey, signCertificate } from "#std/certificate.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import { openLog } from "#std/log.ts";
import { systemRandom } from "#std/random.ts";
import { certificateAgent, newRequest, requests, signingRequest } from "../certificate-requests.ts";
import type { Answer, SendOptions } from "../client.ts";
import { Api, eventually, gated, openServer, suite, temporaryFolder } from "../harness.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite({ ...gated, enableBootstrapTokenAuth: true });

const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const subject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const approved = { status: { conditions: [{ type: "Approved", status: "True", reason: "Test", message: "yes" }] } };
const clientSigner = "kubernetes.io/kube-apiserver-client";
const clientUsages = ["digital signature", "key encipherment", "client auth"];

const certificateOf = (answer: Answer): string => Buffer.from(answer.string("status.certificate"), "base64").toString();

const readIssued = (api: Api, name: string): Promise<string> =>
  eventually(async () => certificateOf((await api.get(`${requests}/${name}`)).expect(200)));

/** Resolves when the signers have processed every earlier request: a later one has been signed. */
async function signersPassed(api: Api): Promise<void> {
  const { request } = await newRequest([{ CN: ["later"] }]);
  const name = api.unique("later");
  const spec = { request, signerName: clientSigner, usages: clientUsages };
  (await api.post(requests, signingRequest(name, spec))).expect(201);
  (await api.patch(`${requests}/${name}/approval`, approved)).expect(200);
  await readIssued(api, name);
}

async function bindGroup(api: Api, group: string, role: string): Promise<void> {
  const body = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: api.unique("binding") },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group }],
  };
  (await api.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body)).expect(201);
}

inBothDomains(
  "an approved request for a client becomes a certificate the server takes [ACERT-03] [ACERT-04]",
  async (api) => {
    const { request, key } = await newRequest([{ O: ["builders"] }, { O: ["robots"] }, { CN: ["robot"] }]);
    const name = api.unique("csr");
    const spec = { request, signerName: clientSigner, usages: clientUsages, expirationSeconds: 3600 };
    (await api.post(requests, signingRequest(name, spec))).expect(201, { "spec.username": "admin", status: {} });
    await signersPassed(api);
    (await api.get(`${requests}/${name}`)).expect(200, { status: {} });
    (await api.patch(`${requests}/${name}/approval`, approved)).expect(200, {
      "status.conditions[type=Approved].lastUpdateTime": present,
    });
    const pem = await readIssued(api, name);
    const certificate = new X509Certificate(pem);
    assert.equal(certificate.subject, "O=builders\nO=robots\nCN=robot");
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.equal(certificate.ca, false);
    const minutesLeft = (certificate.validToDate.getTime() - Date.now()) / 60_000;
    assert.ok(minutesLeft > 55 && minutesLeft < 61, String(minutesLeft));
    const agent = certificateAgent(api.server, pem, key);
    const answer = await api.post(whoAmI, subject, { as: "nobody", agent });
    answer.expect(201, {
      "status.userInfo.username": "robot",
      "status.userInfo.groups": ["builders", "robots", "system:authenticated"],
    });
    agent.destroy();
  },
);

inBothDomains("a certificate stays, and a request's decision with it", async (api) => {
  const { request } = await newRequest([{ CN: ["robot"] }]);
  const name = api.unique("csr");
  await api.post(requests, signingRequest(name, { request, signerName: clientSigner, usages: clientUsages }));
  (await api.patch(`${requests}/${name}/approval`, approved)).expect(200);
  const pem = await readIssued(api, name);
  const other = Buffer.from(pem + pem).toString("base64");
  (await api.patch(`${requests}/${name}/status`, { status: { certificate: other } })).expectFailure(422, "Invalid");
  (await api.patch(`${requests}/${name}/approval`, { status: { conditions: null } })).expectFailure(422, "Invalid");
  (await api.patch(`${requests}/${name}`, { status: { certificate: null }, spec: { usages: ["any"] } })).expect(200, {
    "spec.usages": clientUsages,
    "status.certificate": present,
  });
});

inBothDomains("a denied request stays without a certificate", async (api) => {
  const { request } = await newRequest([{ CN: ["robot"] }]);
  const name = api.unique("csr");
  await api.post(requests, signingRequest(name, { request, signerName: clientSigner, usages: clientUsages }));
  const denied = { status: { conditions: [{ type: "Denied", status: "True", reason: "No" }] } };
  (await api.patch(`${requests}/${name}/approval`, denied)).expect(200);
  await signersPassed(api);
  (await api.get(`${requests}/${name}`)).expect(200, { "status.certificate": absent });
});

inBothDomains("an approved request the signer may not serve has failed, and says why", async (api) => {
  const cases: readonly (readonly [string, readonly string[], JsonName, readonly string[], string])[] = [
    [clientSigner, ["server auth"], [{ CN: ["a"] }], [], "invalid usage for client certificate: server auth"],
    [
      clientSigner,
      ["digital signature"],
      [{ CN: ["a"] }],
      [],
      "missing required usage for client certificate: client auth",
    ],
    [
      "kubernetes.io/kubelet-serving",
      ["digital signature", "server auth"],
      [{ O: ["system:nodes"] }, { CN: ["system:node:n"] }],
      [],
      "DNS or IP subjectAltName is required",
    ],
    [
      "kubernetes.io/kube-apiserver-client-kubelet",
      ["digital signature", "client auth"],
      [{ O: ["system:nodes"] }, { CN: ["eve"] }],
      [],
      "subject common name does not begin with system:node: ",
    ],
    [
      "kubernetes.io/kube-apiserver-client-kubelet",
      ["digital signature", "client auth"],
      [{ O: ["system:nodes"] }, { CN: ["system:node:n"] }],
      ["n.example"],
      "DNS subjectAltNames are not allowed",
    ],
  ];
  for (const [signerName, usages, subjectName, names, message] of cases) {
    const { request } = await newRequest(subjectName, names);
    const name = api.unique("csr");
    (await api.post(requests, signingRequest(name, { request, signerName, usages }))).expect(201);
    (await api.patch(`${requests}/${name}/approval`, approved)).expect(200);
    await eventually(async () =>
      (await api.get(`${requests}/${name}`)).expect(200, {
        "status.certificate": absent,
        "status.conditions[type=Failed].status": "True",
        "status.conditions[type=Failed].reason": "SignerValidationFailure",
        "status.conditions[type=Failed].message": message,
      }),
    );
  }
});

inBothDomains("a node serves with a certificate of its names", async (api) => {
  const { request } = await newRequest([{ O: ["system:nodes"] }, { CN: ["system:node:n"] }], ["n.example"]);
  const name = api.unique("csr");
  const usages = ["digital signature", "server auth"];
  await api.post(requests, signingRequest(name, { request, signerName: "kubernetes.io/kubelet-serving", usages }));
  await signersPassed(api);
  (await api.get(`${requests}/${name}`)).expect(200, { status: {} });
  await api.patch(`${requests}/${name}/approval`, approved);
  const certificate = new X509Certificate(await readIssued(api, name));
  assert.equal(certificate.subjectAltName, "DNS:n.example");
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  assert.ok(certificate.checkIssued(new X509Certificate(api.server.ca)));
});

inBothDomains("a machine joins by a bootstrap token and renews its certificate as a node", async (api) => {
  const id = Math.random().toString(36).slice(2, 8).padEnd(6, "0");
  const token = {
    apiVersion: "v1",
    kind: "Secret",
    type: "bootstrap.kubernetes.io/token",
    metadata: { name: `bootstrap-token-${id}` },
    stringData: { "token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true" },
  };
  (await api.post("/api/v1/namespaces/kube-system/secrets", token)).expect(201);
  await bindGroup(api, "system:bootstrappers", "system:node-bootstrapper");
  const node = `system:node:${api.unique("node")}`;
  const ask = async (options: SendOptions) => {
    const asked = await newRequest([{ O: ["system:nodes"] }, { CN: [node] }]);
    const name = api.unique("csr");
    const spec = {
      request: asked.request,
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    };
    const answer = await api.post(requests, signingRequest(name, spec), options);
    return { ...asked, name, made: answer };
  };
  const joining = { as: `${id}.0123456789abcdef` };
  const first = await ask(joining);
  first.made.expect(201, { "spec.username": `system:bootstrap:${id}` });
  // The request is not approved before the group has the role; meanwhile, requests of others with the role are
  // approved.
  const others = api.unique("others");
  for (const role of ["node-bootstrapper", "certificates.k8s.io:certificatesigningrequests:nodeclient"]) {
    await bindGroup(api, others, `system:${role}`);
  }
  const later = await ask({ headers: { "impersonate-user": "other", "impersonate-group": others } });
  await readIssued(api, later.name);
  (await api.get(`${requests}/${first.name}`)).expect(200, { status: {} });
  await bindGroup(api, "system:bootstrappers", "system:certificates.k8s.io:certificatesigningrequests:nodeclient");
  const second = await ask(joining);
  second.made.expect(201);
  const pem = await readIssued(api, second.name);
  (await api.get(`${requests}/${second.name}`)).expect(200, {
    "status.conditions[type=Approved].reason": "AutoApproved",
    "status.conditions[type=Approved].message": "Auto approving kubelet client certificate after SubjectAccessReview.",
  });
  const agent = certificateAgent(api.server, pem, second.key);
  const asNode = { as: "nobody", agent } as const;
  (await api.post(whoAmI, subject, asNode)).expect(201, {
    "status.userInfo.username": node,
    "status.userInfo.groups": ["system:nodes", "system:authenticated"],
  });
  await bindGroup(api, "system:nodes", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient");
  await bindGroup(api, "system:nodes", "system:node-bootstrapper");
  const renewed = await ask(asNode);
  renewed.made.expect(201);
  await readIssued(api, renewed.name);
  (await api.get(`${requests}/${renewed.name}`)).expect(200, {
    "status.conditions[type=Approved].message":
      "Auto approving self kubelet client certificate after SubjectAccessReview.",
  });
  agent.destroy();
});

inBothDomains("the client signer gives no certificate of system:masters", async (api) => {
  const { request } = await newRequest([{ O: ["system:masters"] }, { CN: ["eve"] }]);
  const spec = { request, signerName: clientSigner, usages: clientUsages };
  (await api.post(requests, signingRequest(api.unique("csr"), spec))).expectFailure(
    403,
    "Forbidden",
    /use of kubernetes.io\/kube-apiserver-client signer with system:masters group is not allowed$/,
  );
});

inBothDomains("a subject name in another encoding is the same name to every check", async (api) => {
  const ask = async (subjectName: JsonName) => {
    const asked = await newRequest(subjectName);
    const name = api.unique("csr");
    const spec = { request: asked.request, signerName: clientSigner, usages: clientUsages };
    return { ...asked, name, answer: await api.post(requests, signingRequest(name, spec)) };
  };
  const masters = "system:masters";
  for (const hidden of [
    [{ O: ["builders", masters] }, { CN: ["eve"] }],
    [{ O: [{ bmpString: masters }] }, { CN: ["eve"] }],
    [{ O: [{ printableString: masters }] }, { CN: ["eve"] }],
  ] as JsonName[]) {
    (await ask(hidden)).answer.expectFailure(403, "Forbidden", /system:masters group is not allowed$/);
  }
  for (const [subjectName, user, groups] of [
    [[{ O: [`builders\nO=${masters}`] }, { CN: ["eve"] }], "eve", [`builders\nO=${masters}`]],
    [[{ O: [`builders + O=${masters}`] }, { CN: ["eve"] }], "eve", [`builders + O=${masters}`]],
    [[{ O: [`${masters}\0`] }, { CN: ["eve"] }], "eve", [`${masters}\0`]],
    [[{ CN: ["admin"] }, { CN: ["eve"] }], "eve", []],
  ] as const) {
    const { name, key, answer } = await ask(subjectName as unknown as JsonName); // only read
    answer.expect(201);
    (await api.patch(`${requests}/${name}/approval`, approved)).expect(200);
    const agent = certificateAgent(api.server, await readIssued(api, name), key);
    (await api.post(whoAmI, subject, { as: "nobody", agent })).expect(201, {
      "status.userInfo.username": user,
      "status.userInfo.groups": [...groups, "system:authenticated"],
    });
    agent.destroy();
  }
});

inBothDomains("hostile requests are refused and the server goes on", async (api) => {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const pem = (bytes: Buffer): string =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  const nested = Buffer.alloc(60_000, 0x30);
  for (const text of [
    "",
    "-----BEGIN CERTIFICATE REQUEST-----\n".repeat(20_000),
    "x".repeat(1_000_000),
    pem(nested),
    pem(Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff])),
    pem(Buffer.from([0x30, 0x80, 0, 0])),
  ]) {
    const spec = { request: base64(text), signerName: "example.com/s", usages: ["client auth"] };
    const answer = await api.post(requests, signingRequest(api.unique("csr"), spec));
    assert.ok([400, 422].includes(answer.status), answer.title);
  }
  (await api.get("/readyz")).expect(200);
});

/** Writes a new authority to files. */
async function authorityFiles(commonName: string) {
  const folder = temporaryFolder();
  const key = newKey();
  const period = { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() + 86_400_000 };
  const own = { commonName, publicKey: createPublicKey(key), usage: "authority", ...period } as const;
  const certificate = await signCertificate(own, { commonName, key }, systemRandom);
  const files = { certificate: join(folder, "ca.crt"), key: join(folder, "ca.key") };
  writeFileSync(files.certificate, certificate);
  writeFileSync(files.key, keyPem(key));
  return { ...files, pem: certificate };
}

test("signers sign with the files of their flags, read again when they change, and only those that have some", async () => {
  const authority = await authorityFiles("the first");
  const clock = new SkippingClock();
  let said = "";
  const log = openLog({ format: "json", verbosity: 0, write: (line) => (said += line) });
  const server = await openServer(
    "k8s.io",
    {
      ...gated,
      clusterSigningClientCertFile: authority.certificate,
      clusterSigningClientKeyFile: authority.key,
      clusterSigningDurationMs: 7_200_000,
    },
    { clock, log },
  );
  const api = new Api(server);
  const ask = async (signerName: string, usages: readonly string[]): Promise<string> => {
    const { request } = await newRequest([{ O: ["system:nodes"] }, { CN: ["system:node:n"] }]);
    const name = api.unique("csr");
    const spec = { request, signerName, usages, expirationSeconds: 864_000 };
    (await api.post(requests, signingRequest(name, spec))).expect(201);
    (await api.patch(`${requests}/${name}/approval`, approved)).expect(200);
    return name;
  };
  const kubelet = await ask("kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"]);
  const first = new X509Certificate(await readIssued(api, await ask(clientSigner, clientUsages)));
  assert.equal(first.issuer, "CN=the first");
  assert.ok(first.checkIssued(new X509Certificate(authority.pem)));
  assert.ok(first.validToDate.getTime() - Date.now() < 7_260_000);
  (await api.get(`${requests}/${kubelet}`)).expect(200, { "status.certificate": absent });

  const next = await authorityFiles("the second");
  writeFileSync(authority.certificate, next.pem);
  clock.skip(120_000);
  await eventually(() => Promise.resolve(assert.match(said, /the signer of certificates stays as it was/)));
  // The key does not match yet, so the old pair still signs.
  assert.equal(
    new X509Certificate(await readIssued(api, await ask(clientSigner, clientUsages))).issuer,
    "CN=the first",
  );
  writeFileSync(authority.key, readFileSync(next.key));
  clock.skip(120_000);
  await eventually(async () => {
    const certificate = new X509Certificate(await readIssued(api, await ask(clientSigner, clientUsages)));
    assert.equal(certificate.issuer, "CN=the second");
  });
  api.close();
  await server.close();
});

test("files of signers that cannot be used end the start with one line", async () => {
  const { certificate, key } = await authorityFiles("one");
  const other = await authorityFiles("other");
  const expectRefusal = async (settings: ServerSettings, message: RegExp): Promise<void> => {
    await assert.rejects(openServer("k8s.io", settings), (error: Error) => message.test(error.message));
  };
  await expectRefusal(
    { clusterSigningCertFile: certificate },
    /cert-file and --cluster-signing-key-file must be given together/,
  );
  await expectRefusal(
    { clusterSigningCertFile: certificate, clusterSigningKeyFile: other.key },
    /ca\.crt and .*ca\.key: no certificate \(PEM\) with its key$/,
  );
  await expectRefusal(
    {
      clusterSigningCertFile: certificate,
      clusterSigningKeyFile: key,
      clusterSigningKubeletClientCertFile: certificate,
      clusterSigningKubeletClientKeyFile: key,
    },
    /cannot be given together with those of one signer$/,
  );
  await expectRefusal({ rootCaFile: key }, /ca\.key: no certificate in it$/);
  await expectRefusal({ serviceAccountPrivateKeyFile: certificate }, /ca\.crt: /);
});

/** The machine's clock, whose timers can be brought forward. */
class SkippingClock implements Clock {
  #skippedMs = 0;
  readonly #timers = new Set<{ readonly at: number; run(): void }>();

  now(): number {
    return systemClock.now() + this.#skippedMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#skippedMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = {
      at: this.now() + delayMs,
      run: () => {
        cancel();
        this.#timers.delete(timer);
        callback();
      },
    };
    const cancel = systemClock.after(delayMs, timer.run);
    this.#timers.add(timer);
    return () => {
      cancel();
      this.#timers.delete(timer);
    };
  }

  skip(ms: number): void {
    this.#skippedMs += ms;
    for (const timer of Array.from(this.#timers)) if (timer.at <= this.now()) timer.run();
  }
}
