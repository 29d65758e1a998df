/**
 * Event of the core group: a report about an object, which expires. Events of events.k8s.io are the same stored objects
 * in another form (`../events/event.ts`) and have stricter rules. Source: upstream's
 * `pkg/apis/core/validation/events.go`.
 */
import type { Event } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { emptyMembers } from "#schema/given-empty.ts";
import { ageOf } from "#meta/human-duration.ts";
import { qualifiedName } from "#meta/names.ts";
import type { Column } from "#registry/resource-definition.ts";
import { nameColumn, text, wideText } from "../cells.ts";
import { checkName } from "../checks.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function coreEvents(environment: KindEnvironment): KindBehaviour<Event> {
  const { rename } = environment.domain;
  const validate = (object: Event): FieldError[] => validateReport(object, FieldPath.of("reportingComponent"), rename);
  return {
    anyFinalizers: true,
    nameRule: "pathSegment",
    columns: eventColumns,
    strategy: {
      validate,
      validateUpdate: validate,
      fields,
      ttlSeconds: () => environment.eventTtlSeconds,
    },
  };
}

function fields(event: Event): Readonly<Record<string, string>> {
  const { involvedObject: about, source, reportingComponent } = event;
  return {
    "involvedObject.kind": about.kind ?? "",
    "involvedObject.namespace": about.namespace ?? "",
    "involvedObject.name": about.name ?? "",
    "involvedObject.uid": about.uid ?? "",
    "involvedObject.apiVersion": about.apiVersion ?? "",
    "involvedObject.resourceVersion": about.resourceVersion ?? "",
    "involvedObject.fieldPath": about.fieldPath ?? "",
    reason: event.reason ?? "",
    reportingComponent,
    source: source.component || reportingComponent,
    type: event.type ?? "",
  };
}

/**
 * Whether a time is given. Upstream: the zero time in a body counts as given, although the event is stored without a
 * time.
 */
const isGiven = <T extends object>(object: T, name: keyof T & string): boolean =>
  object[name] !== null || emptyMembers(object).includes(name);

const shortTextMax = 128;
const noteMax = 1024;

/** Returns findings about an event of either API, with the field names of the core group. */
export function validateReport(
  object: Event,
  reporterField: FieldPath,
  rename: (name: string) => string,
): FieldError[] {
  const errors: FieldError[] = [];
  const { namespace = "" } = object.metadata;
  const about = object.involvedObject.namespace ?? "";
  const mismatch = () =>
    errors.push(invalid(FieldPath.of("involvedObject", "namespace"), about, "does not match event.namespace"));
  if (!isGiven(object, "eventTime")) {
    const expected = about === "" ? ["", "default"] : [about];
    if (!expected.includes(namespace)) mismatch();
    return errors;
  }
  if (about === "" && namespace !== "default" && namespace !== rename("kube-system")) mismatch();
  const reporter = object.reportingComponent;
  if (reporter === "") errors.push(required(reporterField));
  checkName(reporter, qualifiedName, reporterField, errors);
  for (const [name, max] of [
    ["reportingInstance", shortTextMax],
    ["action", shortTextMax],
    ["reason", shortTextMax],
    ["message", noteMax],
  ] as const) {
    const value = object[name] ?? "";
    if (value === "" && name !== "message") errors.push(required(FieldPath.of(name)));
    if (Buffer.byteLength(value) > max)
      errors.push(invalid(FieldPath.of(name), "", `can have at most ${max} characters`));
  }
  return errors;
}

/** Returns findings by the rules of events.k8s.io only, with the field names of the core group. */
export function validateNewEvent(object: Event): FieldError[] {
  const errors = validateSeries(object);
  const { type = "", count = 0, source } = object;
  if (!isGiven(object, "eventTime")) errors.push(required(FieldPath.of("eventTime")));
  if (type !== "Normal" && type !== "Warning")
    errors.push(invalid(FieldPath.of("type"), "", `has invalid value: ${type}`));
  for (const name of ["firstTimestamp", "lastTimestamp"] as const) {
    if (isGiven(object, name)) errors.push(invalid(FieldPath.of(name), "", "needs to be unset"));
  }
  if (count !== 0) errors.push(invalid(FieldPath.of("count"), "", "needs to be unset"));
  if (source.component || source.host) errors.push(invalid(FieldPath.of("source"), "", "needs to be unset"));
  return errors;
}

/** Immutable fields, with their names in findings. */
const immutable: readonly (readonly [keyof Event, field: string])[] = [
  ["involvedObject", "involvedObject"],
  ["reason", "reason"],
  ["message", "message"],
  ["source", "source"],
  ["firstTimestamp", "firstTimestamp"],
  ["lastTimestamp", "lastTimestamp"],
  ["count", "count"],
  ["type", "type"],
  ["eventTime", "eventTime"],
  ["action", "action"],
  ["related", "related"],
  ["reportingComponent", "reportingController"],
  ["reportingInstance", "reportingInstance"],
];

/** The values that findings show for absent fields. */
const zeros: Readonly<Partial<Record<keyof Event, string | number>>> = {
  reason: "",
  message: "",
  count: 0,
  type: "",
  eventTime: "0001-01-01T00:00:00Z",
  action: "",
  reportingComponent: "",
  reportingInstance: "",
};

/**
 * Returns findings about changed fields of an event of events.k8s.io: only its series may change. Both events are in
 * the core form.
 */
export function validateNewEventUpdate(object: Event, old: Event): FieldError[] {
  const errors = jsonEquals(object.series, old.series) ? [] : validateSeries(object);
  for (const [name, field] of immutable) {
    if (jsonEquals(object[name] ?? null, old[name] ?? null)) continue;
    errors.push(invalid(FieldPath.of(field), object[name] ?? zeros[name], "field is immutable"));
  }
  return errors;
}

function validateSeries({ series }: Event): FieldError[] {
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  if ((series.count ?? 0) < 2) errors.push(invalid(FieldPath.of("series", "count"), "", "should be at least 2"));
  if (!isGiven(series, "lastObservedTime")) errors.push(required(FieldPath.of("series", "lastObservedTime")));
  return errors;
}

const firstSeen = ({ firstTimestamp, eventTime }: Event, nowMs: number): string =>
  ageOf(firstTimestamp ?? eventTime, nowMs);

function lastSeen(event: Event, nowMs: number): string {
  if (event.series !== undefined) return ageOf(event.series.lastObservedTime, nowMs);
  return event.lastTimestamp === null ? firstSeen(event, nowMs) : ageOf(event.lastTimestamp, nowMs);
}

export const eventColumns: readonly Column<Event>[] = [
  text("Last Seen", "Time since the event was last observed.", lastSeen),
  text("Type", "Normal or Warning.", ({ type = "" }) => type),
  text("Reason", "Why the action was taken, in one word.", ({ reason = "" }) => reason),
  text("Object", "What the event is about.", aboutText),
  wideText(
    "Subobject",
    "Which part of the object the event is about.",
    ({ involvedObject }) => involvedObject.fieldPath ?? "",
  ),
  wideText("Source", "Who reported the event.", sourceText),
  text("Message", "What happened, for people.", ({ message = "" }) => message.trim()),
  wideText("First Seen", "Time since the event was first observed.", firstSeen),
  wideText("Count", "How often the event was observed.", ({ series, count }) =>
    series === undefined ? count || 1 : (series.count ?? 0),
  ),
  { ...nameColumn, priority: 1 },
];

function aboutText({ involvedObject: { kind = "", name = "" } }: Event): string {
  return name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function sourceText({ source, reportingComponent, reportingInstance }: Event): string {
  const reporter = source.component || reportingComponent;
  const host = source.host || reportingInstance;
  return host === "" ? reporter : `${reporter}, ${host}`;
}
