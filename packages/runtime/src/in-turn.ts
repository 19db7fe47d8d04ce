/** @returns a function that runs each work once all earlier ones have ended. An error reaches only its own caller. */
export function makeInTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {}); // its caller gets it
    return mine;
  };
}
