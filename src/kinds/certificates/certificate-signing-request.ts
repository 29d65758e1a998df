/**
 * CertificateSigningRequest: the server records the requester, the spec never changes, and the outcome is written
 * through two subresources, `approval` and `status` (the certificate). Admission decides about permission. Source:
 * upstream's `registry/certificates` and `apis/certificates/validation`.
 */
import { X509Certificate } from "node:crypto";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
  CertificateSigningRequestSpec,
} from "#api/certificates/v1.ts";
import { fieldSetOf } from "#apply/field-set.ts";
import { duplicate, type FieldError, forbidden, goQuote, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { humanDuration } from "#meta/human-duration.ts";
import { keyUsages } from "#meta/key-usages.ts";
import { timestampOf } from "#meta/time.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { addAll } from "#std/add-all.ts";
import { parseCertificateRequest, type ParsedRequest } from "#std/certificate-request.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { pemBlocks } from "#std/pem.ts";
import { ageColumn, nameColumn, orNone, text } from "../cells.ts";
import { withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateSignerName } from "./signer-name.ts";
import { checkUnique } from "../checks.ts";

export function certificateSigningRequests({ domain, now }: KindEnvironment): KindBehaviour<CertificateSigningRequest> {
  const legacySigner = domain.rename("kubernetes.io/legacy-unknown");
  const resetByMain = fieldSetOf([["f:spec"], ["f:status"]]);
  const resetByStatus = fieldSetOf([["f:spec"], ["f:status", "f:conditions"]]);
  const resetByApproval = fieldSetOf([["f:spec"], ["f:status", "f:certificate"]]);
  return {
    nameRule: "pathSegment",
    columns: [
      nameColumn,
      ageColumn,
      text("SignerName", "Who is asked to sign.", ({ spec }) => orNone(spec.signerName)),
      text("Requestor", "Who asks.", ({ spec }) => spec.username ?? ""),
      text("RequestedDuration", "How long the certificate should be good for.", ({ spec: { expirationSeconds } }) =>
        expirationSeconds === undefined ? "<none>" : humanDuration(expirationSeconds * 1000),
      ),
      text("Condition", "What has become of the request.", conditionText),
    ],
    strategy: {
      fields: ({ spec }) => ({ "spec.signerName": spec.signerName }),
      resetFields: resetByMain,
      prepareForCreate: (object, { context }) => withField(object, "spec", setRequester(object.spec, context.user)),
      prepareForUpdate: withSpecOf,
      validateUpdate: (object, old) => validateUpdate(object, old, decisions),
      // The parser of requests is loaded for the first create. The request of an object never changes.
      checkRules: (object, old) => (old === undefined ? validateNew(object, legacySigner) : []),
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

/** Returns the object with the old spec, since the spec never changes. */
const withSpecOf = (object: CertificateSigningRequest, old: CertificateSigningRequest): CertificateSigningRequest =>
  withField(object, "spec", old.spec);

function conditionText({ status: { conditions = [], certificate = "" } }: CertificateSigningRequest): string {
  const types = conditions.map(({ type }) => type);
  const parts = [types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending"];
  if (types.includes("Failed")) parts.push("Failed");
  if (certificate !== "") parts.push("Issued");
  return parts.join(",");
}

/** Returns the spec with the requester; values from the client are ignored. */
function setRequester(
  spec: CertificateSigningRequestSpec,
  { name, uid, groups, extra }: UserInfo,
): CertificateSigningRequestSpec {
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...rest } = spec;
  return {
    ...rest,
    ...(name === "" ? {} : { username: name }),
    ...(uid === undefined || uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

type Conditions = readonly CertificateSigningRequestCondition[];

const conditionsOf = ({ status: { conditions = [] } }: CertificateSigningRequest): Conditions => conditions;

/** Returns the object with its old approval conditions: only `approval` may change them, not `status`. */
function withOldDecision(object: CertificateSigningRequest, old: CertificateSigningRequest): CertificateSigningRequest {
  let conditions = conditionsOf(object);
  for (const type of decisions) {
    const before = conditionsOf(old).filter((condition) => condition.type === type);
    const count = conditions.filter((condition) => condition.type === type).length;
    // Validation refuses added and removed conditions.
    if (count !== before.length) continue;
    let next = 0;
    conditions = conditions.map((condition) => (condition.type === type ? before[next++]! : condition));
  }
  return withConditions(object, conditions);
}

function withConditions(object: CertificateSigningRequest, conditions: Conditions): CertificateSigningRequest {
  if (conditions.length === 0) return object;
  return { ...object, status: { ...object.status, conditions } };
}

/** Returns the object with times in conditions that have none. */
function withTimes(
  object: CertificateSigningRequest,
  old: CertificateSigningRequest,
  nowMs: number,
): CertificateSigningRequest {
  const now = timestampOf(nowMs);
  const conditions = conditionsOf(object).map((condition) => {
    const { type, status, lastUpdateTime, lastTransitionTime } = condition;
    const before = conditionsOf(old).find(
      (other) => other.type === type && other.status === status && other.lastTransitionTime !== null,
    );
    return {
      ...condition,
      lastUpdateTime: lastUpdateTime ?? now,
      lastTransitionTime: lastTransitionTime ?? before?.lastTransitionTime ?? now,
    };
  });
  return withConditions(object, conditions);
}

function onlyConditions(object: CertificateSigningRequest, old: CertificateSigningRequest): CertificateSigningRequest {
  const { conditions: _old, ...rest } = old.status;
  return withConditions({ ...object, status: rest }, conditionsOf(object));
}

const usagesPath = FieldPath.of("spec", "usages");
const conditionsPath = FieldPath.of("status", "conditions");

function validateNew(object: CertificateSigningRequest, legacySigner: string): MaybePromise<FieldError[]> {
  const { spec } = object;
  const bytes = Buffer.from(spec.request ?? "", "base64");
  return andThen(parseCertificateRequest(bytes.toString("latin1")), (parsed) => [
    ...validateSpec(spec, parsed, legacySigner),
    ...validateStatus(object, undefined),
  ]);
}

/** Returns findings about the spec of a new object. `parsed` is its parsed request. */
function validateSpec(
  { request, usages = [], signerName, expirationSeconds: seconds }: CertificateSigningRequestSpec,
  parsed: ParsedRequest,
  legacySigner: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (!parsed.ok) errors.push(invalid(FieldPath.of("spec", "request"), request, parsed.problem));
  if (usages.length === 0) errors.push(required(usagesPath));
  for (const [index, usage] of usages.entries()) {
    if (!keyUsages.includes(usage)) errors.push(notSupported(usagesPath.index(index), usage, keyUsages));
  }
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    checkUnique(usage, seen, usagesPath.index(index), errors);
  }
  if (signerName === legacySigner) {
    const reason = "the legacy signerName is not allowed via this API version";
    errors.push(invalid(FieldPath.of("spec", "signerName"), signerName, reason));
  } else addAll(errors, validateSignerName(FieldPath.of("spec", "signerName"), signerName));
  if (seconds !== undefined && seconds < 600) {
    const reason = "may not specify a duration less than 600 seconds (10 minutes)";
    errors.push(invalid(FieldPath.of("spec", "expirationSeconds"), seconds, reason));
  }
  return errors;
}

/** Returns findings about the status, without those about values that `old` already had. */
function validateStatus(object: CertificateSigningRequest, old: CertificateSigningRequest | undefined): FieldError[] {
  const errors = validateApprovals(conditionsOf(object), old === undefined ? [] : conditionsOf(old));
  const { certificate = "" } = object.status;
  const before = old?.status.certificate ?? "";
  if (certificate === before || certificateProblem(before) !== undefined) return errors;
  const problem = certificateProblem(certificate);
  return problem === undefined
    ? errors
    : [...errors, invalid(FieldPath.of("status", "certificate"), "<certificate data>", problem)];
}

/** The types of conditions whose status can only be True. */
const lastingTypes = ["Approved", "Denied", "Failed"];

function validateApprovals(conditions: Conditions, old: Conditions): FieldError[] {
  const oldTypes = old.map(({ type }) => type);
  const wasTwofold = new Set(oldTypes).size < oldTypes.length;
  const wasBoth = oldTypes.includes("Approved") && oldTypes.includes("Denied");
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { type, status }] of conditions.entries()) {
    const path = conditionsPath.index(index);
    if (type === "" && !oldTypes.includes("")) errors.push(required(path.child("type")));
    const allowed = lastingTypes.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") errors.push(required(path.child("status")));
    else if (!allowed.includes(status)) errors.push(notSupported(path.child("status"), status, allowed));
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (other !== undefined && seen.has(other) && !wasBoth) {
      errors.push(invalid(path.child("type"), type, "Approved and Denied conditions are mutually exclusive"));
    }
    if (seen.has(type) && !wasTwofold) errors.push(duplicate(path.child("type"), type));
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

/** The types of conditions that approvers add. */
const decisions: readonly string[] = ["Approved", "Denied"];

/** Returns findings about an update. Conditions of the types `fixed` may not be added. */
function validateUpdate(
  object: CertificateSigningRequest,
  old: CertificateSigningRequest,
  fixed: readonly string[],
): FieldError[] {
  const errors = validateStatus(object, old);
  const count = (of: CertificateSigningRequest, type: string): number =>
    conditionsOf(of).filter((condition) => condition.type === type).length;
  const refuse = (verb: string, type: string): void => {
    errors.push(forbidden(conditionsPath, `updates may not ${verb} a condition of type ${goQuote(type)}`));
  };
  for (const type of lastingTypes) if (count(object, type) < count(old, type)) refuse("remove", type);
  for (const type of fixed) if (count(object, type) > count(old, type)) refuse("add", type);
  const { certificate: before = "" } = old.status;
  if ((object.status.certificate ?? "") !== before && before !== "") {
    errors.push(
      forbidden(FieldPath.of("status", "certificate"), "updates may not modify existing certificate content"),
    );
  }
  return errors;
}
