/** Definitions of a monitoring operator: schemas of half a megabyte, scrape and alert configuration. */
import { absent } from "../view.ts";
import { definitionOf, type OperatorSet, thing, type VersionFields } from "./operator-set.ts";
import { podParts, podTemplate } from "./pod.ts";
import {
  atomicList,
  conditions,
  described,
  duration,
  flag,
  int32,
  int64,
  intOrString,
  keySelector,
  labelSelector,
  list,
  listMap,
  mapOf,
  object,
  oneOf,
  quantity,
  type Schema,
  setOf,
  text,
} from "./schema.ts";

const group = "monitoring.example.com";
/** Descriptions as long as generated ones: the largest definition is some 500 KB. */
const words = 46;

const secretOrMap = object({ configMap: keySelector, secret: keySelector });
const tlsConfig = object({
  ca: secretOrMap,
  cert: secretOrMap,
  keySecret: keySelector,
  insecureSkipVerify: flag(),
  maxVersion: oneOf("TLS10", "TLS11", "TLS12", "TLS13"),
  minVersion: oneOf("TLS10", "TLS11", "TLS12", "TLS13"),
  serverName: text(),
});
const oauth2 = object(
  {
    clientId: secretOrMap,
    clientSecret: keySelector,
    endpointParams: mapOf(text()),
    scopes: list(text()),
    tlsConfig,
    tokenUrl: text({ minLength: 1 }),
  },
  ["clientId", "clientSecret", "tokenUrl"],
);
const http = {
  authorization: object({ credentials: keySelector, type: text() }),
  basicAuth: object({ password: keySelector, username: keySelector }),
  bearerTokenSecret: keySelector,
  followRedirects: flag(),
  enableHttp2: flag(),
  noProxy: text(),
  oauth2,
  proxyConnectHeader: mapOf(list(keySelector), { "x-kubernetes-map-type": "atomic" }),
  proxyUrl: text({ pattern: "^(http|https|socks5)://.+$" }),
  tlsConfig,
};
const relabelings = list(
  object({
    action: {
      ...oneOf("replace", "Replace", "keep", "Keep", "drop", "Drop", "hashmod", "HashMod", "labelmap", "LabelMap"),
      default: "replace",
    },
    modulus: int64(),
    regex: text(),
    replacement: text(),
    separator: text(),
    sourceLabels: list(text({ pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$" })),
    targetLabel: text(),
  }),
);
const endpoint = object({
  ...http,
  honorLabels: flag(),
  honorTimestamps: flag(),
  interval: duration,
  metricRelabelings: relabelings,
  params: mapOf(list(text())),
  path: text(),
  port: text(),
  relabelings,
  scheme: oneOf("http", "https"),
  scrapeTimeout: duration,
  targetPort: intOrString,
});
const namespaces = object({ any: flag(), matchNames: list(text()) });
const limits = {
  labelLimit: int64(),
  sampleLimit: int64(),
  targetLimit: int64(),
  scrapeProtocols: setOf(
    oneOf("PrometheusProto", "OpenMetricsText0.0.1", "OpenMetricsText1.0.0", "PrometheusText0.0.4"),
  ),
};
const remoteWrite = list(
  object(
    {
      ...http,
      headers: mapOf(text()),
      metadataConfig: object({ maxSamplesPerSend: int32({ minimum: -1 }), send: flag(), sendInterval: duration }),
      name: text(),
      queueConfig: object({
        batchSendDeadline: duration,
        capacity: { type: "integer" },
        maxBackoff: duration,
        maxShards: { type: "integer" },
        minBackoff: duration,
        retryOnRateLimit: flag(),
      }),
      remoteTimeout: duration,
      sigv4: object({
        accessKey: keySelector,
        profile: text(),
        region: text(),
        roleArn: text(),
        secretKey: keySelector,
      }),
      url: text({ minLength: 1 }),
      writeRelabelConfigs: relabelings,
    },
    ["url"],
  ),
);

const serverSpec = (extra: Record<string, Schema> = {}): Schema =>
  object({
    ...podParts,
    ...limits,
    alerting: object({
      alertmanagers: list(
        object(
          {
            ...http,
            alertRelabelings: relabelings,
            name: text({ minLength: 1 }),
            namespace: text({ minLength: 1 }),
            pathPrefix: text(),
            port: intOrString,
            scheme: text(),
            timeout: duration,
          },
          ["name", "port"],
        ),
      ),
    }),
    apiserverConfig: object({ ...http, host: text() }, ["host"]),
    evaluationInterval: { ...duration, default: "30s" },
    externalLabels: mapOf(text()),
    image: text(),
    listenLocal: flag(),
    logFormat: oneOf("", "logfmt", "json"),
    logLevel: oneOf("", "debug", "info", "warn", "error"),
    paused: flag(),
    podMonitorSelector: labelSelector,
    podMetadata: object({ annotations: mapOf(text()), labels: mapOf(text()), name: text() }),
    portName: text({ default: "web" }),
    remoteRead: list(
      object({ ...http, headers: mapOf(text()), name: text(), readRecent: flag(), url: text() }, ["url"]),
    ),
    remoteWrite,
    replicas: int32(),
    retention: duration,
    retentionSize: text({ pattern: "(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$" }),
    ruleSelector: labelSelector,
    scrapeInterval: { ...duration, default: "30s" },
    serviceMonitorSelector: labelSelector,
    serviceMonitorNamespaceSelector: labelSelector,
    shards: int32(),
    storage: object({
      emptyDir: object({ medium: text(), sizeLimit: quantity }),
      volumeClaimTemplate: object({ spec: (podTemplate["properties"] as Record<string, Schema>)["metadata"]! }),
    }),
    thanos: object({
      image: text(),
      objectStorageConfig: keySelector,
      resources: podParts["resources"]!,
      version: text(),
    }),
    tsdb: object({ outOfOrderTimeWindow: duration }),
    version: text(),
    web: object({
      maxConnections: int32({ minimum: 0 }),
      pageTitle: text(),
      httpConfig: object({
        headers: object({ strictTransportSecurity: text(), xFrameOptions: oneOf("", "Deny", "SameOrigin") }),
      }),
      tlsConfig,
    }),
    ...extra,
  });
const serverStatus = object({
  availableReplicas: int32(),
  conditions,
  paused: flag(),
  replicas: int32(),
  selector: text(),
  shardStatuses: listMap(
    ["shardID"],
    object({ availableReplicas: int32(), replicas: int32(), shardID: text(), unavailableReplicas: int32() }, [
      "shardID",
    ]),
  ),
  shards: int32(),
});
const server = (
  name: string,
  more: Partial<VersionFields> = {},
  extra: Record<string, Schema> = {},
): VersionFields => ({
  name,
  spec: described(serverSpec(extra), words),
  status: described(serverStatus, words),
  scale: {
    specReplicasPath: ".spec.shards",
    statusReplicasPath: ".status.shards",
    labelSelectorPath: ".status.selector",
  },
  columns: [
    ["Version", ".spec.version"],
    ["Desired", ".spec.replicas", "integer"],
    ["Ready", ".status.availableReplicas", "integer"],
    ["Available", '.status.conditions[?(@.type == "Available")].status'],
    ["Paused", ".status.paused", "boolean", 1],
  ],
  ...more,
});

const monitor = (kind: string, plural: string, endpoints: string, shortName: string) =>
  definitionOf({
    group,
    kind,
    plural,
    shortNames: [shortName],
    categories: ["monitoring"],
    versions: [
      {
        name: "v1",
        storage: true,
        spec: described(
          object(
            {
              ...limits,
              jobLabel: text(),
              namespaceSelector: namespaces,
              [endpoints]: list(endpoint),
              selector: labelSelector,
              targetLabels: list(text()),
            },
            [endpoints, "selector"],
          ),
          words,
        ),
      },
    ],
  });

const expression = "sum(rate(errors[5m])) > 1";

export const monitoring: OperatorSet = {
  title: "monitoring",
  definitions: [
    definitionOf({
      group,
      kind: "MetricsServer",
      plural: "metricsservers",
      shortNames: ["ms"],
      categories: ["monitoring"],
      versions: [server("v1", { storage: true })],
    }),
    monitor("ServiceMonitor", "servicemonitors", "endpoints", "smon"),
    monitor("PodMonitor", "podmonitors", "podMetricsEndpoints", "pmon"),
    definitionOf({
      group,
      kind: "AlertRouter",
      plural: "alertrouters",
      categories: ["monitoring"],
      versions: [
        {
          name: "v1",
          storage: true,
          spec: described(
            object({
              ...podParts,
              configSecret: text(),
              retention: { ...duration, default: "120h" },
              replicas: int32(),
            }),
            words,
          ),
          status: object({ conditions, replicas: int32(), selector: text() }),
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
      ],
    }),
    definitionOf({
      group,
      kind: "AlertRule",
      plural: "alertrules",
      versions: [
        {
          name: "v1",
          storage: true,
          withoutStatus: true,
          whole: object(
            {
              spec: described(
                object({
                  groups: listMap(
                    ["name"],
                    object(
                      {
                        name: text({ minLength: 1 }),
                        interval: duration,
                        labels: mapOf(text()),
                        limit: { type: "integer" },
                        partial_response_strategy: text({ pattern: "^(?i)(abort|warn)?$" }),
                        rules: atomicList(
                          object(
                            {
                              alert: text(),
                              annotations: mapOf(text()),
                              expr: intOrString,
                              for: duration,
                              keep_firing_for: { ...duration, minLength: 1 },
                              labels: mapOf(text()),
                              record: text(),
                            },
                            ["expr"],
                          ),
                        ),
                      },
                      ["name"],
                    ),
                  ),
                }),
                words,
              ),
            },
            ["spec"],
          ),
        },
      ],
    }),
  ],
  accepted: [
    {
      object: thing(`${group}/v1`, "MetricsServer", "main", {
        spec: {
          replicas: 2,
          retention: "15d",
          retentionSize: "50GB",
          serviceMonitorSelector: { matchLabels: { team: "web" } },
          remoteWrite: [
            {
              url: "https://example.com/write",
              basicAuth: { username: { name: "s", key: "u" }, password: { key: "p" } },
              writeRelabelConfigs: [
                { sourceLabels: ["__name__"], regex: "go_.*", action: "drop" },
                { targetLabel: "a" },
              ],
            },
          ],
          containers: [{ name: "proxy", image: "proxy:1", ports: [{ containerPort: 8080, name: "web" }] }],
          volumes: [{ name: "rules", configMap: { items: [{ key: "a", path: "b" }] } }],
          resources: { requests: { memory: "2Gi" } },
          extra: { anything: [1, "two", null, { three: 3 }] },
        },
      }),
      shows: {
        "spec.scrapeInterval": "30s",
        "spec.portName": "web",
        "spec.remoteWrite.0.basicAuth.password": { name: "", key: "p" },
        "spec.remoteWrite.0.writeRelabelConfigs.1": { action: "replace", targetLabel: "a" },
        "spec.containers.0.ports.0.protocol": "TCP",
        "spec.extra": { anything: [1, "two", null, { three: 3 }] },
        "spec.shards": absent,
      },
    },
    {
      object: thing(`${group}/v1`, "ServiceMonitor", "shop", {
        spec: {
          selector: { matchExpressions: [{ key: "app", operator: "In", values: ["shop"] }] },
          endpoints: [
            { port: "web", interval: "15s", relabelings: [{}] },
            { targetPort: 9090, params: { "match[]": ["up"] } },
          ],
          scrapeProtocols: ["OpenMetricsText1.0.0", "PrometheusText0.0.4"],
        },
      }),
      shows: { "spec.endpoints.0.relabelings": [{ action: "replace" }] },
    },
    {
      object: thing(`${group}/v1`, "AlertRule", "shop", {
        spec: {
          groups: [
            { name: "errors", rules: [{ alert: "Errors", expr: expression, for: "5m", labels: { severity: "page" } }] },
            { name: "records", partial_response_strategy: "WARN", rules: [{ record: "one", expr: 1 }] },
          ],
        },
      }),
      shows: { "spec.groups.1.rules.0.expr": 1, status: absent },
    },
  ],
  refused: [
    {
      object: thing(`${group}/v1`, "MetricsServer", "bad", {
        spec: {
          retention: "two weeks",
          logLevel: "loud",
          replicas: 1.5,
          remoteWrite: [{ proxyUrl: "ftp://x" }],
          web: { maxConnections: -1 },
          containers: [{ name: "a" }, { name: "a" }],
        },
      }),
      causes: [
        `spec.retention: Invalid value: "two weeks": spec.retention in body should match '${String(duration["pattern"])}'`,
        'spec.logLevel: Unsupported value: "loud": supported values: "", "debug", "info", "warn", "error"',
        'spec.replicas: Invalid value: "number": spec.replicas in body must be of type integer: "number"',
        "spec.remoteWrite[0].proxyUrl: Invalid value: \"ftp://x\": spec.remoteWrite[0].proxyUrl in body should match '^(http|https|socks5)://.+$'",
        "spec.remoteWrite[0].url: Required value",
        "spec.web.maxConnections: Invalid value: -1: spec.web.maxConnections in body should be greater than or equal to 0",
        'spec.containers[1]: Duplicate value: map[string]interface {}{"name":"a"}',
      ],
    },
    {
      object: thing(`${group}/v1`, "AlertRule", "bad", {
        spec: {
          groups: [
            { name: "g", rules: [{ alert: "A", expr: true }] },
            { name: "h", partial_response_strategy: "stop" },
          ],
        },
      }),
      causes: [
        'spec.groups[0].rules[0].expr: Invalid value: "boolean": spec.groups[0].rules[0].expr in body must be of type integer,string: "boolean"',
        'spec.groups[0].rules[0].expr: Invalid value: "boolean": spec.groups[0].rules[0].expr in body must be of type integer: "boolean"',
        '<nil>: Invalid value: "": "spec.groups[0].rules[0].expr" must validate at least one schema (anyOf)',
        "spec.groups[1].partial_response_strategy: Invalid value: \"stop\": spec.groups[1].partial_response_strategy in body should match '^(?i)(abort|warn)?$'",
      ],
    },
  ],
  unknown: {
    fields: { spec: { alerting: { receivers: [] }, scrapeIntervall: "1m" } },
    named: ["spec.alerting.receivers", "spec.scrapeIntervall"],
  },
  shared: {
    first: thing(`${group}/v1`, "MetricsServer", "both", {
      spec: {
        replicas: 2,
        externalLabels: { cluster: "a" },
        enableFeatures: ["exemplars"],
        extra: { a: 1, deep: { b: 1 } },
      },
    }),
    second: thing(`${group}/v1`, "MetricsServer", "both", {
      spec: { externalLabels: { region: "eu" }, enableFeatures: ["native"], extra: { deep: { c: [1, 2] } } },
    }),
    merged: {
      "spec.externalLabels": { cluster: "a", region: "eu" },
      "spec.enableFeatures": ["exemplars", "native"],
      "spec.extra": { a: 1, deep: { b: 1, c: [1, 2] } },
    },
    disputed: thing(`${group}/v1`, "MetricsServer", "both", {
      spec: { replicas: 3, externalLabels: { cluster: "b", region: "eu" }, extra: { deep: { b: 2 } } },
    }),
    disputedFields: [".spec.externalLabels.cluster", ".spec.extra.deep.b", ".spec.replicas"],
    settled: {
      "spec.replicas": 3,
      "spec.externalLabels": { cluster: "b", region: "eu" },
      "spec.enableFeatures": ["exemplars"],
      "spec.extra": { a: 1, deep: { b: 2 } },
    },
  },
  upgrade: {
    kind: "MetricsServer",
    versions: [
      server("v1", {}, { queryLogFile: text({ default: "none" }) }),
      server("v2", { storage: true }, { queryLogFile: text({ default: "none" }) }),
    ],
    stored: "v2",
    storedVersions: ["v1", "v2"],
    old: "main",
    shows: { "spec.queryLogFile": "none", "spec.remoteWrite.0.url": "https://example.com/write" },
    fresh: thing(`${group}/v2`, "MetricsServer", "fresh", { spec: { queryLogFile: "/log" } }),
    olderVersion: "v1",
    freshInOlder: { "spec.queryLogFile": "/log", "spec.evaluationInterval": "30s" },
  },
  explained: [
    {
      groupVersion: `${group}/v1`,
      schema: "com.example.monitoring.v1.MetricsServer",
      shows: {
        "properties.spec.properties.containers.items.properties.livenessProbe.properties.httpGet.properties.port.x-kubernetes-int-or-string": true,
        "properties.spec.properties.remoteWrite.items.required": ["url"],
        "properties.spec.properties.remoteWrite.description": /^At remoteWrite: /,
      },
    },
    {
      groupVersion: `${group}/v1`,
      schema: "com.example.monitoring.v1.AlertRule",
      shows: { required: ["spec"], "properties.spec.properties.groups.x-kubernetes-list-map-keys": ["name"] },
    },
  ],
};
