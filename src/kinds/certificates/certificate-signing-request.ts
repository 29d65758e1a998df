/**
 * CertificateSigningRequest: who asks is written down by the server, what is asked for never changes, and what becomes
 * of it is said through two subresources: `approval` and, for the certificate, `status`. Who may do that is admission's.
 * Source: upstream's `registry/certificates` and `apis/certificates/validation`.
 */
import { X509Certificate } from "node:crypto";
import { fieldSetOf } from "#apply/field-set.ts";
import { duplicate, type FieldError, forbidden, goQuote, invalid, notSupported, required } from "#meta/field-error.ts";
import { humanDuration } from "#meta/human-duration.ts";
import { keyUsages } from "#meta/key-usages.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { timestamp } from "#meta/time.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { parseCertificateRequest } from "#std/certificate-request.ts";
import { pemBlocks } from "#std/pem.ts";
import { ageColumn, nameColumn, orNone, text } from "../cells.ts";
import { isZero, type Json, listField, noFields, objectField, textField, withField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateSignerName } from "./signer-name.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;
const statusOf = (object: Unstructured): Json => objectField(object, "status") ?? noFields;
const conditionsOf = (object: Unstructured): readonly Json[] => listField(statusOf(object), "conditions");

export function certificateSigningRequests({ domain, now }: KindEnvironment): KindBehaviour {
  const legacySigner = domain.rename("kubernetes.io/legacy-unknown");
  const resetByMain = fieldSetOf([["f:spec"], ["f:status"]]);
  const resetByStatus = fieldSetOf([["f:spec"], ["f:status", "f:conditions"]]);
  const resetByApproval = fieldSetOf([["f:spec"], ["f:status", "f:certificate"]]);
  return {
    columns: [
      nameColumn,
      ageColumn,
      text("SignerName", "Who is asked to sign.", (object) => orNone(textField(specOf(object), "signerName"))),
      text("Requestor", "Who asks.", (object) => textField(specOf(object), "username")),
      text("RequestedDuration", "How long the certificate should be good for.", (object) => {
        const seconds = specOf(object)["expirationSeconds"];
        return typeof seconds === "number" ? humanDuration(seconds * 1000) : "<none>";
      }),
      text("Condition", "What has become of the request.", conditionText),
    ],
    strategy: {
      fields: (object) => ({ "spec.signerName": textField(specOf(object), "signerName") }),
      resetFields: resetByMain,
      prepareForCreate: (object, { context }) => withField(object, "spec", askedBy(specOf(object), context.user)),
      prepareForUpdate: withSpecOf,
      validate: (object) => [...validateSpec(specOf(object), legacySigner), ...validateStatus(object, undefined)],
      validateUpdate: (object, old) => validateUpdate(object, old, decisions),
      subresources: {
        status: {
          resetFields: resetByStatus,
          prepareForUpdate: (object, old) => withTimes(withOldDecision(withSpecOf(object, old), old), old, now()),
          validateUpdate: (object, old) => validateUpdate(object, old, decisions),
        },
        approval: {
          resetFields: resetByApproval,
          prepareForUpdate: (object, old) => onlyConditions(withTimes(withSpecOf(object, old), old, now()), old),
          validateUpdate: (object, old) => validateUpdate(object, old, []),
        },
      },
    },
  };
}

/** Nobody changes what was asked for. */
const withSpecOf = (object: Unstructured, old: Unstructured): Unstructured => withField(object, "spec", old["spec"]);

function conditionText(object: Unstructured): string {
  const types = conditionsOf(object).map((condition) => textField(condition, "type"));
  const parts = [types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending"];
  if (types.includes("Failed")) parts.push("Failed");
  if (textField(statusOf(object), "certificate") !== "") parts.push("Issued");
  return parts.join(",");
}

/** What clients say about themselves is not believed. */
function askedBy(spec: Json, { name, uid, groups, extra }: UserInfo): Json {
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...rest } = spec;
  return {
    ...rest,
    ...(name === "" ? {} : { username: name }),
    ...(uid === undefined || uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Only `approval` decides: through `status`, conditions that say so stay as they are. */
function withOldDecision(object: Unstructured, old: Unstructured): Unstructured {
  let conditions = conditionsOf(object);
  for (const type of ["Approved", "Denied"]) {
    const before = conditionsOf(old).filter((condition) => textField(condition, "type") === type);
    const count = conditions.filter((condition) => textField(condition, "type") === type).length;
    // Added or removed ones are left for validation to refuse.
    if (count !== before.length) continue;
    let next = 0;
    conditions = conditions.map((condition) => (textField(condition, "type") === type ? before[next++]! : condition));
  }
  return withConditions(object, conditions);
}

function withConditions(object: Unstructured, conditions: readonly Json[]): Unstructured {
  if (conditions.length === 0) return object;
  return withField(object, "status", withField(statusOf(object), "conditions", conditions));
}

/** Fills the times that conditions lack. */
function withTimes(object: Unstructured, old: Unstructured, nowMs: number): Unstructured {
  const now = timestamp(nowMs);
  const conditions = conditionsOf(object).map((condition) => {
    const lastUpdateTime = isZero(condition["lastUpdateTime"]) ? now : condition["lastUpdateTime"];
    if (!isZero(condition["lastTransitionTime"])) return { ...condition, lastUpdateTime };
    const before = conditionsOf(old).find(
      (other) =>
        other["type"] === condition["type"] &&
        other["status"] === condition["status"] &&
        !isZero(other["lastTransitionTime"]),
    );
    return { ...condition, lastUpdateTime, lastTransitionTime: before?.["lastTransitionTime"] ?? now };
  });
  return withConditions(object, conditions);
}

function onlyConditions(object: Unstructured, old: Unstructured): Unstructured {
  const { conditions: _old, ...rest } = statusOf(old);
  const conditions = conditionsOf(object);
  return { ...object, status: conditions.length === 0 ? rest : { ...rest, conditions } };
}

function validateSpec(spec: Json, legacySigner: string): FieldError[] {
  const errors: FieldError[] = [];
  const parsed = parseCertificateRequest(Buffer.from(textField(spec, "request"), "base64").toString("latin1"));
  if (!parsed.ok) errors.push(invalid("spec.request", "<request data>", parsed.problem));
  const usages = Array.isArray(spec["usages"]) ? (spec["usages"] as readonly string[]) : []; // the schema says so
  if (usages.length === 0) errors.push(required("spec.usages"));
  for (const [index, usage] of usages.entries()) {
    if (!keyUsages.includes(usage)) errors.push(notSupported(`spec.usages[${index}]`, usage, keyUsages));
  }
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    if (seen.has(usage)) errors.push(duplicate(`spec.usages[${index}]`, usage));
    seen.add(usage);
  }
  const signerName = textField(spec, "signerName");
  if (signerName === legacySigner) {
    const reason = "the legacy signerName is not allowed via this API version";
    errors.push(invalid("spec.signerName", signerName, reason));
  } else errors.push(...validateSignerName("spec.signerName", signerName));
  const seconds = spec["expirationSeconds"];
  if (typeof seconds === "number" && seconds < 600) {
    const reason = "may not specify a duration less than 600 seconds (10 minutes)";
    errors.push(invalid("spec.expirationSeconds", seconds, reason));
  }
  return errors;
}

/** What was there already is not held against a change (`old`). */
function validateStatus(object: Unstructured, old: Unstructured | undefined): FieldError[] {
  const errors = validateConditions(conditionsOf(object), old === undefined ? [] : conditionsOf(old));
  const certificate = textField(statusOf(object), "certificate");
  const before = old === undefined ? "" : textField(statusOf(old), "certificate");
  if (certificate === before || certificateProblem(before) !== undefined) return errors;
  const problem = certificateProblem(certificate);
  return problem === undefined ? errors : [...errors, invalid("status.certificate", "<certificate data>", problem)];
}

/** Types of conditions that are either there, and true, or not there. */
const lastingTypes = ["Approved", "Denied", "Failed"];

function validateConditions(conditions: readonly Json[], old: readonly Json[]): FieldError[] {
  const oldTypes = old.map((condition) => textField(condition, "type"));
  const wasTwofold = new Set(oldTypes).size < oldTypes.length;
  const wasBoth = oldTypes.includes("Approved") && oldTypes.includes("Denied");
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const field = `status.conditions[${index}]`;
    const type = textField(condition, "type");
    const status = textField(condition, "status");
    if (type === "" && !oldTypes.includes("")) errors.push(required(`${field}.type`));
    const allowed = lastingTypes.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") errors.push(required(`${field}.status`));
    else if (!allowed.includes(status)) errors.push(notSupported(`${field}.status`, status, allowed));
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (other !== undefined && seen.has(other) && !wasBoth) {
      errors.push(invalid(`${field}.type`, type, "Approved and Denied conditions are mutually exclusive"));
    }
    if (seen.has(type) && !wasTwofold) errors.push(duplicate(`${field}.type`, type));
    seen.add(type);
  }
  return errors;
}

function certificateProblem(base64: string): string | undefined {
  if (base64 === "") return undefined;
  let blocks = 0;
  for (const block of pemBlocks(Buffer.from(base64, "base64").toString("latin1"))) {
    if (block.label !== "CERTIFICATE") {
      return `only CERTIFICATE PEM blocks are allowed, found ${goQuote(block.label)}`;
    }
    if (block.hasHeaders) return "no PEM block headers are permitted";
    try {
      new X509Certificate(block.bytes);
    } catch {
      return "x509: malformed certificate";
    }
    blocks += 1;
  }
  return blocks === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
}

/** What approvers add. */
const decisions: readonly string[] = ["Approved", "Denied"];

/** Findings of an update. Conditions of the types in `fixed` may not be added. */
function validateUpdate(object: Unstructured, old: Unstructured, fixed: readonly string[]): FieldError[] {
  const errors = validateStatus(object, old);
  const count = (of: Unstructured, type: string): number =>
    conditionsOf(of).filter((condition) => textField(condition, "type") === type).length;
  const refuse = (verb: string, type: string): void => {
    errors.push(forbidden("status.conditions", `updates may not ${verb} a condition of type ${goQuote(type)}`));
  };
  for (const type of lastingTypes) if (count(object, type) < count(old, type)) refuse("remove", type);
  for (const type of fixed) if (count(object, type) > count(old, type)) refuse("add", type);
  const before = textField(statusOf(old), "certificate");
  if (textField(statusOf(object), "certificate") !== before && before !== "") {
    errors.push(forbidden("status.certificate", "updates may not modify existing certificate content"));
  }
  return errors;
}
