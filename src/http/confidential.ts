/**
 * Removes values from failures and warnings about objects whose values nobody may see: of kinds that hold secrets, and
 * of kinds that are encrypted. Messages reach logs, among them the audit log at every level. So they keep the position
 * and the reason of an error, and lose the value. A text is left out unless it is known to be free of values.
 */
import { PatchError } from "#apply/patch-error.ts";
import { ConversionProblem } from "#apply/managed-fields.ts";
import { type FieldError, printFieldError } from "#meta/field-error.ts";
import { invalidObject, type Status, StatusError, type StatusCause } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Scope } from "./scope.ts";

/** Whether a kind of the server holds secrets, stored or not. */
export const holdsSecrets = ({ group, resource }: GroupResource): boolean =>
  (group === "" && resource === "secrets") || (group.startsWith("authentication.") && resource === "tokenreviews");

interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

const notShown = "what was given is not shown, since objects of this kind are confidential";

/** Returns the error that the client of a scope sees. */
export const shownError = ({ parts, definition }: Pick<Scope, "parts" | "definition">, error: unknown): unknown =>
  parts.isConfidential(definition) ? concealValues(error) : error;

/** Removes the values from an error. An error that is no `StatusError` is never shown as it is. */
function concealValues(error: unknown): unknown {
  if (!(error instanceof StatusError) || error.showsValues === false) return error;
  const { status, invalid, cause } = error;
  if (invalid !== undefined) {
    const { status: shown } = invalidObject(invalid.of, invalid.name, invalid.errors.map(withoutValue));
    return new StatusError(shown, { showsValues: false });
  }
  const { message = "", details } = status;
  const causes = details?.causes;
  if (causes?.some(({ reason }) => reason === "FieldManagerConflict") === true) {
    const lines = message.split("\n").map(pathWithoutKeys).join("\n");
    return withoutValues({ ...status, message: lines, details: { ...details, causes: causes.map(withoutKeys) } });
  }
  const isAboutValue =
    error.showsValues === true || [DecodeError, PatchError, ConversionProblem].some((type) => cause instanceof type);
  const text = withoutPrefix(message, isAboutValue ? [/^Internal error occurred: /, ...prefixes] : prefixes);
  if (isAboutValue || text !== message) {
    const shown = message.slice(0, message.length - text.length) + discreet(text);
    const { name, ...others } = details ?? {};
    const kept = error.showsValues === true || name === undefined ? others : { ...others, name };
    const lost = causes?.map((one) => ({ ...one, message: discreet(one.message ?? "") }));
    if (lost !== undefined) return withoutValues({ ...status, message: shown, details: { ...kept, causes: lost } });
    return withoutValues({ ...status, message: shown, ...(details === undefined ? {} : { details: kept }) });
  }
  return cause === undefined ? error : withoutValues(status);
}

const withoutValues = (status: Status): StatusError => new StatusError(status, { showsValues: false });

/** Removes the values from a warning. */
export function concealWarning(about: string | FieldError): string {
  if (typeof about !== "string") return printFieldError(withoutValue(about));
  if (openWarning.test(about)) return about;
  const path = /^(?:[^\s:[\]]|\[[^\]]*\])+: /.exec(about)?.[0] ?? "";
  const text = about.slice(path.length);
  for (const [form, replacement] of safeWarnings) if (form.test(text)) return path + text.replace(form, replacement);
  return path + notShown;
}

/** Matches warnings that are shown as they are: about public metadata, and texts that never have a value. */
const openWarning =
  /^(?:metadata\.(?:name|finalizers): |\.metadata\.ownerReferences contains duplicate |(?:json patch )?(?:unknown|duplicate) field "[^\n]*"$|annotation \S+ is deprecated, please use \S+ instead$|x509: malformed certificate$)/;

/** Forms of warnings without their paths, and the text of each that has no values. */
const safeWarnings: readonly (readonly [form: RegExp, replacement: string])[] = [
  [/^(?:deprecated (?:since|in)|non-functional in) v[\d.]+\+?(?:, non-functional in v[\d.]+\+?)?(?:; .*)?$/, "$&"],
  [/^use "[\w./-]+" instead$/, "$&"],
  [/^must be >= 0; negative values are invalid and will be treated as 1$/, "$&"],
  [/^a null labelSelector results in matching no pod$/, "$&"],
  [/^this field is deprecated, and is unused by Kubernetes$/, "$&"],
  [/^invalid empty name ""$/, "$&"],
  [/^(fractional byte value) "[^]*" (is invalid, must be an integer)$/, "$1 $2"],
  [/^(duplicate (?:ip|name)) "[^]*"$/, "$1"],
  [/^(hides previous definition) of "[^]*"(, which may be dropped when using apply)$/, "$1$2"],
  [/^(hostIP set without hostPort): [^]*$/, "$1"],
  [/^(?:overlapping|duplicate) port definition with [\w.[\]]+$/, "$&"],
  [/^volume "[^]*: (overlapping paths): [^]*$/, "a volume has $1"],
  [/^volume "[^]*" \(Projected\) (has no sources provided)$/, "a projected volume $1"],
  [/^(IP (?:address|prefix) was accepted, but will be invalid in a future Kubernetes release): [^]*$/, "$1"],
  [
    /^(IPv6 (?:address|prefix)) "[^]*" (is not in RFC 5952 canonical format) [^]*(, which may cause controller apply-loops)$/,
    "$1 $2$3",
  ],
  [/^(spec\.external(?:IPs|Name) is ignored) when spec\.type is [^]*$/, "$1"],
  [/^(failed to find [^]*? in (?:certificate|key) input)(?: after [^]*|, but [^]*)?$/, "$1"],
  [
    /^(?:failed to parse private key|unknown public key algorithm|private key (?:type )?does not match public key(?: type)?)$/,
    "$&",
  ],
  [/^found a certificate rather than a key in the PEM for the private key$/, "$&"],
  [/^(\.metadata\.managedFields was in an invalid state after admission); [^]*$/, "$1"],
  [/^requested expiration of \d+ seconds (shortened to \d+ seconds)$/, "requested expiration $1"],
];

/** Matches fields of metadata whose values are public: they say which object it is, and who uses it. */
const openField = /^metadata\.(?:name|generateName|namespace|uid|labels|finalizers|ownerReferences)\b/;

function withoutValue(error: FieldError): FieldError {
  if (openField.test(error.field)) return error;
  const message = error.withoutValue ?? label(error.message);
  const { type, field } = error;
  // The object after a patch could not be decoded: the detail is the decoder's message.
  const decoded = field === "patch" ? /^Invalid value: ([^]*)$/.exec(message)?.[1] : undefined;
  return { type, field, message: decoded === undefined ? message : `Invalid value: ${discreet(decoded)}` };
}

/** The label at the beginning of a finding, in the words of `field-error.ts`. */
const label = (message: string): string => labels.exec(message)?.[0] ?? notShown;

const labels =
  /^(?:Required value|Not found|(?:Duplicate|Invalid|Unsupported) value|Forbidden|Too long|Too many|Internal error)(?=:|$)/;

/** Cuts a path at the first item of a list that is named by its keys or its value. */
const pathWithoutKeys = (line: string): string => line.replace(/\[[^\]=]*=[^]*$/, "[...]");

const withoutKeys = (cause: StatusCause): StatusCause => ({
  ...cause,
  ...(cause.field === undefined ? {} : { field: pathWithoutKeys(cause.field) }),
});

/** Texts before messages of decoding; they contain names of kinds, versions and objects. */
const prefixes = [
  /^\w+ in version "\w*" cannot be handled as a \w+: /,
  /^error decoding patch: /,
  /^error decoding YAML: /,
  /^the object provided is unrecognized \(must be of type \w+\): /,
  /^failed to create typed patch object \([\w./-]*; [\w./-]+, Kind=\w+\): /,
  /^failed to convert new object \([\w./-]*; [\w./-]+, Kind=\w+\) to proper version: unable to convert unstructured object to [\w./-]+, Kind=\w+: /,
];

function withoutPrefix(message: string, prefixes: readonly RegExp[]): string {
  let rest = message;
  for (const prefix of prefixes) rest = rest.replace(prefix, "");
  return rest;
}

/** Forms of messages of decoding, and the text of each that has no values. */
const safe: readonly (readonly [form: RegExp, replacement: string])[] = [
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
  [/^(proto: [\w ()=:-]+|unexpected EOF)$/, "$1"],
  [/^(converting \(\w+\.\w+\) to \(\w+\.\w+\): unknown conversion)$/, "$1"],
  [/^parsing time [^]*$/, "the text is no time"],
  [/^Object '(\w+)' is missing [^]*$/, "Object '$1' is missing"],
  [/^((?:\.[\w/-]+|\[\d+\])+: (?:expected [\w ()]+|field not declared in schema))(?:, got [^]*)?$/, "$1"],
];

/** Removes the values from a message of decoding. */
function discreet(message: string): string {
  for (const [form, replacement] of safe) if (form.test(message)) return message.replace(form, replacement);
  return notShown;
}
