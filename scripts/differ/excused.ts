/**
 * The differences of kinds and pairs that `npm run differ` ignores, each with its reason. All of them are in
 * `docs/compatibility.md`.
 */

interface Excuse {
  /** The resource; by default all resources. */
  readonly resource?: string;
  /** Every different line of our answer matches one of these. */
  readonly ours: readonly RegExp[];
  /** Every different line of the other answer matches one of these. */
  readonly theirs: readonly RegExp[];
  /** The request has to match this expression; by default any request does. */
  readonly request?: RegExp;
  /** A line of our answer has to match this expression, if other lines follow from it. */
  readonly because?: RegExp;
}

/** A member or an item that is empty in one of the possible ways. */
const emptyValue = /[:[,](?:\[\]|\{\}|""|null)(?=[\]},])/;

/** Returns an expression for a member of the object, or for a value that a JSON patch adds with this name. */
const memberPattern = (name: string, value: RegExp): RegExp =>
  new RegExp(`"(?:${name}|path":"/${name}","value)":${value.source}`);

/** A map that is empty or has a null value. */
const emptyOrNull = /\{(?:[^{}]*:null[^{}]*)?\}/;

const policyOfService = /^\.owners\.\S+ \w+ \.fieldsV1\.f:spec\.f:internalTrafficPolicy = \{\}$/;

const aboveMaximum =
  /^FieldValueInvalid spec\.limits\[\d+\]\.default\[[^\]]+\]: .*: default value \S+ is greater than max value \S+$/;

const excuses: readonly Excuse[] = [
  // A default above the maximum is shown itself; upstream shows the maximum.
  { resource: "limitranges", ours: [/^422 Invalid$/, aboveMaximum], theirs: [/^422 Invalid$/, aboveMaximum] },
  // The attributes class may change before the claim is bound (PVC-34 of the requirements).
  {
    resource: "persistentvolumeclaims",
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden spec: Forbidden: spec is immutable after creation/],
  },
  // Conditions and changes of a claim's status must name their type and status (PVC-54 and PVC-59).
  {
    resource: "persistentvolumeclaims",
    ours: [
      /^422 Invalid$/,
      /^FieldValueRequired status\.(?:conditions\[\d+\]\.(?:type|status)|modifyVolumeStatus\.status): Required value$/,
    ],
    theirs: [/^20\d /, /^422 Invalid$/],
  },
  // The status of a resize may have two more values, which messages list too (PVC-44).
  {
    resource: "persistentvolumeclaims",
    request: /"(?:Controller|Node)ResizeFailed"/,
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueNotSupported status\.allocatedResourceStatus: Unsupported value: /],
  },
  {
    resource: "persistentvolumeclaims",
    ours: [/^422 Invalid$/, /^FieldValueNotSupported status\.allocatedResourceStatus: .*"NodeResizeFailed"/],
    theirs: [/^422 Invalid$/, /^FieldValueNotSupported status\.allocatedResourceStatus: Unsupported value: /],
  },
  // The requests of a claim must not exceed its limits (PVC-09), as in templates of claims. A mount of an invalid
  // volume is an error too.
  {
    because: /: must be less than or equal to storage limit of /,
    ours: [
      /^422 Invalid$/,
      /^FieldValueInvalid \S*\.resources\.requests\[storage\]: .*: must be less than or equal to storage limit of \S+$/,
      /^FieldValueNotFound \S*\.volumeMounts\[\d+\]\.name: Not found: "[^"]*"$/,
    ],
    theirs: [/^20\d /, /^422 Invalid$/],
  },
  // The other server prints this field of claims and of templates of claims as a Go struct with addresses.
  {
    ours: [
      /^422 Invalid$/,
      /^FieldValueInvalid (\S*spec): Invalid value: "\1\.dataSource": (?:must match|may not be) /,
    ],
    theirs: [/^422 Invalid$/, /^FieldValueInvalid \S*spec: Invalid value: \.\.\.: (?:must match|may not be) /],
  },
  // A template of claims needs a claim's spec (RCT-03 and RCT-08).
  {
    resource: "resourceclaimtemplates",
    because: /^FieldValueRequired spec\.spec: Required value$/,
    ours: [/^422 Invalid$/, /^FieldValueRequired spec\.spec: Required value$/],
    theirs: [/^2\d\d /, /^422 Invalid$/],
  },
  // Empty lists count as absent.
  {
    resource: "resourceclaimtemplates",
    request: /"(?:managedFields|ownerReferences|finalizers)(?:"\],"value)?":\[\]/,
    ours: [/^2\d\d /, /^422 Invalid$/],
    theirs: [
      /^422 Invalid$/,
      /^FieldValueForbidden spec\.metadata\.(?:managedFields|ownerReferences|finalizers): Forbidden: cannot be set$/,
    ],
  },
  // An object that cannot be applied is a mistake of the client.
  { ours: [/^400 BadRequest$/], theirs: [/^500 $/] },
  // Empty members of immutable fields are equal to absent ones.
  {
    resource: "storageclasses",
    request: memberPattern("parameters", /\{\}/),
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden parameters: Forbidden: updates to parameters are forbidden\.$/],
  },
  {
    resource: "secrets",
    request: memberPattern("data", emptyOrNull),
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden data: Forbidden: field is immutable when `immutable` is set$/],
  },
  {
    resource: "configmaps",
    request: memberPattern("binaryData", emptyOrNull),
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [
      /^422 Invalid$/,
      /^FieldValueForbidden binaryData: Forbidden: field is immutable when `immutable` is set$/,
    ],
  },
  // A dropped deprecated field increases the generation.
  {
    resource: "endpointslices",
    request: /"deprecatedTopology":\{"/,
    ours: [/^200 $/, /^resourceVersion: as before$/, /^\.metadata\.generation = \d+$/],
    theirs: [/^200 $/, /^resourceVersion: another$/, /^\.metadata\.generation = \d+$/],
  },
  // An item without its key, in a list of keyed items, has no owner; other owners stay.
  {
    resource: "serviceaccounts",
    request: memberPattern("secrets", /\[(?:\{[^{}]*\},)*(?:null|\{(?:(?!"name":"[^"])[^{}])*\})/),
    ours: [/^200 $/, /^\.owners\./],
    theirs: [/^200 $/],
  },
  // A node port that comes twice in an update is a finding; upstream's allocator fails with it.
  {
    resource: "services",
    ours: [/^422 Invalid$/, /^FieldValueDuplicate spec\.ports\[\d+\]/],
    theirs: [/^500 $/, /^duplicate nodePort: /],
  },
  // A health check port that is out of range is a finding; upstream's allocator fails with it.
  {
    resource: "services",
    request: /"healthCheckNodePort":/,
    ours: [/^422 Invalid$/, /^Field/],
    theirs: [/^500 InternalError$/, /^undefined undefined: failed to allocate requested HealthCheck NodePort /],
  },
  // The other server does not answer if a schema that it cannot read has selectable fields.
  {
    resource: "customresourcedefinitions",
    request: /"selectableFields":\[\{/,
    ours: [/^422 Invalid$/, /^Field/],
    theirs: [/^0 $/, /^(?:\.message = ")?no answer from reference"?$/],
  },
  // Each server gives a service another address.
  {
    resource: "services",
    ours: [/^422 Invalid$/, /^FieldValueInvalid spec\.clusterIPs\[\d\]: Invalid value: "10\.[\d.]+": expected an IPv6/],
    theirs: [
      /^422 Invalid$/,
      /^FieldValueInvalid spec\.clusterIPs\[\d\]: Invalid value: "10\.[\d.]+": expected an IPv6/,
    ],
  },
  // The traffic policy of a service of type ExternalName returns with another type, and has its owner still.
  {
    resource: "services",
    request: /externalName|internalTrafficPolicy/,
    ours: [/^200 $/, /^resourceVersion: another$/, policyOfService, /^\.spec\.internalTrafficPolicy = "Cluster"$/],
    theirs: [/^200 $/, /^resourceVersion: as before$/, policyOfService, /^\.spec\.internalTrafficPolicy = "Local"$/],
  },
  // An apply repairs stored fields that do not fit their schema.
  {
    ours: [/^20\d /],
    theirs: [
      /^500 $/,
      /^failed to create typed live object .*: .*: associative list with keys has an element that omits key/,
    ],
  },
  // A metric that the status of an autoscaler has twice in v1 is stored once.
  {
    resource: "horizontalpodautoscalers",
    request: /"currentCPUUtilizationPercentage":/,
    ours: [/^200 $/, /^resourceVersion: as before$/],
    theirs: [/^200 $/, /^resourceVersion: another$/],
  },
  // The zero time equals an absent time.
  {
    resource: "jobs",
    request: /"startTime":"0001-01-01T00:00:00Z"/,
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueRequired status\.startTime: Required value: startTime cannot be removed /],
  },
  // The other server does not answer updates in which a container sleeps after its start.
  {
    request: /"(?:postStart|path":"[^"]*\/postStart)"[^]*"sleep"/,
    ours: [/./],
    theirs: [/^0 $/, /^(?:\.message = ")?no answer from reference"?$/],
  },
  // The other server does not answer if an indexed job has no completions and its success policy names indexes.
  {
    because: /completions: Required value: when completion mode is Indexed$/,
    ours: [/./],
    theirs: [/^0 $/, /^(?:\.message = ")?no answer from reference"?$/],
  },
  // An image volume is dropped while its gate is off, but its client owns the default of the volume here too.
  {
    request: /"image":\{"reference":/,
    ours: [/^20\d /, /^\.owners\.\S+ \w+ \.fieldsV1\.\S+\.f:image\.f:pullPolicy = \{\}$/],
    theirs: [/^20\d /],
  },
  // Amounts in findings of the other server are Go structures, which have no text for some amounts.
  {
    ours: [/^422 Invalid$/, /^FieldValueInvalid \S+: Invalid value: "[^"]+": must be an integer$/],
    theirs: [/^422 Invalid$/, /^FieldValueInvalid \S+: Invalid value: "": must be an integer$/],
  },
  // An empty overhead is none.
  {
    resource: "pods",
    request: /"overhead":\{\}/,
    ours: [/^2\d\d /],
    theirs: [/^403 Forbidden$/, /Pod Overhead set without corresponding RuntimeClass defined Overhead$/],
  },
  // The other server fails for a pod whose runtime class is no name.
  {
    resource: "pods",
    request: /runtimeClassName/,
    ours: [/./],
    theirs: [/^500 $/, /^resource name may not be empty$/, /^invalid resource name "/],
  },
  // Empty lists count as absent.
  {
    request: /\[\]/,
    ours: [/^2\d\d /, /^422 Invalid$/],
    theirs: [
      /^422 Invalid$/,
      /^FieldValueForbidden \S+: Forbidden: cannot be set for an Ephemeral Container$/,
      /^FieldValueForbidden \S+\.metadata\.(?:managedFields|ownerReferences|finalizers): Forbidden: cannot be set$/,
      /^FieldValueRequired \S+\.policies: Required value: must specify at least one Policy$/,
    ],
  },
  // The other server does not answer an update that makes a service headless with two families.
  {
    resource: "services",
    request: /"None"/,
    ours: [/./],
    theirs: [/^0 $/, /^(?:\.message = ")?no answer from reference"?$/],
  },
  // The path of a resource with an empty name ends in a dot.
  {
    resource: "nodes",
    ours: [/^422 Invalid$/, /^FieldValueInvalid status\.(?:allocatable|capacity)\.: /],
    theirs: [/^422 Invalid$/, /^FieldValueInvalid status\.(?:allocatable|capacity)\[\]: /],
  },
  // The owner of a default field of a node stays when the field is sent empty.
  {
    resource: "nodes",
    request: /"allocatable":\{\}/,
    ours: [/^200 $/, /^\.owners\.\S+ \w+ status\.fieldsV1\.f:status\.f:allocatable = \{\}$/],
    theirs: [/^200 $/],
  },
  // The first write of a new claim changes nothing here.
  {
    resource: "persistentvolumeclaims",
    ours: [/^200 $/, /^resourceVersion: as before$/],
    theirs: [/^200 $/, /^resourceVersion: another$/],
  },
  // Empty bytes, lists and objects in place of absent ones are no change, since they are stored in the same way.
  {
    request: emptyValue,
    ours: [/^200 $/, /^resourceVersion: as before$/, /^\.metadata\.generation = \d+$/],
    theirs: [/^200 $/, /^resourceVersion: another$/, /^\.metadata\.generation = \d+$/],
  },
];

/**
 * Whether all lines by which two answers differ are excused, each by an excuse that matches the codes. The first line
 * of an answer is its code.
 */
export function isExcused(resource: string, [ours = "", theirs = ""]: readonly string[], request: unknown): boolean {
  if (ours === theirs) return false;
  const body = JSON.stringify(request) ?? "";
  const answers = [ours, resource === "secrets" ? withoutValues(theirs) : theirs].map((text) => text.split("\n"));
  const [one = [], other = []] = withoutMovedOwners(differentLines(answers), body);
  const applicable = excuses.filter(
    (excuse) =>
      (excuse.resource === undefined || excuse.resource === resource) &&
      excuse.request?.test(body) !== false &&
      (excuse.because === undefined || one.some((line) => excuse.because!.test(line))) &&
      matches(one[0]!, excuse.ours) &&
      matches(other[0]!, excuse.theirs),
  );
  const isHidden = one.length === 1 && other.length === 1 && one[0] === other[0];
  return (
    isHidden ||
    (applicable.length > 0 &&
      one.every((line) => applicable.some((excuse) => matches(line, excuse.ours))) &&
      other.every((line) => applicable.some((excuse) => matches(line, excuse.theirs))))
  );
}

const matches = (line: string, patterns: readonly RegExp[]): boolean => patterns.some((pattern) => pattern.test(line));

/** Returns findings about secrets without the values that the client sent. */
const withoutValues = (text: string): string =>
  text
    .replace(/^(Field\w+ [^\n"]*?: (?:Invalid|Duplicate|Unsupported) value): "(?:[^"\\]|\\.)*"(?=: |$)/gm, "$1")
    .replace(/^the server rejected our request due to an error in our request$/gm, notShown);

const notShown = "what was given is not shown, since objects of this kind are confidential";

/** Returns the lines of each answer without those that both have, except the first line. */
const differentLines = (answers: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  answers.map((lines, at) => lines.filter((line, index) => index === 0 || !answers[1 - at]!.includes(line)));

const owner = /^\.owners\.\S+ Update \.(?:apiVersion|fieldsType|fieldsV1\.(\S+)) = /;

/**
 * Removes owners of fields that have another owner in both answers, if the client sent something empty in those fields:
 * this is no change of the fields for our server, and a change for the other one.
 */
function withoutMovedOwners(answers: readonly (readonly string[])[], request: string): readonly (readonly string[])[] {
  const [one, other] = answers.map((lines) => lines.flatMap((line) => owner.exec(line)?.[1] ?? []).sort());
  const isMoved = one!.length > 0 && one!.join() === other!.join();
  const isEmptied = emptyValue.test(request) && one!.every((path) => request.includes(path.replace(/^.*f:/, "")));
  return isMoved && isEmptied ? answers.map((lines) => lines.filter((line) => !owner.test(line))) : answers;
}
