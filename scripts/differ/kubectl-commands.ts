/**
 * The commands of `npm run differ -- --kubectl`, in their order. `RUN` stands for the name of the run, which is also that of
 * its namespace; objects of the cluster begin with it.
 */

export interface KubectlCommand {
  /** The arguments, separated by spaces; `'…'` holds one argument together. */
  readonly args: string;
  /** The standard input: objects. */
  readonly input?: readonly object[];
}

const meta = (name: string, labels: Readonly<Record<string, string>> = { app: name }): object => ({ name, labels });
const container = {
  name: "main",
  image: "registry.test/main:1",
  command: ["serve", "--port", "80"],
  ports: [{ name: "http", containerPort: 80, protocol: "TCP" }],
  env: [
    { name: "PLAIN", value: "1" },
    { name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
    { name: "MAP", valueFrom: { configMapKeyRef: { name: "m", key: "k", optional: true } } },
    { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
  ],
  envFrom: [{ configMapRef: { name: "m" } }],
  resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
  livenessProbe: { httpGet: { path: "/live", port: "http" }, initialDelaySeconds: 3 },
  readinessProbe: { exec: { command: ["true"] } },
  volumeMounts: [{ name: "data", mountPath: "/data", readOnly: true }],
};
const podSpec = {
  containers: [container],
  initContainers: [{ name: "init", image: "registry.test/init:1" }],
  volumes: [
    { name: "data", persistentVolumeClaim: { claimName: "c" } },
    { name: "scratch", emptyDir: { sizeLimit: "1Gi" } },
    { name: "config", configMap: { name: "m", items: [{ key: "k", path: "p" }] } },
    { name: "all", projected: { sources: [{ secret: { name: "s" } }, { serviceAccountToken: { path: "t" } }] } },
  ],
  tolerations: [{ key: "spot", operator: "Exists", effect: "NoSchedule" }],
  nodeSelector: { disk: "ssd" },
};
const template = (app: string, spec: object = podSpec): object => ({ metadata: { labels: { app } }, spec });
const workload = (kind: string, name: string, more: object = {}): object => ({
  apiVersion: "apps/v1",
  kind,
  metadata: meta(name),
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...more },
});

/** Objects of many kinds, with most of what `kubectl describe` shows. */
const objects: readonly object[] = [
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: meta("m"),
    // One key: kubectl prints several in any order.
    data: { k: "one\ntwo\n" },
    binaryData: { b: "AAEC" },
  },
  { apiVersion: "v1", kind: "Secret", metadata: meta("s"), stringData: { k: "v" } },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...meta("p"), annotations: { "example.com/note": "a\nb" } },
    spec: podSpec,
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: meta("svc"),
    spec: {
      selector: { app: "p" },
      ports: [
        { name: "http", port: 80, targetPort: "http" },
        { name: "dns", port: 53, protocol: "UDP" },
      ],
      sessionAffinity: "ClientIP",
    },
  },
  {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: meta("svc"),
    subsets: [
      { addresses: [{ ip: "10.9.0.1" }], notReadyAddresses: [{ ip: "10.9.0.2" }], ports: [{ name: "http", port: 80 }] },
    ],
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: meta("slice"),
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.9.0.1"], conditions: { ready: true } }],
    ports: [{ name: "http", port: 80 }],
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: meta("c"),
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: meta("RUN-pv"),
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/v" },
      storageClassName: "x",
    },
  },
  {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: meta("q"),
    spec: { hard: { "count/jobs.batch": "9", "limits.memory": "9Gi" } },
  },
  {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: meta("l"),
    spec: { limits: [{ type: "PersistentVolumeClaim", max: { storage: "9Gi" } }] },
  },
  {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: meta("rc"),
    spec: { replicas: 2, selector: { app: "rc" }, template: template("rc") },
  },
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { ...meta("RUN-node"), annotations: { n: "1" } },
    spec: { taints: [{ key: "spot", effect: "NoSchedule" }], podCIDR: "10.8.0.0/24" },
    status: { capacity: { cpu: "4", memory: "8Gi", pods: "10" }, allocatable: { cpu: "3", memory: "7Gi", pods: "10" } },
  },
  {
    apiVersion: "v1",
    kind: "Event",
    metadata: meta("ev"),
    involvedObject: { kind: "Pod", namespace: "RUN", name: "p", apiVersion: "v1" },
    reason: "Seen",
    message: "it was seen",
    type: "Warning",
    count: 3,
    source: { component: "differ" },
    firstTimestamp: "2024-01-01T00:00:00Z",
    lastTimestamp: "2024-01-02T00:00:00Z",
  },
  workload("Deployment", "d", { replicas: 3, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: "30%" } } }),
  workload("ReplicaSet", "rs", { replicas: 1 }),
  workload("StatefulSet", "sts", {
    serviceName: "svc",
    volumeClaimTemplates: [
      {
        metadata: { name: "data2" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  }),
  workload("DaemonSet", "ds"),
  {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: meta("j"),
    spec: {
      parallelism: 2,
      completions: 4,
      completionMode: "Indexed",
      ttlSecondsAfterFinished: 60,
      template: template("j", { ...podSpec, restartPolicy: "Never" }),
    },
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: meta("cj"),
    spec: {
      schedule: "*/5 * * * *",
      timeZone: "Etc/UTC",
      suspend: true,
      jobTemplate: { spec: { template: template("cj", { ...podSpec, restartPolicy: "OnFailure" }) } },
    },
  },
  {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: meta("h"),
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      maxReplicas: 9,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
        { type: "Pods", pods: { metric: { name: "rps" }, target: { type: "AverageValue", averageValue: "10" } } },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
    },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: meta("i"),
    spec: {
      ingressClassName: "RUN-ic",
      tls: [{ hosts: ["a.test"], secretName: "s" }],
      rules: [
        {
          host: "a.test",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "svc", port: { name: "http" } } } }],
          },
        },
      ],
    },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: meta("RUN-ic"),
    spec: { controller: "example.com/ic" },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: meta("np"),
    spec: {
      podSelector: { matchLabels: { app: "p" } },
      ingress: [
        {
          from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }, { namespaceSelector: {} }],
          ports: [{ port: 80, endPort: 90 }],
        },
      ],
      policyTypes: ["Ingress", "Egress"],
    },
  },
  {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: meta("pdb"),
    spec: { maxUnavailable: "20%", selector: { matchLabels: { app: "d" } } },
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: meta("r"),
    rules: [
      { apiGroups: ["", "apps"], resources: ["pods", "deployments"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["s"], verbs: ["*"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: meta("rb"),
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
    subjects: [
      { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "jane" },
      { kind: "ServiceAccount", name: "default", namespace: "RUN" },
    ],
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: meta("RUN-sc"),
    provisioner: "example.com/p",
    parameters: { a: "b" },
    mountOptions: ["ro"],
    allowVolumeExpansion: true,
  },
  { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: meta("RUN-driver"), spec: { attachRequired: false } },
  {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: meta("RUN-prio"),
    value: 1000,
    description: "the important ones",
  },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: meta("lease"),
    spec: { holderIdentity: "me", leaseDurationSeconds: 15 },
  },
  { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: meta("RUN-rc"), handler: "h" },
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: meta("boats.RUN.example.com"),
    spec: {
      group: "RUN.example.com",
      scope: "Namespaced",
      names: { plural: "boats", kind: "Boat", shortNames: ["bt"], categories: ["all"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {}, scale: { specReplicasPath: ".spec.oars", statusReplicasPath: ".status.oars" } },
          additionalPrinterColumns: [{ name: "Oars", type: "integer", jsonPath: ".spec.oars" }],
          schema: {
            openAPIV3Schema: {
              type: "object",
              description: "A boat.",
              properties: {
                spec: {
                  type: "object",
                  required: ["oars"],
                  properties: { oars: { type: "integer", minimum: 0, description: "The number of oars." } },
                },
                status: { type: "object", properties: { oars: { type: "integer" } } },
              },
            },
          },
        },
      ],
    },
  },
];

/** The kinds that are listed and described. */
const described =
  "configmap/m secret/s pod/p service/svc endpoints/svc endpointslice/slice pvc/c pv/RUN-pv quota/q limits/l rc/rc " +
  "node/RUN-node deployment/d rs/rs sts/sts ds/ds job/j cronjob/cj hpa/h ingress/i ingressclass/RUN-ic netpol/np pdb/pdb " +
  "role/r rolebinding/rb sc/RUN-sc csidriver/RUN-driver priorityclass/RUN-prio lease/lease runtimeclass/RUN-rc " +
  "crd/boats.RUN.example.com event/ev namespace/RUN serviceaccount/default clusterrole/view clusterrolebinding/cluster-admin " +
  "flowschema/exempt prioritylevelconfiguration/system boat/b";

const explained =
  "pod deployment.spec statefulset daemonset replicaset job cronjob service ingress networkpolicy configmap secret node " +
  "namespace persistentvolume persistentvolumeclaim storageclass role clusterrolebinding serviceaccount hpa pdb crd lease event";

const commands = (lines: string): readonly KubectlCommand[] =>
  lines
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((args) => ({ args }));

const boat = { apiVersion: "RUN.example.com/v1", kind: "Boat", metadata: { name: "b" }, spec: { oars: 2 } };
const applied = (data: object): readonly object[] => [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data },
];

export const kubectlCommands: readonly KubectlCommand[] = [
  ...commands(`
    create namespace RUN
    create serviceaccount default
  `),
  { args: "create -f -", input: objects.slice(0, -1) },
  { args: "apply -f -", input: objects.slice(-1) },
  ...commands("wait --for=condition=established crd/boats.RUN.example.com --timeout=60s"),
  { args: "apply -f -", input: [boat] },
  { args: "apply -f -", input: [{ ...boat, spec: { oars: -1 } }] },
  { args: "apply -f -", input: [{ ...boat, spec: { oar: 1 } }] },
  ...described.split(" ").flatMap((one) =>
    commands(`
      get ${one}
      get ${one} -o wide
      get ${one} -o name
      get ${one} -o yaml
      describe ${one}
    `),
  ),
  ...explained.split(" ").map((one) => ({ args: `explain ${one} --recursive` })),
  ...commands(`
    api-versions
    api-resources --sort-by=name
    api-resources --namespaced=false -o name
    api-resources -o wide --api-group=apps
    cluster-info
    auth whoami
    auth can-i --list
    auth can-i create pods
    auth can-i create pods --as=nobody
    auth can-i delete nodes --as=nobody --as-group=system:masters
    get all
    get all -o wide
    get all -A
    get all -A -o wide
    get pods -A -l app=p
    get pods --field-selector=spec.nodeName=none
    get pods --field-selector=spec.none=1
    get pods -o custom-columns=N:.metadata.name,I:.spec.containers[*].image
    get pods -o jsonpath={.items[*].spec.containers[*].name}
    get pods --show-labels
    get pods -L app
    get pods,svc,deploy --show-kind
    get nothings
    get pods nothing
    get boats,configmaps -A -l app=m
    get events
    events
    events --for pod/p --types=Warning
    get --raw /api/v1/namespaces/RUN/configmaps/none
    create configmap g1 --from-literal=a=b --from-literal=c=d
    create secret generic g2 --from-literal=a=b
    create secret docker-registry g3 --docker-server=r.test --docker-username=u --docker-password=p
    create role g4 --verb=get,list --resource=pods,pods/log --resource-name=x
    create clusterrole RUN-g5 --verb=get --non-resource-url=/healthz
    create clusterrole RUN-g6 --verb=* --resource=deployments.apps
    create rolebinding g7 --clusterrole=view --user=jane --group=dev --serviceaccount=RUN:default
    create clusterrolebinding RUN-g8 --clusterrole=view --user=jane
    create deployment g9 --image=registry.test/g:1 --replicas=2 --port=80
    create job g10 --image=registry.test/g:1 -- run it
    create job g11 --from=cronjob/cj
    create cronjob g12 --image=registry.test/g:1 '--schedule=0 * * * *' -- run it
    create ingress g13 --rule=a.test/b=svc:80,tls=s --default-backend=svc:http
    create priorityclass RUN-g14 --value=5 --description=five
    create quota g15 --hard=pods=9,services=9 --scopes=BestEffort
    create poddisruptionbudget g16 --selector=app=p --min-available=50%
    create service clusterip g17 --tcp=80:8080
    create service nodeport g18 --tcp=80
    create service loadbalancer g19 --tcp=80
    create service externalname g20 --external-name=a.test
    create serviceaccount g21
    create namespace RUN-g22
    create deployment g9 --image=x
    create configmap Bad_Name --from-literal=a=b
    create quota g23 --hard=pods=-1
    create role g24 --verb=get --resource=nothings
    run r1 --image=registry.test/r:1 --labels=app=r --port=80 --env=A=b --command -- run it
    run r2 --image=registry.test/r:1 --dry-run=server -o yaml
    expose deployment d --port=80 --target-port=http --name=x1
    expose pod r1 --type=NodePort --name=x2
    expose rc rc --port=80 --name=x3
    autoscale deployment g9 --min=1 --max=3 --cpu-percent=70
    set image deployment/d main=registry.test/main:2
    set env deployment/d PLAIN=2 NEW=3
    set env deployment/d --list
    set resources deployment/d -c=main --limits=cpu=1
    set serviceaccount deployment d g21
    set selector service svc app=other
    set subject rolebinding g7 --user=joe
    scale deployment/d --replicas=5
    scale boat/b --replicas=7
    scale sts/sts --current-replicas=9 --replicas=1
    rollout history deployment/d
    rollout status deployment/d --watch=false
    rollout pause deployment/d
    rollout resume deployment/d
    rollout restart deployment/d
    rollout undo deployment/d
    rollout history sts/sts
    label pod p tier=a
    label pod p tier=b
    label pod p tier=b --overwrite
    label pod p tier-
    annotate pod p note=x
    annotate pod p note-
    annotate --all configmaps seen=1
    patch configmap m -p {"data":{"k":"w"}}
    patch configmap m --type=merge -p {"data":{"k":null}}
    patch configmap m --type=json -p [{"op":"add","path":"/data/k","value":"x"}]
    patch configmap m --type=json -p [{"op":"test","path":"/data/k","value":"y"}]
    patch deployment d -p {"spec":{"template":{"spec":{"containers":[{"name":"main","image":"y"}]}}}}
    patch pod p -p {"spec":{"containers":[{"name":"main","command":["x"]}]}}
    patch boat b --type=merge --subresource=status -p {"status":{"oars":3}}
    get boat b -o yaml --subresource=status
    get deployment d --subresource=scale -o yaml
    cordon RUN-node
    uncordon RUN-node
    taint nodes RUN-node a=b:NoExecute
    taint nodes RUN-node a=b:NoExecute
    taint nodes RUN-node a-
    taint nodes RUN-node a=b:Wrong
    drain RUN-node --force
    top nodes
    top pods
    logs p
    exec p -- ls
    attach p
    cp p:/x y
    port-forward pod/p 12345:80 --pod-running-timeout=1s
    certificate approve nothing
    create token default --duration=10m --audience=a -o jsonpath={.kind}
    create token nothing
  `),
  { args: "apply -f -", input: applied({ a: "1" }) },
  { args: "diff -f -", input: applied({ a: "2" }) },
  { args: "apply -f - -o yaml", input: applied({ a: "2" }) },
  { args: "apply view-last-applied configmap/applied", input: [] },
  { args: "apply --server-side -f -", input: applied({ b: "1" }) },
  { args: "apply --server-side --field-manager=other -f -", input: applied({ b: "2" }) },
  {
    args: "apply --server-side --field-manager=other --force-conflicts -f - -o yaml --show-managed-fields",
    input: applied({ b: "2" }),
  },
  { args: "replace -f -", input: applied({ c: "1" }) },
  { args: "replace --force -f -", input: applied({ c: "2" }) },
  { args: "apply --prune -l app=none -f -", input: applied({ c: "3" }) },
  {
    args: "create -f - --dry-run=server -o yaml",
    input: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "x" }, spec: { containers: [] } }],
  },
  {
    args: "create -f - --validate=strict",
    input: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, date: {} }],
  },
  { args: "create -f -", input: [{ apiVersion: "v2", kind: "ConfigMap", metadata: { name: "x" } }] },
  ...commands(`
    get configmap applied -o yaml
    delete configmap applied --wait=false
    delete configmap applied
    delete configmap applied --ignore-not-found
    delete pod p --grace-period=0 --force
    delete deployment d --cascade=orphan --wait=false
    delete all --all --wait=false
    delete boats --all
    get all
    delete node/RUN-node pv/RUN-pv sc/RUN-sc csidriver/RUN-driver priorityclass/RUN-prio priorityclass/RUN-g14 runtimeclass/RUN-rc ingressclass/RUN-ic crd/boats.RUN.example.com clusterrole/RUN-g5 clusterrole/RUN-g6 clusterrolebinding/RUN-g8 --wait=false
    delete namespace RUN RUN-g22 --wait=false
  `),
];
