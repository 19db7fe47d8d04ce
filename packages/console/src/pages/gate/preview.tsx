/** What the gate would show, in a frame without any permissions, in each of its languages. */
import { Select } from '../../ui/fields.tsx';
import { Loading, Problem } from '../../ui/states.tsx';
import { languages } from './languages.ts';

/** The previous one stays until the next arrives; one shown a minute ago is dropped. */
export const previewed = {
  placeholderData: <T,>(last: T) => last,
  staleTime: 60_000,
  gcTime: 60_000,
  retry: false,
};

export function Language({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const options = languages.map(({ value: tag, text }) => [tag, text] as const);
  return <Select label="Language" value={value} onChange={onChange} options={options} />;
}

export function Frame({ url, title, width = '' }: { url: string; title: string; width?: string }) {
  return <iframe key={url} className={`preview ${width}`} title={title} src={url} sandbox="" />;
}

/** Shown instead of a missing preview. */
export function NoPreview({ error, refetch }: { error: Error | null; refetch: () => void }) {
  return error ? <Problem error={error} onRetry={refetch} /> : <Loading what="the preview" />;
}
