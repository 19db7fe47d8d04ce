/** `/log-level` of the ops port: shows and changes each module's log level while the process runs. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Log, levelsOf, logLevels, setLevel } from './log.ts';
import { answerJson, bodyOf } from './ops-request.ts';

const asked = z.strictObject({ level: z.enum(logLevels), module: z.string().optional() });

/** `GET`: `{"levels": {"process": "info", …}}`. `PUT {level, module?}` sets one module, or all if none is given, and answers the same. */
export async function answerLogLevel(log: Log, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') return answerJson(response, 200, { levels: levelsOf(log) });
  if (request.method !== 'PUT') return answerJson(response, 405, { error: 'GET or PUT' }, { allow: 'GET, PUT' });
  const wanted = asked.safeParse(await bodyOf(request));
  if (!wanted.success)
    return answerJson(response, 400, { error: `expects {"level": ${logLevels.join(' | ')}, "module": optional}` });
  const { level, module } = wanted.data;
  // Logged first, so that silencing a log still leaves this line in it.
  log.warn({ to: level, of: module ?? 'all modules' }, 'a change of the log level was requested');
  if (!setLevel(log, level, module))
    return answerJson(response, 404, { error: 'no such module', modules: Object.keys(levelsOf(log)) });
  answerJson(response, 200, { levels: levelsOf(log) });
}
