/**
 * The facts of the compression of header fields (HPACK): the static table, the code of texts as a machine that takes four
 * bits a step, and the sizes that both sides count with.
 *
 * Source: RFC 7541, sections 4 and 5.2, appendices A and B.
 */

/** The bytes of a dynamic table until its reader permits another number (RFC 9113, section 6.5.2). */
export const tableBytesDefault = 4096;

/** The bytes that a field counts for in a table or a list besides those of its name and its value. */
export const fieldOverheadBytes = 32;

const fieldsOfTable = [
  ":authority :method=GET :method=POST :path=/ :path=/index.html :scheme=http :scheme=https :status=200 :status=204",
  ":status=206 :status=304 :status=400 :status=404 :status=500 accept-charset accept-encoding=gzip,\u00a0deflate",
  "accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control",
  "content-disposition content-encoding content-language content-length content-location content-range content-type",
  "cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since",
  "last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after",
  "server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate",
].flatMap((line) => line.split(" ").map((field) => field.replace("\u00a0", " ").split("=")));

/** The names of the static table, which begins at 1; that at 0 is empty. */
export const staticNames: readonly string[] = ["", ...fieldsOfTable.map(([name]) => name!)];
/** The values of the static table, empty where it has none. */
export const staticValues: readonly string[] = ["", ...fieldsOfTable.map(([, value]) => value ?? "")];
/** The index of the first field of the dynamic table. */
export const dynamicStart = staticNames.length;

/** The bits of the code of each byte, and of the end of a text, each a digit of base 36. */
const codeLengths = [
  ..."dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f",
  ..."56565666577666567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkj",
  ..."mnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu",
].map((digit) => Number.parseInt(digit, 36));
const endOfText = 256;

/**
 * The parts of a step: the state after it in the lowest bits, 1 in the next bit where a byte is complete, and that byte in
 * the bits above. The state before is an inner node of the tree of codes; no code is shorter than a step, so that a
 * step completes one byte at most.
 */
export const stepState = 0x1ff;
export const stepByteCountShift = 9;
export const stepByteShift = 10;
/** The state of texts that have no meaning, since they contain the end of a text. */
const failed = 256;

const bitSteps = stepsOfOneBit();

/** The steps of the machine, by state * 16 + the next four bits. A text begins at state 0. */
export const codeSteps: Uint32Array = doubleSteps(doubleSteps(bitSteps, 1), 2);

/** For each state 1 if a text may end there: after a byte and up to seven ones. */
export const codeEnds: Uint8Array = statesOfEnds();

/**
 * Returns the steps by state * 2 + the next bit. The nodes of the tree have numbers from the top to the bottom and from the
 * left to the right. The codes of one length follow each other, and shorter ones come first, so that the symbols of a
 * length are the leftmost nodes at their depth, and all others are inner nodes.
 */
function stepsOfOneBit(): Uint32Array {
  const steps = new Uint32Array((failed + 1) * 2).fill(failed);
  let at = 0;
  let nodes = 1;
  for (let length = 1, places = 2; places > 0; length++) {
    for (let symbol = codeLengths.indexOf(length); symbol >= 0; symbol = codeLengths.indexOf(length, symbol + 1)) {
      steps[at++] = symbol === endOfText ? failed : (symbol << stepByteShift) | (1 << stepByteCountShift);
      places -= 1;
    }
    for (let left = places; left > 0; left--) steps[at++] = nodes++;
    places *= 2;
  }
  return steps;
}

/** Returns steps that take twice as many bits as those of `steps`. */
function doubleSteps(steps: Uint32Array, bits: number): Uint32Array {
  const mask = 2 ** bits - 1;
  const doubled = new Uint32Array(steps.length << bits);
  for (let at = 0; at < doubled.length; at++) {
    const first = steps[at >> bits]!;
    const second = steps[((first & stepState) << bits) | (at & mask)]!;
    doubled[at] = (first & ~stepState) | second;
  }
  return doubled;
}

function statesOfEnds(): Uint8Array {
  const ends = new Uint8Array(failed + 1);
  for (let ones = 0, state = 0; ones < 8; ones++, state = bitSteps[state * 2 + 1]!) ends[state] = 1;
  return ends;
}
