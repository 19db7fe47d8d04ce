/** Counts of what has been done at each place of the way, for readiness: where they stand still though something waits, it stalls. */

export type Moved = {
  /** Events routed, or found to be none. */
  events: number;
  /** Delivery jobs settled, whatever became of them. */
  jobs: number;
  parked: number;
  recorded: number;
  /** Looks at what is due, with what followed. */
  pumped: number;
};

export const makeMoved = (): Moved => ({ events: 0, jobs: 0, parked: 0, recorded: 0, pumped: 0 });
