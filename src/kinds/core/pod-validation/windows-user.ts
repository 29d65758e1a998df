/** Validates names of Windows users, which have the form `[domain\]user`. */
import { invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import type { Errors } from "../../checks.ts";

const domainLengthMax = 256;
const userLengthMax = 104;
const notInUsers = '"/\\:;|=,+*?<>@[]';
const notInNetBios = '\\/:*?"<>|';
/** A label of a DNS domain name. */
const domainLabel = /^[A-Za-z0-9](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

export function checkWindowsUser(name: string, path: FieldPath, errors: Errors): void {
  const refuse = (what: string): void => {
    errors.push(invalid(path, name, `runAsUserName${what}`));
  };
  if (name === "") return refuse(" cannot be an empty string");
  if (hasControl(name)) return refuse(" cannot contain control characters");
  const parts = name.split("\\");
  if (parts.length > 2) return refuse(" cannot contain more than one backslash");
  const [domain, user] = parts.length === 1 ? [undefined, name] : [parts[0]!, parts[1]!]; // there are two parts
  if (domain !== undefined) {
    if (domain.length >= domainLengthMax) refuse(`'s Domain length must be under ${domainLengthMax} characters`);
    if (!isNetBios(domain) && !domain.split(".").every((label) => domainLabel.test(label))) {
      refuse("'s Domain doesn't match the NetBios nor the DNS format");
    }
  }
  if (user === "") return refuse("'s User cannot be empty");
  if (user.length > userLengthMax) refuse(`'s User length must not be longer than ${userLengthMax} characters`);
  if ([...user].every((char) => char === "." || char === " ")) refuse("'s User cannot contain only periods or spaces");
  if (includesAny(user, notInUsers)) {
    refuse(`'s User cannot contain the following characters: ${notInUsers}`);
  }
}

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  }
  return false;
}

const includesAny = (text: string, characters: string): boolean => [...characters].some((char) => text.includes(char));

const isNetBios = (domain: string): boolean =>
  domain.length >= 1 && domain.length <= 15 && !domain.startsWith(".") && !includesAny(domain, notInNetBios);
