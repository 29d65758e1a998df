/** Event of events.k8s.io: the newer form of events. The stored objects are those of the core group. */
import type { Event as CoreEvent, EventSeries as CoreEventSeries } from "#api/core/v1.ts";
import type { Event, EventSeries } from "#api/events/v1.ts";
import type { FieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Conversion } from "#registry/resource-definition.ts";
import { emptyMembers, noteEmpty } from "#schema/given-empty.ts";
import { eventColumns, validateNewEvent, validateNewEventUpdate, validateReport } from "../core/event.ts";
import { columnsOf } from "../cells.ts";
import { isZero } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function events(environment: KindEnvironment): KindBehaviour<Event, CoreEvent> {
  const { rename } = environment.domain;
  const common = (core: CoreEvent): FieldError[] => validateReport(core, FieldPath.of("reportingController"), rename);
  return {
    conversion,
    columns: columnsOf(eventColumns, conversion.toHub),
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

function fields(event: Event): Readonly<Record<string, string>> {
  const { regarding } = event;
  return {
    reason: event.reason ?? "",
    "regarding.kind": regarding.kind ?? "",
    "regarding.namespace": regarding.namespace ?? "",
    "regarding.name": regarding.name ?? "",
    "regarding.uid": regarding.uid ?? "",
    "regarding.apiVersion": regarding.apiVersion ?? "",
    "regarding.resourceVersion": regarding.resourceVersion ?? "",
    "regarding.fieldPath": regarding.fieldPath ?? "",
    reportingController: event.reportingController ?? "",
    type: event.type ?? "",
  };
}

/** Returns the object without empty fields. */
function present<T extends object>(values: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isZero(value))) as typeof values; // some of its fields
}

/** The conversion to the core form. The fields that a form always shows, and their order, are those of its schema. */
const conversion: Conversion<Event, CoreEvent> = {
  toHub: (event) =>
    withNotes(event, {
      metadata: event.metadata,
      involvedObject: event.regarding,
      ...present({ reason: event.reason, message: event.note }),
      source: event.deprecatedSource,
      firstTimestamp: event.deprecatedFirstTimestamp,
      lastTimestamp: event.deprecatedLastTimestamp,
      ...present({ count: event.deprecatedCount, type: event.type }),
      eventTime: event.eventTime,
      ...present({ series: event.series && seriesToCore(event.series), action: event.action, related: event.related }),
      reportingComponent: event.reportingController ?? "",
      reportingInstance: event.reportingInstance ?? "",
    }),
  fromHub: (event) => ({
    metadata: event.metadata,
    eventTime: event.eventTime,
    ...present({
      series: event.series && { count: event.series.count ?? 0, lastObservedTime: event.series.lastObservedTime },
      reportingController: event.reportingComponent,
      reportingInstance: event.reportingInstance,
      action: event.action,
      reason: event.reason,
    }),
    regarding: event.involvedObject,
    ...present({ related: event.related, note: event.message, type: event.type }),
    deprecatedSource: event.source,
    deprecatedFirstTimestamp: event.firstTimestamp,
    deprecatedLastTimestamp: event.lastTimestamp,
    ...present({ deprecatedCount: event.count }),
  }),
};

const seriesToCore = (series: EventSeries): CoreEventSeries =>
  withNotes(series, { ...present({ count: series.count }), lastObservedTime: series.lastObservedTime });

const coreNames: Readonly<Record<string, string>> = {
  deprecatedFirstTimestamp: "firstTimestamp",
  deprecatedLastTimestamp: "lastTimestamp",
};

/** Returns the event in the core form, with the notes about empty times of the newer form. */
function withNotes<T extends object>(from: object, core: T): T {
  const names = emptyMembers(from);
  if (names.length > 0)
    noteEmpty(
      core,
      names.map((name) => coreNames[name] ?? name),
    );
  return core;
}
