/**
 * Failures and warnings about objects whose values nobody is shown: of kinds that hold secrets, and of those that are
 * encrypted. Messages reach logs, the audit log at every level among them, so they keep what says where and why, and lose
 * what was given there. What is not known to be free of values is left out.
 */
import { PatchError } from "#apply/patch-error.ts";
import { ConversionProblem } from "#apply/managed-fields.ts";
import type { FieldError } from "#meta/field-error.ts";
import { invalidObject, StatusError, type StatusCause } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";

/** Whether a kind of the server holds secrets, stored or not. */
export const holdsSecrets = ({ group, resource }: GroupResource): boolean =>
  (group === "" && resource === "secrets") || (group.startsWith("authentication.") && resource === "tokenreviews");

interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

const notShown = "what was given is not shown, since objects of this kind are confidential";

/** The error without values. Other errors than a `StatusError` are told to nobody as they are. */
export function concealed(error: unknown): unknown {
  if (!(error instanceof StatusError)) return error;
  const { status, invalid, cause } = error;
  if (invalid !== undefined) return invalidObject(invalid.of, invalid.name, invalid.errors.map(withoutValue));
  const { message = "", details } = status;
  const causes = details?.causes;
  if (status.reason === "Invalid" && causes !== undefined) {
    const lost = { ...details, causes: causes.map((one) => ({ ...one, message: label(one.message ?? "") })) };
    return new StatusError({ ...status, message: notShown, details: lost });
  }
  if (causes?.some(({ reason }) => reason === "FieldManagerConflict") === true) {
    const shown = { ...details, causes: causes.map(withoutKeys) };
    return new StatusError({ ...status, message: message.split("\n").map(pathWithoutKeys).join("\n"), details: shown });
  }
  const isAboutValue = [DecodeError, PatchError, ConversionProblem].some((type) => cause instanceof type);
  const text = withoutPrefix(message);
  if (isAboutValue || text !== message) {
    const start = message.slice(0, message.length - text.length);
    return new StatusError({ ...status, message: start + discreet(text) });
  }
  return cause === undefined ? error : new StatusError(status);
}

/** A warning without values. */
export function concealedWarning(text: string): string {
  const found = /^[^\s:]+: (?:Invalid|Unsupported|Duplicate) value|^[^\s:]+: (?:Not found|Too long|Too many)/.exec(
    text,
  );
  return found?.[0] ?? text;
}

/** Metadata that says which object it is, and for whom. */
const openField = /^metadata\.(?:name|generateName|namespace|uid|labels|finalizers|ownerReferences)\b/;

function withoutValue(error: FieldError): FieldError {
  if (openField.test(error.field)) return error;
  const message = error.withoutValue ?? label(error.message);
  const { type, field } = error;
  // A patched object that cannot be decoded: the detail is the decoder's.
  const decoded = field === "patch" ? /^Invalid value: ([^]*)$/.exec(message)?.[1] : undefined;
  return { type, field, message: decoded === undefined ? message : `Invalid value: ${discreet(decoded)}` };
}

/** What a finding begins with. */
const label = (message: string): string => /^[A-Z][a-z]*(?: [a-z]+)*/.exec(message)?.[0] ?? notShown;

/** A path up to the first item of a list that is named by its keys or its value. */
const pathWithoutKeys = (line: string): string => line.replace(/\[[^\]=]*=[^]*$/, "[...]");

const withoutKeys = (cause: StatusCause): StatusCause => ({
  ...cause,
  ...(cause.field === undefined ? {} : { field: pathWithoutKeys(cause.field) }),
});

/** What is around messages of decoding: names of kinds, versions and objects. */
const prefixes = [
  /^\w+ in version "\w*" cannot be handled as a \w+: /,
  /^error decoding patch: /,
  /^error decoding YAML: /,
  /^the object provided is unrecognized \(must be of type \w+\): /,
  /^failed to create typed patch object \([\w./-]*; [\w./-]+, Kind=\w+\): /,
  /^failed to convert new object \([\w./-]*; [\w./-]+, Kind=\w+\) to proper version: unable to convert unstructured object to [\w./-]+, Kind=\w+: /,
];

function withoutPrefix(message: string): string {
  let rest = message;
  for (const prefix of prefixes) rest = rest.replace(prefix, "");
  return rest;
}

/** Messages without values, or what is left of them. */
const safe: readonly (readonly [form: RegExp, kept: string])[] = [
  [
    /^json: cannot unmarshal (\w+)(?: \S+)? into Go (value|struct field [\w.]+) of type ([\w.[\]{} ]+)$/,
    "json: cannot unmarshal $1 into Go $2 of type $3",
  ],
  [/^((?:error decoding from json: )?illegal base64 data at input byte \d+)$/, "$1"],
  [
    /^(cannot convert \w+ to [\w.]+|cannot restore (?:map|slice) from \w+|cannot restore struct from: \w+|unrecognized type: \w+)$/,
    "$1",
  ],
  [/^(strict decoding error: (?:(?:, )?(?:json patch )?(?:unknown|duplicate) field "[\w./[\]-]*")+)$/, "$1"],
  [/^(exceeded max depth|unexpected end of JSON input|quantities must match the regular expression .*)$/, "$1"],
  [/^parsing time [^]*$/, "the text is no time"],
  [/^Object '(\w+)' is missing [^]*$/, "Object '$1' is missing"],
  [/^((?:\.[\w/-]+|\[\d+\])+: (?:expected [\w ()]+|field not declared in schema))(?:, got [^]*)?$/, "$1"],
];

/** A message of decoding without values. */
function discreet(message: string): string {
  for (const [form, kept] of safe) if (form.test(message)) return message.replace(form, kept);
  return notShown;
}
