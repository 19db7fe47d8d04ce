/** Counts what each stage has done. */
export type WorkCounts = {
  /** Events routed, or messages found not to be events. */
  events: number;
  /** Delivery jobs settled, whatever the result. */
  jobs: number;
  parked: number;
  recorded: number;
  /** Completed rounds of the pump. */
  pumped: number;
};

export const makeWorkCounts = (): WorkCounts => ({ events: 0, jobs: 0, parked: 0, recorded: 0, pumped: 0 });
