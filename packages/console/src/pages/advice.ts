/** The API's advice names API calls. The console has a button for each, which is named instead. */
const named: readonly (readonly [call: RegExp, button: string])[] = [
  [/What was sent and answered: GET \S+\. Then/g, 'Look at the request and the response. Then'],
  [/deliver it again: POST \S+\/attempts/g, 'deliver it again with “Redeliver”'],
  [/triggers it anew: POST \S+\/triggers/g, 'can send it again with “Send a test”'],
  [
    / \(PUT \S+\/throttle, by an administrator of the installation\)/g,
    ', which an administrator of the installation sets,',
  ],
  [/ resumes them: DELETE \S+\/pause/g, ' resumes them'],
  [/(?:by GET|\(GET) \/admin\/dead-letters\)?/g, 'under “Dead letters”'],
  [/Activate it: PATCH \S+ \{[^}]*\}/g, 'Turn it on'],
  [/Subscribe: PATCH \S+ \{[^}]*\}/g, 'Select that event under “Settings”'],
  [/(?:replay: )?POST \S+\/deliveries\/replays \{[^}]*\} sends/g, '“Replay” sends'],
];

export const adviceOf = (text: string): string =>
  named.reduce((advice, [call, button]) => advice.replace(call, button), text);
