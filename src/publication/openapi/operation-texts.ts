/**
 * The descriptions of operations and parameters. Those of custom resources are what a 1.32 server publishes and recorded
 * answers contain, without texts for the parameters of lists and deletes; those of built-in kinds are our own.
 */

/** Returns the description of an operation on a built-in kind. `part` is the name of a subresource, or empty. */
export function builtInOperationText(action: string, method: string, part: string, kind: string): string {
  const object = part === "" ? `one ${kind}` : `${part} of one ${kind}`;
  const changed = part === "" ? kind : `${part} of one ${kind}`;
  switch (action) {
    case "list":
      return `Lists objects of kind ${kind}, or watches them.`;
    case "watch":
      return `Watches ${object}. A list with the parameter watch does the same.`;
    case "watchlist":
      return `Watches objects of kind ${kind}. A list with the parameter watch does the same.`;
    case "post":
      return part === "" ? `Creates an object of kind ${kind}.` : `Creates ${object}.`;
    case "put":
      return `Replaces ${object}.`;
    case "patch":
      return `Changes parts of ${object}.`;
    case "delete":
      return `Deletes ${object}.`;
    case "deletecollection":
      return `Deletes objects of kind ${kind}.`;
    case "connect":
      return `Forwards ${method.toUpperCase()} requests to ${changed}.`;
    default:
      return `Reads ${object}.`;
  }
}

/** Returns the description of a parameter of a built-in kind; `undefined` if it has none. */
export function builtInParameterText(name: string, kind: string): string | undefined {
  if (name === "name") return `The name of the ${kind}.`;
  return Object.hasOwn(builtInTexts, name) ? builtInTexts[name] : undefined;
}

const builtInTexts: Readonly<Record<string, string>> = {
  namespace: "The namespace of the objects.",
  pretty: "Whether the answer is indented.",
  dryRun: "With All, the request is checked and answered, and nothing is stored.",
  fieldManager: "The name under which changed fields are recorded. An apply needs it.",
  fieldValidation: "What happens to unknown and duplicate fields: Ignore, Warn or Strict.",
  force: "Whether an apply takes fields over from other managers. Other patches do not have it.",
  allowWatchBookmarks: "Whether a watch sends events that only tell the resource version.",
  continue: "The token of the page before, for the next page of a list.",
  fieldSelector: "Conditions on fields that objects must meet.",
  labelSelector: "Conditions on labels that objects must meet.",
  limit: "The maximum number of objects of a page; the answer has a token for the next one.",
  resourceVersion: "How new the answer must be, or the version after which a watch starts.",
  resourceVersionMatch: "What resourceVersion means for a list: Exact or NotOlderThan.",
  sendInitialEvents: "Whether a watch starts with the present objects.",
  timeoutSeconds: "The time in seconds after which a list or watch ends.",
  watch: "Whether to watch instead of to list.",
  gracePeriodSeconds: "The time in seconds that an object gets to end; 0 ends it at once.",
  orphanDependents: "Whether dependents stay. Deprecated: see propagationPolicy.",
  propagationPolicy: "What happens to dependents: Orphan, Background or Foreground.",
  ignoreStoreReadErrorWithClusterBreakingPotential: "Whether an object that cannot be read is removed all the same.",
  path: "The path behind the proxy.",
  container: "The name of the container; only needed if there are several.",
  follow: "Whether the log is sent on while it grows.",
  previous: "Whether the log is that of the container before the last restart.",
  sinceSeconds: "How far back in seconds the log begins.",
  sinceTime: "The time at which the log begins.",
  tailLines: "How many lines of the end of the log are sent.",
  limitBytes: "The maximum number of bytes of the log.",
  timestamps: "Whether each line begins with its time.",
  insecureSkipTLSVerifyBackend: "Whether the certificate of the kubelet may be unknown.",
  stream: "Which stream of the log is sent: All, Stdout or Stderr.",
  command: "The command and its arguments.",
  stdin: "Whether the client sends standard input.",
  stdout: "Whether the client gets standard output.",
  stderr: "Whether the client gets standard error.",
  tty: "Whether the command runs in a terminal.",
  ports: "The ports to forward.",
};

/** Returns the description of an operation on a custom resource. `part` is the name of a subresource, or empty. */
export function operationText(action: string, part: string, kind: string): string {
  const of = part === "" ? "" : ` ${part} of`;
  switch (action) {
    case "list":
      return `list${of} objects of kind ${kind}`;
    case "post":
      return `create${of}${articleOf(kind)}${kind}`;
    case "delete":
      return `delete${of}${articleOf(kind)}${kind}`;
    case "deletecollection":
      return `delete collection of${of} ${kind}`;
    case "put":
      return `replace${of} the specified ${kind}`;
    case "patch":
      return `partially update${of} the specified ${kind}`;
    default:
      return `read${of} the specified ${kind}`;
  }
}

/** Returns the article of a kind, with spaces. Upstream: kinds that look like plurals have none. */
function articleOf(kind: string): string {
  if (kind.endsWith("s") && !kind.endsWith("ss")) return " ";
  return /^[aeiou]/i.test(kind) ? " an " : " a ";
}

/** Returns the description of a parameter of a custom resource; `undefined` if it has none. */
export function parameterText(name: string, action: string, kind: string): string | undefined {
  switch (name) {
    case "name":
      return `name of the ${kind}`;
    case "fieldManager":
      return action === "patch" ? `${managerText} ${applyText}` : managerText;
    default:
      return Object.hasOwn(texts, name) ? texts[name] : undefined;
  }
}

const managerText =
  "fieldManager is a name associated with the actor or entity that is making these changes. The value must be less than or 128 characters long, and only contain printable characters, as defined by https://golang.org/pkg/unicode/#IsPrint.";
const applyText =
  "This field is required for apply requests (application/apply-patch) but optional for non-apply patch types (JsonPatch, MergePatch, StrategicMergePatch).";

const texts: Readonly<Record<string, string>> = {
  namespace: "object name and auth scope, such as for teams and projects",
  pretty:
    "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).",
  dryRun:
    "When present, indicates that modifications should not be persisted. An invalid or unrecognized dryRun directive will result in an error response and no further processing of the request. Valid values are: - All: all dry run stages will be processed",
  fieldValidation:
    "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown or duplicate fields. Valid values are: - Ignore: This will ignore any unknown fields that are silently dropped from the object, and will ignore all but the last duplicate field that the decoder encounters. This is the default behavior prior to v1.23. - Warn: This will send a warning via the standard warning response header for each unknown field that is dropped from the object, and for each duplicate field that is encountered. The request will still succeed if there are no other errors, and will only persist the last of any duplicate fields. This is the default in v1.23+ - Strict: This will fail the request with a BadRequest error if any unknown fields would be dropped from the object, or if any duplicate fields are present. The error returned from the server will contain all unknown and duplicate fields encountered.",
  force:
    'Force is going to "force" Apply requests. It means user will re-acquire conflicting fields owned by other people. Force flag must be unset for non-apply patch requests.',
};
