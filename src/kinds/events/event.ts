/** Event of events.k8s.io: the newer form of the core group's events, with which it shares its objects. */
import type { FieldError } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Conversion } from "#registry/resource-definition.ts";
import { eventColumns, validateNewEvent, validateNewEventUpdate, validateReport } from "../core/event.ts";
import { isAbsent, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function events(environment: KindEnvironment): KindBehaviour {
  const { rename } = environment.domain;
  const common = (core: Unstructured): FieldError[] => validateReport(core, "reportingController", rename);
  return {
    anyFinalizers: true,
    metadataRepeats: -1,
    conversion,
    columns: eventColumns((object) => conversion.toHub(object)),
    strategy: {
      validate(object) {
        const core = conversion.toHub(object);
        return [...common(core), ...validateNewEvent(core)];
      },
      validateUpdate(object, old) {
        const core = conversion.toHub(object);
        return [...common(core), ...validateNewEventUpdate(core, conversion.toHub(old))];
      },
      fields,
      ttlSeconds: () => environment.eventTtlSeconds,
    },
  };
}

function fields(object: Unstructured): Readonly<Record<string, string>> {
  const about = objectField(object, "regarding");
  return {
    reason: textField(object, "reason"),
    "regarding.kind": textField(about, "kind"),
    "regarding.namespace": textField(about, "namespace"),
    "regarding.name": textField(about, "name"),
    "regarding.uid": textField(about, "uid"),
    "regarding.apiVersion": textField(about, "apiVersion"),
    "regarding.resourceVersion": textField(about, "resourceVersion"),
    "regarding.fieldPath": textField(about, "fieldPath"),
    reportingController: textField(object, "reportingController"),
    type: textField(object, "type"),
  };
}

/** Fields that are left out when empty. */
function present(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => !isAbsent(value) && value !== "" && value !== 0),
  );
}

/** Each form has the fields that its schema always shows, in its order. */
const conversion: Conversion = {
  toHub: (object) => ({
    metadata: object.metadata,
    involvedObject: object["regarding"] ?? {},
    ...present({ reason: object["reason"], message: object["note"] }),
    source: object["deprecatedSource"] ?? {},
    firstTimestamp: object["deprecatedFirstTimestamp"] ?? null,
    lastTimestamp: object["deprecatedLastTimestamp"] ?? null,
    ...present({ count: object["deprecatedCount"], type: object["type"] }),
    eventTime: object["eventTime"] ?? null,
    ...present({ series: seriesToCore(object), action: object["action"], related: object["related"] }),
    reportingComponent: object["reportingController"] ?? "",
    reportingInstance: object["reportingInstance"] ?? "",
  }),
  fromHub: (object) => ({
    metadata: object.metadata,
    eventTime: object["eventTime"] ?? null,
    ...present({
      series: seriesFromCore(object),
      reportingController: object["reportingComponent"],
      reportingInstance: object["reportingInstance"],
      action: object["action"],
      reason: object["reason"],
    }),
    regarding: object["involvedObject"] ?? {},
    ...present({ related: object["related"], note: object["message"], type: object["type"] }),
    deprecatedSource: object["source"] ?? {},
    deprecatedFirstTimestamp: object["firstTimestamp"] ?? null,
    deprecatedLastTimestamp: object["lastTimestamp"] ?? null,
    ...present({ deprecatedCount: object["count"] }),
  }),
};

function seriesToCore(object: Unstructured): unknown {
  const series = objectField(object, "series");
  if (series === undefined) return undefined;
  return { ...present({ count: series["count"] }), lastObservedTime: series["lastObservedTime"] ?? null };
}

function seriesFromCore(object: Unstructured): unknown {
  const series = objectField(object, "series");
  if (series === undefined) return undefined;
  return { count: series["count"] ?? 0, lastObservedTime: series["lastObservedTime"] ?? null };
}
