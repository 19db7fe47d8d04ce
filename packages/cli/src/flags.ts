/** The options of a command line, as a command reads them. */
export type Flags = {
  text(name: string): string | undefined;
  is(name: string): boolean;
  /** The values of an option that may be repeated, unchanged. */
  all(name: string): string[];
  /** The comma-separated parts of a value. */
  list(name: string): string[];
};

export function readFlags(values: Record<string, unknown>): Flags {
  return {
    text: (name) => values[name] as string | undefined,
    is: (name) => values[name] === true,
    all: (name) => [values[name] ?? []].flat().map(String),
    list: (name) =>
      [values[name] ?? []]
        .flat()
        .flatMap((text) => String(text).split(','))
        .map((text) => text.trim())
        .filter(Boolean),
  };
}
