/** Words of commands that are printed for people to run: names are those of strangers, and a shell must take them as texts. */

/** Returns a word as a POSIX shell takes it: unchanged where nothing in it means anything to a shell, else in quotes. */
export const shellWord = (text: string): string =>
  /^[\w./:@=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Returns a kind and a name as arguments. A name that would be read as a flag is joined to its kind. */
export const objectWords = (kind: string, name: string): string =>
  name.startsWith("-") ? shellWord(`${kind}/${name}`) : `${shellWord(kind)} ${shellWord(name)}`;

/** Returns the flag of a namespace with a space before it; empty for objects outside of namespaces. */
export const namespaceWords = (namespace: string | undefined): string =>
  namespace === undefined || namespace === "" ? "" : ` -n ${shellWord(namespace)}`;
