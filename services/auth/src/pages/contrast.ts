/** Colours as people can read them: contrast by WCAG 2.2 (1.4.3). Colours are `#rrggbb` or `#rgb`. */

/** The contrast that text and links need (WCAG 2.2 AA). */
const enough = 4.5;

export function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** White or black, whichever is readable on the colour; one of them always is. White is preferred. */
export function textOn(color: string): '#ffffff' | '#000000' {
  return contrast('#ffffff', color) >= enough ? '#ffffff' : '#000000';
}

/** The colour, darkened or lightened until it is readable on each of the backgrounds, which are all light or all dark. */
export function readableOn(color: string, grounds: string[]): string {
  const towards = textOn(grounds[0] as string);
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = mix(color, towards, share);
    if (grounds.every((ground) => contrast(mixed, ground) >= enough)) return mixed;
  }
  return towards;
}

/** @param share the second colour's share, from 0 to 1 */
export function mix(a: string, b: string, share: number): string {
  const [from, to] = [channels(a), channels(b)];
  const hex = from.map((value, at) => Math.round(value + ((to[at] as number) - value) * share).toString(16));
  return `#${hex.map((digits) => digits.padStart(2, '0')).join('')}`;
}

function luminance(color: string): number {
  const [red, green, blue] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channels(color: string): number[] {
  const digits = color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit) : color.slice(1).match(/../g);
  return (digits as string[]).map((pair) => Number.parseInt(pair, 16));
}
