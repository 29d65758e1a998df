/**
 * Divides the server's seats: a nominal share for each level, adjusted every ten seconds as levels lend and borrow.
 * Source: upstream's rules for concurrency shares and borrowing (KEP-1040).
 */

export interface Shares {
  readonly shares: number;
  readonly lendablePercent: number;
  /** The maximum that the level borrows, in percent; `undefined` for no limit. */
  readonly borrowingLimitPercent: number | undefined;
}

export interface SeatLimits {
  readonly nominal: number;
  /** The number of seats of a level that has lent all that it may lend. */
  readonly lower: number;
  readonly upper: number;
}

/** Returns the limits of a level. `total` is the number of seats for all shares together. */
export function seatLimits(level: Shares, sharesSum: number, total: number): SeatLimits {
  const nominal = sharesSum === 0 ? 0 : Math.ceil((total * level.shares) / sharesSum);
  const lendable = Math.round((nominal * level.lendablePercent) / 100);
  const { borrowingLimitPercent: percent } = level;
  const borrowing = percent === undefined ? total : Math.round((nominal * percent) / 100);
  // The last seat is never lent: a level that needs it would have to wait for the next division.
  const lower = Math.max(Math.min(1, nominal), nominal - lendable);
  return { nominal, lower, upper: nominal + borrowing };
}

interface Claim {
  readonly target: number;
  readonly lower: number;
  readonly upper: number;
}

interface Allocation {
  readonly seats: readonly number[];
  /** The fraction of its target that every level between its bounds got. */
  readonly fairFraction: number;
}

const targetMin = 0.001;

/** Divides `total` in proportion to the targets, within the bounds of each. The sum of lower bounds is at most `total`. */
export function allocate(total: number, claims: readonly Claim[]): Allocation {
  const at = (fraction: number): number[] =>
    claims.map(({ target, lower, upper }) => Math.max(lower, Math.min(upper, fraction * Math.max(target, targetMin))));
  const sum = (seats: readonly number[]): number => seats.reduce((all, one) => all + one, 0);
  let [low, high] = [0, 1];
  const most = sum(claims.map(({ upper }) => upper));
  const wanted = Math.min(total, most);
  while (sum(at(high)) < wanted - 1e-9) high *= 2;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (sum(at(middle)) < wanted) low = middle;
    else high = middle;
  }
  return { seats: at(high), fairFraction: high };
}

/** The demand of a level over one period. */
interface DemandFigures {
  readonly average: number;
  readonly deviation: number;
  readonly high: number;
}

/**
 * The seats that a level would use at a time: recorded continuously, and reported once a period. Times are in
 * milliseconds.
 */
export class Demand {
  #ms = 0;
  #sum = 0;
  #squares = 0;
  /** The maximum number of seats in this period. */
  high = 0;
  figures: DemandFigures = { average: 0, deviation: 0, high: 0 };
  /** The smoothed demand, which falls slowly after a time of high demand: to half in five minutes. */
  smoothed = 0;

  /** Records a number of seats for a duration. */
  add(seats: number, ms: number): void {
    this.#ms += ms;
    this.#sum += seats * ms;
    this.#squares += seats * seats * ms;
    if (seats > this.high) this.high = seats;
  }

  /** Ends a period and begins the next one, with `present` as its first value. */
  endPeriod(present: number): DemandFigures {
    const ms = this.#ms;
    const average = ms > 0 ? this.#sum / ms : present;
    const variance = ms > 0 ? this.#squares / ms - average * average : 0;
    this.figures = { average, deviation: Math.sqrt(Math.max(0, variance)), high: this.high };
    const envelope = average + this.figures.deviation;
    this.smoothed = Math.max(envelope, smoothing * this.smoothed + (1 - smoothing) * envelope);
    this.#ms = 0;
    this.#sum = 0;
    this.#squares = 0;
    this.high = present;
    return this.figures;
  }
}

const smoothing = 0.977;

interface Borrower {
  readonly isExempt: boolean;
  readonly limits: SeatLimits;
  readonly high: number;
  readonly smoothed: number;
}

interface Division {
  /** The number of seats that each level may use now, in the given order. */
  readonly seats: readonly number[];
  readonly targets: readonly number[];
  readonly fairFraction: number;
}

/** Divides the seats by recent demand. Exempt levels get the seats that they use before all other levels. */
export function divideSeats(levels: readonly Borrower[]): Division {
  const ofExempt = ({ limits, high }: Borrower): number => Math.max(limits.lower, high);
  const wish = ({ limits, high }: Borrower): number => Math.max(limits.lower, Math.min(limits.nominal, high));
  const limited = levels.filter(({ isExempt }) => !isExempt);
  const all = levels.reduce((sum, { limits }) => sum + limits.nominal, 0);
  const taken = levels.reduce((sum, level) => sum + (level.isExempt ? ofExempt(level) : 0), 0);
  const lowerSum = limited.reduce((sum, { limits }) => sum + limits.lower, 0);
  const wishSum = limited.reduce((sum, level) => sum + wish(level), 0);
  const seatsLeft = Math.max(all - taken, lowerSum);
  // The fraction of their wishes, above their lower limits, that all levels get.
  const share = wishSum <= seatsLeft ? 1 : wishSum === lowerSum ? 0 : (seatsLeft - lowerSum) / (wishSum - lowerSum);
  const claims = limited.map((level): Claim => {
    const { lower, upper } = level.limits;
    const least = lower + (wish(level) - lower) * share;
    return { lower: least, upper: Math.max(upper, least), target: Math.max(least, level.smoothed) };
  });
  const { seats, fairFraction } = allocate(seatsLeft, claims);
  let next = 0;
  const targets: number[] = [];
  const result = levels.map((level) => {
    if (level.isExempt) {
      targets.push(ofExempt(level));
      return ofExempt(level);
    }
    targets.push(claims[next]!.target);
    return Math.round(seats[next++]!);
  });
  return { seats: result, targets, fairFraction };
}
