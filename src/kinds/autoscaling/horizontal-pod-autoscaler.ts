/**
 * HorizontalPodAutoscaler: scales a workload by metrics. Version v1 knows one target for processor use; what else an
 * object says is shown there in annotations, in the form of v2, so that a read and a write back lose nothing.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import type { Column, Conversion } from "#registry/resource-definition.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import {
  editField,
  fillAbsent,
  isAbsent,
  type Json,
  listField,
  noFields,
  numberField,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

const shownMax = 2;

export function horizontalPodAutoscalers(environment: KindEnvironment, version: string): KindBehaviour {
  if (version === "v2") {
    return {
      columns: columns((object) => object),
      strategy: { defaults: (object) => editField(object, "spec", defaultSpec) },
    };
  }
  const conversion = v1Conversion(environment.domain.rename("autoscaling.alpha.kubernetes.io/"));
  return {
    conversion,
    columns: columns((object) => conversion.toHub(object)),
    strategy: { defaults: (object) => editField(object, "spec", (spec) => fillAbsent(spec, { minReplicas: 1 })) },
  };
}

const cpuMetric = (averageUtilization: unknown): Json => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});

const scaleUp: Json = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};
const scaleDown: Json = { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] };

function defaultSpec(spec: Json): Json {
  let next = fillAbsent(spec, { minReplicas: 1 });
  if (listField(next, "metrics").length === 0) next = withField(next, "metrics", [cpuMetric(80)]);
  return editField(next, "behavior", (behavior) => {
    const up = fillAbsent(objectField(behavior, "scaleUp") ?? noFields, scaleUp);
    const down = fillAbsent(objectField(behavior, "scaleDown") ?? noFields, scaleDown);
    return withField(withField(behavior, "scaleUp", up), "scaleDown", down);
  });
}

const isCpu = (metric: Json): boolean =>
  textField(metric, "type") === "Resource" && textField(objectField(metric, "resource"), "name") === "cpu";

const cpuTarget = (metric: Json): unknown =>
  isCpu(metric)
    ? objectField(objectField(metric, "resource") ?? noFields, "target")?.["averageUtilization"]
    : undefined;

const cpuNow = (metric: Json): unknown =>
  isCpu(metric)
    ? objectField(objectField(metric, "resource") ?? noFields, "current")?.["averageUtilization"]
    : undefined;

/** What annotations keep, by the end of their names. */
const kept = ["metrics", "behavior", "current-metrics", "conditions"] as const;
type Kept = Readonly<Partial<Record<(typeof kept)[number], unknown>>>;

function v1Conversion(prefix: string): Conversion {
  return {
    toHub(object) {
      const { rest, values } = takeAnnotations(object, prefix);
      const spec = objectField(object, "spec") ?? noFields;
      const status = objectField(object, "status") ?? noFields;
      const { targetCPUUtilizationPercentage: target, ...limits } = spec;
      const { currentCPUUtilizationPercentage: current, ...counts } = status;
      const metrics = [...(isAbsent(target) ? [] : [cpuMetric(target)]), ...asList(values.metrics)];
      const currents = [
        ...(isAbsent(current)
          ? []
          : [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: current } } }]),
        ...asList(values["current-metrics"]),
      ];
      return {
        metadata: rest,
        spec: defaultSpec({
          ...limits,
          metrics,
          ...(values.behavior === undefined ? {} : { behavior: values.behavior }),
        }),
        status: {
          ...counts,
          currentMetrics: currents.length === 0 ? null : currents,
          ...(values.conditions === undefined ? {} : { conditions: values.conditions }),
        },
      };
    },
    fromHub(object) {
      const { metrics: _metrics, behavior, ...limits } = objectField(object, "spec") ?? noFields;
      const { currentMetrics: _current, conditions, ...counts } = objectField(object, "status") ?? noFields;
      const metrics = listField(objectField(object, "spec") ?? noFields, "metrics");
      const currents = listField(objectField(object, "status") ?? noFields, "currentMetrics");
      const target = metrics.find((metric) => !isAbsent(cpuTarget(metric)));
      const now = currents.find((metric) => !isAbsent(cpuNow(metric)));
      return {
        metadata: putAnnotations(object, prefix, {
          metrics: orNothing(metrics.filter((metric) => metric !== target)),
          behavior,
          "current-metrics": orNothing(currents.filter((metric) => metric !== now)),
          conditions,
        }),
        spec: {
          ...limits,
          ...(target === undefined ? {} : { targetCPUUtilizationPercentage: cpuTarget(target) }),
        },
        status: {
          ...counts,
          ...(now === undefined ? {} : { currentCPUUtilizationPercentage: cpuNow(now) }),
        },
      };
    },
  };
}

const asList = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []); // checked where it is written
const orNothing = (list: readonly Json[]): unknown => (list.length === 0 ? undefined : list);

/** Metadata without the annotations that stand for fields of v2, and what they say. Unreadable ones are dropped. */
function takeAnnotations(object: Unstructured, prefix: string): { rest: Unstructured["metadata"]; values: Kept } {
  const { annotations } = object.metadata;
  const names = new Map<string, string>(kept.map((name) => [prefix + name, name]));
  if (annotations === undefined || !Object.keys(annotations).some((name) => names.has(name))) {
    return { rest: object.metadata, values: {} };
  }
  const others: [string, string][] = [];
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(annotations)) {
    const field = names.get(name);
    if (field === undefined) others.push([name, value]);
    else {
      const read = parse(value);
      if (read !== undefined) values[field] = read;
    }
  }
  const { annotations: _annotations, ...meta } = object.metadata;
  return { rest: others.length === 0 ? meta : { ...meta, annotations: Object.fromEntries(others) }, values };
}

function parse(value: string): unknown {
  try {
    const read: unknown = JSON.parse(value);
    return typeof read === "object" && read !== null ? read : undefined;
  } catch {
    return undefined;
  }
}

function putAnnotations(object: Unstructured, prefix: string, values: Kept): Unstructured["metadata"] {
  const added = kept
    .filter((name) => !isAbsent(values[name]))
    .map((name): [string, string] => [prefix + name, JSON.stringify(values[name])]);
  if (added.length === 0) return object.metadata;
  return { ...object.metadata, annotations: { ...object.metadata.annotations, ...Object.fromEntries(added) } };
}

/** `toHub` makes a v2 object. */
function columns(toHub: (object: Unstructured) => Unstructured): readonly Column[] {
  const spec = (object: Unstructured): Json => objectField(toHub(object), "spec") ?? noFields;
  return [
    nameColumn,
    text("Reference", "What is scaled.", (object) => {
      const target = objectField(spec(object), "scaleTargetRef");
      return `${textField(target, "kind")}/${textField(target, "name")}`;
    }),
    text("Targets", "Present and wanted values of the metrics.", (object) => metricsText(toHub(object))),
    text("MinPods", "Lowest number of pods.", (object) => {
      const min = spec(object)["minReplicas"];
      return typeof min === "number" ? String(min) : "<unset>";
    }),
    text("MaxPods", "Highest number of pods.", (object) => numberField(spec(object), "maxReplicas")),
    text("Replicas", "Present number of pods.", (object) =>
      numberField(objectField(toHub(object), "status"), "currentReplicas"),
    ),
    ageColumn,
  ];
}

function metricsText(object: Unstructured): string {
  const specs = listField(objectField(object, "spec") ?? noFields, "metrics");
  const statuses = listField(objectField(object, "status") ?? noFields, "currentMetrics");
  if (specs.length === 0) return "<none>";
  const shown = specs.slice(0, shownMax).map((spec, index) => metricText(spec, statuses[index]));
  const more = specs.length - shownMax;
  return shown.join(", ") + (more > 0 ? ` + ${more} more...` : "");
}

const sources: Readonly<Record<string, string>> = {
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource",
  ContainerResource: "containerResource",
};

function metricText(spec: Json, status: Json | undefined): string {
  const type = textField(spec, "type");
  const source = sources[type] ?? "";
  const metric = objectField(spec, source) ?? noFields;
  const target = objectField(metric, "target") ?? noFields;
  const current = objectField(objectField(status ?? noFields, source) ?? noFields, "current");
  const now = (name: string): string => {
    const value = current?.[name];
    return isAbsent(value) || value === "" ? "<unknown>" : String(value);
  };
  const average = target["averageValue"];
  if (type === "Pods") return `${now("averageValue")}/${String(average)}`;
  if (type === "External" || type === "Object") {
    if (!isAbsent(average)) return `${now("averageValue")}/${String(average)} (avg)`;
    return `${now("value")}/${String(target["value"])}`;
  }
  const name = textField(metric, "name");
  if (!isAbsent(average)) return `${name}: ${now("averageValue")}/${String(average)}`;
  const used = isAbsent(current?.["averageUtilization"]) ? "<unknown>" : `${String(current!["averageUtilization"])}%`;
  const wanted = target["averageUtilization"];
  return `${name}: ${used}/${isAbsent(wanted) ? "<auto>" : `${String(wanted)}%`}`;
}
