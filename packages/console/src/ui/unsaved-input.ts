/** Whether something was typed or made on the current page that would be lost with it. */
let isUnsaved = false;
/** Forms with changes that are not saved. */
const changed = new Set<Element>();
/** The form that is being submitted right now, and those whose requests wait for their answers. */
let submitted: Element | undefined;
const sent = new Map<object, Element>();

document.addEventListener(
  'input',
  ({ target }) => {
    if (!(target instanceof Element) || !target.closest('#content')) return;
    isUnsaved = true;
    if (!target.matches('[type="search"]')) noteChanged(target);
  },
  true,
);
document.addEventListener(
  'submit',
  ({ target }) => {
    submitted = target instanceof Element ? target : undefined;
    setTimeout(() => {
      submitted = undefined;
    });
  },
  true,
);

export const hasUnsavedInput = (): boolean => isUnsaved;

/** Called when a field of the form that this is in was changed otherwise than by typing or choosing. */
export function noteChanged(within: Element): void {
  const form = within.closest('form:not([role="search"])');
  if (!form) return;
  isUnsaved = true;
  changed.add(form);
  for (const [request, other] of sent) if (other === form) sent.delete(request);
}

/** Whether a form on the page has changes that are neither saved nor being saved. One that cannot be sent now has none, or is being saved. */
export const hasUnsavedForm = (): boolean =>
  [...changed].some(
    (form) => form.isConnected && !form.querySelector('[type="submit"]:disabled') && ![...sent.values()].includes(form),
  );

/** Does what saves the form that this is in, where a confirmation does it instead of the form's own button. */
export function submitting(within: Element, save: () => void): void {
  submitted = within.closest('form') ?? undefined;
  save();
  submitted = undefined;
}

/** Called when a request to change something begins, which may be that of the submitted form. */
export function noteSent(request: object): void {
  if (submitted) sent.set(request, submitted);
}

/** Called when it was answered. */
export function noteAnswered(request: object, isSaved: boolean): void {
  const form = sent.get(request);
  if (form && isSaved) changed.delete(form);
  sent.delete(request);
}

/** Called when another page is shown. */
export function forgetUnsavedInput(): void {
  isUnsaved = false;
  changed.clear();
}
