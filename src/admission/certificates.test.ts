/** The certificate plugins: permission to approve, sign and attest, and refused subjects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { objectMaker } from "#api/objects-for-tests.ts";
import type { Attributes } from "#authz/authorizer.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
  type SignerOptions,
} from "./certificates.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./plugin.ts";

const group = "certificates.k8s.io";
const make = objectMaker();
const csr = (signerName: string, status: object = {}, more: object = {}): ApiObject =>
  make("certificates.k8s.io/v1", "CertificateSigningRequest", {
    metadata: { name: "r" },
    spec: { signerName, ...more },
    status,
  });
const requestAttributes = {
  resource: { group, version: "v1", resource: "certificatesigningrequests" },
  kind: { group, version: "v1", kind: "CertificateSigningRequest" },
  namespace: "",
  operation: "UPDATE",
} as const;

/** Allows one verb on one name, at once or later. */
function allowing(verb: string, name: string, late: boolean): { options: SignerOptions; questions: Attributes[] } {
  const questions: Attributes[] = [];
  const authorize = (attributes: Attributes) => {
    questions.push(attributes);
    const isAllowed = attributes.verb === verb && attributes.name === name;
    const verdict = { decision: isAllowed ? "allow" : "noOpinion", reason: "" } as const;
    return late ? Promise.resolve(verdict) : verdict;
  };
  return { options: { domain: kubernetesDomain, authorizer: { authorize } }, questions };
}

async function messageOf(plugin: AdmissionPlugin, attributes: AdmissionAttributes): Promise<string> {
  try {
    await plugin.validate!(attributes);
  } catch (error) {
    assert.ok(error instanceof StatusError && error.status.code === 403);
    return error.message;
  }
  return "";
}

const approvalOf = (signerName: string): AdmissionAttributes =>
  attributesOf(csr(signerName), { ...requestAttributes, subresource: "approval", oldObject: csr(signerName) });

test("approving takes the right to approve for the signer or all of its domain [RBAC-17]", async () => {
  const refused =
    'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to approve requests with signerName "example.com/s"';
  for (const late of [false, true]) {
    for (const [name, expected] of [
      ["example.com/s", ""],
      ["example.com/*", ""],
      ["example.com/t", refused],
      ["*", refused],
    ] as const) {
      const { options, questions } = allowing("approve", name, late);
      assert.equal(await messageOf(certificateApproval(options), approvalOf("example.com/s")), expected);
      const { verb, group: ofGroup, version, resource, isResourceRequest } = questions[0]!;
      assert.deepEqual(
        { verb, ofGroup, version, resource, isResourceRequest },
        { verb: "approve", ofGroup: group, version: "*", resource: "signers", isResourceRequest: true },
      );
    }
    const { options } = allowing("sign", "example.com/s", late);
    assert.equal(await messageOf(certificateApproval(options), approvalOf("example.com/s")), refused);
  }
});

test("the signer that was asked for counts, not the one in the body", async () => {
  const { options } = allowing("approve", "mine.example/s", false);
  const attributes = { ...approvalOf("mine.example/s"), oldObject: csr("other.example/s") };
  assert.match(await messageOf(certificateApproval(options), attributes), /"other\.example\/s"$/);
});

test("signing takes the right to sign, and only when the result changes", async () => {
  const old = csr("example.com/s", { conditions: [{ type: "Approved" }] });
  const write = (status: object): AdmissionAttributes =>
    attributesOf(csr("example.com/s", status), { ...requestAttributes, subresource: "status", oldObject: old });
  const refused =
    'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to sign requests with signerName "example.com/s"';
  for (const late of [false, true]) {
    const plugin = certificateSigning(allowing("approve", "example.com/s", late).options);
    assert.equal(await messageOf(plugin, write({ conditions: [{ type: "Approved" }] })), "");
    assert.equal(await messageOf(plugin, write({ conditions: [{ type: "Approved" }], certificate: "AAAA" })), refused);
    assert.equal(await messageOf(plugin, write({ conditions: [{ type: "Failed" }] })), refused);
    const allowed = certificateSigning(allowing("sign", "example.com/*", late).options);
    assert.equal(await messageOf(allowed, write({ certificate: "AAAA" })), "");
  }
});

test("the client signer is not asked for administrators", async () => {
  const request = (organization: string): string =>
    ({
      "system:masters":
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaU1JR0pBZ0VBTUNjeEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRwdFlYTjBaWEp6TVF3d0NnWURWUVFEREFObApkbVV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVNRNXdpQ0NRMEw1aEpqYVI0bFY5MlRuT3pOCkRDUWV5d1BqVitzZzBnTks0VlNpVldCdTRtcDF5ZU9hbmZWTTIyQks1aHc2R3d6Z0V4SGxwT1BqMlN5bm9BQXcKQ2dZSUtvWkl6ajBFQXdJRFNBQXdSUUloQVA3UDJnY0ZJRUs0QXBDTGRaYWRJcVNDTmN2RUQ0K2h0eWsxRWw1dwo5WXRaQWlBNEtndHFvRWsxanRXNjgzK1RmOXVoNFhxSTJrRm4rWjdOVStxOG5RMWVLQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=",
      builders:
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZE1JR0ZBZ0VBTUNNeEVUQVBCZ05WQkFvTUNHSjFhV3hrWlhKek1RNHdEQVlEVlFRRERBVnliMkp2ZERCWgpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQUJBVkkxNEZScjBTbm1wbWUwQW9ZZU4zVkwrNFRXSUhrCmw3NTZzcEFmS1NwUW5PNTVRK3FIQXFuS0NGVVRBU3BDbDl6L0JlN1pQMkJOeEN6UjBKN1V4VTJnQURBS0JnZ3EKaGtqT1BRUURBZ05IQURCRUFpQUZ1VXZ5SThsZFBMWm9NbVFMZUlDVEZnaWlUdXBaTStESEFyZGJtbzV3OXdJZwpZTmRHblY3R05vNExjRU9DNG9RMHJORHlXQUM1cTk5RkhoVXYxNFRyeVNRPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K",
    })[organization] ?? "";
  const create = { ...requestAttributes, operation: "CREATE" } as const;
  for (const [domain, signer] of [
    [kubernetesDomain, "kubernetes.io/kube-apiserver-client"],
    [apiDomain("platform.io"), "platform.io/kube-apiserver-client"],
  ] as const) {
    const attributes = { ...create, resource: { ...create.resource, group: domain.rename(group) } };
    const plugin = certificateSubjectRestriction({ domain });
    const refuseFor = (organization: string, signerName: string) =>
      messageOf(plugin, attributesOf(csr(signerName, {}, { request: request(organization) }), attributes));
    assert.equal(await refuseFor("builders", signer), "");
    assert.equal(
      await refuseFor("system:masters", signer),
      `certificatesigningrequests.${domain.rename(group)} "r" is forbidden: use of ${signer} signer with system:masters group is not allowed`,
    );
    assert.match(await refuseFor("nobody", signer), /forbidden: failed to parse CSR: PEM block type/);
    assert.equal(await refuseFor("system:masters", "example.com/s"), "");
  }
});

test("attesting a trust bundle takes the right to attest for its signer", async () => {
  const bundle = (signerName?: string) =>
    attributesOf(
      make("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", {
        metadata: { name: "b" },
        spec: signerName === undefined ? {} : { signerName },
      }),
      {
        ...requestAttributes,
        operation: "CREATE",
        resource: { group, version: "v1alpha1", resource: "clustertrustbundles" },
      },
    );
  const plugin = clusterTrustBundleAttest(allowing("attest", "example.com/s", false).options);
  assert.equal(await messageOf(plugin, bundle()), "");
  assert.equal(await messageOf(plugin, bundle("example.com/s")), "");
  assert.equal(
    await messageOf(plugin, bundle("example.com/t")),
    'clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to attest for signerName "example.com/t"',
  );
});
