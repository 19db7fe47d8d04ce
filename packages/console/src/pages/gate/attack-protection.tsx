/** The gate's measures against guessed passwords and floods of sign-ups, in Auth0's words (docs/reference/protection.md). */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Checkbox, Select } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { changesOf } from '../changes.ts';
import { CheckboxList } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { type BotDetection, type BreachedPasswords, botsForm, breachedForm } from './protection-checks.tsx';
import { Allowlist, Amount, type Fields } from './protection-fields.tsx';
import { SettingsForm, useSettings } from './settings-form.tsx';

export const AttackProtection = gatePage('Attack protection', 'read:attack_protection', () => (
  <>
    <div className="title">
      <h1>Attack protection</h1>
    </div>
    <Section<BruteForce>
      name="brute-force-protection"
      title="Brute-force protection"
      about="Pauses the sign-ins of an account after too many wrong passwords."
      form={bruteForceForm}
    />
    <Section<SuspiciousIp>
      name="suspicious-ip-throttling"
      title="Suspicious IP throttling"
      about="Limits failed sign-ins and sign-ups from one IP address, across all accounts."
      form={suspiciousIpForm}
    />
    <Section<BreachedPasswords>
      name="breached-password-detection"
      title="Breached password detection"
      about="Checks passwords against data breaches, in the source that the gate’s BREACHED_PASSWORDS names."
      form={breachedForm}
    />
    <Section<BotDetection>
      name="bot-detection"
      title="Bot detection"
      about="The browser solves a proof-of-work challenge while the user types. There are no pictures to click, and nothing is loaded from other sites."
      form={botsForm}
    />
  </>
));

function Section<T extends object>({
  name,
  title,
  about,
  form,
}: {
  name: string;
  title: string;
  about: string;
  form: Fields<T>;
}) {
  const { api } = useGate();
  const { data, error, refetch } = useQuery({
    queryKey: protectionKey(name),
    queryFn: ({ signal }) => api.get<T>(`/attack-protection/${name}`, signal),
  });
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <p className="soft">{about}</p>
      {isInTheWay(error, data) ? (
        <Problem error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading what={title.toLowerCase()} />
      ) : (
        <Settings name={name} title={title} read={data} form={form} />
      )}
    </section>
  );
}

const protectionKey = (name: string) => ['gate', 'protection', name];

function Settings<T extends object>({
  name,
  title,
  read,
  form,
}: {
  name: string;
  title: string;
  read: T;
  form: Fields<T>;
}) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const {
    form: values,
    save,
    change,
  } = useSettings(
    read,
    (saved) => saved,
    (saved, now) => api.send<T>('PATCH', `/attack-protection/${name}`, changesOf(saved, now)),
    (changed) => queries.setQueryData(protectionKey(name), changed),
  );
  const mayChange = may('update:attack_protection');
  return (
    <SettingsForm
      className="form settings"
      label={title}
      save={save}
      onSave={() => save.mutate()}
      mayChange={mayChange}
    >
      {form(values, change)}
    </SettingsForm>
  );
}

type BruteForce = {
  enabled: boolean;
  max_attempts: number;
  mode: 'count_per_identifier_and_ip' | 'count_per_identifier';
  shields: string[];
  allowlist: string[];
};

const bruteForceForm: Fields<BruteForce> = (value, change) => (
  <>
    <Checkbox isSelected={value.enabled} onChange={(enabled) => change({ enabled })}>
      Enabled
    </Checkbox>
    <Amount
      label="Maximum attempts"
      name="max_attempts"
      hint="Failures within ten minutes."
      value={value.max_attempts}
      onChange={(max_attempts) => change({ max_attempts })}
    />
    <Select
      label="Count failures"
      value={value.mode}
      onChange={(mode) => change({ mode })}
      options={[
        ['count_per_identifier_and_ip', 'By account and network'],
        ['count_per_identifier', 'By account only: a stranger can lock somebody out'],
      ]}
    />
    <CheckboxList
      legend="Response"
      all={[
        { value: 'block', text: 'Pause the sign-ins; if off, failures are only logged' },
        { value: 'user_notification', text: 'Email the user, once a day' },
      ]}
      chosen={value.shields}
      onChange={(shields) => change({ shields })}
    />
    <Allowlist value={value.allowlist} onChange={(allowlist) => change({ allowlist })} />
  </>
);

type Bucket = { max_attempts: number; rate: number };
type SuspiciousIp = {
  enabled: boolean;
  stage: { 'pre-login': Bucket; 'pre-user-registration': Bucket };
  shields: string[];
  allowlist: string[];
};

const stages = [
  ['pre-login', 'Failed sign-ins'],
  ['pre-user-registration', 'Sign-ups'],
] as const;

const suspiciousIpForm: Fields<SuspiciousIp> = (value, change) => (
  <>
    <Checkbox isSelected={value.enabled} onChange={(enabled) => change({ enabled })}>
      Enabled
    </Checkbox>
    {stages.map(([stage, text]) => {
      const bucket = value.stage[stage];
      const set = (part: Partial<Bucket>) => change({ stage: { ...value.stage, [stage]: { ...bucket, ...part } } });
      return (
        <div key={stage} className="pair">
          <Amount
            label={`${text}: maximum at once`}
            name={`stage.${stage}.max_attempts`}
            value={bucket.max_attempts}
            onChange={(max_attempts) => set({ max_attempts })}
          />
          <Amount
            label={`${text}: one more after (milliseconds)`}
            name={`stage.${stage}.rate`}
            value={bucket.rate}
            onChange={(rate) => set({ rate })}
          />
        </div>
      );
    })}
    <CheckboxList
      legend="Response"
      all={[
        { value: 'block', text: 'Refuse; if off, failures are only logged' },
        { value: 'admin_notification', text: 'Warn in the gate’s log, once an hour per address' },
      ]}
      chosen={value.shields}
      onChange={(shields) => change({ shields })}
    />
    <Allowlist value={value.allowlist} onChange={(allowlist) => change({ allowlist })} />
  </>
);
