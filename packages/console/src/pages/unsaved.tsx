/** Asks before a page, or a part of it, is left whose form has changes that were not saved. */
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router';
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { hasUnsavedForm } from '../ui/unsaved-input.ts';

const isLeaving: ShouldBlockFn = ({ current, next }) =>
  hasUnsavedForm() &&
  (current.pathname !== next.pathname || JSON.stringify(current.search) !== JSON.stringify(next.search));

export function Unsaved() {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isLeaving,
    enableBeforeUnload: hasUnsavedForm,
    withResolver: true,
  });
  return (
    <ModalOverlay
      className="overlay"
      isOpen={status === 'blocked'}
      onOpenChange={(is) => !is && reset?.()}
      isDismissable
    >
      <Modal className="modal">
        <Dialog role="alertdialog">
          <Heading slot="title">Leave without saving?</Heading>
          <p>What you changed on this page is not saved, and would be lost.</p>
          <div className="actions">
            <Button className="button" onPress={() => reset?.()} autoFocus>
              Stay here
            </Button>
            <Button className="button danger" onPress={() => proceed?.()}>
              Leave without saving
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
