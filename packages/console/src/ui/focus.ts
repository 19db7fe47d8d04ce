/** The focus is never lost: of what had it, and went or rests, somebody near takes it; another page begins with its content. */
import { useEffect, useRef } from 'react';

/** What can be pressed. Fields are left out: on a telephone they would bring up its keyboard. */
const pressable =
  'a[href], button:not(:disabled), summary, select:not(:disabled), input[type="checkbox"]:not(:disabled)';
/** Dialogs give the focus back by themselves, after a moment. */
const graceMs = 150;
/** A button that rests for longer, since there is nothing to do for it, does not get the focus back. */
const restMs = 1_000;

/** @param address of the page; what changes behind its `?` is no other page */
export function useFocusKept(address: string): void {
  const before = useRef(address);
  useEffect(() => {
    if (before.current === address) return;
    before.current = address;
    // Not where nobody has done anything: the browser begins with the first link.
    if (navigator.userActivation?.hasBeenActive !== false) content()?.focus({ preventScroll: true });
  }, [address]);
  useEffect(keepFocus, []);
}

const content = () => document.getElementById('content');

/** Where an element stands: its parents up to the page's content, and the place below each. */
type Place = { parent: Element; at: number }[];

function keepFocus(): () => void {
  let held: Element | null = null;
  let place: Place = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lostAt = 0;
  const isLost = () => held !== null && document.activeElement === document.body;
  const hold = ({ target }: FocusEvent) => {
    if (!(target instanceof Element) || !content()?.contains(target) || target === content()) return;
    held = target;
    place = placeOf(target);
  };
  // Who leaves it on purpose has lost nothing.
  const leave = () =>
    queueMicrotask(() => {
      if (held?.isConnected && !isResting(held) && document.activeElement === document.body && !isDialogOpen())
        held = null;
    });
  const look = () => {
    timer = undefined;
    if (!isLost() || isDialogOpen()) return;
    const isThere = held!.isConnected;
    if (isThere && !isResting(held!)) (held as HTMLElement).focus({ preventScroll: true });
    else if (!isThere || performance.now() - lostAt > restMs) nearest(place)?.focus({ preventScroll: true });
    else timer = setTimeout(look, graceMs);
  };
  const watch = new MutationObserver(() => {
    if (timer !== undefined || !isLost()) return;
    lostAt = performance.now();
    timer = setTimeout(look, graceMs);
  });
  watch.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ['disabled'] });
  document.addEventListener('focusin', hold);
  document.addEventListener('focusout', leave);
  return () => {
    clearTimeout(timer);
    watch.disconnect();
    document.removeEventListener('focusin', hold);
    document.removeEventListener('focusout', leave);
  };
}

const isResting = (element: Element) => element.matches(':disabled');
const isDialogOpen = () => document.querySelector('[role=dialog], [role=alertdialog]') !== null;

function placeOf(element: Element): Place {
  const place: Place = [];
  for (let child = element; child.parentElement && child !== content(); child = child.parentElement)
    place.push({ parent: child.parentElement, at: [...child.parentElement.children].indexOf(child) });
  return place;
}

/** What can be pressed next to where it stood: what follows, else what was before, else the same further up. */
function nearest(place: Place): HTMLElement | null | undefined {
  for (const { parent, at } of place) {
    if (!parent.isConnected) continue;
    const children = [...parent.children];
    for (const child of [...children.slice(at), ...children.slice(0, at).reverse()]) {
      const found = child.matches(pressable) ? child : child.querySelector(pressable);
      if (found) return found as HTMLElement;
    }
  }
  return content();
}
