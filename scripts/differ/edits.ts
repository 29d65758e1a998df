/**
 * Random edits of an object within its type: removed fields, added fields, and other values, valid and invalid. The
 * same random numbers give the same edits.
 */
import type { Field, Schema } from "#schema/schema.ts";
import type { Random } from "#std/random.ts";
import { chance, pick, upTo } from "./choices.ts";
import { deviceExpressions, wrongDeviceExpressions } from "./device-expressions.ts";

/** Sets the value at a path, or removes it. */
export interface Edit {
  readonly path: readonly (string | number)[];
  /** The new value; `undefined` removes the present one. */
  readonly value: unknown;
}

const names = ["a", "b", "c", "data", "web-1", "", "Bad_Name", "-x", "a.b", "x".repeat(64), "a/b", "x".repeat(254)];
const keys = ["app", "example.com/key", "", "Bad Key", "/x", "x".repeat(64), "kubernetes.io/hostname", "a_b"];
const quantities = ["1", "100m", "0", "-1", "1Gi", "1.5", "2", "64Mi", "1n", "3Mi"];
const numbers = [-1, 0, 1, 2, 3, 5, 30, 80, 101, 8080, 65535, 65536, 2147483647];
const times = ["2024-01-02T03:04:05Z", "2025-01-02T03:04:05Z", "2023-01-02T03:04:05Z"];
const paths = ["/data", "data", "", "../x", "a/../b", "/", "/a:b", "/var/run", "a", "/a b"];
const addresses = ["10.0.0.1", "10.0.0.1/24", "fd00::1", "nonsense", "", "256.1.1.1", "010.0.0.1", "127.0.0.1"];

/** Texts by the last fields of their path. The first row that matches counts. */
const texts: readonly (readonly [RegExp, readonly string[]])[] = [
  [/ (podIP|hostIP|ip|nameservers)$/, addresses],
  [/ (mountPath|path|subPath|subPathExpr|workingDir|localhostProfile|devicePath|terminationMessagePath)$/, paths],
  [/ restartPolicy$/, ["Always", "OnFailure", "Never", "Sometimes"]],
  [/ dnsPolicy$/, ["ClusterFirst", "Default", "None", "ClusterFirstWithHostNet", "Other"]],
  [/ imagePullPolicy$/, ["Always", "IfNotPresent", "Never", "Other"]],
  [/ protocol$/, ["TCP", "UDP", "SCTP", "tcp", "HTTP"]],
  [/ scheme$/, ["HTTP", "HTTPS", "http"]],
  [/ terminationMessagePolicy$/, ["File", "FallbackToLogsOnError", "Other"]],
  [/ mountPropagation$/, ["None", "HostToContainer", "Bidirectional", "Other"]],
  [/ recursiveReadOnly$/, ["Disabled", "Enabled", "IfPossible", "Other"]],
  [
    / (nodeSelectorTerms|matchExpressions|matchFields) operator$/,
    ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
  ],
  [/ operator$/, ["In", "NotIn", "Exists", "DoesNotExist", "Equal", "Gt", "Other"]],
  [/ effect$/, ["NoSchedule", "PreferNoSchedule", "NoExecute", "Other"]],
  [/ whenUnsatisfiable$/, ["DoNotSchedule", "ScheduleAnyway", "Other"]],
  [/ node(Affinity|Taints)Policy$/, ["Honor", "Ignore", "Other"]],
  [/ preemptionPolicy$/, ["PreemptLowerPriority", "Never", "Other"]],
  [/ (add|drop)$/, ["NET_ADMIN", "ALL", "KILL", ""]],
  [/ seccompProfile type$/, ["RuntimeDefault", "Unconfined", "Localhost", "Other"]],
  [/ appArmorProfile type$/, ["RuntimeDefault", "Unconfined", "Localhost", "Other"]],
  [/ hostPath type$/, ["", "Directory", "File", "Socket", "Other"]],
  [/ procMount$/, ["Default", "Unmasked", "Other"]],
  [/ fsGroupChangePolicy$/, ["OnRootMismatch", "Always", "Other"]],
  [/ supplementalGroupsPolicy$/, ["Merge", "Strict", "Other"]],
  [/ sysctls name$/, ["kernel.shm_rmid_forced", "net.core.somaxconn", "Bad Name", ""]],
  [/ os name$/, ["linux", "windows", "plan9"]],
  [/ medium$/, ["", "Memory", "HugePages", "HugePages-2Mi", "Other"]],
  [/ fieldPath$/, ["metadata.name", "metadata.labels['app']", "status.podIP", "spec.nodeName", "spec.other", ""]],
  [/ resourceFieldRef resource$/, ["limits.cpu", "requests.memory", "limits.other", "cpu", ""]],
  [/ divisor$/, ["1", "1m", "1Mi", "7"]],
  [/ (topologyKey|key|labelKeys|matchLabelKeys|mismatchLabelKeys|conditionType|schedulingGates name)$/, keys],
  [/ values$/, ["a", "b", "5", "not ok", "x".repeat(64), ""]],
  [/ accessModes$/, ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod", "Other"]],
  [/ diskURI$/, ["https://a.example.com/d", "/subscriptions/a", "x", ""]],
  [/ cachingMode$/, ["None", "ReadOnly", "ReadWrite", "Other"]],
  [/ azureDisk kind$/, ["Shared", "Dedicated", "Managed", "Other"]],
  [/ dataSource(Ref)? kind$/, ["PersistentVolumeClaim", "VolumeSnapshot", "Other", ""]],
  [/ dataSource(Ref)? apiGroup$/, ["snapshot.storage.k8s.io", "example.com", "", "Bad_Group"]],
  [/ (iqn|initiatorName)$/, ["iqn.2003-01.org.example:a", "eui.0123456789abcdef", "iqn.x", "naa.1", "x", ""]],
  [/ registry$/, ["r:1", "r:1,s:2", "r", ""]],
  [/ tenant$/, ["t", "x".repeat(64), "x".repeat(65)]],
  [/ (datasetName|datasetUUID)$/, ["d", "a/b", ""]],
  [/ volumeMode$/, ["Filesystem", "Block", "Other"]],
  [/ strategy type$/, ["RollingUpdate", "Recreate", "Other"]],
  [/ updateStrategy type$/, ["RollingUpdate", "OnDelete", "Other"]],
  [/ podManagementPolicy$/, ["OrderedReady", "Parallel", "Other"]],
  [/ when(Deleted|Scaled)$/, ["Retain", "Delete", "Other"]],
  [/ completionMode$/, ["NonIndexed", "Indexed", "Other"]],
  [/ podReplacementPolicy$/, ["TerminatingOrFailed", "Failed", "Other"]],
  [/ (action)$/, ["FailJob", "FailIndex", "Ignore", "Count", "Other"]],
  [/ concurrencyPolicy$/, ["Allow", "Forbid", "Replace", "Other"]],
  [
    / schedule$/,
    ["* * * * *", "@hourly", "*/5 1,2 * 1-3 *", "61 * * * *", "@never", "", "TZ=UTC * * * * *", "* * * *"],
  ],
  [/ timeZone$/, ["Etc/UTC", "Europe/Berlin", "Local", "", "No/Where", "/etc/x", "UTC"]],
  [/ (succeededIndexes|completedIndexes|failedIndexes)$/, ["", "0", "0,2", "1-3", "3,1", "x", "0-", "1,1", "99"]],
  [/ managedBy$/, ["kubernetes.io/job-controller", "acme.io/foo", "x", "x".repeat(70)]],
  [/ selectPolicy$/, ["Max", "Min", "Disabled", "Other"]],
  [/ policies type$/, ["Pods", "Percent", "Other"]],
  [/ target type$/, ["Utilization", "Value", "AverageValue", "Other"]],
  [/ metrics type$/, ["Resource", "Pods", "Object", "External", "ContainerResource", "Other"]],
  [/ conditions status$/, ["True", "False", "Unknown", "", "Other"]],
  [/ phase$/, ["Pending", "Running", "Succeeded", "Failed", "Other"]],
  [/ qosClass$/, ["BestEffort", "Burstable", "Guaranteed", "Other"]],
  [
    / conditions type$/,
    ["Ready", "Complete", "Failed", "FailureTarget", "Suspended", "SuccessCriteriaMet", "Progressing"],
  ],
  [/ spec type$/, ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Limited", "Exempt", "Other"]],
  [/ (clusterIP|clusterIPs|externalIPs|loadBalancerIP|addresses)$/, [...addresses, "None"]],
  [
    / (cidr|except|podCIDR|podCIDRs|loadBalancerSourceRanges)$/,
    ["10.0.0.0/8", "10.0.0.1/8", "fd00::/64", "10.0.0.1", ""],
  ],
  [/ (ipFamilies|addressType)$/, ["IPv4", "IPv6", "FQDN", "Other", ""]],
  [/ ipFamilyPolicy$/, ["SingleStack", "PreferDualStack", "RequireDualStack", "Other"]],
  [/ (externalTrafficPolicy|internalTrafficPolicy)$/, ["Cluster", "Local", "Other", ""]],
  [/ sessionAffinity$/, ["None", "ClientIP", "Other"]],
  [/ trafficDistribution$/, ["PreferClose", "Other", ""]],
  [/ (externalName|host|hosts|fqdn)$/, ["a.example.com", "*.example.com", "*", "10.0.0.1", "Bad_Name", "a.", ""]],
  [/ appProtocol$/, ["http", "kubernetes.io/h2c", "Bad Proto", ""]],
  [/ pathType$/, ["Exact", "Prefix", "ImplementationSpecific", "Other"]],
  [/ policyTypes$/, ["Ingress", "Egress", "Other"]],
  [/ (reclaimPolicy|persistentVolumeReclaimPolicy)$/, ["Retain", "Delete", "Recycle", "Other"]],
  [/ volumeBindingMode$/, ["Immediate", "WaitForFirstConsumer", "Other"]],
  [
    / (provisioner|driver|drivers name|attacher|signerName|controller)$/,
    [...keys, "csi.example.com", "example.com/signer"],
  ],
  [/ volumeLifecycleModes$/, ["Persistent", "Ephemeral", "Other"]],
  [/ fsGroupPolicy$/, ["ReadWriteOnceWithFSType", "File", "None", "Other"]],
  [/ limits type$/, ["Pod", "Container", "PersistentVolumeClaim", "Other", "example.com/x"]],
  [/ scopes$/, ["Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "Other"]],
  [/ scopeName$/, ["Terminating", "BestEffort", "PriorityClass", "CrossNamespacePodAffinity", "Other"]],
  [/ unhealthyPodEvictionPolicy$/, ["IfHealthyBudget", "AlwaysAllow", "Other"]],
  [/ verbs$/, ["get", "*", "create", "", "Get"]],
  [/ apiGroups$/, ["", "*", "apps", "Bad_Group"]],
  [/ (resources|resourceNames)$/, ["pods", "*", "pods/status", "*/scale", "pods/*", "", "a/b/c"]],
  [/ nonResourceURLs$/, ["/healthz", "*", "/a/*", "healthz", "/*/b", ""]],
  [/ operations$/, ["CREATE", "UPDATE", "DELETE", "CONNECT", "*", "Other"]],
  [/ apiVersions$/, ["v1", "*", "", "Bad_V"]],
  [/ admissionReviewVersions$/, ["v1", "v1beta1", "v2", "", "Bad V"]],
  [/ sideEffects$/, ["None", "NoneOnDryRun", "Some", "Unknown", "Other"]],
  [/ failurePolicy$/, ["Fail", "Ignore", "Other"]],
  [/ matchPolicy$/, ["Exact", "Equivalent", "Other"]],
  [/ reinvocationPolicy$/, ["Never", "IfNeeded", "Other"]],
  [/ scope$/, ["Namespaced", "Cluster", "*", "Namespace", "Other"]],
  [
    / url$/,
    ["https://a.example.com/x", "http://a.example.com", "https://u:p@a.example.com", "https://a/?q=1", "x", ""],
  ],
  [/ usages$/, ["digital signature", "client auth", "server auth", "other"]],
  [/ distinguisherMethod type$/, ["ByUser", "ByNamespace", "Other"]],
  [/ limitResponse type$/, ["Queue", "Reject", "Other"]],
  [/ subjects kind$/, ["User", "Group", "ServiceAccount", "Other"]],
  [/ subjects apiGroup$/, ["rbac.authorization.k8s.io", "", "other"]],
  [/ roleRef (kind|apiGroup)$/, ["Role", "ClusterRole", "rbac.authorization.k8s.io", "", "Other"]],
  [/ strategy$/, ["None", "Webhook", "Other"]],
  [/ jsonPath$/, [".spec.a", "spec", ".", ".spec.a[", ""]],
  [/ additionalPrinterColumns type$/, ["string", "integer", "date", "other", ""]],
  [/ (plural|singular|shortNames|categories)$/, ["things", "Things", "a b", "", "x".repeat(64)]],
  [/ (listKind)$/, ["ThingList", "thingList", "Thing", ""]],
  [/ (immutable|type)$/, ["Opaque", "kubernetes.io/tls", "kubernetes.io/basic-auth", "Normal", "Warning", "", "Other"]],
  [/ image$/, ["registry.example.com/a:1", "a", "", " a", "b:2"]],
  [/ (apiVersion)$/, ["v1", "apps/v1", "", "a/b/c"]],
  [/ kind$/, ["Deployment", "ReplicaSet", "", "a/b"]],
  [/ (hostname|subdomain|serviceName)$/, names],
  [/ (searches)$/, ["example.com", "Bad_Domain", "a.", ""]],
  [/ (hostnames)$/, ["a.example.com", "Bad_Name", ""]],
  [/ (maxSurge|maxUnavailable)$/, ["25%", "0%", "101%", "x"]],
  [/ cel expression$/, [...deviceExpressions, ...wrongDeviceExpressions]],
  [/ cidrs$/, ["10.0.0.0/8", "10.0.0.1/8", "fd00::/64", "fd00::1/64", "FD00::/64", "010.0.0.0/8", "10.0.0.1", ""]],
  [/ ips$/, ["10.0.0.0/8", "fd00::/64", "FD00::/64", "10.0.0.1", ""]],
  [/ (binaryVersion|emulationVersion|version)$/, ["1.2.3", "1.2.3-rc.1+b", "v1.2", "01.2.3", "1.32", "0.0.0", ""]],
  [/ (matchAttribute)$/, ["a/b", "gpu.example.com/model", "a", "", "/a", "a/", "a/b/c", "Bad_/x y"]],
  [/ allocationMode$/, ["All", "ExactCount", "Other", ""]],
  [/ source$/, ["FromClaim", "FromClass", "Other", ""]],
  [/ resourceVersion$/, ["1", "", "-1", "x", "99999999999999999999"]],
  [/ pool( name)?$/, ["a", "a/b", "A", "", "/", "x".repeat(254)]],
  [/ (requests|request)$/, ["a", "b", "other", "", "Bad_"]],
  [/ name$/, names],
];

/** Returns a value of the type. `depth` is the depth to which objects have fields of objects. */
export function valueOf(random: Random, schema: Schema, path: string, depth: number): unknown {
  if (schema.special !== undefined) return specialValue(random, schema);
  switch (schema.type) {
    case "string":
      return textOf(random, schema, path);
    case "integer":
      return pick(random, schema.format === "int64" ? [...numbers, 4294967296] : numbers);
    case "number":
      return pick(random, numbers);
    case "boolean":
      return chance(random, 0.5);
    case "array":
      return Array.from(
        { length: pick(random, [0, 1, 1, 1, 2]) },
        () => valueOf(random, schema.items!, path, depth - 1), // lists have items
      );
    case "map":
      return Object.fromEntries(
        Array.from({ length: upTo(random, 2) }, () => [
          keyOf(random, path),
          valueOf(random, schema.items!, path, depth - 1), // maps have items
        ]),
      );
    case "object":
      return objectOf(random, schema, path, depth);
    case "any":
      return {};
  }
}

const attributes = ["a", "gpu.example.com/b", "a/b/c", "/a", "a/", "", "Bad Key", "x".repeat(40), "x".repeat(300)];
const ofMachines = ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu", "other", "storage"];

const keyOf = (random: Random, path: string): string =>
  pick(
    random,
    / (limits|requests|capacity|overhead|allocatedResources)$/.test(path)
      ? ofMachines
      : path.endsWith(" attributes")
        ? attributes
        : keys,
  );

function specialValue(random: Random, { special }: Schema): unknown {
  switch (special) {
    case "quantity":
      return pick(random, quantities);
    case "intOrString":
      return pick<unknown>(random, [0, 1, -1, 80, 70000, "25%", "http", "", "101%", "x y", "100%", "UPPER"]);
    case "time":
      return pick(random, times);
    case "microTime":
      return "2024-01-02T03:04:05.000000Z";
    default:
      return {};
  }
}

const base64 = ["YQ==", "", "eyJhdXRocyI6e319", "////"];

function textOf(random: Random, schema: Schema, path: string): string {
  if (schema.format === "byte") return pick(random, base64);
  const [, fieldTexts] = texts.find(([fits]) => fits.test(path)) ?? [];
  if (fieldTexts !== undefined) return pick(random, fieldTexts);
  return schema.enum === undefined || chance(random, 0.2) ? pick(random, names) : pick(random, schema.enum);
}

function objectOf(random: Random, schema: Schema, path: string, depth: number): unknown {
  const value: Record<string, unknown> = {};
  for (const [name, field] of schema.fields ?? []) {
    const isLeaf = ["string", "integer", "number", "boolean"].includes(field.schema.type);
    const share = field.required === true ? 0.9 : isLeaf ? 0.3 : depth > 0 ? 0.2 : 0;
    if (chance(random, share)) value[name] = valueOf(random, field.schema, `${path} ${name}`, depth - 1);
  }
  return value;
}

/** A value that can be changed, with its path and its type. */
interface TypedValue {
  readonly path: readonly (string | number)[];
  readonly schema: Schema;
  readonly value: unknown;
}

const textPath = (path: readonly (string | number)[]): string =>
  path
    .filter((part) => typeof part === "string")
    .map((part) => ` ${part}`)
    .join("");

function collect(typed: TypedValue, present: TypedValue[], absent: TypedValue[]): void {
  const { path, schema, value } = typed;
  present.push(typed);
  if (schema.type === "array" && Array.isArray(value)) {
    value.forEach((item, at) => collect({ path: [...path, at], schema: schema.items!, value: item }, present, absent)); // lists have items
    absent.push({ path: [...path, value.length], schema: schema.items!, value: undefined });
  } else if (schema.type === "object" && typeof value === "object" && value !== null) {
    for (const [name, { schema: inner }] of schema.fields ?? new Map<string, Field>()) {
      const field = { path: [...path, name], schema: inner, value: (value as Record<string, unknown>)[name] }; // an object
      if (field.value === undefined) absent.push(field);
      else collect(field, present, absent);
    }
  }
}

/** Lists the values below `root` in an object: present values, and absent ones that could exist. */
export function valuesIn(
  schema: Schema,
  value: unknown,
  root: readonly string[],
): { readonly present: readonly TypedValue[]; readonly absent: readonly TypedValue[] } {
  const present: TypedValue[] = [];
  const absent: TypedValue[] = [];
  collect({ path: root, schema, value }, present, absent);
  // The whole object is not replaced, since the new one would have no name.
  if (root.length === 0) present.shift();
  return { present, absent };
}

/** Makes some edits below `root` in an object. */
export function editsOf(
  random: Random,
  schema: Schema,
  value: unknown,
  root: readonly string[],
  count: number,
): Edit[] {
  const { present, absent } = valuesIn(schema, value, root);
  return Array.from({ length: count }, () => {
    if (absent.length > 0 && (present.length === 0 || chance(random, 0.45))) {
      const { path, schema: inner } = pick(random, absent);
      return { path, value: valueOf(random, inner, textPath(path), 2) };
    }
    const chosen = pick(random, present);
    const list = chosen.schema.type === "array" && Array.isArray(chosen.value) ? chosen.value : [];
    if (list.length > 0 && chance(random, 0.5)) return { path: chosen.path, value: [...list, pick(random, list)] };
    if (chosen.path.length > root.length && chance(random, 0.25)) return { path: chosen.path, value: undefined };
    return { path: chosen.path, value: valueOf(random, chosen.schema, textPath(chosen.path), 2) };
  });
}

/** Returns the object with an edit; unchanged if the path of the edit does not exist. */
export function applyEdit(value: unknown, { path, value: next }: Edit): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return next;
  if (Array.isArray(value) && typeof first === "number") {
    if (first > value.length) return value;
    const item = applyEdit(value[first], { path: rest, value: next });
    return item === undefined ? value.toSpliced(first, 1) : value.toSpliced(first, 1, item);
  }
  if (typeof value !== "object" || value === null) return value;
  const members = value as Record<string, unknown>; // an object
  const { [first]: before, ...others } = members;
  const item = applyEdit(before, { path: rest, value: next });
  return item === undefined ? others : { ...members, [first]: item };
}
