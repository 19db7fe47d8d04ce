import { expect, test } from '@jest/globals';
import { inCommands } from './hint.ts';
import { findCommand } from './run.ts';

const log = '/repos/acme/widgets/hooks/6/deliveries';
test.each([
  [`GET ${log}/22`, 'gatepost deliveries show 6 22 --repo acme/widgets'],
  [`POST ${log}/22/attempts`, 'gatepost deliveries redeliver 6 22 --repo acme/widgets'],
  ['POST /orgs/acme/hooks/6/deliveries/22/attempts', 'gatepost deliveries redeliver 6 22 --org acme'],
  [
    `POST ${log}/replays {"since": "2026-11-22T18:52:12.700Z", "status": "missed"}`,
    'gatepost deliveries replay 6 --repo acme/widgets --since 2026-11-22T18:52:12.700Z --status missed',
  ],
  [`PATCH /repos/acme/widgets/hooks/6 {"active": true}`, 'gatepost hooks edit 6 --repo acme/widgets --active'],
  [`PATCH /orgs/acme/hooks/6 {"add_events": ["push"]}`, 'gatepost hooks edit 6 --org acme --add-events push'],
  ['GET /admin/dead-letters', 'gatepost dead-letters list'],
  ['GET /admin/status', 'gatepost status'],
  ['PUT /accounts/acme/throttle', 'gatepost throttle set acme RATE BURST'],
  ['DELETE /admin/organizations/acme/pause', 'gatepost resume acme'],
  ['DELETE /admin/hooks/6/pause', 'gatepost resume --hook 6'],
])('the API’s advice %s is shown as a command', (request, command) => {
  expect(inCommands(`Then: ${request}. More.`)).toBe(`Then: ${command}. More.`);
  expect(findCommand(command.split(' ').slice(1)).command).toBeDefined();
});

test('a request that no command makes is left unchanged', () => {
  expect(inCommands('See GET /meta.')).toBe('See GET /meta.');
});
