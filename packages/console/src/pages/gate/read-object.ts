/** A typed JSON object, or what is wrong with it. */
export function readObject(
  text: string,
): { value: Record<string, unknown>; problem?: undefined } | { value?: undefined; problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as Record<string, unknown> };
    return { problem: 'It must be a JSON object, such as { "plan": "free" }.' };
  } catch (error) {
    return { problem: `It is not JSON: ${(error as SyntaxError).message}` };
  }
}
