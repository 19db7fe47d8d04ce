/** `GET /event-types` (our own): the catalogue of events that hooks can choose. GitHub's clients have a list of their own. */
import { z } from 'zod';
import { gateEvents, githubEvents } from '../hooks/catalog.ts';
import { openOperation } from '../http/operation.ts';

const eventTypeSchema = z
  .object({
    name: z.string(),
    description: z.string().meta({ description: '`""` if the installation gave none' }),
    group: z
      .enum(['github', 'gate', 'own'])
      .meta({ description: "GitHub's, the authorization server's, or this installation's" }),
  })
  .meta({ id: 'EventType' });

export const listEventTypes = openOperation({
  id: 'list-event-types',
  summary: 'List the event types that a hook may name',
  answers: { 200: { description: 'Event types', schema: z.array(eventTypeSchema) } },
  run: ({ parts: { catalog } }) => ({
    status: 200,
    body: [...catalog].map(([name, description]) => ({ name, description, group: groupOf(name) })),
  }),
});

function groupOf(name: string): 'github' | 'gate' | 'own' {
  if (name in githubEvents) return 'github';
  return name in gateEvents ? 'gate' : 'own';
}
