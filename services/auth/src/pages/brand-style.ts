/** The tenant's colours and font as a stylesheet that follows ours (templates/style.css) and overrides its variables. */
import { type Inline, inline } from './assets.ts';
import { contrast, mix, readableOn, textOn } from './contrast.ts';
import type { Branding } from './pages.ts';

/** Ours, the same as in templates/style.css. */
export const defaultPrimary = '#0d5f50';
export const defaultPageBackground = '#f3f4f0';

const light = { card: '#ffffff', edge: '#7b8883' };
const dark = { card: '#171d1b', edge: '#75837e' };

/** Caches the last one made: a gate has one tenant, and settings seldom change. */
let last: { key: string; style: Inline | undefined } = { key: '', style: undefined };

/** Undefined if nothing is set that would change the style. */
export function brandStyle(branding: Branding): Inline | undefined {
  const key = JSON.stringify(branding);
  if (key !== last.key) {
    const text = compose(branding);
    last = { key, style: text === '' ? undefined : inline(text) };
  }
  return last.style;
}

function compose({ primary, pageBackground, fontUrl }: Branding): string {
  const font = fontUrl && `@font-face{font-family:brand;src:url("${inCss(fontUrl)}");font-display:swap}`;
  const both = [
    ...(primary ? buttons(primary) : []),
    ...(font ? ['--font:brand,system-ui,sans-serif'] : []),
    // It may be a gradient or any colour, so text on it gets a background of its own.
    ...(pageBackground ? [`--ground:${ground(pageBackground)}`, '--foot:var(--card)'] : []),
  ];
  const inLight = primary ? links(primary, light) : [];
  const inDark = primary ? links(primary, dark) : [];
  return [
    font,
    rule([...both, ...inLight]),
    inDark.length > 0 && `@media (prefers-color-scheme:dark){${rule([...both, ...inDark])}}`,
  ]
    .filter(Boolean)
    .join('');
}

const rule = (declarations: string[]) => (declarations.length === 0 ? '' : `:root{${declarations.join(';')}}`);

/** The colour as given, with readable text on it, also while the pointer is over it. */
function buttons(primary: string): string[] {
  const text = textOn(primary);
  const strong = mix(primary, text === '#ffffff' ? '#000000' : '#ffffff', 0.18);
  return [`--accent:${primary}`, `--accent-strong:${strong}`, `--on-accent:${text}`];
}

/** Where the colour is text or a line, it is adjusted until it is readable; a button that looks like the card gets an edge. */
function links(primary: string, { card, edge }: typeof light): string[] {
  // Made from a colour that differs from the card, whatever the primary colour is.
  const tint = mix(card, readableOn(primary, [card]), 0.08);
  const link = readableOn(primary, [card, tint]);
  const border = contrast(primary, card) < 3 ? edge : 'transparent';
  const strong = mix(link, textOn(card), 0.3);
  return [`--link:${link}`, `--link-strong:${strong}`, `--ring:${link}`, `--tint:${tint}`, `--border:${border}`];
}

function ground(background: NonNullable<Branding['pageBackground']>): string {
  if (typeof background === 'string') return background;
  const { angle_deg, start, end } = background;
  return `linear-gradient(${angle_deg}deg,${start},${end})`;
}

/** An address in quotes in a stylesheet, in which nothing ends the string or the element. */
function inCss(url: string): string {
  return new URL(url).href.replace(
    /["'\\()<>]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
