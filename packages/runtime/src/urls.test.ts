import { expect, test } from '@jest/globals';
import { maskText } from './mask.ts';
import { decoded, splitUrls } from './urls.ts';

test('URLs are separated by commas, and a password may contain one', () => {
  expect(splitUrls('amqp://a:b,c@one/v, amqp://two:5673')).toEqual(['amqp://a:b,c@one/v', 'amqp://two:5673']);
});

test('several URLs are shown without their passwords', () => {
  expect(maskText('amqp://gate:canary@one/v,amqps://gate:canary@two:5671?certfile=/c.pem')).toBe(
    'amqp://********@one/v, amqps://********@two:5671?certfile=********',
  );
});

test('a stray % in a password of a URL stays as it is', () => {
  expect(['p%3Aw', '100%'].map(decoded)).toEqual(['p:w', '100%']);
});
