/**
 * Definitions of a certificate manager: two groups, issuers with one shape in two scopes, deep solver configuration.
 */
import { definitionOf, type OperatorSet, thing, type VersionFields } from "./operator-set.ts";
import { affinity, tolerations } from "./pod.ts";
import {
  anything,
  atomicList,
  conditions,
  described,
  flag,
  int32,
  integer,
  keySelector,
  list,
  mapOf,
  object,
  oneOf,
  text,
  time,
} from "./schema.ts";

const group = "certificates.example.com";
const orders = "acme.certificates.example.com";
const words = 14;

const issuerRef = object({ group: text(), kind: text(), name: text() }, ["name"]);
const keyRef = object({ name: text(), key: text() }, ["name"]);
const usages = list(
  oneOf(
    "signing",
    "digital signature",
    "content commitment",
    "key encipherment",
    "key agreement",
    "data encipherment",
    "cert sign",
    "crl sign",
    "server auth",
    "client auth",
    "code signing",
    "any",
  ),
);

const privateKey = object({
  algorithm: oneOf("RSA", "ECDSA", "Ed25519"),
  encoding: oneOf("PKCS1", "PKCS8"),
  rotationPolicy: oneOf("Never", "Always"),
  size: integer(),
});

const certificateSpec = object(
  {
    additionalOutputFormats: list(object({ type: oneOf("DER", "CombinedPEM") }, ["type"])),
    commonName: text(),
    dnsNames: list(text()),
    duration: text(),
    emailAddresses: list(text()),
    encodeUsagesInRequest: flag(),
    ipAddresses: list(text()),
    isCA: flag(),
    issuerRef,
    keystores: object({
      jks: object({ alias: text(), create: flag(), passwordSecretRef: keyRef }, ["create", "passwordSecretRef"]),
      pkcs12: object(
        { create: flag(), passwordSecretRef: keyRef, profile: oneOf("LegacyRC2", "LegacyDES", "Modern2023") },
        ["create", "passwordSecretRef"],
      ),
    }),
    literalSubject: text(),
    nameConstraints: object({
      critical: flag(),
      excluded: object({ dnsDomains: list(text()), ipRanges: list(text()) }),
      permitted: object({ dnsDomains: list(text()), ipRanges: list(text()) }),
    }),
    otherNames: list(object({ oid: text(), utf8Value: text() })),
    privateKey,
    renewBefore: text(),
    renewBeforePercentage: int32(),
    revisionHistoryLimit: int32(),
    secretName: text(),
    secretTemplate: object({ annotations: mapOf(text()), labels: mapOf(text()) }),
    subject: object({
      countries: list(text()),
      localities: list(text()),
      organizationalUnits: list(text()),
      organizations: list(text()),
      serialNumber: text(),
    }),
    uris: list(text()),
    usages,
  },
  ["issuerRef", "secretName"],
);

const certificateStatus = object({
  conditions,
  failedIssuanceAttempts: integer(),
  lastFailureTime: time,
  nextPrivateKeySecretName: text(),
  notAfter: time,
  notBefore: time,
  renewalTime: time,
  revision: integer(),
});

const certificate = (spec: object, name = "v1"): VersionFields => ({
  name,
  storage: true,
  spec: described(spec as typeof certificateSpec, words),
  status: described(certificateStatus, words),
  columns: [
    ["Ready", '.status.conditions[?(@.type=="Ready")].status'],
    ["Secret", ".spec.secretName"],
    ["Issuer", ".spec.issuerRef.name", "string", 1],
  ],
  selectable: [".spec.secretName", ".spec.issuerRef.name"],
});

const dns01 = object({
  akamai: object({ accessTokenSecretRef: keyRef, clientSecretSecretRef: keyRef, serviceConsumerDomain: text() }, [
    "accessTokenSecretRef",
    "serviceConsumerDomain",
  ]),
  cloudDNS: object({ hostedZoneName: text(), project: text(), serviceAccountSecretRef: keyRef }, ["project"]),
  cloudflare: object({ apiKeySecretRef: keyRef, apiTokenSecretRef: keyRef, email: text() }),
  cnameStrategy: oneOf("None", "Follow"),
  digitalocean: object({ tokenSecretRef: keyRef }, ["tokenSecretRef"]),
  rfc2136: object(
    {
      nameserver: text(),
      protocol: oneOf("TCP", "UDP"),
      tsigAlgorithm: text(),
      tsigKeyName: text(),
      tsigSecretSecretRef: keyRef,
    },
    ["nameserver"],
  ),
  route53: object({
    accessKeyID: text(),
    accessKeyIDSecretRef: keyRef,
    auth: object({
      kubernetes: object({ serviceAccountRef: object({ audiences: list(text()), name: text() }, ["name"]) }, [
        "serviceAccountRef",
      ]),
    }),
    hostedZoneID: text(),
    region: text(),
    role: text(),
  }),
  webhook: object({ config: anything, groupName: text(), solverName: text() }, ["groupName", "solverName"]),
});
const podTemplate = object({
  metadata: object({ annotations: mapOf(text()), labels: mapOf(text()) }),
  spec: object({
    affinity,
    imagePullSecrets: list(object({ name: text({ default: "" }) }), {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    }),
    nodeSelector: mapOf(text()),
    priorityClassName: text(),
    serviceAccountName: text(),
    tolerations,
  }),
});
const http01 = object({
  ingress: object({ class: text(), ingressClassName: text(), name: text(), podTemplate, serviceType: text() }),
  gatewayHTTPRoute: object({
    labels: mapOf(text()),
    parentRefs: list(
      object(
        {
          group: text({ default: "gateways.example.com", maxLength: 253 }),
          kind: text({ default: "Gateway", minLength: 1, maxLength: 63 }),
          name: text({ minLength: 1 }),
          port: int32({ minimum: 1, maximum: 65_535 }),
        },
        ["name"],
      ),
    ),
    podTemplate,
  }),
});
const solver = object({
  dns01,
  http01,
  selector: object({ dnsNames: list(text()), dnsZones: list(text()), matchLabels: mapOf(text()) }),
});
const issuerSpec = object({
  acme: object(
    {
      caBundle: text({ format: "byte" }),
      disableAccountKeyGeneration: flag(),
      email: text(),
      externalAccountBinding: object(
        { keyAlgorithm: oneOf("HS256", "HS384", "HS512"), keyID: text(), keySecretRef: keyRef },
        ["keyID", "keySecretRef"],
      ),
      preferredChain: text({ maxLength: 64 }),
      privateKeySecretRef: keyRef,
      server: text(),
      skipTLSVerify: flag(),
      solvers: list(solver),
    },
    ["privateKeySecretRef", "server"],
  ),
  ca: object({ crlDistributionPoints: list(text()), issuingCertificateURLs: list(text()), secretName: text() }, [
    "secretName",
  ]),
  selfSigned: object({ crlDistributionPoints: list(text()) }),
  vault: object(
    {
      auth: object({
        appRole: object({ path: text(), roleId: text(), secretRef: keyRef }, ["path", "roleId", "secretRef"]),
        kubernetes: object({ mountPath: text(), role: text(), secretRef: keyRef }, ["role"]),
        tokenSecretRef: keyRef,
      }),
      caBundle: text({ format: "byte" }),
      caBundleSecretRef: keySelector,
      namespace: text(),
      path: text(),
      server: text(),
    },
    ["auth", "path", "server"],
  ),
});

const issuer = (kind: string, plural: string, scope: "Cluster" | "Namespaced") =>
  definitionOf({
    group,
    kind,
    plural,
    scope,
    categories: ["certificates"],
    versions: [
      {
        name: "v1",
        storage: true,
        spec: described(issuerSpec, words),
        columns: [["Ready", '.status.conditions[?(@.type=="Ready")].status']],
      },
    ],
  });

const current = certificate(certificateSpec);

export const certificates: OperatorSet = {
  title: "certificates",
  definitions: [
    definitionOf({
      group,
      kind: "Certificate",
      plural: "certificates",
      shortNames: ["cert", "certs"],
      categories: ["certificates"],
      versions: [current],
    }),
    issuer("Issuer", "issuers", "Namespaced"),
    issuer("ClusterIssuer", "clusterissuers", "Cluster"),
    definitionOf({
      group,
      kind: "CertificateRequest",
      plural: "certificaterequests",
      shortNames: ["cr", "crs"],
      categories: ["certificates"],
      versions: [
        {
          name: "v1",
          storage: true,
          spec: described(
            object(
              {
                duration: text(),
                extra: mapOf(list(text())),
                groups: atomicList(text()),
                isCA: flag(),
                issuerRef,
                request: text({ format: "byte" }),
                uid: text(),
                usages,
                username: text(),
              },
              ["issuerRef", "request"],
            ),
            words,
          ),
          status: object({
            ca: text({ format: "byte" }),
            certificate: text({ format: "byte" }),
            conditions,
            failureTime: time,
          }),
        },
      ],
    }),
    definitionOf({
      group: orders,
      kind: "Order",
      plural: "orders",
      versions: [
        {
          name: "v1",
          storage: true,
          spec: object(
            {
              commonName: text(),
              dnsNames: list(text()),
              duration: text(),
              issuerRef,
              request: text({ format: "byte" }),
            },
            ["issuerRef", "request"],
          ),
          status: object({
            authorizations: list(
              object(
                {
                  challenges: list(object({ token: text(), type: text(), url: text() }, ["token", "type", "url"])),
                  identifier: text(),
                  initialState: oneOf("valid", "ready", "pending", "processing", "invalid", "expired", "errored"),
                  url: text(),
                  wildcard: flag(),
                },
                ["url"],
              ),
            ),
            failureTime: time,
            reason: text(),
            state: oneOf("valid", "ready", "pending", "processing", "invalid", "expired", "errored"),
          }),
        },
      ],
    }),
    definitionOf({
      group: orders,
      kind: "Challenge",
      plural: "challenges",
      versions: [
        {
          name: "v1",
          storage: true,
          spec: described(
            object(
              {
                authorizationURL: text(),
                dnsName: text(),
                issuerRef,
                key: text(),
                solver,
                token: text(),
                type: oneOf("HTTP-01", "DNS-01"),
                wildcard: flag(),
              },
              ["authorizationURL", "dnsName", "issuerRef", "key", "solver", "token", "type"],
            ),
            words,
          ),
          status: object({ presented: flag(), processing: flag(), reason: text(), state: text() }),
        },
      ],
    }),
  ],
  accepted: [
    {
      object: thing(`${group}/v1`, "Certificate", "site", {
        spec: {
          secretName: "site-tls",
          dnsNames: ["example.com", "www.example.com"],
          issuerRef: { name: "shared", kind: "ClusterIssuer" },
          privateKey: { algorithm: "ECDSA", size: 256 },
          usages: ["server auth", "digital signature"],
          keystores: { jks: { create: true, passwordSecretRef: { name: "p", key: "k" } } },
        },
      }),
      shows: { "spec.privateKey": { algorithm: "ECDSA", size: 256 }, "metadata.generation": 1 },
    },
    {
      object: thing(`${group}/v1`, "ClusterIssuer", "shared", {
        spec: {
          acme: {
            server: "https://acme.example.com/directory",
            privateKeySecretRef: { name: "account" },
            solvers: [
              {
                http01: {
                  gatewayHTTPRoute: {
                    parentRefs: [{ name: "front" }],
                    podTemplate: { spec: { imagePullSecrets: [{}] } },
                  },
                },
              },
              { dns01: { webhook: { groupName: "g", solverName: "s", config: { any: [1, { thing: true }] } } } },
            ],
          },
        },
      }),
      shows: {
        "spec.acme.solvers.0.http01.gatewayHTTPRoute.parentRefs.0": {
          group: "gateways.example.com",
          kind: "Gateway",
          name: "front",
        },
        "spec.acme.solvers.0.http01.gatewayHTTPRoute.podTemplate.spec.imagePullSecrets": [{ name: "" }],
        "spec.acme.solvers.1.dns01.webhook.config": { any: [1, { thing: true }] },
      },
    },
    {
      object: thing(`${orders}/v1`, "Order", "first", {
        spec: { issuerRef: { name: "shared" }, request: "aGVsbG8=", dnsNames: ["example.com"] },
      }),
    },
  ],
  refused: [
    {
      object: thing(`${group}/v1`, "Certificate", "bad", {
        spec: { dnsNames: ["a", 5], issuerRef: { kind: "Issuer" }, privateKey: { algorithm: "DSA" }, isCA: "yes" },
      }),
      causes: [
        'spec.dnsNames[1]: Invalid value: "integer": spec.dnsNames[1] in body must be of type string: "integer"',
        'spec.isCA: Invalid value: "string": spec.isCA in body must be of type boolean: "string"',
        "spec.issuerRef.name: Required value",
        'spec.privateKey.algorithm: Unsupported value: "DSA": supported values: "RSA", "ECDSA", "Ed25519"',
        "spec.secretName: Required value",
      ],
    },
    {
      object: thing(`${group}/v1`, "Issuer", "bad", {
        spec: {
          acme: {
            server: "s",
            privateKeySecretRef: { name: "a" },
            solvers: [{ http01: { gatewayHTTPRoute: { parentRefs: [{ name: "", port: 70_000 }] } } }],
          },
        },
      }),
      causes: [
        'spec.acme.solvers[0].http01.gatewayHTTPRoute.parentRefs[0].name: Invalid value: "": spec.acme.solvers[0].http01.gatewayHTTPRoute.parentRefs[0].name in body should be at least 1 chars long',
        "spec.acme.solvers[0].http01.gatewayHTTPRoute.parentRefs[0].port: Invalid value: 70000: spec.acme.solvers[0].http01.gatewayHTTPRoute.parentRefs[0].port in body should be less than or equal to 65535",
      ],
    },
  ],
  unknown: {
    fields: { spec: { issuer: "x", privateKey: { bits: 1 } } },
    named: ["spec.issuer", "spec.privateKey.bits"],
  },
  shared: {
    first: thing(`${group}/v1`, "Certificate", "shared", {
      spec: { secretName: "shared-tls", issuerRef: { name: "shared" }, dnsNames: ["a.example.com"], duration: "24h" },
    }),
    second: thing(`${group}/v1`, "Certificate", "shared", {
      spec: { secretTemplate: { labels: { team: "web" } }, issuerRef: { kind: "ClusterIssuer" } },
    }),
    merged: {
      "spec.issuerRef": { kind: "ClusterIssuer", name: "shared" },
      "spec.secretTemplate.labels": { team: "web" },
      "spec.duration": "24h",
    },
    disputed: thing(`${group}/v1`, "Certificate", "shared", { spec: { duration: "48h", dnsNames: ["b.example.com"] } }),
    disputedFields: [".spec.dnsNames", ".spec.duration"],
    settled: { "spec.duration": "48h", "spec.dnsNames": ["b.example.com"], "spec.secretTemplate": undefined },
  },
  upgrade: {
    kind: "Certificate",
    versions: [
      { ...certificate({ ...certificateSpec, properties: withProfile() }), storage: false },
      { ...certificate({ ...certificateSpec, properties: withProfile() }, "v2"), storage: true },
    ],
    stored: "v2",
    storedVersions: ["v1", "v2"],
    old: "site",
    shows: { "spec.profile": { name: "default", checks: ["chain"] }, "spec.secretName": "site-tls" },
    fresh: thing(`${group}/v2`, "Certificate", "fresh", {
      spec: { secretName: "f", issuerRef: { name: "i" }, profile: { name: "strict" } },
    }),
    olderVersion: "v1",
    freshInOlder: { apiVersion: `${group}/v1`, "spec.profile": { name: "strict", checks: ["chain"] } },
  },
  explained: [
    {
      groupVersion: `${group}/v1`,
      schema: "com.example.certificates.v1.Certificate",
      shows: {
        type: "object",
        "x-kubernetes-group-version-kind": [{ group, kind: "Certificate", version: "v1" }],
        "properties.metadata.allOf.0.$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "properties.spec.required": ["issuerRef", "secretName"],
        "properties.spec.properties.privateKey.properties.algorithm.enum": ["RSA", "ECDSA", "Ed25519"],
        "properties.spec.properties.dnsNames.description": /^At dnsNames: /,
        "properties.status.properties.conditions.x-kubernetes-list-map-keys": ["type"],
      },
    },
    {
      groupVersion: `${orders}/v1`,
      schema: "com.example.certificates.acme.v1.Challenge",
      shows: {
        "properties.spec.properties.solver.properties.dns01.properties.webhook.properties.config.x-kubernetes-preserve-unknown-fields": true,
      },
    },
  ],
};

function withProfile() {
  const profile = object({ name: text({ default: "default" }), checks: list(text(), { default: ["chain"] }) }, [], {
    default: {},
  });
  return { ...(certificateSpec["properties"] as object), profile };
}
