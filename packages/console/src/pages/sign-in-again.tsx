/** Shown over a page with typed content when the session has ended. */
import { useState, useSyncExternalStore } from 'react';
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { useConsole } from '../session/context.ts';
import { Problem } from '../ui/states.tsx';
import { forgetUnsavedInput } from '../ui/unsaved-input.ts';

export function SignInAgain() {
  const { session } = useConsole();
  const { subscribe, isWanted, signIn } = session.renewal;
  const isOpen = useSyncExternalStore(subscribe, isWanted);
  const [error, setError] = useState<unknown>(null);
  const leave = () => {
    forgetUnsavedInput(); // which would ask once more
    return session.signIn();
  };
  const press = () => {
    setError(null);
    signIn().catch(setError);
  };
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} isKeyboardDismissDisabled>
      <Modal className="modal">
        <Dialog role="alertdialog">
          <Heading slot="title">Your session has ended</Heading>
          <p>
            What you typed is still here. Sign in again in a new window, and what you were doing continues
            automatically.
          </p>
          {error !== null && <Problem error={error} />}
          <div className="actions">
            <Button className="button" onPress={leave}>
              Leave this page
            </Button>
            <Button className="button primary" onPress={press} autoFocus>
              Sign in again
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
