/** Escapes HTML characters in JSON texts as Go does. */

/** Returns JSON text in which those characters are escaped that Go's encoder escapes and `JSON.stringify` does not. */
export function escapeHtml(json: string): string {
  return htmlCharacters.test(json) ? json.replace(allHtmlCharacters, escapeCharacter) : json;
}

const htmlCharacters = /[<>&\u2028\u2029]/;
const allHtmlCharacters = /[<>&\u2028\u2029]/g;

const escapeCharacter = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
