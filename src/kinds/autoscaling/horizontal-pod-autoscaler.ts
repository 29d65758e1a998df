/**
 * HorizontalPodAutoscaler: scales a workload by metrics. Version v1 has a single target, the CPU usage; annotations
 * hold everything else (`annotated-fields.ts`), so that a read and a write in v1 lose little.
 */
import type { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from "#api/autoscaling/v1.ts";
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
  MetricTarget,
} from "#api/autoscaling/v2.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Column, Conversion, Strategy } from "#registry/resource-definition.ts";
import { ageColumn, columnsOf, nameColumn, text } from "../cells.ts";
import {
  annotationNames,
  type AnnotatedSchemas,
  type AnnotationDecoder,
  putAnnotations,
  takeAnnotations,
} from "./annotated-fields.ts";
import { validateAutoscaler, validateAutoscalerStatus } from "./autoscaler-validation.ts";
import { editField, fillAbsent, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment, SchemaOfVersion } from "../generic.ts";
import { ownPrefix } from "../core/resource-names.ts";

const shownMax = 2;

export function horizontalPodAutoscalers({ domain, gate }: KindEnvironment): KindBehaviour<HorizontalPodAutoscaler> {
  const prefix = annotationPrefix(domain);
  const ofV1 = [...annotationNames(prefix, false), ...annotationNames(prefix, true)];
  return {
    columns,
    strategy: {
      defaults: (object) => withAnnotationsOf(editField(object, "spec", defaultSpec), undefined, ofV1),
      ...rules(domain, gate("HPAScaleToZero"), (object) => object),
    },
  };
}

const annotationPrefix = ({ rename }: ApiDomain): string => rename("autoscaling.alpha.kubernetes.io/");

/** Makes the checks, which see objects in the stored version only. */
function rules<T extends ApiObject>(
  domain: ApiDomain,
  canBeZero: boolean,
  toHub: (object: T) => HorizontalPodAutoscaler,
): Pick<Strategy<T>, "validate" | "validateUpdate" | "subresources"> {
  const own = ownPrefix(domain);
  return {
    validate: (object) => validateAutoscaler(toHub(object), canBeZero, own),
    // An autoscaler with zero replicas may keep them when the gate is off again.
    validateUpdate: (object, old) =>
      validateAutoscaler(toHub(object), canBeZero || toHub(old).spec.minReplicas === 0, own),
    subresources: { status: { validateUpdate: (object) => validateAutoscalerStatus(toHub(object)) } },
  };
}

export function horizontalPodAutoscalersV1(
  { domain, gate, decodeJson }: KindEnvironment,
  schemaOf: SchemaOfVersion,
): KindBehaviour<HorizontalPodAutoscalerV1, HorizontalPodAutoscaler> {
  const prefix = annotationPrefix(domain);
  const schemas = (): AnnotatedSchemas => ({
    metric: schemaOf("v1", "MetricSpec"),
    metricStatus: schemaOf("v1", "MetricStatus"),
    behavior: schemaOf("v2", "HorizontalPodAutoscalerBehavior"),
    condition: schemaOf("v1", "HorizontalPodAutoscalerCondition"),
  });
  const decoder = { json: decodeJson, schemas };
  const conversion = v1Conversion(prefix, decoder, defaultSpec);
  // Upstream: a behaviour in an annotation gets its defaults only when it is stored.
  const received = v1Conversion(prefix, decoder, defaultMetrics);
  const ofSpec = annotationNames(prefix, false);
  const ofStatus = annotationNames(prefix, true);
  const own = rules(domain, gate("HPAScaleToZero"), received.toHub);
  return {
    conversion,
    columns: columnsOf(columns, conversion.toHub),
    fieldAnnotations: [...ofSpec, ...ofStatus],
    strategy: {
      // Clients of v1 see the defaults of v2, and annotations hold those for which v1 has no field.
      defaults: (object) => ({ ...object, ...received.fromHub(received.toHub(object)) }),
      ...own,
      // Only writes of the status change annotations that hold the status; only the other writes change those of the
      // spec.
      prepareForCreate: (object) => withAnnotationsOf(object, undefined, ofStatus),
      prepareForUpdate: (object, old) => withAnnotationsOf(object, old, ofStatus),
      subresources: {
        status: {
          ...own.subresources?.["status"],
          prepareForUpdate: (object, old) => withAnnotationsOf(object, old, ofSpec),
        },
      },
    },
  };
}

const cpuMetric = (averageUtilization: number): MetricSpec => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});

const scaleUp: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};
const scaleDown: HPAScalingRules = {
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

function defaultMetrics(spec: HorizontalPodAutoscalerSpec): HorizontalPodAutoscalerSpec {
  const next = fillAbsent(spec, { minReplicas: 1 });
  return (next.metrics ?? []).length === 0 ? withField(next, "metrics", [cpuMetric(80)]) : next;
}

function defaultSpec(spec: HorizontalPodAutoscalerSpec): HorizontalPodAutoscalerSpec {
  return editField(defaultMetrics(spec), "behavior", (behavior) => ({
    ...behavior,
    scaleUp: fillAbsent(behavior.scaleUp ?? {}, scaleUp),
    scaleDown: fillAbsent(behavior.scaleDown ?? {}, scaleDown),
  }));
}

const cpuTarget = ({ type, resource }: MetricSpec): number | undefined =>
  type === "Resource" && resource?.name === "cpu" ? resource.target.averageUtilization : undefined;

const cpuNow = ({ type, resource }: MetricStatus): number | undefined =>
  type === "Resource" && resource?.name === "cpu" ? resource.current.averageUtilization : undefined;

const cpuStatus = (averageUtilization: number): MetricStatus => ({
  type: "Resource",
  resource: { name: "cpu", current: { averageUtilization } },
});

/**
 * Makes the conversion of v1. Names of annotations begin with `prefix`; `defaults` fills in a spec that was converted
 * to v2.
 */
function v1Conversion(
  prefix: string,
  decoder: AnnotationDecoder,
  defaults: (spec: HorizontalPodAutoscalerSpec) => HorizontalPodAutoscalerSpec,
): Conversion<HorizontalPodAutoscalerV1, HorizontalPodAutoscaler> {
  return {
    toHub({ metadata, spec, status }) {
      const { rest, fields } = takeAnnotations(metadata, prefix, decoder);
      const { targetCPUUtilizationPercentage: target, ...limits } = spec;
      const { currentCPUUtilizationPercentage: current, currentReplicas, ...counts } = status;
      // The annotation holds all current metrics, in more detail.
      const currentMetrics = fields.currentMetrics ?? (current === undefined ? [] : [cpuStatus(current)]);
      return {
        metadata: rest,
        spec: defaults({
          ...limits,
          metrics: [...(fields.metrics ?? []), ...(target === undefined ? [] : [cpuMetric(target)])],
          ...(fields.behavior === undefined ? {} : { behavior: fields.behavior }),
        }),
        status: {
          ...(currentReplicas === 0 ? {} : { currentReplicas }),
          ...counts,
          currentMetrics: currentMetrics.length === 0 ? null : currentMetrics,
          ...(fields.conditions === undefined || fields.conditions.length === 0
            ? {}
            : { conditions: fields.conditions }),
        },
      };
    },
    keep: (object, stored, subresource) =>
      subresource === "status" ? { ...object, spec: stored.spec } : { ...object, status: stored.status },
    fromHub({ metadata, spec, status }) {
      const { metrics = [], behavior, ...limits } = spec;
      const { currentMetrics, conditions, ...counts } = status;
      const target = metrics.find((metric) => cpuTarget(metric) !== undefined);
      const now = currentMetrics?.findLast((metric) => cpuNow(metric) !== undefined);
      return {
        metadata: putAnnotations(metadata, prefix, {
          metrics: metrics.filter((metric) => cpuTarget(metric) === undefined),
          behavior,
          currentMetrics: currentMetrics ?? undefined,
          conditions,
        }),
        spec: withField<HorizontalPodAutoscalerV1["spec"], "targetCPUUtilizationPercentage">(
          limits,
          "targetCPUUtilizationPercentage",
          target && cpuTarget(target),
        ),
        status: withField<HorizontalPodAutoscalerV1["status"], "currentCPUUtilizationPercentage">(
          { ...counts, currentReplicas: counts.currentReplicas ?? 0 },
          "currentCPUUtilizationPercentage",
          now && cpuNow(now),
        ),
      };
    },
  };
}

/** Returns the object with the annotations `names` replaced by those of the object `from`. */
function withAnnotationsOf<T extends ApiObject>(object: T, from: T | undefined, names: readonly string[]): T {
  const { annotations = {} } = object.metadata;
  const wanted = from?.metadata.annotations ?? {};
  if (names.every((name) => annotations[name] === wanted[name])) return object;
  const remaining = Object.entries(annotations).filter(([name]) => !names.includes(name));
  const taken = Object.entries(wanted).filter(([name]) => names.includes(name));
  const all = Object.fromEntries([...remaining, ...taken]);
  return {
    ...object,
    metadata: withField(object.metadata, "annotations", Object.keys(all).length === 0 ? undefined : all),
  };
}

const columns: readonly Column<HorizontalPodAutoscaler>[] = [
  nameColumn,
  text("Reference", "What is scaled.", ({ spec: { scaleTargetRef: of } }) => `${of.kind}/${of.name}`),
  text("Targets", "Present and wanted values of the metrics.", metricsText),
  text("MinPods", "Lowest number of pods.", ({ spec }) => String(spec.minReplicas ?? "<unset>")),
  text("MaxPods", "Highest number of pods.", ({ spec }) => spec.maxReplicas),
  text("Replicas", "Present number of pods.", ({ status }) => status.currentReplicas ?? 0),
  ageColumn,
];

function metricsText({ spec: { metrics = [] }, status: { currentMetrics } }: HorizontalPodAutoscaler): string {
  if (metrics.length === 0) return "<none>";
  const shown = metrics.slice(0, shownMax).map((metric, index) => metricText(metric, currentMetrics?.[index]));
  const more = metrics.length - shownMax;
  return shown.join(", ") + (more > 0 ? ` + ${more} more...` : "");
}

/** The field that holds the metric source of each type. */
const sources = new Map<string, "external" | "object" | "pods" | "resource" | "containerResource">([
  ["External", "external"],
  ["Object", "object"],
  ["Pods", "pods"],
  ["Resource", "resource"],
  ["ContainerResource", "containerResource"],
]);

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  const { type } = spec;
  const source = sources.get(type);
  const metric = source && spec[source];
  const current = source && status?.[source]?.current;
  const { value, averageValue, averageUtilization }: Partial<MetricTarget> = metric?.target ?? {};
  const now = (name: "value" | "averageValue"): string => current?.[name] ?? "<unknown>";
  if (type === "Pods") return `${now("averageValue")}/${String(averageValue)}`;
  if (type === "External" || type === "Object") {
    if (averageValue !== undefined) return `${now("averageValue")}/${averageValue} (avg)`;
    return `${now("value")}/${String(value)}`;
  }
  const name = metric !== undefined && "name" in metric ? metric.name : "";
  if (averageValue !== undefined) return `${name}: ${now("averageValue")}/${averageValue}`;
  const percent = (number: number | undefined, none: string): string => (number === undefined ? none : `${number}%`);
  return `${name}: ${percent(current?.averageUtilization, "<unknown>")}/${percent(averageUtilization, "<auto>")}`;
}
