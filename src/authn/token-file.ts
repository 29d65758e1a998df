/**
 * Authenticates static tokens from a file: `token,user name,user id[,"group1,group2"]`, read once at the start. Source:
 * Kubernetes' static token file; CSV (RFC 4180) as Go's `encoding/csv` reads it. Only digests of tokens are stored.
 */
import type { UserInfo } from "#meta/user-info.ts";
import { type Authentication, noCredentials } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";
import { tokenDigest } from "./token-digest.ts";

export interface TokenFile extends TokenAuthenticator {
  /** Warnings about ignored and replaced records, for the log. They contain no token. */
  readonly warnings: readonly string[];
}

/** Reads the text of the file; `path` is for messages. Throws an `Error` with the line for a malformed file. */
export function readTokenFile(text: string, path: string): TokenFile {
  const users = new Map<string, Authentication>();
  // Most tokens of other kinds are longer than all tokens of the file, and need no digest.
  const lengths = new Set<number>();
  const warnings: string[] = [];
  let count = 0;
  for (const record of parseCsv(text, path)) {
    if (record.length < 3) {
      throw new Error(
        `token file '${path}' must have at least 3 columns (token, user name, user uid), found ${record.length}`,
      );
    }
    count++;
    const [token = "", name = "", uid = "", groups] = record;
    if (token === "") {
      warnings.push(`empty token has been found in token file '${path}', record number '${count}'`);
      continue;
    }
    const key = tokenDigest(token);
    if (users.has(key))
      warnings.push(`duplicate token has been found in token file '${path}', record number '${count}'`);
    const user: UserInfo = { name, uid, groups: groups?.split(",") ?? [] };
    users.set(key, { outcome: "user", user });
    lengths.add(token.length);
  }
  return {
    warnings,
    authenticateToken: (token) =>
      (lengths.has(token.length) ? users.get(tokenDigest(token)) : undefined) ?? noCredentials,
  };
}

/**
 * Splits a text into records of fields. Blank lines are no records; a quoted field may contain commas, line breaks and
 * doubled quotes.
 */
export function parseCsv(text: string, path: string): string[][] {
  const records: string[][] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const start = line;
    const record: string[] = [];
    let blank = true;
    for (;;) {
      let field = "";
      if (text[at] === '"') {
        blank = false;
        at++;
        for (;;) {
          const quote = text.indexOf('"', at);
          if (quote === -1) throw new Error(`token file '${path}', line ${start}: a quoted field has no end`);
          field += text.slice(at, quote);
          at = quote + 1;
          if (text[at] !== '"') break;
          field += '"';
          at++;
        }
        line += field.split("\n").length - 1;
        if (at < text.length && !/^(,|\r?\n|\r$)/.test(text.slice(at, at + 2))) {
          throw new Error(`token file '${path}', line ${line}: text after a quoted field`);
        }
      } else {
        const end = endOfField(text, at);
        field = text.slice(at, end);
        at = end;
        if (field.includes('"')) throw new Error(`token file '${path}', line ${line}: a quote inside a plain field`);
      }
      if (text[at] === ",") {
        blank = false;
        at++;
        record.push(field);
        continue;
      }
      if (text[at] === "\r" || field.endsWith("\r")) field = field.replace(/\r$/, "");
      if (text[at] === "\r") at++;
      if (text[at] === "\n") at++;
      line++;
      record.push(field);
      blank &&= field === "";
      break;
    }
    if (!blank) records.push(record);
  }
  return records;
}

function endOfField(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2c || code === 0x0a) return i;
  }
  return text.length;
}
