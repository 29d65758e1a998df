/**
 * Shuffle sharding: each flow gets a fixed hand of distinct queues, so that two flows rarely share all of theirs and a
 * heavy flow does not block others. Source: upstream's `shufflesharding`; the hash need not be secret.
 */

/** Returns the indexes of `handSize` different queues out of `queues`. */
export function dealHand(flow: string, queues: number, handSize: number): readonly number[] {
  const next = mixer(flow);
  const hand: number[] = [];
  const count = Math.min(handSize, queues);
  for (let remaining = queues; hand.length < count; remaining--) {
    // An index among the queues that are not in the hand yet.
    let card = next() % remaining;
    for (const taken of [...hand].sort((a, b) => a - b)) if (card >= taken) card++;
    hand.push(card);
  }
  return hand;
}

/** Returns a generator of 32-bit numbers that depend on a text: FNV-1a for the seed, then the steps of SplitMix32. */
function mixer(text: string): () => number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
}
