/** Header names as HTTP/1.1 writes them, `X-Like-This`; they are stored in lower case. */
export class HeaderNames {
  /** Written names by lower-case name. They are few, since only the code adds some. */
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
