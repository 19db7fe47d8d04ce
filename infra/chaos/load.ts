/** The producer: a steady stream of events, each published until the broker has confirmed it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Producer, PublishError } from '@gatepost/producer';
import type { Place } from './accounts.ts';

export type PublishedEvent = { number: number; id: string; place: Place; body: string };
export type PublishedEvents = {
  /** All confirmed events. */
  events: PublishedEvent[];
  /** How often `publish` rejected and was repeated with the same id. */
  again: number;
};

const padding = 'x'.repeat(600);

/** Publishes at a constant rate, however slow the broker is, until `over`; resolves when everything is confirmed. */
export async function publishSteadily(
  producer: Producer,
  places: Place[],
  { perSecond, over, onPublish }: { perSecond: number; over: AbortSignal; onPublish(number: number): void },
): Promise<PublishedEvents> {
  const published: PublishedEvents = { events: [], again: 0 };
  const publishing: Promise<void>[] = [];
  const from = performance.now();
  while (!over.aborted) {
    const due = Math.ceil(((performance.now() - from) / 1_000) * perSecond);
    while (publishing.length < due) {
      const number = publishing.length;
      const place = places[number % places.length]!; // there is at least one
      onPublish(number);
      const body = JSON.stringify({ number, subject: place.subject, padding });
      const sure = publishSurely(producer, { number, id: randomUUID(), place, body }, published);
      sure.catch(() => {}); // reported to those who wait for all of them
      publishing.push(sure);
    }
    await sleep(5);
  }
  await Promise.all(publishing);
  return published;
}

async function publishSurely(producer: Producer, event: PublishedEvent, published: PublishedEvents): Promise<void> {
  const { id, place, body } = event;
  for (;;) {
    try {
      await producer.publish({ type: 'push', subject: place.subject, id, body });
      published.events.push(event);
      return;
    } catch (error) {
      if (!(error instanceof PublishError) || error.code === 'invalid' || error.code === 'closed') throw error;
      published.again += 1;
      await sleep(100);
    }
  }
}
