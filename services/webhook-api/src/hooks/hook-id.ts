/** The `{hook_id}` of a path: a number below 2^31; anything else names no hook. */
import { notFound } from '../http/errors.ts';

export function hookId(params: Record<string, string>): number {
  const text = params.hook_id ?? '';
  const id = Number(text);
  if (!/^[1-9]\d{0,9}$/.test(text) || id > 0x7fffffff) throw notFound();
  return id;
}
