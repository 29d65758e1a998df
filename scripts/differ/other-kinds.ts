/** Valid objects of kinds that are neither pods nor workloads, for comparisons of random edits. */
import type { Random } from "#std/random.ts";
import { chance, maybe, pick, some, upTo } from "./choices.ts";
import { type ComparedKind, ofCluster, comparedKindWithoutSpec as kind, withStatus } from "./compared-kind.ts";
import type { Json } from "./servers.ts";
import { storageKinds } from "./storage-kinds.ts";

const selector = { matchLabels: { app: "a" } };
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const service = (random: Random): Json => ({
  ports: [
    { name: "http", port: 80, targetPort: "http" },
    ...some(random, 0.4, [{ name: "dns", port: 53, protocol: "UDP" }]),
  ],
  ...maybe(random, 0.7, () => ({ selector: { app: "a" } })),
  ...pick<Json>(random, [
    {},
    { clusterIP: "None" },
    { type: "NodePort", externalTrafficPolicy: "Local" },
    { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8"], allocateLoadBalancerNodePorts: false },
    { type: "LoadBalancer", loadBalancerClass: "example.com/lb", externalTrafficPolicy: "Local" },
    { type: "ExternalName", externalName: "a.example.com" },
    { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } },
    { externalIPs: ["192.0.2.1"], internalTrafficPolicy: "Local", publishNotReadyAddresses: true },
    { ipFamilyPolicy: "PreferDualStack", trafficDistribution: "PreferClose" },
  ]),
});

const pathTypes = ["Exact", "Prefix", "ImplementationSpecific"];
const backend = (random: Random): Json =>
  chance(random, 0.8)
    ? { service: { name: "web", port: pick<Json>(random, [{ number: 80 }, { name: "http" }]) } }
    : { resource: { apiGroup: "example.com", kind: "Bucket", name: "b" } };

const ingress = (random: Random): Json => ({
  ...maybe(random, 0.5, () => ({ ingressClassName: "nginx" })),
  ...maybe(random, 0.4, () => ({ defaultBackend: backend(random) })),
  ...maybe(random, 0.4, () => ({ tls: [{ hosts: ["a.example.com"], secretName: "tls" }] })),
  rules: [
    {
      host: pick(random, ["a.example.com", "*.example.com"]),
      http: { paths: [{ path: "/a", pathType: pick(random, pathTypes), backend: backend(random) }] },
    },
  ],
});

const peers: readonly Json[] = [
  { podSelector: selector },
  { namespaceSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
  { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
];
const policyPorts: readonly Json[] = [{ port: 80 }, { port: "http", protocol: "TCP" }, { port: 80, endPort: 90 }];

const networkPolicy = (random: Random): Json => ({
  podSelector: selector,
  policyTypes: pick(random, [["Ingress"], ["Ingress", "Egress"]]),
  ingress: [{ from: some(random, 0.5, peers), ports: some(random, 0.5, policyPorts) }],
  ...maybe(random, 0.4, () => ({ egress: [{ to: some(random, 0.5, peers) }] })),
});

const limits = (random: Random): Json => ({
  limits: [
    pick<Json>(random, [
      {
        type: "Container",
        default: { cpu: "1" },
        defaultRequest: { cpu: "500m" },
        max: { cpu: "2" },
        min: { cpu: "100m" },
      },
      { type: "Pod", max: { memory: "1Gi" }, maxLimitRequestRatio: { memory: "2" } },
      { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "2Gi" } },
    ]),
  ],
});

/** Scopes, which apply to pods only. */
const scopes: readonly Json[] = [
  {},
  { scopes: ["NotTerminating"] },
  { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }] } },
];
const quota = (random: Random): Json =>
  pick<Json>(random, [
    { hard: { pods: "10", "requests.cpu": "4", "limits.memory": "8Gi" }, ...pick(random, scopes) },
    { hard: { "count/deployments.apps": "5", "requests.nvidia.com/gpu": "1", services: "3" } },
    { hard: { "fast.storageclass.storage.k8s.io/requests.storage": "10Gi", persistentvolumeclaims: "2" } },
  ]);

const endpointSubset = (random: Random): Json => ({
  addresses: [{ ip: "10.1.2.3", nodeName: "n", targetRef: { kind: "Pod", name: "p", namespace: "default" } }],
  ...maybe(random, 0.4, () => ({ notReadyAddresses: [{ ip: "10.1.2.4", hostname: "web" }] })),
  ports: [{ name: "http", port: 80, protocol: "TCP" }, ...some(random, 0.4, [{ name: "x", port: 81 }])],
});

const endpointSlice = (random: Random): Json => ({
  addressType: pick(random, ["IPv4", "IPv4", "FQDN"]),
  endpoints: [
    {
      addresses: ["10.1.2.3"],
      conditions: { ready: true },
      ...maybe(random, 0.4, () => ({
        hostname: "web",
        nodeName: "n",
        zone: "a",
        hints: { forZones: [{ name: "a" }] },
      })),
    },
  ],
  ports: [
    { name: "http", port: 80, protocol: "TCP", ...maybe(random, 0.3, () => ({ appProtocol: "kubernetes.io/h2c" })) },
  ],
});

const rules = (random: Random): Json[] => [
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
  ...some(random, 0.4, [{ apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["a"], verbs: ["*"] }]),
];
const subjects = (random: Random): Json[] =>
  some<Json>(random, 0.7, [
    { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "jane" },
    { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "team" },
    { kind: "ServiceAccount", name: "robot", namespace: "default" },
  ]);

const distinguisher: readonly Json[] = [{ type: "ByUser" }, { type: "ByNamespace" }];
const flowRules: Json = {
  subjects: [{ kind: "Group", group: { name: "g" } }],
  resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/healthz"] }],
};

const webhook = (random: Random): Json => ({
  name: "a.example.com",
  clientConfig: pick<Json>(random, [
    { url: "https://hooks.example.com/a" },
    { service: { namespace: "n", name: "s", path: "/a", port: 443 } },
  ]),
  admissionReviewVersions: ["v1"],
  sideEffects: "None",
  rules: [
    {
      apiGroups: ["example.com"],
      apiVersions: ["v1"],
      operations: ["CREATE"],
      resources: ["things"],
      scope: "Namespaced",
    },
  ],
  ...maybe(random, 0.4, () => ({ timeoutSeconds: 5, failurePolicy: "Ignore", matchPolicy: "Exact" })),
  ...maybe(random, 0.3, () => ({ namespaceSelector: selector, objectSelector: selector })),
});

/** A PKCS #10 request for O=group, CN=user. */
const certificateRequest =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0JBZ0VBTUI4eERqQU1CZ05WQkFvTUJXZHliM1Z3TVEwd0N3WURWUVFEREFSMWMyVnlNRmt3RXdZSApLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFbGhuaFZFVmJkU0VsUGV4V3pKdm9DeFF0SnUyMGllWGpwNlQvCkptV0NMb0hhNWRTTVhuUTRsNlpaR3JLd2JiZWU3cHZ2Mi9DdEMxZFhBS2FqNVQ0cGlxQUFNQW9HQ0NxR1NNNDkKQkFNQ0EwY0FNRVFDSUhVd2Y4bWdoM1Zvb01zampOYUdMM2VONGxjRVBYTWY4WmozUjN4bWZDSmRBaUJGR2k4ZApLY3RjalRJSXdTYS93REE4UUxFcmd6MnB3eXJpTlMwWWh5eU5SZz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

const secret = (random: Random): Json =>
  pick<Json>(random, [
    { type: "Opaque", data: { a: base64("1") } },
    { data: { a: base64("1") }, immutable: true },
    { type: "kubernetes.io/basic-auth", data: { username: base64("u"), password: base64("p") } },
    { type: "kubernetes.io/tls", data: { "tls.crt": base64("c"), "tls.key": base64("k") } },
    { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64('{"auths":{}}') } },
    { type: "kubernetes.io/ssh-auth", data: { "ssh-privatekey": base64("k") } },
  ]);

const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
const definition = (random: Random): Json => ({
  group: "differ.example.com",
  scope: pick(random, ["Namespaced", "Cluster"]),
  names: { ...names, ...maybe(random, 0.4, () => ({ shortNames: ["th"], categories: ["all"] })) },
  versions: [
    {
      name: "v1",
      served: true,
      storage: true,
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: { spec: { type: "object", properties: { a: { type: "string" } } } },
        },
      },
      ...maybe(random, 0.4, () => ({ subresources: { status: {} } })),
      ...maybe(random, 0.4, () => ({
        additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.a", priority: 1 }],
      })),
    },
  ],
});

/** Returns the kind with another name of its objects, which the rules of the kind require. */
const withName = (of: ComparedKind, name: string): ComparedKind => ({
  ...of,
  make: (random) => ({ ...of.make(random), metadata: { name } }),
});

export const otherKinds: readonly ComparedKind[] = [
  ...storageKinds,
  kind("", "v1", "Service", "services", (random) => ({ spec: service(random) }), withStatus),
  kind("", "v1", "Endpoints", "endpoints", (random) => ({ subsets: [endpointSubset(random)] })),
  kind("", "v1", "ConfigMap", "configmaps", (random) => ({
    data: { a: "1" },
    ...maybe(random, 0.4, () => ({ binaryData: { b: base64("x") } })),
    ...maybe(random, 0.2, () => ({ immutable: true })),
  })),
  kind("", "v1", "Secret", "secrets", secret),
  kind("", "v1", "ServiceAccount", "serviceaccounts", () => ({
    secrets: [{ name: "s" }],
    imagePullSecrets: [{ name: "p" }],
    automountServiceAccountToken: false,
  })),
  kind("", "v1", "LimitRange", "limitranges", (random) => ({ spec: limits(random) })),
  kind("", "v1", "ResourceQuota", "resourcequotas", (random) => ({ spec: quota(random) }), withStatus),
  kind(
    "",
    "v1",
    "Node",
    "nodes",
    (random) => ({
      spec: {
        ...maybe(random, 0.5, () => ({ podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"] })),
        ...maybe(random, 0.5, () => ({
          taints: [{ key: "k", value: "v", effect: "NoSchedule" }],
          unschedulable: true,
        })),
      },
    }),
    { ...withStatus, ...ofCluster },
  ),
  kind("", "v1", "Event", "events", () => ({
    involvedObject: { kind: "Node", name: "n" },
    reason: "R",
    message: "m",
    type: "Normal",
    count: 1,
    source: { component: "c" },
  })),
  kind("events.k8s.io", "v1", "Event", "events", () => ({
    eventTime: "2024-01-02T03:04:05.000000Z",
    reportingController: "example.com/c",
    reportingInstance: "c-1",
    action: "Do",
    reason: "R",
    regarding: { kind: "Node", name: "n" },
    note: "n",
    type: "Normal",
  })),
  kind("networking.k8s.io", "v1", "Ingress", "ingresses", (random) => ({ spec: ingress(random) }), withStatus),
  kind(
    "networking.k8s.io",
    "v1",
    "IngressClass",
    "ingressclasses",
    (random) => ({
      spec: {
        controller: "example.com/c",
        ...maybe(random, 0.6, () => ({
          parameters: pick<Json>(random, [
            { kind: "P", name: "p" },
            { apiGroup: "example.com", kind: "P", name: "p", scope: "Namespace", namespace: "n" },
          ]),
        })),
      },
    }),
    ofCluster,
  ),
  kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", (random) => ({ spec: networkPolicy(random) })),
  kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", endpointSlice),
  kind(
    "policy",
    "v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    (random) => ({
      spec: {
        selector,
        ...pick<Json>(random, [{ minAvailable: 1 }, { maxUnavailable: "20%" }]),
        ...maybe(random, 0.4, () => ({ unhealthyPodEvictionPolicy: "AlwaysAllow" })),
      },
    }),
    withStatus,
  ),
  kind(
    "scheduling.k8s.io",
    "v1",
    "PriorityClass",
    "priorityclasses",
    (random) => ({ value: 5, description: "d", ...maybe(random, 0.5, () => ({ preemptionPolicy: "Never" })) }),
    ofCluster,
  ),
  kind(
    "node.k8s.io",
    "v1",
    "RuntimeClass",
    "runtimeclasses",
    (random) => ({
      handler: "runc",
      ...maybe(random, 0.5, () => ({ overhead: { podFixed: { cpu: "100m" } } })),
      ...maybe(random, 0.5, () => ({
        scheduling: { nodeSelector: { a: "b" }, tolerations: [{ key: "k", operator: "Exists" }] },
      })),
    }),
    ofCluster,
  ),
  kind("coordination.k8s.io", "v1", "Lease", "leases", () => ({
    spec: {
      holderIdentity: "h",
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
      renewTime: "2024-01-02T03:04:05.000000Z",
    },
  })),
  kind("rbac.authorization.k8s.io", "v1", "Role", "roles", (random) => ({ rules: rules(random) })),
  kind(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRole",
    "clusterroles",
    (random) => ({
      rules: [...rules(random), ...some(random, 0.5, [{ nonResourceURLs: ["/healthz"], verbs: ["get"] }])],
      ...maybe(random, 0.3, () => ({ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { x: "y" } }] } })),
    }),
    ofCluster,
  ),
  kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", (random) => ({
    subjects: subjects(random),
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: pick(random, ["Role", "ClusterRole"]), name: "r" },
  })),
  kind(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    (random) => ({
      subjects: subjects(random),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" },
    }),
    ofCluster,
  ),
  kind(
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    () => ({
      spec: {
        request: certificateRequest,
        signerName: "example.com/signer",
        usages: ["digital signature", "client auth"],
        expirationSeconds: 3600,
      },
    }),
    { subresources: { status: "status", approval: "status" }, ...ofCluster },
  ),
  kind(
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "FlowSchema",
    "flowschemas",
    (random) => ({
      spec: {
        priorityLevelConfiguration: { name: "workload-low" },
        matchingPrecedence: 500 + upTo(random, 5),
        ...maybe(random, 0.6, () => ({ distinguisherMethod: pick(random, distinguisher) })),
        rules: [flowRules],
      },
    }),
    { ...withStatus, ...ofCluster, hasServerStatus: true },
  ),
  kind(
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    (random) => ({
      spec: pick<Json>(random, [
        { type: "Limited", limited: { nominalConcurrencyShares: 5, limitResponse: { type: "Reject" } } },
        {
          type: "Limited",
          limited: {
            lendablePercent: 50,
            borrowingLimitPercent: 20,
            limitResponse: { type: "Queue", queuing: { queues: 8, handSize: 2, queueLengthLimit: 5 } },
          },
        },
      ]),
    }),
    { ...withStatus, ...ofCluster },
  ),
  ...["Validating", "Mutating"].map((which) =>
    kind(
      "admissionregistration.k8s.io",
      "v1",
      `${which}WebhookConfiguration`,
      `${which.toLowerCase()}webhookconfigurations`,
      (random) => ({
        webhooks: [
          {
            ...webhook(random),
            ...(which === "Mutating" && maybe(random, 0.3, () => ({ reinvocationPolicy: "IfNeeded" }))),
          },
        ],
      }),
      ofCluster,
    ),
  ),
  withName(
    kind(
      "apiregistration.k8s.io",
      "v1",
      "APIService",
      "apiservices",
      (random) => ({
        spec: {
          group: "differ.example.com",
          version: "v9",
          groupPriorityMinimum: 100,
          versionPriority: 10,
          service: { namespace: "n", name: "s", port: 443 },
          ...(chance(random, 0.5) ? { insecureSkipTLSVerify: true } : { caBundle: base64("x") }),
        },
      }),
      { ...withStatus, ...ofCluster, hasServerStatus: true },
    ),
    "v9.differ.example.com",
  ),
  withName(
    kind(
      "apiextensions.k8s.io",
      "v1",
      "CustomResourceDefinition",
      "customresourcedefinitions",
      (random) => ({ spec: definition(random) }),
      { ...withStatus, ...ofCluster, hasServerStatus: true },
    ),
    "things.differ.example.com",
  ),
  kind("apps", "v1", "ControllerRevision", "controllerrevisions", () => ({ data: { a: 1 }, revision: 1 })),
];
