/**
 * Returns the descriptions of operations on custom resources and of shared parameters, which a 1.32 server publishes
 * and recorded answers contain. Parameters of lists and deletes have none.
 */

/** Returns the description of an operation. `part` is the name of a subresource, or empty. */
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

/** Returns the description of a parameter; `undefined` if it has none. */
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
