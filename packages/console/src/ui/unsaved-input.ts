/** Whether something was typed on the current page that would be lost with it. */
let isUnsaved = false;

document.addEventListener(
  'input',
  ({ target }) => {
    if (target instanceof Element && target.closest('#content')) isUnsaved = true;
  },
  true,
);

export const hasUnsavedInput = (): boolean => isUnsaved;

/** Called when another page is shown. */
export function forgetUnsavedInput(): void {
  isUnsaved = false;
}
