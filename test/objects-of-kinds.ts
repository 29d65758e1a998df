/** A small object of each of many kinds. */

const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "example.com/c:1" }], restartPolicy: "Always" },
};
const selector = { matchLabels: { app: "a" } };
const job = { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } };
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "a" };

/** The collection of each kind, and the fields of an object beside its metadata. */
export const objectsOfKinds: readonly (readonly [path: string, fields: object])[] = [
  ["/api/v1/namespaces/default/configmaps", { data: { a: "b" } }],
  ["/api/v1/namespaces/default/secrets", { type: "Opaque" }],
  ["/api/v1/namespaces/default/services", { spec: { ports: [{ port: 80 }], selector: { app: "a" } } }],
  ["/api/v1/namespaces/default/pods", { spec: template.spec }],
  ["/api/v1/namespaces/default/serviceaccounts", {}],
  ["/api/v1/namespaces/default/limitranges", { spec: { limits: [{ type: "Pod", max: { cpu: "1" } }] } }],
  ["/api/v1/nodes", {}],
  ["/apis/apps/v1/namespaces/default/deployments", { spec: { selector, template } }],
  ["/apis/apps/v1/namespaces/default/statefulsets", { spec: { selector, template, serviceName: "a" } }],
  ["/apis/apps/v1/namespaces/default/daemonsets", { spec: { selector, template } }],
  ["/apis/apps/v1/namespaces/default/replicasets", { spec: { selector, template } }],
  ["/apis/batch/v1/namespaces/default/jobs", { spec: job }],
  ["/apis/batch/v1/namespaces/default/cronjobs", { spec: { schedule: "0 0 * * *", jobTemplate: { spec: job } } }],
  [
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    { spec: { scaleTargetRef: target, maxReplicas: 3 } },
  ],
  ["/apis/policy/v1/namespaces/default/poddisruptionbudgets", { spec: { minAvailable: 1, selector } }],
  [
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    { spec: { defaultBackend: { service: { name: "a", port: { number: 80 } } } } },
  ],
  ["/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", { spec: { podSelector: {} } }],
  [
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" } },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "a" } },
  ],
  ["/apis/storage.k8s.io/v1/storageclasses", { provisioner: "example.com/p" }],
  ["/apis/scheduling.k8s.io/v1/priorityclasses", { value: 7 }],
  ["/apis/coordination.k8s.io/v1/namespaces/default/leases", { spec: { holderIdentity: "me" } }],
];
