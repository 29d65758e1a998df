/**
 * Event of the core group: a report about an object, which expires by itself. Events of the events.k8s.io group are the
 * same objects in another form (`../events/event.ts`) and have stricter rules. Source: upstream's
 * `pkg/apis/core/validation/events.go`.
 */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Column } from "#registry/resource-definition.ts";
import { age, nameColumn, text, wideText } from "../cells.ts";
import { isAbsent, numberField, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function coreEvents(environment: KindEnvironment): KindBehaviour {
  const { rename } = environment.domain;
  const validate = (object: Unstructured): FieldError[] => validateReport(object, "reportingComponent", rename);
  return {
    anyFinalizers: true,
    metadataRepeats: -1,
    columns: eventColumns((object) => object),
    strategy: {
      validate,
      validateUpdate: validate,
      fields: coreFields,
      ttlSeconds: () => environment.eventTtlSeconds,
    },
  };
}

function coreFields(object: Unstructured): Readonly<Record<string, string>> {
  const about = objectField(object, "involvedObject");
  const reporter = textField(object, "reportingComponent");
  return {
    "involvedObject.kind": textField(about, "kind"),
    "involvedObject.namespace": textField(about, "namespace"),
    "involvedObject.name": textField(about, "name"),
    "involvedObject.uid": textField(about, "uid"),
    "involvedObject.apiVersion": textField(about, "apiVersion"),
    "involvedObject.resourceVersion": textField(about, "resourceVersion"),
    "involvedObject.fieldPath": textField(about, "fieldPath"),
    reason: textField(object, "reason"),
    reportingComponent: reporter,
    source: textField(objectField(object, "source"), "component") || reporter,
    type: textField(object, "type"),
  };
}

const shortTextMax = 128;
const noteMax = 1024;

/** Rules of both forms, told in the core form's field names. `object` is a core Event. */
export function validateReport(
  object: Unstructured,
  reporterField: string,
  rename: (name: string) => string,
): FieldError[] {
  const errors: FieldError[] = [];
  const namespace = object.metadata.namespace ?? "";
  const about = textField(objectField(object, "involvedObject"), "namespace");
  const mismatch = () => errors.push(invalid("involvedObject.namespace", about, "does not match event.namespace"));
  if (isAbsent(object["eventTime"])) {
    const expected = about === "" ? ["", "default"] : [about];
    if (!expected.includes(namespace)) mismatch();
    return errors;
  }
  if (about === "" && namespace !== "default" && namespace !== rename("kube-system")) mismatch();
  const reporter = textField(object, "reportingComponent");
  if (reporter === "") errors.push(required(reporterField));
  for (const message of qualifiedName(reporter)) errors.push(invalid(reporterField, reporter, message));
  for (const [name, max] of [
    ["reportingInstance", shortTextMax],
    ["action", shortTextMax],
    ["reason", shortTextMax],
    ["message", noteMax],
  ] as const) {
    const value = textField(object, name);
    if (value === "" && name !== "message") errors.push(required(name));
    if (Buffer.byteLength(value) > max) errors.push(invalid(name, "", `can have at most ${max} characters`));
  }
  return errors;
}

/** Rules that only events of the newer group have, told in the core form's field names. */
export function validateNewEvent(object: Unstructured): FieldError[] {
  const errors = validateSeries(object);
  if (isAbsent(object["eventTime"])) errors.push(required("eventTime"));
  const type = textField(object, "type");
  if (type !== "Normal" && type !== "Warning") errors.push(invalid("type", "", `has invalid value: ${type}`));
  for (const name of ["firstTimestamp", "lastTimestamp"]) {
    if (!isAbsent(object[name])) errors.push(invalid(name, "", "needs to be unset"));
  }
  if (numberField(object, "count") !== 0) errors.push(invalid("count", "", "needs to be unset"));
  const source = objectField(object, "source");
  if (textField(source, "component") !== "" || textField(source, "host") !== "") {
    errors.push(invalid("source", "", "needs to be unset"));
  }
  return errors;
}

const unchanging: ReadonlyMap<string, string> = new Map([
  ["involvedObject", "involvedObject"],
  ["reason", "reason"],
  ["message", "note"],
  ["type", "type"],
  ["source", "source"],
  ["firstTimestamp", "firstTimestamp"],
  ["lastTimestamp", "lastTimestamp"],
  ["count", "count"],
  ["eventTime", "eventTime"],
  ["action", "action"],
  ["related", "related"],
  ["reportingComponent", "reportingController"],
  ["reportingInstance", "reportingInstance"],
]);

/** Only the series of an event of the newer group may change. Both are core Events. */
export function validateNewEventUpdate(object: Unstructured, old: Unstructured): FieldError[] {
  const errors = jsonEquals(object["series"], old["series"]) ? [] : validateSeries(object);
  for (const [name, field] of unchanging) {
    if (jsonEquals(object[name] ?? null, old[name] ?? null)) continue;
    errors.push(invalid(field, object[name] ?? "", "field is immutable"));
  }
  return errors;
}

function validateSeries(object: Unstructured): FieldError[] {
  const series = objectField(object, "series");
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  if (numberField(series, "count") < 2) errors.push(invalid("series.count", "", "should be at least 2"));
  if (isAbsent(series["lastObservedTime"])) errors.push(required("series.lastObservedTime"));
  return errors;
}

/** Columns of both forms; `toCore` makes a core Event of the object. */
export function eventColumns(toCore: (object: Unstructured) => Unstructured): readonly Column[] {
  const cell = (of: (event: Unstructured, nowMs: number) => unknown) => (object: Unstructured, nowMs: number) =>
    of(toCore(object), nowMs);
  const firstSeen = (event: Unstructured, nowMs: number): string =>
    age(isAbsent(event["firstTimestamp"]) ? event["eventTime"] : event["firstTimestamp"], nowMs);
  const lastSeen = (event: Unstructured, nowMs: number): string => {
    const series = objectField(event, "series");
    if (series !== undefined) return age(series["lastObservedTime"], nowMs);
    return isAbsent(event["lastTimestamp"]) ? firstSeen(event, nowMs) : age(event["lastTimestamp"], nowMs);
  };
  return [
    text("Last Seen", "Time since the event was last observed.", cell(lastSeen)),
    text(
      "Type",
      "Normal or Warning.",
      cell((event) => textField(event, "type")),
    ),
    text(
      "Reason",
      "Why the action was taken, in one word.",
      cell((event) => textField(event, "reason")),
    ),
    text("Object", "What the event is about.", cell(aboutText)),
    wideText(
      "Subobject",
      "Which part of the object the event is about.",
      cell((event) => textField(objectField(event, "involvedObject"), "fieldPath")),
    ),
    wideText("Source", "Who reported the event.", cell(sourceText)),
    text(
      "Message",
      "What happened, for people.",
      cell((event) => textField(event, "message").trim()),
    ),
    wideText("First Seen", "Time since the event was first observed.", cell(firstSeen)),
    wideText(
      "Count",
      "How often the event was observed.",
      cell((event) => {
        const series = objectField(event, "series");
        return series === undefined ? numberField(event, "count") || 1 : numberField(series, "count");
      }),
    ),
    { ...nameColumn, priority: 1 },
  ];
}

function aboutText(event: Unstructured): string {
  const about = objectField(event, "involvedObject");
  const name = textField(about, "name");
  const kind = textField(about, "kind").toLowerCase();
  return name === "" ? kind : `${kind}/${name}`;
}

function sourceText(event: Unstructured): string {
  const source = objectField(event, "source");
  const reporter = textField(source, "component") || textField(event, "reportingComponent");
  const host = textField(source, "host") || textField(event, "reportingInstance");
  return host === "" ? reporter : `${reporter}, ${host}`;
}
