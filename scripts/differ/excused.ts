/**
 * Differences that `npm run differ` passes over where it compares kinds and pairs, each with its reason: those that
 * `docs/compatibility.md` has.
 */

interface Excuse {
  /** Left out: of every kind. */
  readonly resource?: string;
  /** Every line of ours that differs matches one of these. */
  readonly ours: readonly RegExp[];
  /** The same of the other server. */
  readonly theirs: readonly RegExp[];
  /** The request has to match this; when it is left out, any request does. */
  readonly sent?: RegExp;
  /** A line of ours has to match this, where lines follow from another. */
  readonly because?: RegExp;
}

/** A value that is empty in one of the ways there are, as a member or an item. */
const emptyValue = /[:[,](?:\[\]|\{\}|""|null)(?=[\]},])/;

/** A member of the object, or what a JSON patch puts there. */
const given = (name: string, value: RegExp): RegExp =>
  new RegExp(`"(?:${name}|path":"/${name}","value)":${value.source}`);

/** A map that is empty or has a value that is null. */
const emptyOrNull = /\{(?:[^{}]*:null[^{}]*)?\}/;

const policyOfService = /^\.owners\.\S+ \w+ \.fieldsV1\.f:spec\.f:internalTrafficPolicy = \{\}$/;

const excuses: readonly Excuse[] = [
  // A class of attributes may change before the claim is bound (PVC-34 of the requirements).
  {
    resource: "persistentvolumeclaims",
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden spec: Forbidden: spec is immutable after creation/],
  },
  // Conditions and changes of a claim's status say what they are about (PVC-54 and PVC-59).
  {
    resource: "persistentvolumeclaims",
    ours: [
      /^422 Invalid$/,
      /^FieldValueRequired status\.(?:conditions\[\d+\]\.(?:type|status)|modifyVolumeStatus\.status): Required value$/,
    ],
    theirs: [/^20\d /, /^422 Invalid$/],
  },
  // Two more statuses of a resize are taken, and named where another is refused (PVC-44).
  {
    resource: "persistentvolumeclaims",
    sent: /"(?:Controller|Node)ResizeFailed"/,
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueNotSupported status\.allocatedResourceStatus: Unsupported value: /],
  },
  {
    resource: "persistentvolumeclaims",
    ours: [/^422 Invalid$/, /^FieldValueNotSupported status\.allocatedResourceStatus: .*"NodeResizeFailed"/],
    theirs: [/^422 Invalid$/, /^FieldValueNotSupported status\.allocatedResourceStatus: Unsupported value: /],
  },
  // A claim asks for no more than its limits (PVC-09), as templates of claims do; what mounts a wrong volume finds none.
  {
    because: /: must be less than or equal to storage limit of /,
    ours: [
      /^422 Invalid$/,
      /^FieldValueInvalid \S*\.resources\.requests\[storage\]: .*: must be less than or equal to storage limit of \w+$/,
      /^FieldValueNotFound \S*\.volumeMounts\[\d+\]\.name: Not found: "[^"]*"$/,
    ],
    theirs: [/^20\d /, /^422 Invalid$/],
  },
  // Go prints this field as a struct with addresses.
  {
    resource: "persistentvolumeclaims",
    ours: [/^422 Invalid$/, /^FieldValueInvalid spec: Invalid value: "spec\.dataSource": (?:must match|may not be) /],
    theirs: [/^422 Invalid$/, /^FieldValueInvalid spec: Invalid value: \.\.\.: (?:must match|may not be) /],
  },
  // An object that cannot be applied is the client's mistake.
  { ours: [/^400 BadRequest$/], theirs: [/^500 $/] },
  // Empty members that are as if there were none in what may not change.
  {
    resource: "storageclasses",
    sent: given("parameters", /\{\}/),
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden parameters: Forbidden: updates to parameters are forbidden\.$/],
  },
  {
    resource: "secrets",
    sent: given("data", emptyOrNull),
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden data: Forbidden: field is immutable when `immutable` is set$/],
  },
  {
    resource: "configmaps",
    sent: given("binaryData", emptyOrNull),
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [
      /^422 Invalid$/,
      /^FieldValueForbidden binaryData: Forbidden: field is immutable when `immutable` is set$/,
    ],
  },
  // A deprecated field that is dropped counts in the generation.
  {
    resource: "endpointslices",
    sent: /"deprecatedTopology":\{"/,
    ours: [/^200 $/, /^resourceVersion: as before$/, /^\.metadata\.generation = \d+$/],
    theirs: [/^200 $/, /^resourceVersion: another$/, /^\.metadata\.generation = \d+$/],
  },
  // An item without its key in a list of keyed items has no owner; other owners stay.
  {
    resource: "serviceaccounts",
    sent: given("secrets", /\[(?:\{[^{}]*\},)*(?:null|\{(?:(?!"name":"[^"])[^{}])*\})/),
    ours: [/^200 $/, /^\.owners\./],
    theirs: [/^200 $/],
  },
  // The policy of a service with an external name comes back with another type, and has its owner still.
  {
    resource: "services",
    sent: /externalName|internalTrafficPolicy/,
    ours: [/^200 $/, /^resourceVersion: another$/, policyOfService, /^\.spec\.internalTrafficPolicy = "Cluster"$/],
    theirs: [/^200 $/, /^resourceVersion: as before$/, policyOfService, /^\.spec\.internalTrafficPolicy = "Local"$/],
  },
  // An apply repairs what does not fit its schema.
  {
    ours: [/^20\d /],
    theirs: [
      /^500 $/,
      /^failed to create typed live object .*: .*: associative list with keys has an element that omits key/,
    ],
  },
  // A metric that the status of an autoscaler has twice in v1 is kept once.
  {
    resource: "horizontalpodautoscalers",
    sent: /"currentCPUUtilizationPercentage":/,
    ours: [/^200 $/, /^resourceVersion: as before$/],
    theirs: [/^200 $/, /^resourceVersion: another$/],
  },
  // The zero time is the same again.
  {
    resource: "jobs",
    sent: /"startTime":"0001-01-01T00:00:00Z"/,
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueRequired status\.startTime: Required value: startTime cannot be removed /],
  },
  // The other server has no answer to updates where a container sleeps after its start.
  {
    sent: /"(?:postStart|path":"[^"]*\/postStart)"[^]*"sleep"/,
    ours: [/./],
    theirs: [/^0 $/, /^(?:\.message = ")?no answer from reference"?$/],
  },
  // Nor to indexed jobs without completions where a success policy names indexes.
  {
    because: /completions: Required value: when completion mode is Indexed$/,
    ours: [/./],
    theirs: [/^0 $/, /^(?:\.message = ")?no answer from reference"?$/],
  },
  // A volume that is an image goes where its gate is off; who sent it has its default here, too.
  {
    sent: /"image":\{"reference":/,
    ours: [/^20\d /, /^\.owners\.\S+ \w+ \.fieldsV1\.\S+\.f:image\.f:pullPolicy = \{\}$/],
    theirs: [/^20\d /],
  },
  // A resource without a name is shown as a field without one.
  {
    resource: "nodes",
    ours: [/^422 Invalid$/, /^FieldValueInvalid status\.(?:allocatable|capacity)\.: /],
    theirs: [/^422 Invalid$/, /^FieldValueInvalid status\.(?:allocatable|capacity)\[\]: /],
  },
  // The manager that owns a default field of a node keeps it when the field is sent empty.
  {
    resource: "nodes",
    sent: /"allocatable":\{\}/,
    ours: [/^200 $/, /^\.owners\.\S+ \w+ status\.fieldsV1\.f:status\.f:allocatable = \{\}$/],
    theirs: [/^200 $/],
  },
  // The first write without changes of a new claim.
  {
    resource: "persistentvolumeclaims",
    ours: [/^200 $/, /^resourceVersion: as before$/],
    theirs: [/^200 $/, /^resourceVersion: another$/],
  },
  // Empty bytes, lists and objects where there were none are no change: they are stored in the same way.
  {
    sent: emptyValue,
    ours: [/^200 $/, /^resourceVersion: as before$/, /^\.metadata\.generation = \d+$/],
    theirs: [/^200 $/, /^resourceVersion: another$/, /^\.metadata\.generation = \d+$/],
  },
];

/**
 * Whether all lines by which two answers differ are excused, each by an excuse that fits the codes. The first line of each
 * is its code.
 */
export function isExcused(resource: string, [ours = "", theirs = ""]: readonly string[], sent: unknown): boolean {
  if (ours === theirs) return false;
  const body = JSON.stringify(sent) ?? "";
  const shown = [ours, resource === "secrets" ? withoutValues(theirs) : theirs].map((text) => text.split("\n"));
  const [one = [], other = []] = withoutMoved(unlike(shown), body);
  const fit = excuses.filter(
    (excuse) =>
      (excuse.resource === undefined || excuse.resource === resource) &&
      excuse.sent?.test(body) !== false &&
      (excuse.because === undefined || one.some((line) => excuse.because!.test(line))) &&
      matches(one[0]!, excuse.ours) &&
      matches(other[0]!, excuse.theirs),
  );
  const isHidden = one.length === 1 && other.length === 1 && one[0] === other[0];
  return (
    isHidden ||
    (fit.length > 0 &&
      one.every((line) => fit.some((excuse) => matches(line, excuse.ours))) &&
      other.every((line) => fit.some((excuse) => matches(line, excuse.theirs))))
  );
}

const matches = (line: string, patterns: readonly RegExp[]): boolean => patterns.some((pattern) => pattern.test(line));

/** Findings about secrets as they are without the values that were given. */
const withoutValues = (text: string): string =>
  text
    .replace(/^(Field\w+ [^\n"]*?: (?:Invalid|Duplicate|Unsupported) value): "(?:[^"\\]|\\.)*"(?=: |$)/gm, "$1")
    .replace(/^the server rejected our request due to an error in our request$/gm, notShown);

const notShown = "what was given is not shown, since objects of this kind are confidential";

/** Each without the lines that both have, apart from the first. */
const unlike = (all: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  all.map((lines, at) => lines.filter((line, index) => index === 0 || !all[1 - at]!.includes(line)));

const owner = /^\.owners\.\S+ Update \.(?:apiVersion|fieldsType|fieldsV1\.(\S+)) = /;

/**
 * Leaves out owners of fields that have another owner in both answers, if something empty was sent in those fields:
 * that is no change of the fields for our server, and it is one for the other server.
 */
function withoutMoved(all: readonly (readonly string[])[], sent: string): readonly (readonly string[])[] {
  const [one, other] = all.map((lines) => lines.flatMap((line) => owner.exec(line)?.[1] ?? []).sort());
  const isMoved = one!.length > 0 && one!.join() === other!.join();
  const isEmptied = emptyValue.test(sent) && one!.every((path) => sent.includes(path.replace(/^.*f:/, "")));
  return isMoved && isEmptied ? all.map((lines) => lines.filter((line) => !owner.test(line))) : all;
}
