/** Breached passwords and challenges, as configured in attack protection (docs/reference/protection.md). */
import { Checkbox, Select } from '../../ui/fields.tsx';
import { CheckboxList } from './fields.tsx';
import { Allowlist, type Fields } from './protection-fields.tsx';

export type BreachedPasswords = {
  enabled: boolean;
  shields: string[];
  admin_notification_frequency: string[];
  method: 'standard';
  stage: { 'pre-user-registration': { shields: string[] }; 'pre-change-password': { shields: string[] } };
};

const warning = { value: 'admin_notification', text: 'Warn in the gate’s log' };
const stages = [
  ['pre-user-registration', 'At a sign-up'],
  ['pre-change-password', 'At a new password'],
] as const;

export const breachedForm: Fields<BreachedPasswords> = (value, change) => (
  <>
    <Checkbox isSelected={value.enabled} onChange={(enabled) => change({ enabled })}>
      Enabled
    </Checkbox>
    <CheckboxList
      legend="At a sign-in"
      all={[
        { value: 'block', text: 'Refuse; otherwise the log says so' },
        { value: 'user_notification', text: 'Mail the person, once a day' },
        warning,
      ]}
      chosen={value.shields}
      onChange={(shields) => change({ shields })}
    />
    {stages.map(([stage, legend]) => (
      <CheckboxList
        key={stage}
        legend={legend}
        all={[{ value: 'block', text: 'Refuse the password' }, warning]}
        chosen={value.stage[stage].shields}
        onChange={(shields) => change({ stage: { ...value.stage, [stage]: { shields } } })}
      />
    ))}
    <CheckboxList
      legend="Warnings"
      hint="With none of these each is written."
      all={[
        { value: 'immediately', text: 'Each' },
        { value: 'daily', text: 'One a day' },
        { value: 'weekly', text: 'One a week' },
        { value: 'monthly', text: 'One a month' },
      ]}
      chosen={value.admin_notification_frequency}
      onChange={(frequency) => change({ admin_notification_frequency: frequency })}
    />
  </>
);

type Policy = 'never' | 'when_risky' | 'always';
const policies = [
  ['never', 'Never'],
  ['when_risky', 'When risky'],
  ['always', 'Always'],
] as const;

export type BotDetection = {
  bot_detection_level: 'low' | 'medium' | 'high';
  challenge_password_policy: Policy;
  challenge_passwordless_policy: Policy;
  challenge_password_reset_policy: Policy;
  allowlist: string[];
  monitoring_mode_enabled: boolean;
};

const doors = [
  ['challenge_password_policy', 'Before a sign-in with a password, and a sign-up'],
  ['challenge_passwordless_policy', 'Before a code or a link is sent'],
  ['challenge_password_reset_policy', 'Before a mail for a new password is sent'],
] as const;

export const botsForm: Fields<BotDetection> = (value, change) => (
  <>
    {doors.map(([name, label]) => (
      <Select
        key={name}
        label={label}
        value={value[name]}
        onChange={(policy) => change({ [name]: policy })}
        options={policies}
      />
    ))}
    <Select
      label="Risky after failures of an address"
      value={value.bot_detection_level}
      onChange={(level) => change({ bot_detection_level: level })}
      options={[
        ['low', 'Low: 10, or 5 for one login'],
        ['medium', 'Medium: 5, or 3 for one login'],
        ['high', 'High: one'],
      ]}
    />
    <Checkbox
      isSelected={value.monitoring_mode_enabled}
      onChange={(enabled) => change({ monitoring_mode_enabled: enabled })}
    >
      Monitoring mode: the log says who would have been refused, and nobody is
    </Checkbox>
    <Allowlist of="asked for a challenge" value={value.allowlist} onChange={(allowlist) => change({ allowlist })} />
  </>
);
