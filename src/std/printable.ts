/** Texts of others, made fit for a terminal: what a server sends must not move the cursor or forge lines. */

/** Returns the text with `?` for control characters, line breaks among them, and for marks that turn the direction of a line. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it takes out
  text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "?");

/** Returns a message in one line: a space in place of each line break and the space around it, `?` for other control characters. */
export const oneLine = (message: string): string => printable(message.replaceAll(/\s*[\r\n]\s*/g, " "));
