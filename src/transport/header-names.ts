/** Names of headers as HTTP/1.1 shows them: they are kept in lower case, and read `X-Like-This`. */
export class HeaderNames {
  /** Few: their set is the code's own. */
  readonly #written = new Map<string, string>();

  of(name: string): string {
    let written = this.#written.get(name);
    if (written === undefined) {
      written = name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
      this.#written.set(name, written);
    }
    return written;
  }
}
