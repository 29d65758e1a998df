/** APIService: a group version and the server that serves it. */
import type { APIService, APIServiceSpec } from "#api/apiregistration/v1.ts";
import { type FieldError, goQuote, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1035Label, dns1123Subdomain, pathSegment, portNumber } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { checkName, checkOneOf, type Errors } from "../checks.ts";
import { editField, fillAbsent } from "../edit.ts";
import { type KindBehaviour, writtenMetadata } from "../generic.ts";

export function apiServices(): KindBehaviour<APIService> {
  return {
    statusKeeps: writtenMetadata,
    statusResetsMetadata: true,
    anyFinalizers: true,
    columns: [
      nameColumn,
      text("Service", "Service that answers; Local is this server.", ({ spec: { service } }) =>
        service === undefined ? "Local" : `${service.namespace ?? ""}/${service.name ?? ""}`,
      ),
      text("Available", "Whether it answers.", availableText),
      ageColumn,
    ],
    strategy: {
      prepareForCreate: (object) => (object.spec.service === undefined ? available(object) : object),
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(spec, "service", (service) => fillAbsent(service, { port: 443 })),
        ),
      validate: validateApiService,
      validateUpdate: validateApiService,
      subresources: { status: { validateUpdate: validateStatus } },
    },
  };
}

const conditionStatuses = ["True", "False", "Unknown"];

const spec = FieldPath.of("spec");
const conditionsPath = FieldPath.of("status", "conditions");
const priorities = [
  ["groupPriorityMinimum", 20_000],
  ["versionPriority", 1_000],
] as const;

function validateApiService({ metadata, spec: { group = "", version = "", ...rest } }: APIService): FieldError[] {
  const errors: FieldError[] = [];
  const expected = `${version}.${group}`;
  const { name = "", generateName = "" } = metadata;
  for (const [field, text] of Object.entries({ generateName, name })) {
    if (text === expected || text === "" || pathSegment(text).length > 0) continue;
    const detail = `must be \`spec.version+"."+spec.group\`: ${goQuote(expected)}`;
    errors.push(invalid(FieldPath.of("metadata", field), text, detail));
  }
  if (group === "" && version !== "v1") {
    errors.push(required(spec.child("group"), "only v1 may have an empty group and it better be legacy kube"));
  }
  if (group !== "") {
    checkName(group, dns1123Subdomain, spec.child("group"), errors);
  }
  checkName(version, dns1035Label, spec.child("version"), errors);
  for (const [field, max] of priorities) {
    const value = rest[field];
    if (value <= 0 || value > max) {
      errors.push(invalid(spec.child(field), value, `must be positive and less than ${max}`));
    }
  }
  return [...errors, ...validateServer(rest)];
}

function validateStatus({ status: { conditions = [] } }: APIService): FieldError[] {
  const errors: Errors = [];
  conditions.forEach(({ status }, i) =>
    checkOneOf(status, conditionStatuses, conditionsPath.index(i).child("status"), errors),
  );
  return errors;
}

/** Returns findings about the service that answers the requests, and about the trust in its certificate. */
function validateServer({
  service,
  caBundle = "",
  insecureSkipTLSVerify = false,
}: Partial<APIServiceSpec>): FieldError[] {
  const errors: FieldError[] = [];
  const insecure = spec.child("insecureSkipTLSVerify");
  if (service === undefined) {
    if (caBundle !== "") {
      const shown = `${Buffer.from(caBundle, "base64").length} bytes`;
      errors.push(invalid(spec.child("caBundle"), shown, "local APIServices may not have a caBundle"));
    }
    if (insecureSkipTLSVerify) {
      errors.push(invalid(insecure, true, "local APIServices may not have insecureSkipTLSVerify"));
    }
    return errors;
  }
  const { namespace = "", name = "", port = 443 } = service;
  const path = spec.child("service");
  if (namespace === "") errors.push(required(path.child("namespace")));
  if (name === "") errors.push(required(path.child("name")));
  const wrong = portNumber(port).map((text) => `port is not valid: ${text}`);
  addAll(
    errors,
    wrong.map((text) => invalid(path.child("port"), port, text)),
  );
  if (insecureSkipTLSVerify && caBundle !== "") {
    errors.push(invalid(insecure, true, "may not be true if caBundle is present"));
  }
  return errors;
}

/** Returns the object with the condition `Available`: the group versions of this server are available immediately. */
function available(object: APIService): APIService {
  const condition = {
    type: "Available",
    status: "True",
    lastTransitionTime: object.metadata.creationTimestamp ?? null,
    reason: "Local",
    message: "Local APIServices are always available",
  };
  return { ...object, status: { conditions: [condition] } };
}

function availableText({ status: { conditions = [] } }: APIService): string {
  const condition = conditions.find(({ type }) => type === "Available");
  if (condition === undefined) return "Unknown";
  const { status, reason = "" } = condition;
  return status === "True" ? status : `${status} (${reason})`;
}
