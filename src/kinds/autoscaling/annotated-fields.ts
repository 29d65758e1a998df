/**
 * Fields of autoscalers that version v1 keeps in annotations: metrics and their present values in the forms of v1,
 * conditions, and the behaviour with the names of Go's fields. Source: annotations that kube-apiserver 1.32 writes.
 */
import type {
  MetricSpec as OldMetric,
  MetricStatus as OldMetricStatus,
  ObjectMetricSource,
} from "#api/autoscaling/v1.ts";
import type {
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerCondition,
  HPAScalingRules,
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
} from "#api/autoscaling/v2.ts";
import type { LabelSelector } from "#api/meta/v1.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import { decodeTyped } from "#schema/typed.ts";
import { escapeHtml } from "#std/escape-html.ts";

/** The fields that the annotations hold, in the form of v2. */
interface AnnotatedFields {
  readonly metrics?: readonly MetricSpec[] | undefined;
  readonly behavior?: HorizontalPodAutoscalerBehavior | undefined;
  readonly currentMetrics?: readonly MetricStatus[] | undefined;
  readonly conditions?: readonly HorizontalPodAutoscalerCondition[] | undefined;
}

type FieldName = keyof AnnotatedFields;

/** The suffix of the name of each annotation, and the field that the annotation holds. */
const suffixes: readonly (readonly [suffix: string, field: FieldName])[] = [
  ["metrics", "metrics"],
  ["behavior", "behavior"],
  ["current-metrics", "currentMetrics"],
  ["conditions", "conditions"],
];

/** Decodes the texts of the annotations. */
export interface AnnotationDecoder {
  /** Returns the value of a JSON text. Throws `DecodeError`. */
  json(text: string): unknown;
  schemas(): AnnotatedSchemas;
}

/** The schemas of the values. */
export interface AnnotatedSchemas {
  /** The schemas of `v1.MetricSpec` and `v1.MetricStatus`. */
  readonly metric: Schema;
  readonly metricStatus: Schema;
  /** The schemas of the fields that annotations hold in their v2 form, and of conditions. */
  readonly behavior: Schema;
  readonly condition: Schema;
}

/**
 * Returns the names of the annotations, which begin with `prefix`: those that hold fields of the status, or those that
 * hold fields of the spec.
 */
export const annotationNames = (prefix: string, status: boolean): readonly string[] =>
  suffixes
    .filter(([, field]) => status === (field === "currentMetrics" || field === "conditions"))
    .map(([suffix]) => prefix + suffix);

/**
 * Returns the metadata without the annotations, and the fields that they hold. Any client may write them; invalid ones
 * are dropped.
 */
export function takeAnnotations(
  metadata: ObjectMeta,
  prefix: string,
  decoder: AnnotationDecoder,
): { readonly rest: ObjectMeta; readonly fields: AnnotatedFields } {
  const { annotations, ...meta } = metadata;
  if (annotations === undefined || !suffixes.some(([suffix]) => Object.hasOwn(annotations, prefix + suffix))) {
    return { rest: metadata, fields: {} };
  }
  const others = new Map(Object.entries(annotations));
  let fields: AnnotatedFields = {};
  for (const [suffix, field] of suffixes) {
    const text = others.get(prefix + suffix);
    if (text === undefined) continue;
    others.delete(prefix + suffix);
    try {
      fields = { ...fields, [field]: readers[field](decoder.json(text), decoder.schemas()) };
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return { rest: others.size === 0 ? meta : { ...meta, annotations: Object.fromEntries(others) }, fields };
}

/** Returns the metadata with an annotation for each field that is not empty. */
export function putAnnotations(metadata: ObjectMeta, prefix: string, fields: AnnotatedFields): ObjectMeta {
  const { metrics = [], behavior, currentMetrics = [], conditions = [] } = fields;
  const values: Readonly<Record<FieldName, unknown>> = {
    metrics: metrics.length === 0 ? undefined : metrics.map(oldMetric),
    behavior: behavior && { ScaleUp: goRules(behavior.scaleUp), ScaleDown: goRules(behavior.scaleDown) },
    currentMetrics: currentMetrics.length === 0 ? undefined : currentMetrics.map(oldStatus),
    conditions: conditions.length === 0 ? undefined : conditions,
  };
  const added = suffixes
    .filter(([, field]) => values[field] !== undefined)
    .map(([suffix, field]): [string, string] => [prefix + suffix, escapeHtml(JSON.stringify(values[field]))]);
  if (added.length === 0) return metadata;
  return { ...metadata, annotations: { ...metadata.annotations, ...Object.fromEntries(added) } };
}

const decode = (schema: Schema, value: unknown): unknown =>
  decodeTyped(schema, namedAsIn(schema, value), { keys: 0, unknown: false }, { defaults: false });

const listOf = (items: Schema): Schema => ({ type: "array", items });

const readers: Readonly<Record<FieldName, (value: unknown, schemas: AnnotatedSchemas) => unknown>> = {
  metrics: (value, { metric }) => ((decode(listOf(metric), value) ?? []) as readonly OldMetric[]).map(newMetric), // by its schema
  behavior(value, { behavior }) {
    const decoded = value === null ? {} : (decode(behavior, value) as HorizontalPodAutoscalerBehavior); // by its schema
    return Object.keys(decoded).length === 0 ? undefined : decoded;
  },
  currentMetrics: (value, { metricStatus }) =>
    ((decode(listOf(metricStatus), value) ?? []) as readonly OldMetricStatus[]).map(newStatus), // by its schema
  conditions: (value, { condition }) => decode(listOf(condition), value) ?? [],
};

/**
 * Returns the value with field names spelled as in the schema, since Go's decoder ignores case. Only the parts that the
 * schema describes are renamed; the decoder checks the rest.
 */
function namedAsIn(schema: Schema, value: unknown): unknown {
  const { items, fields } = schema;
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) {
    return schema.type === "array" && items !== undefined ? value.map((item) => namedAsIn(items, item)) : value;
  }
  if (fields === undefined) return value;
  const names = new Map([...fields.keys()].map((name) => [name.toLowerCase(), name]));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const knownName = names.get(name.toLowerCase());
      return knownName === undefined ? [] : [[knownName, namedAsIn(fields.get(knownName)!.schema, member)]];
    }),
  );
}

const goRules = (rules: HPAScalingRules | undefined): unknown =>
  rules === undefined
    ? null
    : {
        StabilizationWindowSeconds: rules.stabilizationWindowSeconds ?? null,
        SelectPolicy: rules.selectPolicy ?? null,
        Policies:
          rules.policies?.map(({ type, value, periodSeconds }) => ({
            Type: type,
            Value: value,
            PeriodSeconds: periodSeconds,
          })) ?? null,
      };

const metricIdentifier = (name: string, selector: LabelSelector | undefined): MetricIdentifier => ({
  name,
  ...(selector === undefined ? {} : { selector }),
});

/** Returns the fields without those that are undefined, in their order. */
function present<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T; // the defined ones
}

const average = (averageValue: string | undefined, averageUtilization: number | undefined): MetricTarget =>
  present<MetricTarget>({
    type: averageUtilization === undefined ? "AverageValue" : "Utilization",
    averageValue,
    averageUtilization,
  });

const objectTarget = ({ targetValue, averageValue }: ObjectMetricSource): MetricTarget =>
  present<MetricTarget>({
    type: averageValue === undefined ? "Value" : "AverageValue",
    value: targetValue,
    averageValue,
  });

function newMetric({ type, object, pods, resource, containerResource, external }: OldMetric): MetricSpec {
  return present<MetricSpec>({
    type,
    object: object && {
      describedObject: object.target,
      target: objectTarget(object),
      metric: metricIdentifier(object.metricName, object.selector),
    },
    pods: pods && {
      metric: metricIdentifier(pods.metricName, pods.selector),
      target: { type: "AverageValue", averageValue: pods.targetAverageValue },
    },
    resource: resource && {
      name: resource.name,
      target: average(resource.targetAverageValue, resource.targetAverageUtilization),
    },
    containerResource: containerResource && {
      name: containerResource.name,
      target: average(containerResource.targetAverageValue, containerResource.targetAverageUtilization),
      container: containerResource.container,
    },
    external: external && {
      metric: metricIdentifier(external.metricName, external.metricSelector),
      target: present<MetricTarget>({
        type: external.targetValue === undefined ? "AverageValue" : "Value",
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      }),
    },
  });
}

function oldMetric({ type, object, pods, resource, containerResource, external }: MetricSpec): OldMetric {
  return present<OldMetric>({
    type,
    object:
      object &&
      present<ObjectMetricSource>({
        target: object.describedObject,
        metricName: object.metric.name,
        targetValue: object.target.value ?? "0",
        selector: object.metric.selector,
        averageValue: object.target.averageValue,
      }),
    pods:
      pods &&
      present<NonNullable<OldMetric["pods"]>>({
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? "0",
        selector: pods.metric.selector,
      }),
    resource:
      resource &&
      present<NonNullable<OldMetric["resource"]>>({
        name: resource.name,
        targetAverageUtilization: resource.target.averageUtilization,
        targetAverageValue: resource.target.averageValue,
      }),
    containerResource:
      containerResource &&
      present<NonNullable<OldMetric["containerResource"]>>({
        name: containerResource.name,
        targetAverageUtilization: containerResource.target.averageUtilization,
        targetAverageValue: containerResource.target.averageValue,
        container: containerResource.container,
      }),
    external:
      external &&
      present<NonNullable<OldMetric["external"]>>({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        targetValue: external.target.value,
        targetAverageValue: external.target.averageValue,
      }),
  });
}

function newStatus({ type, object, pods, resource, containerResource, external }: OldMetricStatus): MetricStatus {
  return present<MetricStatus>({
    type,
    object: object && {
      metric: metricIdentifier(object.metricName, object.selector),
      current: present({ value: object.currentValue, averageValue: object.averageValue }),
      describedObject: object.target,
    },
    pods: pods && {
      metric: metricIdentifier(pods.metricName, pods.selector),
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && {
      name: resource.name,
      current: present({
        averageValue: resource.currentAverageValue,
        averageUtilization: resource.currentAverageUtilization,
      }),
    },
    containerResource: containerResource && {
      name: containerResource.name,
      current: present({
        averageValue: containerResource.currentAverageValue,
        averageUtilization: containerResource.currentAverageUtilization,
      }),
      container: containerResource.container,
    },
    external: external && {
      metric: metricIdentifier(external.metricName, external.metricSelector),
      current: present({ value: external.currentValue, averageValue: external.currentAverageValue }),
    },
  });
}

function oldStatus({ type, object, pods, resource, containerResource, external }: MetricStatus): OldMetricStatus {
  return present<OldMetricStatus>({
    type,
    object:
      object &&
      present<NonNullable<OldMetricStatus["object"]>>({
        target: object.describedObject,
        metricName: object.metric.name,
        currentValue: object.current.value ?? "0",
        selector: object.metric.selector,
        averageValue: object.current.averageValue,
      }),
    pods:
      pods &&
      present<NonNullable<OldMetricStatus["pods"]>>({
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? "0",
        selector: pods.metric.selector,
      }),
    resource:
      resource &&
      present<NonNullable<OldMetricStatus["resource"]>>({
        name: resource.name,
        currentAverageUtilization: resource.current.averageUtilization,
        currentAverageValue: resource.current.averageValue ?? "0",
      }),
    containerResource:
      containerResource &&
      present<NonNullable<OldMetricStatus["containerResource"]>>({
        name: containerResource.name,
        currentAverageUtilization: containerResource.current.averageUtilization,
        currentAverageValue: containerResource.current.averageValue ?? "0",
        container: containerResource.container,
      }),
    external:
      external &&
      present<NonNullable<OldMetricStatus["external"]>>({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        currentValue: external.current.value ?? "0",
        currentAverageValue: external.current.averageValue,
      }),
  });
}
