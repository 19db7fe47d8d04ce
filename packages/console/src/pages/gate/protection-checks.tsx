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
  ['pre-user-registration', 'At sign-up'],
  ['pre-change-password', 'At password change'],
] as const;

export const breachedForm: Fields<BreachedPasswords> = (value, change) => (
  <>
    <Checkbox isSelected={value.enabled} onChange={(enabled) => change({ enabled })}>
      Enabled
    </Checkbox>
    <CheckboxList
      legend="At sign-in"
      all={[
        { value: 'block', text: 'Refuse; if off, it is only logged' },
        { value: 'user_notification', text: 'Email the user, once a day' },
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
      hint="If none is selected, every warning is logged."
      all={[
        { value: 'immediately', text: 'Every warning' },
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
  ['challenge_password_policy', 'Before password sign-in and sign-up'],
  ['challenge_passwordless_policy', 'Before sending a code or a link'],
  ['challenge_password_reset_policy', 'Before sending a password reset email'],
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
      label="Risky after failures from one address"
      value={value.bot_detection_level}
      onChange={(level) => change({ bot_detection_level: level })}
      options={[
        ['low', 'Low: 10, or 5 for one account'],
        ['medium', 'Medium: 5, or 3 for one account'],
        ['high', 'High: 1'],
      ]}
    />
    <Checkbox
      isSelected={value.monitoring_mode_enabled}
      onChange={(enabled) => change({ monitoring_mode_enabled: enabled })}
    >
      Monitoring mode: only log who would have been refused
    </Checkbox>
    <Allowlist of="asked for a challenge" value={value.allowlist} onChange={(allowlist) => change({ allowlist })} />
  </>
);
