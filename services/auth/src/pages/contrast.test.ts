import { expect, test } from '@jest/globals';
import { contrast, mix, readableOn, textOn } from './contrast.ts';

/** Some of everything: each channel in steps of 51. */
const steps = ['00', '33', '66', '99', 'cc', 'ff'];
const colors = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)));

test('the contrast of two colours is computed as WCAG defines it', () => {
  expect(contrast('#fff', '#000')).toBe(21);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
  expect(contrast('#0d5f50', '#ffffff')).toBeGreaterThan(4.5);
});

test('button text reaches a contrast of 4.5:1 on any colour, also while the button is hovered', () => {
  for (const color of colors) {
    const text = textOn(color);
    expect(contrast(text, color)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(text, mix(color, text === '#ffffff' ? '#000000' : '#ffffff', 0.18))).toBeGreaterThanOrEqual(4.5);
  }
});

test('a link of any colour reaches 4.5:1 on its backgrounds, and keeps its colour where it already does', () => {
  for (const color of colors)
    for (const card of ['#ffffff', '#171d1b']) {
      const grounds = [card, mix(card, readableOn(color, [card]), 0.08)];
      for (const ground of grounds) expect(contrast(readableOn(color, grounds), ground)).toBeGreaterThanOrEqual(4.5);
    }
  expect(readableOn('#0d5f50', ['#ffffff'])).toBe('#0d5f50');
});
