/**
 * Finds JSON syntax errors in the words of Go's decoder: the first invalid character and its context. The scanner is
 * slow, and runs only for refused bodies.
 */

/** Returns the text of the first error in `bytes`; if all bytes are valid, the text of an unexpected end. */
export function syntaxError(bytes: Uint8Array, depthMax: number): string {
  const scanner = new Scanner(depthMax);
  for (const byte of bytes) {
    const problem = scanner.step(byte);
    if (problem !== undefined) return `invalid character ${quoteByte(byte)} ${problem}`;
  }
  // Upstream reads the end as a space, which completes numbers and breaks words.
  const problem = scanner.step(0x20);
  return problem === undefined || scanner.inString
    ? "unexpected end of JSON input"
    : `invalid character ' ' ${problem}`;
}

type State =
  | "value"
  | "firstItem"
  | "firstKey"
  | "key"
  | "afterKey"
  | "afterPair"
  | "afterItem"
  | "end"
  | "string"
  | "escape"
  | "unicode"
  | "minus"
  | "zero"
  | "digits"
  | "point"
  | "fraction"
  | "exponent"
  | "exponentSign"
  | "exponentDigits"
  | "word";

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

class Scanner {
  readonly #depthMax: number;
  #state: State = "value";
  /** The open containers: true for an object, false for a list. */
  readonly #open: boolean[] = [];
  /** Whether the string that is being read is a key. */
  #isKey = false;
  #hexDigits = 0;
  #word = "";
  #wordAt = 0;

  constructor(depthMax: number) {
    this.#depthMax = depthMax;
  }

  get inString(): boolean {
    return this.#state === "string";
  }

  /** Reads one byte. Returns its error, or `undefined` if the byte is valid. */
  step(byte: number): string | undefined {
    switch (this.#state) {
      case "value":
      case "firstItem":
        return this.#value(byte);
      case "firstKey":
      case "key":
        return this.#key(byte);
      case "afterKey":
        if (isSpace(byte)) return undefined;
        if (byte !== 0x3a) return "after object key";
        this.#state = "value";
        return undefined;
      case "afterPair":
        if (isSpace(byte)) return undefined;
        if (byte === 0x2c) this.#state = "key";
        else if (byte === 0x7d) this.#close();
        else return "after object key:value pair";
        return undefined;
      case "afterItem":
        if (isSpace(byte)) return undefined;
        if (byte === 0x2c) this.#state = "value";
        else if (byte === 0x5d) this.#close();
        else return "after array element";
        return undefined;
      case "end":
        return isSpace(byte) ? undefined : "after top-level value";
      case "string":
      case "escape":
      case "unicode":
        return this.#string(byte);
      case "word":
        if (byte !== this.#word.charCodeAt(this.#wordAt)) {
          return `in literal ${this.#word} (expecting '${this.#word[this.#wordAt]}')`;
        }
        if (++this.#wordAt === this.#word.length) this.#done();
        return undefined;
      default:
        return this.#number(byte);
    }
  }

  #value(byte: number): string | undefined {
    if (isSpace(byte)) return undefined;
    if (byte === 0x5d && this.#state === "firstItem") {
      this.#close();
      return undefined;
    }
    switch (byte) {
      case 0x7b:
        return this.#push(true);
      case 0x5b:
        return this.#push(false);
      case 0x22:
        this.#isKey = false;
        this.#state = "string";
        return undefined;
      case 0x2d:
        this.#state = "minus";
        return undefined;
      case 0x30:
        this.#state = "zero";
        return undefined;
      case 0x74:
        return this.#startWord("true");
      case 0x66:
        return this.#startWord("false");
      case 0x6e:
        return this.#startWord("null");
      default:
        if (!isDigit(byte)) return "looking for beginning of value";
        this.#state = "digits";
        return undefined;
    }
  }

  #key(byte: number): string | undefined {
    if (isSpace(byte)) return undefined;
    if (byte === 0x7d && this.#state === "firstKey") {
      this.#close();
      return undefined;
    }
    if (byte !== 0x22) return "looking for beginning of object key string";
    this.#isKey = true;
    this.#state = "string";
    return undefined;
  }

  #string(byte: number): string | undefined {
    if (this.#state === "escape") {
      if (byte === 0x75) {
        this.#hexDigits = 0;
        this.#state = "unicode";
      } else if ('"\\/bfnrt'.includes(String.fromCharCode(byte))) this.#state = "string";
      else return "in string escape code";
      return undefined;
    }
    if (this.#state === "unicode") {
      if (!/[0-9a-fA-F]/.test(String.fromCharCode(byte))) return "in \\u hexadecimal character escape";
      if (++this.#hexDigits === 4) this.#state = "string";
      return undefined;
    }
    if (byte === 0x22) {
      if (this.#isKey) this.#state = "afterKey";
      else this.#done();
    } else if (byte === 0x5c) this.#state = "escape";
    else if (byte < 0x20) return "in string literal";
    return undefined;
  }

  #number(byte: number): string | undefined {
    const lower = byte | 0x20;
    switch (this.#state) {
      case "minus":
        if (byte === 0x30) this.#state = "zero";
        else if (isDigit(byte)) this.#state = "digits";
        else return "in numeric literal";
        return undefined;
      case "zero":
      case "digits":
        if (this.#state === "digits" && isDigit(byte)) return undefined;
        if (byte === 0x2e) this.#state = "point";
        else if (lower === 0x65) this.#state = "exponent";
        else return this.#after(byte);
        return undefined;
      case "point":
        if (!isDigit(byte)) return "after decimal point in numeric literal";
        this.#state = "fraction";
        return undefined;
      case "fraction":
        if (isDigit(byte)) return undefined;
        if (lower !== 0x65) return this.#after(byte);
        this.#state = "exponent";
        return undefined;
      case "exponent":
      case "exponentSign":
        if (this.#state === "exponent" && (byte === 0x2b || byte === 0x2d)) this.#state = "exponentSign";
        else if (isDigit(byte)) this.#state = "exponentDigits";
        else return "in exponent of numeric literal";
        return undefined;
      default:
        return isDigit(byte) ? undefined : this.#after(byte);
    }
  }

  /** Completes a number, and reads the byte after it as part of the next token. */
  #after(byte: number): string | undefined {
    this.#done();
    return this.step(byte);
  }

  #startWord(word: string): undefined {
    this.#word = word;
    this.#wordAt = 1;
    this.#state = "word";
  }

  #push(isObject: boolean): string | undefined {
    if (this.#open.push(isObject) > this.#depthMax) return "exceeded max depth";
    this.#state = isObject ? "firstKey" : "firstItem";
    return undefined;
  }

  #close(): void {
    this.#open.pop();
    this.#done();
  }

  /** Completes a value: the state is now that after a value of its container. */
  #done(): void {
    const inObject = this.#open.at(-1);
    this.#state = inObject === undefined ? "end" : inObject ? "afterPair" : "afterItem";
  }
}

/** Returns a byte, read as a Latin-1 character, as Go quotes it. */
function quoteByte(byte: number): string {
  if (byte === 0x27) return "'\\''";
  if (byte === 0x22) return "'\"'";
  if (byte === 0x5c) return "'\\\\'";
  const named = ({ 7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r" } as Record<number, string>)[byte];
  if (named !== undefined) return `'\\${named}'`;
  if (byte < 0x20 || byte === 0x7f) return `'\\x${byte.toString(16).padStart(2, "0")}'`;
  if ((byte >= 0x80 && byte <= 0xa0) || byte === 0xad) return `'\\u00${byte.toString(16)}'`;
  return `'${String.fromCharCode(byte)}'`;
}
