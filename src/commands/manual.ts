/** `binnacle manual`: the manual page of the program, made from the help of its commands, in the language of man. */
import { programVersion } from "#server/program-version.ts";
import type { Flag, FlagTable } from "#std/flags.ts";
import { command, type Command } from "./command.ts";

const help = `Prints the manual page of the program, for man.

Usage: binnacle manual

Examples:
  binnacle manual | man -l -
  binnacle manual > /usr/local/share/man/man1/binnacle.1

`;

/** Makes the command. `loaders` are the commands that the page has, and `about` says a line of each. */
export const manual = (
  loaders: Readonly<Record<string, () => Promise<Command>>>,
  about: (command: string) => string,
): Command =>
  command({}, help, async () => {
    const parts: string[] = [opening(programVersion())];
    for (const [name, load] of Object.entries(loaders)) parts.push(sectionOf(name, about(name), await load()));
    process.stdout.write(`${parts.join("\n")}\n${closing}`);
  });

const opening = (version: string): string => `.TH BINNACLE 1 "" "binnacle ${escape(version)}" "Commands"
.SH NAME
binnacle \\- a cluster control API, wire\\-compatible with Kubernetes
.SH SYNOPSIS
.B binnacle
.I command
.RI [ flags ]
.SH DESCRIPTION
Binnacle serves the API of Kubernetes 1.32 from one process, and its commands work on any server of that API.
.SH COMMANDS`;

const closing = `.SH ENVIRONMENT
.TP
.B KUBECONFIG
The kubeconfigs that commands read when neither \\-\\-kubeconfig nor \\-\\-data\\-dir names one.
.TP
.B NO_COLOR
Turns colours off.
.SH EXIT STATUS
0 for success, 1 for a failure. The help of a command names others.
`;

/** Returns the section of a command, and of the commands below it. */
function sectionOf(name: string, about: string, { help: text, flags, commands = {} }: Command): string {
  const below = Object.entries(commands).map(([word, one]) => sectionOf(`${name} ${word}`, "", one));
  const lines = [
    `.SS binnacle ${escape(name)}`,
    ...(about === "" ? [] : [`${escape(about[0]!.toUpperCase() + about.slice(1))}.`, ".PP"]),
    ...(text === "" ? [] : [".nf", ...text.trim().split("\n").map(escape), ".fi"]),
    ...flagLines(flags),
  ];
  return [lines.join("\n"), ...below].join("\n");
}

const flagLines = (flags: FlagTable): string[] =>
  Object.values(flags)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((flag) => [".TP", `.B ${escape(labelOf(flag))}`, escape(flag.help)]);

const labelOf = ({ name, short, hint }: Flag<unknown>): string =>
  `${short === undefined ? "" : `-${short}, `}--${name}${hint === "" ? "" : `=${hint}`}`;

/** Returns a line of text as man reads it: it must not begin like a request, and its signs stay as they are. */
const escape = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replace(/^(?=[.'])/, "\\&");
