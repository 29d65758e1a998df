/** Definitions of a database operator: clusters with whole pod templates, scaling, numbers of many forms. */
import { definitionOf, type OperatorSet, thing, type VersionFields } from "./operator-set.ts";
import { affinity, claimSpec, environment, podTemplate, resources, tolerations, topologySpread } from "./pod.ts";
import {
  conditions,
  described,
  duration,
  flag,
  int32,
  integer,
  intOrString,
  keySelector,
  list,
  listMap,
  mapOf,
  nameReference,
  object,
  oneOf,
  open,
  quantity,
  type Schema,
  setOf,
  text,
  time,
} from "./schema.ts";

const group = "databases.example.com";
const words = 10;
const cron = "^(@(yearly|monthly|weekly|daily|hourly)|(\\S+\\s+){4,5}\\S+)$";

const storage = object({
  claimTemplate: object({ metadata: open, spec: claimSpec }),
  resizeInUseVolumes: flag({ default: true }),
  size: quantity,
  storageClass: text(),
});
const objectStore = object(
  {
    destinationPath: text({ minLength: 1 }),
    endpointURL: text({ format: "uri" }),
    credentials: object({ accessKeyId: keySelector, secretAccessKey: keySelector, inherit: flag() }),
    data: object({
      compression: oneOf("gzip", "bzip2", "snappy"),
      encryption: oneOf("AES256", "aws:kms"),
      jobs: int32({ minimum: 1 }),
    }),
    wal: object({ compression: oneOf("gzip", "bzip2", "snappy"), maxParallel: integer({ minimum: 1 }) }),
    tags: mapOf(text()),
  },
  ["destinationPath"],
);

const clusterSpec = (extra: Record<string, Schema> = {}): Schema =>
  object(
    {
      affinity: object({
        ...(affinity["properties"] as Record<string, Schema>),
        enablePodAntiAffinity: flag(),
        tolerations,
        topologyKey: text(),
      }),
      backup: object({
        objectStore,
        retentionPolicy: text({ pattern: "^[1-9][0-9]*[dwm]$" }),
        target: { ...oneOf("primary", "prefer-standby"), default: "prefer-standby" },
      }),
      bootstrap: object({
        initdb: object({
          database: text(),
          owner: text(),
          encoding: text(),
          dataChecksums: flag(),
          walSegmentSize: integer({ minimum: 1, maximum: 1024 }),
          postInitSQL: list(text()),
          secret: nameReference,
        }),
        recovery: object({
          backup: object({ name: text() }, ["name"]),
          recoveryTarget: object({ targetTime: text(), targetLSN: text(), exclusive: flag() }),
        }),
      }),
      description: text(),
      enablePDB: flag({ default: true }),
      env: environment,
      imageName: text(),
      instances: integer({ default: 1, minimum: 1 }),
      logLevel: { ...oneOf("error", "warning", "info", "debug", "trace"), default: "info" },
      managed: object({
        roles: list(
          object(
            {
              name: text(),
              ensure: { ...oneOf("present", "absent"), default: "present" },
              connectionLimit: { type: "integer", format: "int64", default: -1 },
              inRoles: list(text()),
              login: flag(),
              superuser: flag(),
              validUntil: time,
            },
            ["name"],
          ),
        ),
      }),
      maxSyncReplicas: integer({ default: 0, minimum: 0 }),
      parameters: mapOf(text()),
      podTemplate,
      port: intOrString,
      resources,
      storage,
      tablespaces: listMap(
        ["name"],
        object({ name: text(), storage, temporary: flag({ default: false }) }, ["name", "storage"]),
      ),
      topologySpreadConstraints: topologySpread,
      users: mapOf(setOf(oneOf("superuser", "createdb", "createrole", "login", "replication"))),
      window: object({ start: text({ pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$" }), lasts: duration }),
      ...extra,
    },
    ["storage"],
  );
const clusterStatus = object({
  conditions,
  currentPrimary: text(),
  instances: integer(),
  readyInstances: integer(),
  selector: text(),
  phase: text(),
  instanceNames: list(text()),
  instancesReportedState: mapOf(object({ isPrimary: flag(), timeLineID: integer() }, ["isPrimary"])),
});
const cluster = (
  name: string,
  more: Partial<VersionFields> = {},
  extra: Record<string, Schema> = {},
): VersionFields => ({
  name,
  spec: described(clusterSpec(extra), words),
  status: described(clusterStatus, words),
  scale: {
    specReplicasPath: ".spec.instances",
    statusReplicasPath: ".status.instances",
    labelSelectorPath: ".status.selector",
  },
  columns: [
    ["Instances", ".status.instances", "integer"],
    ["Ready", ".status.readyInstances", "integer"],
    ["Status", ".status.phase"],
    ["Primary", ".status.currentPrimary"],
  ],
  ...more,
});

export const databases: OperatorSet = {
  title: "databases",
  definitions: [
    definitionOf({
      group,
      kind: "Cluster",
      plural: "clusters",
      shortNames: ["dbc"],
      categories: ["databases"],
      versions: [cluster("v1", { storage: true })],
    }),
    definitionOf({
      group,
      kind: "Backup",
      plural: "backups",
      versions: [
        {
          name: "v1",
          storage: true,
          spec: object(
            {
              cluster: object({ name: text() }, ["name"]),
              method: { ...oneOf("objectStore", "volumeSnapshot", "plugin"), default: "objectStore" },
              online: flag(),
              plugin: object({ name: text(), parameters: mapOf(text()) }, ["name"]),
            },
            ["cluster"],
          ),
          status: object({
            ...(objectStore["properties"] as Record<string, Schema>),
            phase: text(),
            startedAt: time,
            stoppedAt: time,
            error: text(),
          }),
          columns: [["Phase", ".status.phase"]],
        },
      ],
    }),
    definitionOf({
      group,
      kind: "ScheduledBackup",
      plural: "scheduledbackups",
      versions: [
        {
          name: "v1",
          storage: true,
          spec: object(
            {
              schedule: text({ pattern: cron }),
              suspend: flag(),
              immediate: flag(),
              cluster: object({ name: text() }, ["name"]),
              backupOwnerReference: { ...oneOf("none", "self", "cluster"), default: "none" },
            },
            ["cluster", "schedule"],
          ),
          columns: [["Last Backup", ".status.lastScheduleTime", "date"]],
          status: object({ lastScheduleTime: time, nextScheduleTime: time }),
        },
      ],
    }),
    definitionOf({
      group,
      kind: "Pooler",
      plural: "poolers",
      versions: [
        {
          name: "v1",
          storage: true,
          spec: described(
            object(
              {
                cluster: object({ name: text() }, ["name"]),
                instances: int32({ default: 1 }),
                type: { ...oneOf("rw", "ro"), default: "rw" },
                pgbouncer: object({
                  paused: flag({ default: false }),
                  parameters: mapOf(text()),
                  poolMode: { ...oneOf("session", "transaction"), default: "session" },
                }),
                template: podTemplate,
              },
              ["cluster", "pgbouncer"],
            ),
            words,
          ),
          status: object({ instances: int32() }),
          scale: { specReplicasPath: ".spec.instances", statusReplicasPath: ".status.instances" },
        },
      ],
    }),
  ],
  accepted: [
    {
      object: thing(`${group}/v1`, "Cluster", "orders", {
        spec: {
          instances: 3,
          port: "postgres",
          storage: { size: "10Gi" },
          parameters: { shared_buffers: "256MB" },
          users: { shop: ["createdb", "login"] },
          tablespaces: [{ name: "cold", storage: { size: 1 } }],
          managed: { roles: [{ name: "app" }] },
          resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: 2 } },
          podTemplate: {
            metadata: { labels: { tier: "data" } },
            spec: {
              containers: [
                {
                  name: "postgres",
                  image: "postgres:17",
                  ports: [{ containerPort: 5432 }],
                  readinessProbe: { httpGet: { port: "health", path: "/ready" }, periodSeconds: 5 },
                  env: [{ name: "P", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
                  volumeMounts: [{ name: "data", mountPath: "/data" }],
                },
              ],
              volumes: [
                { name: "data", emptyDir: { sizeLimit: "1Gi" } },
                { name: "all", projected: { sources: [{ secret: { items: [{ key: "a", path: "b" }] } }] } },
              ],
            },
          },
          window: { start: "23:00", lasts: "1h30m" },
        },
      }),
      shows: {
        "spec.logLevel": "info",
        "spec.enablePDB": true,
        "spec.maxSyncReplicas": 0,
        "spec.storage": { size: "10Gi", resizeInUseVolumes: true },
        "spec.tablespaces.0": { name: "cold", temporary: false, storage: { size: 1, resizeInUseVolumes: true } },
        "spec.managed.roles.0": { name: "app", ensure: "present", connectionLimit: -1 },
        "spec.podTemplate.spec.containers.0.ports": [{ containerPort: 5432, protocol: "TCP" }],
        "spec.podTemplate.spec.volumes.1.projected.sources.0.secret.name": "",
        "spec.port": "postgres",
        "spec.resources.limits.cpu": 2,
      },
    },
    {
      object: thing(`${group}/v1`, "ScheduledBackup", "nightly", {
        spec: { schedule: "0 0 2 * * *", cluster: { name: "orders" } },
      }),
      shows: { "spec.backupOwnerReference": "none" },
    },
    {
      object: thing(`${group}/v1`, "Pooler", "rw", { spec: { cluster: { name: "orders" }, pgbouncer: {} } }),
      shows: { "spec.pgbouncer": { paused: false, poolMode: "session" }, "spec.instances": 1 },
    },
  ],
  refused: [
    {
      object: thing(`${group}/v1`, "Cluster", "bad", {
        spec: {
          instances: 0,
          storage: { size: "10 GB" },
          backup: { retentionPolicy: "30", objectStore: { destinationPath: "", data: { jobs: 1.5 } } },
          users: { shop: ["login", "login"] },
          podTemplate: { spec: { containers: [{ image: "x" }] } },
          window: { start: "24:00" },
        },
      }),
      causes: [
        "spec.instances: Invalid value: 0: spec.instances in body should be greater than or equal to 1",
        `spec.storage.size: Invalid value: "10 GB": spec.storage.size in body should match '${String(quantity["pattern"])}'`,
        "spec.backup.retentionPolicy: Invalid value: \"30\": spec.backup.retentionPolicy in body should match '^[1-9][0-9]*[dwm]$'",
        'spec.backup.objectStore.destinationPath: Invalid value: "": spec.backup.objectStore.destinationPath in body should be at least 1 chars long',
        'spec.backup.objectStore.data.jobs: Invalid value: "number": spec.backup.objectStore.data.jobs in body must be of type integer: "number"',
        "spec.podTemplate.spec.containers[0].name: Required value",
        "spec.window.start: Invalid value: \"24:00\": spec.window.start in body should match '^([01][0-9]|2[0-3]):[0-5][0-9]$'",
        'spec.users[shop][1]: Duplicate value: "login"',
      ],
    },
    {
      object: thing(`${group}/v1`, "ScheduledBackup", "bad", { spec: { schedule: "nightly", cluster: {} } }),
      causes: [
        "spec.cluster.name: Required value",
        `spec.schedule: Invalid value: "nightly": spec.schedule in body should match '${cron}'`,
      ],
    },
  ],
  unknown: {
    fields: { spec: { podTemplate: { spec: { containers: [{ name: "c", imag: "x" }] } }, replicas: 2 } },
    named: ["spec.podTemplate.spec.containers[0].imag", "spec.replicas"],
  },
  shared: {
    first: thing(`${group}/v1`, "Cluster", "both", {
      spec: {
        instances: 2,
        storage: { size: "1Gi" },
        users: { a: ["login"] },
        podTemplate: {
          spec: { containers: [{ name: "main", image: "postgres:17", ports: [{ containerPort: 5432 }] }] },
        },
      },
    }),
    second: thing(`${group}/v1`, "Cluster", "both", {
      spec: {
        storage: {},
        users: { a: ["createdb"] },
        podTemplate: {
          spec: {
            containers: [
              { name: "main", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 5432, protocol: "UDP" }] },
              { name: "metrics", image: "metrics:1" },
            ],
          },
        },
      },
    }),
    merged: {
      "spec.users.a": ["login", "createdb"],
      "spec.podTemplate.spec.containers": [
        {
          name: "main",
          image: "postgres:17",
          env: [{ name: "A", value: "1" }],
          ports: [
            { containerPort: 5432, protocol: "TCP" },
            { containerPort: 5432, protocol: "UDP" },
          ],
        },
        { name: "metrics", image: "metrics:1" },
      ],
    },
    disputed: thing(`${group}/v1`, "Cluster", "both", {
      spec: {
        instances: 5,
        storage: {},
        podTemplate: { spec: { containers: [{ name: "main", image: "postgres:18" }] } },
      },
    }),
    disputedFields: [".spec.instances", '.spec.podTemplate.spec.containers[name="main"].image'],
    settled: {
      "spec.instances": 5,
      "spec.users.a": ["login"],
      "spec.podTemplate.spec.containers": [
        { name: "main", image: "postgres:18", ports: [{ containerPort: 5432, protocol: "TCP" }] },
      ],
    },
  },
  upgrade: {
    kind: "Cluster",
    versions: [
      cluster("v1", { deprecationWarning: "use v2" }, { tier: { ...oneOf("small", "large"), default: "small" } }),
      cluster("v2", { storage: true }, { tier: { ...oneOf("small", "large"), default: "small" } }),
    ],
    stored: "v2",
    storedVersions: ["v1", "v2"],
    old: "orders",
    shows: { "spec.tier": "small", "spec.instances": 3, "spec.podTemplate.metadata.labels": { tier: "data" } },
    fresh: thing(`${group}/v2`, "Cluster", "fresh", { spec: { storage: { size: "1Gi" }, tier: "large" } }),
    olderVersion: "v1",
    freshInOlder: { "spec.tier": "large", "spec.instances": 1 },
  },
  explained: [
    {
      groupVersion: `${group}/v1`,
      schema: "com.example.databases.v1.Cluster",
      shows: {
        "properties.spec.properties.port.x-kubernetes-int-or-string": true,
        "properties.spec.properties.podTemplate.properties.spec.properties.containers.items.properties.ports.x-kubernetes-list-map-keys":
          ["containerPort", "protocol"],
        "properties.spec.properties.users.additionalProperties.x-kubernetes-list-type": "set",
      },
    },
  ],
};
