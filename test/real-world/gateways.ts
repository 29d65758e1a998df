/**
 * Definitions of a traffic gateway in a protected group: many versions, deprecated ones, CEL rules, list maps, defaults
 * inside lists, tight bounds.
 */
import { absent } from "../view.ts";
import { definitionOf, type OperatorSet, thing, type VersionFields } from "./operator-set.ts";
import {
  atomicList,
  described,
  int32,
  labelSelector,
  list,
  listMap,
  mapOf,
  object,
  oneOf,
  rules,
  type Schema,
  text,
} from "./schema.ts";

const group = "gateways.networking.k8s.io";
const words = 12;
const annotations = {
  "api-approved.kubernetes.io": "https://example.com/reviews/1538",
  "gateways.networking.k8s.io/channel": "standard",
};

const dns = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const hostname = text({ minLength: 1, maxLength: 253, pattern: `^(\\*\\.)?${dns.slice(1)}` });
const sectionName = text({ minLength: 1, maxLength: 253, pattern: dns });
const groupName = (more: Schema = {}): Schema =>
  text({ maxLength: 253, pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", ...more });
const kindName = (more: Schema = {}): Schema =>
  text({ minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", ...more });
const namespaceName = text({ minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" });
const objectName = text({ minLength: 1, maxLength: 253 });
const port = int32({ minimum: 1, maximum: 65_535 });
const span = text({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" });

/** Initial conditions. */
const conditionsFrom = (...types: string[]): Schema =>
  listMap(
    ["type"],
    object(
      {
        type: text({ maxLength: 316 }),
        status: oneOf("True", "False", "Unknown"),
        reason: text({ minLength: 1, maxLength: 1024 }),
        message: text({ maxLength: 32_768 }),
        observedGeneration: { type: "integer", format: "int64", minimum: 0 },
        lastTransitionTime: text({ format: "date-time" }),
      },
      ["lastTransitionTime", "message", "reason", "status", "type"],
    ),
    {
      maxItems: 8,
      default: types.map((type) => ({
        type,
        status: "Unknown",
        reason: "Pending",
        message: "Waiting for controller",
        lastTransitionTime: "1970-01-01T00:00:00Z",
      })),
    },
  );

const parentReference = object(
  {
    group: groupName({ default: "gateways.networking.k8s.io" }),
    kind: kindName({ default: "Gateway" }),
    name: objectName,
    namespace: namespaceName,
    port,
    sectionName,
  },
  ["name"],
);
const parentRefs = list(parentReference, {
  maxItems: 32,
  ...rules([
    "self.all(p1, self.all(p2, p1.name != p2.name || has(p1.sectionName) == has(p2.sectionName)))",
    "sectionName must be given when there are several references to the same parent",
  ]),
});
const backendRef = (extra: Record<string, Schema> = {}): Schema =>
  object(
    {
      group: groupName({ default: "" }),
      kind: kindName({ default: "Service" }),
      name: objectName,
      namespace: namespaceName,
      port,
      weight: int32({ default: 1, minimum: 0, maximum: 1_000_000 }),
      ...extra,
    },
    ["name"],
    rules([
      "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
      "must have port for Service reference",
    ]),
  );
const headerName = text({ minLength: 1, maxLength: 256, pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$" });
const headerValues = listMap(
  ["name"],
  object({ name: headerName, value: text({ minLength: 1, maxLength: 4096 }) }, ["name", "value"]),
  {
    maxItems: 16,
  },
);
const headerChange = object({
  add: headerValues,
  remove: list(text(), { maxItems: 16, "x-kubernetes-list-type": "set" }),
  set: headerValues,
});
const pathChange = object(
  {
    type: oneOf("ReplaceFullPath", "ReplacePrefixMatch"),
    replaceFullPath: text({ maxLength: 1024 }),
    replacePrefixMatch: text({ maxLength: 1024 }),
  },
  ["type"],
  rules(["self.type == 'ReplaceFullPath' ? has(self.replaceFullPath) : true", "replaceFullPath must be given"]),
);
const filter = object(
  {
    type: oneOf(
      "RequestHeaderModifier",
      "ResponseHeaderModifier",
      "RequestMirror",
      "RequestRedirect",
      "URLRewrite",
      "ExtensionRef",
    ),
    extensionRef: object({ group: groupName(), kind: kindName(), name: objectName }, ["group", "kind", "name"]),
    requestHeaderModifier: headerChange,
    responseHeaderModifier: headerChange,
    requestMirror: object(
      {
        backendRef: backendRef(),
        percent: int32({ minimum: 0, maximum: 100 }),
        fraction: object({ numerator: int32({ minimum: 0 }), denominator: int32({ default: 100, minimum: 1 }) }, [
          "numerator",
        ]),
      },
      ["backendRef"],
    ),
    requestRedirect: object({
      hostname: text({ minLength: 1, maxLength: 253, pattern: dns }),
      path: pathChange,
      port,
      scheme: oneOf("http", "https"),
      statusCode: { type: "integer", enum: [301, 302], default: 302 },
    }),
    urlRewrite: object({ hostname: text({ minLength: 1, maxLength: 253, pattern: dns }), path: pathChange }),
  },
  ["type"],
  rules([
    "!(has(self.requestRedirect) && self.type != 'RequestRedirect')",
    "requestRedirect needs the type RequestRedirect",
  ]),
);
const nameMatch = object(
  {
    name: headerName,
    type: { ...oneOf("Exact", "RegularExpression"), default: "Exact" },
    value: text({ minLength: 1, maxLength: 1024 }),
  },
  ["name", "value"],
);
const match = object({
  headers: listMap(["name"], nameMatch, { maxItems: 16 }),
  method: oneOf("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"),
  path: object(
    {
      type: { ...oneOf("Exact", "PathPrefix", "RegularExpression"), default: "PathPrefix" },
      value: text({ default: "/", maxLength: 1024 }),
    },
    [],
    {
      default: { type: "PathPrefix", value: "/" },
      ...rules([
        "self.type in ['Exact','PathPrefix'] ? self.value.startsWith('/') : true",
        "value must start with '/'",
      ]),
    },
  ),
  queryParams: listMap(["name"], nameMatch, { maxItems: 16 }),
});

const routeRule = (extra: Record<string, Schema>): Schema =>
  object({
    name: sectionName,
    backendRefs: list(backendRef({ filters: list(filter, { maxItems: 8 }) }), { maxItems: 16 }),
    filters: list(filter, { maxItems: 16 }),
    matches: list(match, { maxItems: 8, default: [{ path: { type: "PathPrefix", value: "/" } }] }),
    ...extra,
  });
const routeStatus = object(
  {
    parents: atomicList(
      object(
        {
          controllerName: text({ minLength: 1, maxLength: 253 }),
          parentRef: parentReference,
          conditions: conditionsFrom(),
        },
        ["controllerName", "parentRef"],
      ),
      { maxItems: 32 },
    ),
  },
  ["parents"],
);

function httpRoute(name: string, more: Partial<VersionFields> = {}, extra: Record<string, Schema> = {}): VersionFields {
  const rule = routeRule({ timeouts: object({ request: span, backendRequest: span }), ...extra });
  return {
    name,
    spec: described(
      object({
        parentRefs,
        hostnames: list(hostname, { maxItems: 16 }),
        rules: list(rule, { maxItems: 16, default: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }] }),
      }),
      words,
    ),
    status: described(routeStatus, words),
    columns: [["Hostnames", ".spec.hostnames"]],
    ...more,
  };
}

const tls = object({
  mode: { ...oneOf("Terminate", "Passthrough"), default: "Terminate" },
  certificateRefs: list(
    object(
      {
        group: groupName({ default: "" }),
        kind: kindName({ default: "Secret" }),
        name: objectName,
        namespace: namespaceName,
      },
      ["name"],
    ),
    { maxItems: 64 },
  ),
  options: mapOf(text({ maxLength: 4096 }), { maxProperties: 16 }),
});
const listener = object(
  {
    name: sectionName,
    hostname,
    port,
    protocol: text({ minLength: 1, maxLength: 255 }),
    tls,
    allowedRoutes: object(
      {
        kinds: list(
          object({ group: groupName({ default: "gateways.networking.k8s.io" }), kind: kindName() }, ["kind"]),
          { maxItems: 8 },
        ),
        namespaces: object(
          { from: { ...oneOf("All", "Selector", "Same"), default: "Same" }, selector: labelSelector },
          [],
          {
            default: { from: "Same" },
          },
        ),
      },
      [],
      { default: { namespaces: { from: "Same" } } },
    ),
  },
  ["name", "port", "protocol"],
);
const gateway = (name: string, more: Partial<VersionFields> = {}): VersionFields => ({
  name,
  spec: described(
    object(
      {
        gatewayClassName: text({ minLength: 1, maxLength: 253 }),
        addresses: list(
          object(
            {
              type: text({ default: "IPAddress", minLength: 1, maxLength: 253 }),
              value: text({ minLength: 1, maxLength: 253 }),
            },
            ["value"],
          ),
          {
            maxItems: 16,
          },
        ),
        infrastructure: object({
          annotations: mapOf(text({ maxLength: 4096 }), { maxProperties: 8 }),
          labels: mapOf(text({ maxLength: 63 }), { maxProperties: 8 }),
          parametersRef: object({ group: groupName(), kind: kindName(), name: objectName }, ["group", "kind", "name"]),
        }),
        listeners: listMap(["name"], listener, {
          minItems: 1,
          maxItems: 64,
          ...rules([
            "self.all(l, l.protocol in ['HTTP','TCP','UDP'] ? !has(l.tls) : true)",
            "tls must not be given for the protocols HTTP, TCP and UDP",
          ]),
        }),
      },
      ["gatewayClassName", "listeners"],
    ),
    words,
  ),
  status: {
    ...object({
      addresses: list(object({ type: text({ default: "IPAddress" }), value: text() }, ["value"]), { maxItems: 16 }),
      conditions: conditionsFrom("Accepted", "Programmed"),
      listeners: listMap(
        ["name"],
        object({ name: sectionName, attachedRoutes: int32(), conditions: conditionsFrom() }, [
          "attachedRoutes",
          "conditions",
          "name",
        ]),
        { maxItems: 64 },
      ),
    }),
    default: {
      conditions: ["Accepted", "Programmed"].map((type) => ({
        type,
        status: "Unknown",
        reason: "Pending",
        message: "Waiting for controller",
        lastTransitionTime: "1970-01-01T00:00:00Z",
      })),
    },
  },
  columns: [
    ["Class", ".spec.gatewayClassName"],
    ["Address", ".status.addresses[*].value"],
    ["Programmed", '.status.conditions[?(@.type=="Programmed")].status'],
  ],
  ...more,
});
const gatewayClass = (name: string, more: Partial<VersionFields> = {}): VersionFields => ({
  name,
  spec: object(
    {
      controllerName: text({
        minLength: 1,
        maxLength: 253,
        pattern:
          "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$",
        ...rules(["self == oldSelf", "Value is immutable"]),
      }),
      description: text({ maxLength: 64 }),
    },
    ["controllerName"],
  ),
  columns: [
    ["Controller", ".spec.controllerName"],
    ["Description", ".spec.description", "string", 1],
  ],
  ...more,
});
const tcpLike = (name: string, more: Partial<VersionFields> = {}): VersionFields => ({
  name,
  spec: described(
    object(
      {
        parentRefs,
        rules: list(object({ name: sectionName, backendRefs: list(backendRef(), { maxItems: 16, minItems: 1 }) }), {
          minItems: 1,
          maxItems: 16,
        }),
      },
      ["rules"],
    ),
    words,
  ),
  status: routeStatus,
  ...more,
});
const grant = (name: string, more: Partial<VersionFields> = {}): VersionFields => ({
  name,
  withoutStatus: true,
  spec: object(
    {
      from: list(
        object({ group: groupName(), kind: kindName(), namespace: namespaceName }, ["group", "kind", "namespace"]),
        {
          minItems: 1,
          maxItems: 16,
        },
      ),
      to: list(object({ group: groupName(), kind: kindName(), name: objectName }, ["group", "kind"]), {
        minItems: 1,
        maxItems: 16,
      }),
    },
    ["from", "to"],
  ),
  ...more,
});

const stored = { storage: true };
const old = (name: string): object => ({ deprecationWarning: `${group}/${name} is going away; use ${group}/v1` });
const shared = { group, annotations, categories: ["gateways"] };

const front = {
  gatewayClassName: "fast",
  listeners: [
    { name: "web", port: 80, protocol: "HTTP" },
    { name: "tls", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "site-tls" }] } },
  ],
};
const pending = { status: "Unknown", reason: "Pending", message: "Waiting for controller" };

export const gateways: OperatorSet = {
  title: "gateways",
  definitions: [
    definitionOf({
      ...shared,
      kind: "GatewayClass",
      plural: "gatewayclasses",
      scope: "Cluster",
      shortNames: ["gc"],
      versions: [gatewayClass("v1", stored), gatewayClass("v1beta1")],
    }),
    definitionOf({
      ...shared,
      kind: "Gateway",
      plural: "gateways",
      shortNames: ["gtw"],
      versions: [gateway("v1", stored), gateway("v1beta1"), gateway("v1alpha2", old("v1alpha2"))],
    }),
    definitionOf({
      ...shared,
      kind: "HTTPRoute",
      plural: "httproutes",
      versions: [httpRoute("v1", stored), httpRoute("v1beta1"), httpRoute("v1alpha2", old("v1alpha2"))],
    }),
    definitionOf({
      ...shared,
      kind: "GRPCRoute",
      plural: "grpcroutes",
      versions: [tcpLike("v1", stored), tcpLike("v1alpha2", old("v1alpha2"))],
    }),
    definitionOf({
      ...shared,
      kind: "TLSRoute",
      plural: "tlsroutes",
      versions: [tcpLike("v1alpha2", { served: false }), tcpLike("v1alpha3", stored), tcpLike("v1", {})],
    }),
    definitionOf({
      ...shared,
      kind: "ReferenceGrant",
      plural: "referencegrants",
      shortNames: ["refgrant"],
      versions: [grant("v1alpha2", old("v1alpha2")), grant("v1beta1", stored)],
    }),
  ],
  accepted: [
    {
      object: thing(`${group}/v1`, "Gateway", "front", { spec: front }),
      shows: {
        "spec.listeners.0.allowedRoutes": { namespaces: { from: "Same" } },
        "spec.listeners.1.tls": {
          mode: "Terminate",
          certificateRefs: [{ group: "", kind: "Secret", name: "site-tls" }],
        },
        "status.conditions.0": { type: "Accepted", lastTransitionTime: "1970-01-01T00:00:00Z", ...pending },
        "status.conditions.1.type": "Programmed",
      },
    },
    {
      object: thing(`${group}/v1beta1`, "HTTPRoute", "shop", {
        spec: {
          parentRefs: [{ name: "front", sectionName: "web" }],
          hostnames: ["*.example.com"],
          rules: [
            { backendRefs: [{ name: "shop", port: 8080 }] },
            {
              matches: [{ path: { value: "/api" }, headers: [{ name: "X-Beta", value: "1" }] }],
              filters: [
                { type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "A", value: "b" }] } },
                { type: "RequestRedirect", requestRedirect: { scheme: "https" } },
              ],
              timeouts: { request: "10s" },
            },
          ],
        },
      }),
      shows: {
        "spec.parentRefs.0": { group, kind: "Gateway", name: "front", sectionName: "web" },
        "spec.rules.0": {
          backendRefs: [{ group: "", kind: "Service", name: "shop", port: 8080, weight: 1 }],
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
        },
        "spec.rules.1.matches.0": {
          path: { type: "PathPrefix", value: "/api" },
          headers: [{ name: "X-Beta", type: "Exact", value: "1" }],
        },
        "spec.rules.1.filters.1.requestRedirect.statusCode": 302,
      },
    },
    {
      object: thing(`${group}/v1`, "HTTPRoute", "all", { spec: {} }),
      shows: { "spec.rules": [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }] },
    },
    { object: thing(`${group}/v1`, "GatewayClass", "fast", { spec: { controllerName: "example.com/fast" } }) },
  ],
  refused: [
    {
      object: thing(`${group}/v1`, "Gateway", "bad", {
        spec: {
          gatewayClassName: "fast",
          listeners: [
            { name: "a", port: 0, protocol: "HTTP" },
            { name: "B_", port: 80, protocol: "HTTP", hostname: "*.*.x" },
          ],
        },
      }),
      causes: [
        "spec.listeners[0].port: Invalid value: 0: spec.listeners[0].port in body should be greater than or equal to 1",
        `spec.listeners[1].hostname: Invalid value: "*.*.x": spec.listeners[1].hostname in body should match '^(\\*\\.)?${dns.slice(1)}'`,
        `spec.listeners[1].name: Invalid value: "B_": spec.listeners[1].name in body should match '${dns}'`,
      ],
    },
    {
      object: thing(`${group}/v1`, "Gateway", "twice", {
        spec: {
          gatewayClassName: "fast",
          listeners: [
            { name: "a", port: 80, protocol: "HTTP" },
            { name: "a", port: 81, protocol: "HTTP" },
          ],
        },
      }),
      causes: ['spec.listeners[1]: Duplicate value: map[string]interface {}{"name":"a"}'],
    },
    {
      object: thing(`${group}/v1beta1`, "HTTPRoute", "bad", {
        spec: {
          rules: [
            {
              matches: [{ method: "BREW" }],
              filters: [{ type: "RequestRedirect", requestRedirect: { statusCode: 307 } }],
              timeouts: { request: "soon" },
            },
          ],
        },
      }),
      causes: [
        'spec.rules[0].matches[0].method: Unsupported value: "BREW": supported values: "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"',
        'spec.rules[0].filters[0].requestRedirect.statusCode: Unsupported value: 307: supported values: "301", "302"',
        "spec.rules[0].timeouts.request: Invalid value: \"soon\": spec.rules[0].timeouts.request in body should match '^([0-9]{1,5}(h|m|s|ms)){1,4}$'",
      ],
    },
    {
      object: thing(`${group}/v1`, "Gateway", "none", { spec: { gatewayClassName: "fast", listeners: [] } }),
      causes: ["spec.listeners: Invalid value: 0: spec.listeners in body should have at least 1 items"],
    },
  ],
  unknown: { fields: { spec: { class: "x" } }, named: ["spec.class"] },
  shared: {
    first: thing(`${group}/v1`, "Gateway", "both", {
      spec: { gatewayClassName: "fast", listeners: [{ name: "web", port: 80, protocol: "HTTP" }] },
    }),
    second: thing(`${group}/v1`, "Gateway", "both", {
      spec: { listeners: [{ name: "tls", port: 443, protocol: "HTTPS", tls: { mode: "Passthrough" } }] },
    }),
    merged: {
      "spec.listeners.length": 2,
      "spec.listeners.0.name": "web",
      "spec.listeners.1": {
        name: "tls",
        port: 443,
        protocol: "HTTPS",
        tls: { mode: "Passthrough" },
        allowedRoutes: { namespaces: { from: "Same" } },
      },
    },
    disputed: thing(`${group}/v1`, "Gateway", "both", {
      spec: { listeners: [{ name: "web", port: 8080, protocol: "HTTP" }] },
    }),
    disputedFields: ['.spec.listeners[name="web"].port'],
    settled: { "spec.listeners.length": 1, "spec.listeners.0.port": 8080 },
  },
  upgrade: {
    kind: "HTTPRoute",
    versions: [
      httpRoute("v2", stored, {
        retry: object({ attempts: int32({ default: 2, minimum: 0 }), codes: list(int32()) }, [], { default: {} }),
      }),
      httpRoute("v1"),
      httpRoute("v1beta1", old("v1beta1")),
    ],
    stored: "v2",
    storedVersions: ["v1", "v2"],
    old: "shop",
    shows: {
      apiVersion: `${group}/v2`,
      // Stored objects get the defaults of the version they are stored in, and that one has no such field.
      "spec.rules.0.retry": absent,
      "spec.rules.1.timeouts.request": "10s",
    },
    rewritten: { "spec.rules.0.retry": { attempts: 2 }, "spec.rules.1.retry": { attempts: 2 } },
    fresh: thing(`${group}/v2`, "HTTPRoute", "fresh", {
      spec: { rules: [{ retry: { attempts: 5, codes: [503] } }] },
    }),
    olderVersion: "v1",
    // Fields that the older version does not know are not shown in it, and stay stored.
    freshInOlder: {
      apiVersion: `${group}/v1`,
      "spec.rules": [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }],
    },
  },
  explained: [
    {
      groupVersion: `${group}/v1`,
      schema: "io.k8s.networking.gateways.v1.Gateway",
      shows: {
        "properties.spec.properties.listeners.x-kubernetes-list-map-keys": ["name"],
        "properties.spec.properties.listeners.minItems": 1,
        "properties.spec.properties.listeners.x-kubernetes-validations.0.message":
          "tls must not be given for the protocols HTTP, TCP and UDP",
        "properties.spec.properties.listeners.items.properties.tls.properties.mode.default": "Terminate",
        "properties.status.default.conditions.1.type": "Programmed",
      },
    },
    {
      groupVersion: `${group}/v1beta1`,
      schema: "io.k8s.networking.gateways.v1beta1.HTTPRoute",
      shows: {
        "properties.spec.properties.rules.items.properties.matches.items.properties.path.default": {
          type: "PathPrefix",
          value: "/",
        },
      },
    },
  ],
};
