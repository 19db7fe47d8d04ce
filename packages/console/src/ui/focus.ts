/** Never loses the focus: when its element disappears or is disabled, a nearby one takes it; another page begins with its content. */
import { useEffect, useRef } from 'react';

/** Pressable elements. Fields are left out: on a phone they would bring up the keyboard. */
const pressable =
  'a[href], button:not(:disabled), summary, select:not(:disabled), input[type="checkbox"]:not(:disabled)';
/** Dialogs return the focus themselves, after a moment. */
const graceMs = 150;
/** A button disabled for longer than this, since there is nothing for it to do, does not get the focus back. */
const restMs = 1_000;

/** @param address of the page; a change after its `?` is not another page */
export function useFocusKept(address: string): void {
  const before = useRef(address);
  useEffect(() => {
    if (before.current === address) return;
    before.current = address;
    // Not before the user has done anything: the browser then begins with the first link.
    if (navigator.userActivation?.hasBeenActive !== false) content()?.focus({ preventScroll: true });
  }, [address]);
  useEffect(keepFocus, []);
}

const content = () => document.getElementById('content');

/** An element's position: its parents up to the page's content, and its index in each. */
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
  // Leaving it on purpose is not losing it.
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

/** The nearest pressable element: the following one, else the previous one, else the same further up. */
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
