/**
 * The syntax of names, keys and values in object metadata, with upstream's messages. Every check returns the list of
 * errors in upstream's order; an empty list means valid. Lengths are bytes of UTF-8. Hot path: runs for every write;
 * single passes, with a regular expression only where names are rare (`searchForm`, which needs linear time), so hostile
 * names cost no more than their length. Source: upstream's `apimachinery/pkg/util/validation`.
 */
import { parseIp, printIp } from "./ip-address.ts";
import { parseAddress } from "./parse-ip.ts";

export type NameCheck = (text: string) => readonly string[];

const none: readonly string[] = [];

const labelForm = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainForm = String.raw`${labelForm}(\.${labelForm})*`;
const qualifiedForm = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/** Returns the error message for a text that does not match a regular expression. */
export function formMessage(text: string, form: string, ...examples: readonly string[]): string {
  if (examples.length === 0) return `${text} (regex used for validation is '${form}')`;
  const list = examples.map((example) => `'${example}', `).join(" or ");
  return `${text} (e.g. ${list}regex used for validation is '${form}')`;
}

const lengthMessage = (max: number): string => `must be no more than ${max} characters`;
export const rangeMessage = (low: number, high: number): string => `must be between ${low} and ${high}, inclusive`;
export const emptyMessage = "must be non-empty";

const labelMessage = formMessage(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelForm,
  "my-name",
  "123-abc",
);
const subdomainMessage = formMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomainForm,
  "example.com",
);
const wildcardMessage = formMessage(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  String.raw`\*\.${subdomainForm}`,
  "*.example.com",
);
const dns1035Message = formMessage(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  "[a-z]([-a-z0-9]*[a-z0-9])?",
  "my-name",
  "abc-123",
);
const qualifiedText =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const qualifiedPartMessage = formMessage(qualifiedText, qualifiedForm, "MyName", "my.name", "123-abc");
const labelValueMessage = formMessage(
  `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
  `(${qualifiedForm})?`,
  "MyValue",
  "my_value",
  "12345",
);
const configKeyMessage = formMessage(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  "[-._a-zA-Z0-9]+",
  "key.name",
  "KEY_NAME",
  "key-name",
);
const cIdentifierMessage = formMessage(
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  "[A-Za-z_][A-Za-z0-9_]*",
  "my_name",
  "MY_NAME",
  "MyName",
);
const environmentMessage = formMessage(
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
  "[-._a-zA-Z][-._a-zA-Z0-9]*",
  "my.env-name",
  "MY_ENV.NAME",
  "MyEnvName1",
);
const printableMessage =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";
const searchForm = /^_?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:\._?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/;
const searchMessage = formMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  subdomainForm,
  "example.com",
);
const percentMessage = formMessage(
  "a valid percent string must be a numeric string followed by an ending '%'",
  "[0-9]+%",
  "1%",
  "93%",
);

// Character classes of ASCII codes; other characters are in no class.
const lower = 1;
const upper = 2;
const digit = 4;
const dash = 8;
const dot = 16;
const underscore = 32;
const classes = new Uint8Array(128);
for (let code = 0x61; code <= 0x7a; code++) classes[code] = lower;
for (let code = 0x41; code <= 0x5a; code++) classes[code] = upper;
for (let code = 0x30; code <= 0x39; code++) classes[code] = digit;
classes[0x2d] = dash;
classes[0x2e] = dot;
classes[0x5f] = underscore;

const classAt = (text: string, index: number): number => {
  const code = text.charCodeAt(index);
  return code < 128 ? classes[code]! : 0;
};

/**
 * Whether all characters of `text` are in the classes of `inside`, and its first and last character in the classes of
 * `ends`.
 */
function hasForm(text: string, inside: number, ends: number): boolean {
  const last = text.length - 1;
  if (last < 0 || (classAt(text, 0) & ends) === 0 || (classAt(text, last) & ends) === 0) return false;
  for (let i = 1; i < last; i++) if ((classAt(text, i) & inside) === 0) return false;
  return true;
}

/** Whether the text consists of lower-case labels joined by dots, each starting and ending with a letter or digit. */
function isSubdomain(text: string): boolean {
  let previous = dot;
  for (let i = 0; i < text.length; i++) {
    const current = classAt(text, i);
    if ((current & (lower | digit)) === 0) {
      if ((current & (dash | dot)) === 0 || previous === dot || (current === dot && previous === dash)) return false;
    }
    previous = current;
  }
  return previous !== dot && previous !== dash;
}

const isTooLong = (text: string, max: number): boolean =>
  text.length > max || (text.length * 3 > max && Buffer.byteLength(text) > max);

function report(isLong: boolean, max: number, message: string | undefined): readonly string[] {
  if (!isLong) return message === undefined ? none : [message];
  return message === undefined ? [lengthMessage(max)] : [lengthMessage(max), message];
}

export const dns1123Label: NameCheck = (text) => {
  const isLong = isTooLong(text, 63);
  if (hasForm(text, lower | digit | dash, lower | digit)) return report(isLong, 63, undefined);
  return report(isLong, 63, isSubdomain(text) ? "must not contain dots" : labelMessage);
};

export const dns1123Subdomain: NameCheck = (text) =>
  report(isTooLong(text, 253), 253, isSubdomain(text) ? undefined : subdomainMessage);

/** A domain name whose first label is a star: `*.example.com`. */
export const wildcardSubdomain: NameCheck = (text) =>
  report(isTooLong(text, 253), 253, text.startsWith("*.") && isSubdomain(text.slice(2)) ? undefined : wildcardMessage);

export const dns1035Label: NameCheck = (text) => {
  const isRight = hasForm(text, lower | digit | dash, lower | digit) && classAt(text, 0) === lower;
  return report(isTooLong(text, 63), 63, isRight ? undefined : dns1035Message);
};

/** A key of labels and annotations, a finalizer or a resource name: `[prefix/]name`. */
export const qualifiedName: NameCheck = (text) => {
  const slash = text.indexOf("/");
  const name = slash < 0 ? text : text.slice(slash + 1);
  const isRight = hasForm(name, lower | upper | digit | dash | dot | underscore, lower | upper | digit);
  if (slash < 0 && isRight && name.length <= 63) return none;
  if (slash >= 0 && name.includes("/")) {
    const text = `a qualified name ${qualifiedText}`;
    const detail = formMessage(text, qualifiedForm, "MyName", "my.name", "123-abc");
    return [`${detail} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const messages: string[] = [];
  if (slash === 0) messages.push(`prefix part ${emptyMessage}`);
  if (slash > 0) for (const message of dns1123Subdomain(text.slice(0, slash))) messages.push(`prefix part ${message}`);
  if (name === "") messages.push(`name part ${emptyMessage}`);
  else if (isTooLong(name, 63)) messages.push(`name part ${lengthMessage(63)}`);
  if (!isRight) messages.push(`name part ${qualifiedPartMessage}`);
  return messages;
};

export const labelValue: NameCheck = (text) => {
  if (text === "") return none;
  const isRight = hasForm(text, lower | upper | digit | dash | dot | underscore, lower | upper | digit);
  return report(isTooLong(text, 63), 63, isRight ? undefined : labelValueMessage);
};

/** One segment of a URL path. */
export const pathSegment: NameCheck = (text) => {
  if (text === ".") return ["may not be '.'"];
  if (text === "..") return ["may not be '..'"];
  return pathSegmentPrefix(text);
};

const pathSegmentPrefix: NameCheck = (text) => {
  const messages: string[] = [];
  if (text.includes("/")) messages.push("may not contain '/'");
  if (text.includes("%")) messages.push("may not contain '%'");
  return messages;
};

const consistsOf = (text: string, allowed: number): boolean => {
  for (let i = 0; i < text.length; i++) if ((classAt(text, i) & allowed) === 0) return false;
  return text !== "";
};

/** Returns an error for a name that would leave its folder when it is used as a file name. */
function leavesFolder(text: string): readonly string[] {
  if (text === ".") return ["must not be '.'"];
  if (text === "..") return ["must not be '..'"];
  return text.startsWith("..") ? ["must not start with '..'"] : none;
}

/** A key of the data of a config map or secret. */
export const configKey: NameCheck = (text) => {
  const isRight = consistsOf(text, lower | upper | digit | dash | dot | underscore);
  return [...report(isTooLong(text, 253), 253, isRight ? undefined : configKeyMessage), ...leavesFolder(text)];
};

export const cIdentifier: NameCheck = (text) =>
  consistsOf(text, lower | upper | digit | underscore) && classAt(text, 0) !== digit ? none : [cIdentifierMessage];

/** The name of an environment variable, by the stricter rule. */
export const environmentName: NameCheck = (text) => {
  const isRight = consistsOf(text, lower | upper | digit | dash | dot | underscore) && classAt(text, 0) !== digit;
  return [...(isRight ? none : [environmentMessage]), ...leavesFolder(text)];
};

/** The name of an environment variable, by the rule that most servers have. */
export const printableName: NameCheck = (text) => {
  if (text === "") return [`environment variable name ${emptyMessage}`];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e || code === 0x3d) return [printableMessage];
  }
  return none;
};

/** A domain whose labels may have underscores. */
export const searchDomain: NameCheck = (text) =>
  report(isTooLong(text, 253), 253, searchForm.test(text) ? undefined : searchMessage);

/** The name of a container or service port. */
export const portName: NameCheck = (text) => {
  // Nearly every name starts with a letter and has no fault.
  const isSimple = classAt(text, 0) === lower && hasForm(text, lower | digit | dash, lower | digit);
  if (isSimple && text.length <= 15 && !text.includes("--")) return none;
  const messages: string[] = [];
  if (isTooLong(text, 15)) messages.push(lengthMessage(15));
  if (!consistsOf(text, lower | digit | dash)) {
    messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(text)) messages.push("must contain at least one letter (a-z)");
  if (text.includes("--")) messages.push("must not contain consecutive hyphens");
  if (text.startsWith("-") || text.endsWith("-")) messages.push("must not begin or end with a hyphen");
  return messages;
};

export const portNumber = (value: number): readonly string[] =>
  value >= 1 && value <= 65535 ? none : [rangeMessage(1, 65535)];

export const percent: NameCheck = (text) =>
  text.endsWith("%") && consistsOf(text.slice(0, -1), digit) ? none : [percentMessage];

/** An IPv4 or IPv6 address. Leading zeros in IPv4 parts are tolerated, as upstream does for stored objects. */
export const ipAddress: NameCheck = (text) =>
  parseIp(text) === undefined ? ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"] : none;

const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;
const allUnprintable = new RegExp(unprintable, "gu");

/** Yields the unprintable characters of a text, with their offsets in its bytes. Hot path: most texts have none. */
export function* unprintableCharacters(text: string): Generator<{ readonly char: string; readonly position: number }> {
  if (!unprintable.test(text)) return;
  let from = 0;
  let position = 0;
  for (const { 0: char, index } of text.matchAll(allUnprintable)) {
    position += Buffer.byteLength(text.slice(from, index));
    from = index;
    yield { char, position };
  }
}

/**
 * A check of an object's name. With `prefix`, the name is a `generateName`, whose last `-` is replaced by the generated
 * suffix.
 */
export type NameRule = (name: string, prefix: boolean) => readonly string[];

/** Rules by the names in the tables of kinds. Rules that compare with other fields are in the files of their kinds. */
export const nameRules: Readonly<Record<string, NameRule>> = {
  any: () => none,
  none: () => none,
  dns1123label: allowPrefix(dns1123Label),
  dns1123subdomain: allowPrefix(dns1123Subdomain),
  dns1035label: allowPrefix(dns1035Label),
  "pod name": allowPrefix(dns1123Subdomain),
  configKey: (name) => configKey(name),
  pathSegment: (name, prefix) => (prefix ? pathSegmentPrefix(name) : pathSegment(name)),
  canonicalIP: (name) => {
    const address = parseAddress(name);
    if ("fault" in address) return [address.fault];
    const canonical = printIp(address.bytes) + (address.zone === "" ? "" : `%${address.zone}`);
    return canonical === name ? none : ["must be a canonical format IP address"];
  },
  "dns1123subdomain,max52": allowPrefix((name) => boundedSubdomain(name, 52)),
  "dns1123subdomain,max63": allowPrefix((name) => boundedSubdomain(name, 63)),
  "group.resource": allowPrefix(groupAndResource),
  'dns1123subdomain,equals(spec.names.plural+"."+spec.group)': allowPrefix(dns1123Subdomain),
  'equals(spec.version+"."+spec.group)': (name, prefix) => (prefix ? pathSegmentPrefix(name) : pathSegment(name)),
  'if spec.signerName: prefix(replace(signerName,"/",":")+":")+dns1123subdomain; else dns1123subdomain without ":"': (
    name,
    prefix,
  ) => allowPrefix(dns1123Subdomain)(name.slice(name.lastIndexOf(":") + 1), prefix),
};

/** Checks the name of a StorageVersion. */
function groupAndResource(name: string): readonly string[] {
  const dot = name.lastIndexOf(".");
  if (dot < 0) return ["name must be in the form of <group>.<resource>"];
  return [
    ...dns1123Subdomain(name.slice(0, dot)).map((message) => `the group segment ${message}`),
    ...dns1035Label(name.slice(dot + 1)).map((message) => `the resource segment ${message}`),
  ];
}

function boundedSubdomain(name: string, max: number): readonly string[] {
  const messages = dns1123Subdomain(name);
  return isTooLong(name, max) ? [...messages, lengthMessage(max)] : messages;
}

/**
 * Returns a rule that also allows prefixes. As upstream, the trailing dash with the character before it counts as one
 * letter.
 */
function allowPrefix(check: NameCheck): NameRule {
  return (name, prefix) => check(prefix && name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name);
}
