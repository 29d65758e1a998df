/**
 * Checks the string formats of custom resources; unknown formats are ignored. The time of each check is linear in the
 * text. Source: the formats of upstream's `apiextensions-apiserver` and `kube-openapi/strfmt`, with the answers of a
 * 1.32 server.
 */
import { parseIp } from "#meta/ip-address.ts";
import { parseDuration } from "#std/go-duration.ts";

/** Returns whether a text has the format. */
export type FormatCheck = (text: string) => boolean;

/** Returns the check of a format by its name, with or without dashes; `undefined` for formats that are not checked. */
export function formatCheck(format: string): FormatCheck | undefined {
  const name = format.replaceAll("-", "");
  return Object.hasOwn(checks, name) ? checks[name] : undefined;
}

const hex = "[0-9a-f]";

const checks: Readonly<Record<string, FormatCheck>> = {
  bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
  uri: isRequestUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: (text) => text.includes(".") && (isDottedQuad(text) || (text.includes(":") && parseIp(text) !== undefined)),
  ipv6: (text) => text.includes(":") && parseIp(text) !== undefined && !/[:.]0[0-9]+(?:\.|$)/.test(dottedTail(text)),
  cidr: isCidr,
  mac: isMac,
  uuid: uuidCheck(hex, hex),
  uuid3: uuidCheck("3", hex),
  uuid4: uuidCheck("4", "[89ab]"),
  uuid5: uuidCheck("5", "[89ab]"),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => text.length === 11 && /^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$/.test(text),
  hexcolor: (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  rgbcolor: isRgbColor,
  byte: (text) => text !== "" && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
};

/** Returns the text from the last colon on, if it has an IPv4 address; else an empty text. */
const dottedTail = (text: string): string => (text.includes(".") ? text.slice(text.lastIndexOf(":")) : "");

function uuidCheck(version: string, variant: string): FormatCheck {
  const form = new RegExp(`^${hex}{8}-?${hex}{4}-?${version}${hex}{3}-?${variant}${hex}{3}-?${hex}{12}$`, "i");
  return (text) => text.length <= 36 && form.test(text);
}

/** Whether a text is an IPv4 address. Leading zeros are allowed. */
function isDottedQuad(text: string): boolean {
  const parts = /^([0-9]{1,8})\.([0-9]{1,8})\.([0-9]{1,8})\.([0-9]{1,8})$/.exec(text);
  return parts !== null && parts.slice(1).every((part) => Number(part) <= 255);
}

function isCidr(text: string): boolean {
  const slash = text.indexOf("/");
  const [address, length] = [text.slice(0, slash), text.slice(slash + 1)];
  if (slash < 0 || !/^[0-9]{1,8}$/.test(length)) return false;
  if (isDottedQuad(address)) return Number(length) <= 32;
  return address.includes(":") && parseIp(address) !== undefined && Number(length) <= 128;
}

/**
 * Whether a text is a MAC address of 6, 8 or 20 bytes: pairs of digits with colons or dashes between them, or groups of
 * four digits with dots between them.
 */
function isMac(text: string): boolean {
  if (text.length > 60) return false;
  const pairs = /^[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2})(?:\1[0-9a-fA-F]{2})*$/.test(text) ? (text.length + 1) / 3 : 0;
  const fours = /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+$/.test(text) ? ((text.length + 1) / 5) * 2 : 0;
  const bytes = pairs + fours;
  return bytes === 6 || bytes === 8 || bytes === 20;
}

const hostChar = String.raw`[a-zA-Z0-9\p{S}\p{L}]`;
const hostForm = new RegExp(
  `^(?:${hostChar}(?:-?${hostChar}{0,62})?|(?:${hostChar}(?:[-a-zA-Z0-9\\p{S}\\p{L}]{0,61}${hostChar})?\\.)+[a-zA-Z\\p{L}]{2,63})$`,
  "u",
);

function isHostname(text: string): boolean {
  if (text.length > 255 || Buffer.byteLength(text) > 255 || !hostForm.test(text)) return false;
  return text.split(".").every((label) => Buffer.byteLength(label) <= 63);
}

const digitsOnly = (text: string): string => text.replace(/[^0-9]+/g, "");

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]/g, "");
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  let sum = digits[9] === "X" ? 100 : 10 * Number(digits[9]);
  for (let at = 0; at < 9; at++) sum += (at + 1) * Number(digits[at]);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]/g, "");
  if (!/^[0-9]{13}$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 12; at++) sum += (at % 2 === 0 ? 1 : 3) * Number(digits[at]);
  return Number(digits[12]) === (10 - (sum % 10)) % 10;
}

const cardForm =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$/;

function isCreditCard(text: string): boolean {
  const digits = digitsOnly(text);
  if (!cardForm.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    const weighed = at % 2 === 0 ? digit : digit * 2;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return sum % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(([^,]*),([^,]*),([^,]*)\)$/.exec(text);
  return parts !== null && parts.slice(1).every(isColorPart);
}

function isColorPart(text: string): boolean {
  const inner = text.replace(/^[\t\n\f\r ]+/, "").slice(0, 4);
  const digits = /^[0-9]{1,3}/.exec(inner)?.[0];
  if (digits === undefined || (digits.length > 1 && digits.startsWith("0")) || Number(digits) > 255) return false;
  return /^[\t\n\f\r ]*$/.test(text.slice(text.indexOf(digits) + digits.length));
}

function isDate(text: string): boolean {
  const parts = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Whether a text is a date and time. Text after a second `t` is ignored. */
function isDateTime(text: string): boolean {
  if (text.length < 4) return false;
  const [date = "", time] = text.toLowerCase().split("t", 2);
  if (time === undefined || !isDate(date)) return false;
  const parts = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/.exec(time);
  return parts !== null && parts[1]! <= "23" && parts[2]! <= "59" && parts[3]! <= "59";
}

/** The units of durations: nanoseconds, and exact names. A longer word may begin with the last name of its row. */
const durationUnits: readonly (readonly [nanoseconds: bigint, names: readonly string[]])[] = [
  [1n, ["ns", "nano"]],
  [1000n, ["us", "\u00b5s", "micro"]],
  [1_000_000n, ["ms", "milli"]],
  [1_000_000_000n, ["s", "sec"]],
  [60_000_000_000n, ["m", "min"]],
  [3_600_000_000_000n, ["h", "hr", "hour"]],
  [86_400_000_000_000n, ["d", "day"]],
  [604_800_000_000_000n, ["w", "wk", "week"]],
];

/**
 * Returns the nanoseconds of a duration; `undefined` if the text is not one. The format accepts Go's form (`1h30m`),
 * and texts with numbers and units in words (`5 minutes`), which are added.
 */
export function durationOf(text: string): bigint | undefined {
  const parsed = parseDuration(text);
  if (typeof parsed !== "string") return parsed;
  let total: bigint | undefined;
  for (const [, count = "", word = ""] of text.matchAll(/([0-9]+)[\t\n\f\r ]*([A-Za-z\u00b5]+)/g)) {
    if (count.length > 19 || BigInt.asIntN(64, BigInt(count)) !== BigInt(count)) return undefined;
    const name = word.toLowerCase();
    const unit = durationUnits.find(([, names]) => names.includes(name) || name.startsWith(names.at(-1)!));
    if (unit !== undefined) total = BigInt.asIntN(64, (total ?? 0n) + BigInt(count) * unit[0]);
  }
  return total;
}

function isDuration(text: string): boolean {
  return durationOf(text) !== undefined;
}

/** Whether a text is an absolute URI or an absolute path, as Go's `url.ParseRequestURI` accepts it. */
function isRequestUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  if (text === "" || /[\x00-\x1f\x7f]/.test(text)) return false;
  if (text === "*") return true;
  const scheme = /^[A-Za-z][-A-Za-z0-9+.]*:/.exec(text)?.[0];
  if (scheme === undefined && text.startsWith(":")) return false;
  const all = text.slice(scheme?.length ?? 0);
  const query = all.indexOf("?");
  let rest = query < 0 ? all : all.slice(0, query);
  if (!rest.startsWith("/")) return scheme !== undefined;
  if (scheme !== undefined && rest.startsWith("//")) {
    const slash = rest.indexOf("/", 2);
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
    if (!isAuthority(authority)) return false;
    rest = slash < 0 ? "" : rest.slice(slash);
  }
  return !/%(?![0-9A-Fa-f]{2})/.test(rest);
}

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf("@");
  const user = at < 0 ? "" : text.slice(0, at);
  if (!/^[-A-Za-z0-9._:~!$&'()*+,;=%@]*$/.test(user) || /%(?![0-9A-Fa-f]{2})/.test(user)) return false;
  return isHost(text.slice(at + 1));
}

function isHost(text: string): boolean {
  if (text.startsWith("[")) {
    const end = text.lastIndexOf("]");
    if (end < 0 || !/^(?::[0-9]*)?$/.test(text.slice(end + 1))) return false;
    const zone = text.indexOf("%25");
    const address = zone < 0 || zone > end ? text.slice(1, end) : text.slice(1, zone);
    return hasHostChars(address);
  }
  const colon = text.lastIndexOf(":");
  if (colon >= 0 && !/^:[0-9]*$/.test(text.slice(colon))) return false;
  return hasHostChars(text);
}

/** Whether a text has characters of hosts only. Escapes may only encode bytes beyond ASCII. */
const hasHostChars = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what is restricted
  !/[\x00-\x7f]/.test(text.replace(/[-A-Za-z0-9._~!$&'()*+,;=:[\]<>"]|%[89A-Fa-f][0-9A-Fa-f]/g, ""));

/**
 * Whether a text is one mailbox, as Go's `mail.ParseAddress` accepts it: `a@b`, `Name <a@b>`, `group: a@b;`, with
 * comments after it.
 */
function isEmail(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: not even in comments
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(text)) return false;
  const comment = unquotedIndex(text, "(");
  if (comment >= 0 && !areComments(text.slice(comment))) return false;
  const plain = (comment < 0 ? text : text.slice(0, comment)).trim();
  const colon = unquotedIndex(plain, ":");
  if (colon > 0 && plain.endsWith(";"))
    return isPhrase(plain.slice(0, colon).trim()) && isMailbox(plain.slice(colon + 1, -1).trim());
  return isMailbox(plain);
}

function isMailbox(text: string): boolean {
  const open = unquotedIndex(text, "<");
  if (open < 0) return isAddress(text);
  const name = text.slice(0, open).trim();
  return text.endsWith(">") && isPhrase(name) && isAddress(text.slice(open + 1, -1).trim());
}

/** Whether a text consists of texts in parentheses, which may be nested. */
function areComments(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\" && depth > 0) at++;
    else if (char === "(") depth++;
    else if (char === ")") depth--;
    else if (depth === 0 && char !== " " && char !== "\t") return false;
    if (depth < 0) return false;
  }
  return depth === 0;
}

function unquotedIndex(text: string, wanted: string): number {
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\" && isQuoted) at++;
    else if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && text[at] === wanted) return at;
  }
  return -1;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: beyond ASCII everything is taken
const atoms = /^[^\x00-\x20()<>[\]:;@\\,".\x7f]+(?:\.[^\x00-\x20()<>[\]:;@\\,".\x7f]+)*$/;
const quotedText = /^"(?:[^"\\]|\\.)*"$/su;

function isAddress(text: string): boolean {
  const at = text.lastIndexOf("@");
  if (at < 1) return false;
  const [local, domain] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (!atoms.test(local) && !(quotedText.test(local) && local.length > 2)) return false;
  return atoms.test(domain) || (domain.startsWith("[") && domain.endsWith("]") && isLiteral(domain.slice(1, -1)));
}

const isLiteral = (text: string): boolean => parseIp(text) !== undefined;

function isPhrase(text: string): boolean {
  if (text === "") return true;
  const words = text.match(/"(?:[^"\\]|\\.)*"|[^" \t]+/gsu) ?? [];
  return words.every((word) => word.startsWith('"') || /^[^()<>[\]:;@\\,"]+$/.test(word));
}
