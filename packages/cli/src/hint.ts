/** Turns requests named in the API's advice into commands, since its readers here type commands. */
const deliveries = '(?:GET|POST) /(repos|orgs)/(\\S+?)/hooks/(\\d+)/deliveries/';
const hook = 'PATCH /(repos|orgs)/(\\S+?)/hooks/(\\d+) ';
const place = (kind: string, name: string) => `${kind === 'repos' ? '--repo' : '--org'} ${name}`;

type Rule = [request: RegExp, command: (...found: string[]) => string];

const rules: Rule[] = [
  [
    new RegExp(`${deliveries}replays \\{"since": "([^"]+)", "status": "missed"\\}`, 'g'),
    (_, kind, name, id, since) =>
      `gatepost deliveries replay ${id} ${place(kind!, name!)} --since ${since} --status missed`,
  ],
  [
    new RegExp(`${deliveries}(\\d+)/attempts`, 'g'),
    (_, kind, name, id, delivery) => `gatepost deliveries redeliver ${id} ${delivery} ${place(kind!, name!)}`,
  ],
  [
    new RegExp(`${deliveries}(\\d+)`, 'g'),
    (_, kind, name, id, delivery) => `gatepost deliveries show ${id} ${delivery} ${place(kind!, name!)}`,
  ],
  [
    new RegExp(`${hook}\\{"active": true\\}`, 'g'),
    (_, kind, name, id) => `gatepost hooks edit ${id} ${place(kind!, name!)} --active`,
  ],
  [
    new RegExp(`${hook}\\{"add_events": \\["([^"]+)"\\]\\}`, 'g'),
    (_, kind, name, id, event) => `gatepost hooks edit ${id} ${place(kind!, name!)} --add-events ${event}`,
  ],
  [/GET \/admin\/dead-letters/g, () => 'gatepost dead-letters list'],
  [/GET \/admin\/status/g, () => 'gatepost status'],
  [/PUT \/accounts\/([^/\s]+)\/throttle/g, (_, login) => `gatepost throttle set ${login} RATE BURST`],
  [/DELETE \/admin\/organizations\/([^/\s]+)\/pause/g, (_, login) => `gatepost resume ${login}`],
  [/DELETE \/admin\/hooks\/(\d+)\/pause/g, (_, id) => `gatepost resume --hook ${id}`],
];

/** The same text with commands instead of requests; a request without a matching command stays. */
export const inCommands = (text: string): string =>
  rules.reduce((said, [request, command]) => said.replace(request, command), text);
