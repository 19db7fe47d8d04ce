/** Whether something was typed on the page that is shown, which would be lost with it. */
let isSomething = false;

document.addEventListener(
  'input',
  ({ target }) => {
    if (target instanceof Element && target.closest('#content')) isSomething = true;
  },
  true,
);

export const isTyped = (): boolean => isSomething;

/** Another page is shown. */
export function forgetTyped(): void {
  isSomething = false;
}
