/** Whether something was typed on the current page that would be lost with it. */
let isSomething = false;

document.addEventListener(
  'input',
  ({ target }) => {
    if (target instanceof Element && target.closest('#content')) isSomething = true;
  },
  true,
);

export const isTyped = (): boolean => isSomething;

/** Called when another page is shown. */
export function forgetTyped(): void {
  isSomething = false;
}
