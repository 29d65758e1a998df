/**
 * `/flagz` and `/statusz`: the flags of the server, and its age and versions, in plain text for people. Each exists
 * while its gate is on. Source of answers: kube-apiserver with the gates `ComponentFlagz` and `ComponentStatusz`.
 */
import type { HandledRequest, Reply } from "#http/api-request.ts";
import { plainText } from "#http/plain-text.ts";
import { release } from "#publication/version.ts";
import type { Clock } from "#std/clock.ts";
import { type ServerOptions, serverFlags } from "./options.ts";

type IsOn = (gate: string) => boolean;

const gates = { "/flagz": "ComponentFlagz", "/statusz": "ComponentStatusz" } as const;

type Page = keyof typeof gates;

/** Returns the paths of the pages that are served. */
export const zPagePaths = (isOn: IsOn): readonly Page[] =>
  (Object.keys(gates) as Page[]).filter((path) => isOn(gates[path])); // the keys are the pages

interface ZPageParts {
  readonly options: ServerOptions;
  readonly clock: Pick<Clock, "now">;
  readonly version: string;
}

/** Returns the function that answers requests for the pages; `undefined` for other paths. */
export function zPages(isOn: IsOn, parts: ZPageParts): (request: HandledRequest) => Reply | undefined {
  const served = new Set<string>(zPagePaths(isOn));
  const startedMs = parts.clock.now();
  return (request) => {
    if (!served.has(request.path)) return undefined;
    if (!acceptsText(request.headers["accept"]))
      return plainText(406, "media type not acceptable, must be: text/plain\n");
    const page = request.path === "/flagz" ? flagz(parts.options) : statusz(parts, startedMs);
    return { code: 200, contentType: "text/plain; charset=utf-8", bytes: Buffer.from(page) };
  };
}

const textTypes = ["text/plain", "text/*", "*/*"];

/** Whether a client takes plain text in UTF-8, without other parameters. Upstream: one without the header does not. */
const acceptsText = (accept = ""): boolean =>
  accept.split(",").some((clause) => {
    const [type = "", ...parameters] = clause.split(";").map((part) => part.trim().toLowerCase());
    const others = parameters.filter((parameter) => !parameter.startsWith("q="));
    return textTypes.includes(type) && (others.length === 0 || others.join(";") === "charset=utf-8");
  });

const heading = (title: string): string =>
  `\n${title}\nWarning: This page is for people who look for errors. Its form may change, so programs should not read it.\n\n`;

function flagz(options: ServerOptions): string {
  const lines = Object.entries(serverFlags).map(([key, { name, print, isList }]) => {
    const value = options[key as keyof ServerOptions]; // options have the table's keys
    const shown = typeof value === "boolean" ? String(value) : (print as (of: unknown) => string)(value); // its own value
    return `${name}=${isList === true ? `[${shown}]` : shown}`;
  });
  return `${heading("kube-apiserver flags")}${lines.sort().join("\n")}\n`;
}

function statusz({ clock, version }: ZPageParts, startedMs: number): string {
  const seconds = Math.max(0, Math.floor((clock.now() - startedMs) / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const two = (value: number): string => String(value).padStart(2, "0");
  const rows = [
    ["Started", new Date(startedMs).toUTCString()],
    ["Up", `${hours} hr ${two(minutes)} min ${two(seconds % 60)} sec`],
    ["Node version", process.version],
    ["Binary version", `${release}+binnacle.${version}`],
    ["Emulation version", release.split(".").slice(0, 2).join(".")],
  ];
  return `${heading("kube-apiserver statusz")}${rows.map(([name, value]) => `${name}: ${value}\n`).join("")}`;
}
