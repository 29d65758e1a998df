/**
 * HorizontalPodAutoscaler: scales a workload by metrics. Version v1 has one target for CPU use; annotations hold
 * everything else in v2 form, so that a read and a write in v1 lose nothing.
 */
import type { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from "#api/autoscaling/v1.ts";
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
  MetricTarget,
} from "#api/autoscaling/v2.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import type { Column, Conversion, Strategy } from "#registry/resource-definition.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import { decodeTyped } from "#schema/typed.ts";
import { ageColumn, columnsOf, nameColumn, text } from "../cells.ts";
import { validateAutoscaler, validateAutoscalerStatus } from "./autoscaler-validation.ts";
import { editField, fillAbsent, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment, SchemaOfVersion } from "../generic.ts";
import { ownPrefix } from "../core/resource-names.ts";

const shownMax = 2;

export function horizontalPodAutoscalers({ domain, gate }: KindEnvironment): KindBehaviour<HorizontalPodAutoscaler> {
  return {
    columns,
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      ...rules(domain, gate("HPAScaleToZero"), (object) => object),
    },
  };
}

/** Checks, which know the stored version alone. */
function rules<T extends ApiObject>(
  domain: ApiDomain,
  canBeZero: boolean,
  toHub: (object: T) => HorizontalPodAutoscaler,
): Pick<Strategy<T>, "validate" | "validateUpdate" | "subresources"> {
  const own = ownPrefix(domain);
  return {
    validate: (object) => validateAutoscaler(toHub(object), canBeZero, own),
    // One that has zero replicas may keep them when the gate is off again.
    validateUpdate: (object, old) =>
      validateAutoscaler(toHub(object), canBeZero || toHub(old).spec.minReplicas === 0, own),
    subresources: { status: { validateUpdate: (object) => validateAutoscalerStatus(toHub(object)) } },
  };
}

export function horizontalPodAutoscalersV1(
  { domain, gate }: KindEnvironment,
  schemaOf: SchemaOfVersion,
): KindBehaviour<HorizontalPodAutoscalerV1, HorizontalPodAutoscaler> {
  const conversion = v1Conversion(domain.rename("autoscaling.alpha.kubernetes.io/"), () => schemaOf("v2"));
  return {
    conversion,
    columns: columnsOf(columns, conversion.toHub),
    strategy: {
      defaults(object) {
        const next = editField(object, "spec", (spec) => fillAbsent(spec, { minReplicas: 1 }));
        const { metrics = [] } = conversion.toHub(next).spec;
        // What is the default of v2 is seen in v1, too.
        return jsonEquals(metrics, [cpuMetric(80)])
          ? editField(next, "spec", (spec) => fillAbsent(spec, { targetCPUUtilizationPercentage: 80 }))
          : next;
      },
      ...rules(domain, gate("HPAScaleToZero"), conversion.toHub),
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

function defaultSpec(spec: HorizontalPodAutoscalerSpec): HorizontalPodAutoscalerSpec {
  let next = fillAbsent(spec, { minReplicas: 1 });
  if ((next.metrics ?? []).length === 0) next = withField(next, "metrics", [cpuMetric(80)]);
  return editField(next, "behavior", (behavior) => ({
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

/** Names of annotations of v1 begin with `prefix`; `schema` is that of v2. */
function v1Conversion(
  prefix: string,
  schema: () => Schema,
): Conversion<HorizontalPodAutoscalerV1, HorizontalPodAutoscaler> {
  return {
    toHub({ metadata, spec, status }) {
      const { rest, kept } = takeAnnotations(metadata, prefix, schema);
      const { targetCPUUtilizationPercentage: target, ...limits } = spec;
      const { currentCPUUtilizationPercentage: current, currentReplicas, ...counts } = status;
      const currentMetrics = [...(current === undefined ? [] : [cpuStatus(current)]), ...(kept.currentMetrics ?? [])];
      return {
        metadata: rest,
        spec: defaultSpec({
          ...limits,
          metrics: [...(target === undefined ? [] : [cpuMetric(target)]), ...(kept.metrics ?? [])],
          ...(kept.behavior === undefined ? {} : { behavior: kept.behavior }),
        }),
        status: {
          ...(currentReplicas === 0 ? {} : { currentReplicas }),
          ...counts,
          currentMetrics: currentMetrics.length === 0 ? null : currentMetrics,
          ...(kept.conditions === undefined ? {} : { conditions: kept.conditions }),
        },
      };
    },
    fromHub({ metadata, spec, status }) {
      const { metrics = [], behavior, ...limits } = spec;
      const { currentMetrics, conditions, ...counts } = status;
      const currents = currentMetrics ?? [];
      const target = metrics.find((metric) => cpuTarget(metric) !== undefined);
      const now = currents.find((metric) => cpuNow(metric) !== undefined);
      return {
        metadata: putAnnotations(metadata, prefix, {
          metrics: metrics.filter((metric) => metric !== target),
          behavior,
          currentMetrics: currents.filter((metric) => metric !== now),
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

/** Fields of v2 that v1 keeps in annotations. */
interface Kept {
  readonly metrics?: readonly MetricSpec[] | undefined;
  readonly behavior?: HorizontalPodAutoscalerBehavior | undefined;
  readonly currentMetrics?: readonly MetricStatus[] | undefined;
  readonly conditions?: readonly HorizontalPodAutoscalerCondition[] | undefined;
}

/** The suffix of each annotation's name, and the field it holds. */
const annotated = [
  ["metrics", "spec", "metrics"],
  ["behavior", "spec", "behavior"],
  ["current-metrics", "status", "currentMetrics"],
  ["conditions", "status", "conditions"],
] as const;

/** Metadata without the annotations, and their content. Any client may write them; invalid content is dropped. */
function takeAnnotations(
  metadata: ObjectMeta,
  prefix: string,
  schema: () => Schema,
): { readonly rest: ObjectMeta; readonly kept: Kept } {
  const { annotations, ...meta } = metadata;
  if (annotations === undefined) return { rest: metadata, kept: {} };
  const others = new Map(Object.entries(annotations));
  let kept: Kept = {};
  for (const [suffix, part, field] of annotated) {
    const text = others.get(prefix + suffix);
    if (text === undefined) continue;
    others.delete(prefix + suffix);
    try {
      const hub = decodeTyped(schema(), { [part]: { [field]: JSON.parse(text) } }, { keys: 0, unknown: false });
      kept = { ...kept, [field]: (hub as Record<typeof part, Kept>)[part][field] }; // by the schema of v2
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof DecodeError)) throw error;
    }
  }
  return { rest: others.size === 0 ? meta : { ...meta, annotations: Object.fromEntries(others) }, kept };
}

function putAnnotations(metadata: ObjectMeta, prefix: string, kept: Kept): ObjectMeta {
  const added = annotated
    .filter(([, , field]) => kept[field] !== undefined && Object.keys(kept[field]).length > 0)
    .map(([suffix, , field]): [string, string] => [prefix + suffix, JSON.stringify(kept[field])]);
  if (added.length === 0) return metadata;
  return { ...metadata, annotations: { ...metadata.annotations, ...Object.fromEntries(added) } };
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

/** Names of the fields that hold the metrics of a type. */
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
